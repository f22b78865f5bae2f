//! The names of all statements, in one list.
//!
//! A database has a folder with a file for each: [`include_statements!`](crate::include_statements) reads them, and a missing one does not compile. In
//! their texts `{leases}` stands for a table, `{prefix}` for what all tables begin with, and `{lease_columns}` (any name of
//! this list that ends in `_columns` or `_fragment`) for the text of that file.

use tenure_core::naming::Naming;

macro_rules! declare {
    ($dollar:tt $($name:ident)*) => {
        /// The texts of a database's statements, as they stand in its folder. Made by [`include_statements!`](crate::include_statements).
        #[derive(Debug, Clone, Copy)]
        #[allow(missing_docs)]
        pub struct Texts { $(pub $name: &'static str,)* }

        /// The statements over one set of tables.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub struct Statements { $(pub $name: String,)* }

        impl Texts {
            /// Every name with its text.
            pub fn named(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }

        impl Statements {
            /// Fills in the names of tables, quoted as the database does it.
            pub fn new(texts: &Texts, naming: &Naming, quotes: (char, char)) -> Self {
                let shared = fragments(texts);
                Self { $($name: fill(texts.$name, &shared, naming, quotes),)* }
            }

            /// Every name with its text.
            pub fn named(&self) -> Vec<(&'static str, &str)> {
                vec![$((stringify!($name), self.$name.as_str()),)*]
            }
        }

        /// Reads the statements of a folder: `include_statements!("../sql/")`, relative to the file that says so.
        #[macro_export]
        macro_rules! include_statements {
            ($dollar folder:literal) => {
                $crate::Texts {
                    $($name: include_str!(concat!($dollar folder, stringify!($name), ".sql")),)*
                }
            };
        }
    };
}

declare! { $
    // Transactions.
    begin commit rollback
    // The clock, leases and their fences.
    now_fragment lease_columns
    lease_read lease_lock lease_write lease_renew lease_list lease_touch lease_forgotten
    fence_lock fence_hold fence_write
    history_add history_list history_of history_last_term history_old history_forget
    audit_add audit_list
    schema_read schema_write tables_there
    // The cluster.
    member_columns daemon_columns
    cluster_look cluster_bump cluster_revision cluster_nodes
    daemons_named daemons_of_groups daemons_after daemons_list
    fences_try fences_there leases_hold leases_named
    nodes_write nodes_delete daemons_write daemons_delete
    session_uncommitted cluster_wait cluster_settled
    // The outbox: what is enqueued, looked at, recorded, swept; what an operator sees and does; the inbox.
    outbox_due_fragment outbox_message_columns outbox_columns outbox_clock outbox_any
    outbox_insert outbox_insert_one outbox_existing outbox_savepoint outbox_undo outbox_freshen
    pending_lane_fragment pending_place_fragment pending_index_fragment pending_add pending_add_one pending_add_now
    pending_lay
    given_fragment given_last_fragment soon_fragment
    outbox_comes_fragment arrival_columns arrivals_look arrivals_count arrivals_rows
    arrivals_first arrivals_add arrivals_add_one arrivals_add_new arrivals_put arrivals_hold arrivals_remove arrivals_remove_run arrivals_orphans
    fresh_columns fresh_any fresh_hold fresh_clear orphans_hold orphans_delete
    outbox_lanes outbox_lane outbox_lane_head outbox_sources outbox_walk outbox_walk_find outbox_walk_move outbox_walk_head
    outbox_walk_end outbox_names outbox_heads outbox_head outbox_between
    outbox_unordered outbox_unordered_narrow outbox_unordered_next outbox_rows outbox_load
    outbox_lock outbox_finish outbox_again outbox_halt outbox_revive outbox_release outbox_delete
    attempts_add attempts_add_run attempts_list attempts_delete
    dead_add dead_find dead_find_cause dead_read dead_discard dead_delete dead_cause_next dead_cause dead_causes
    outbox_fits_fragment walked_columns listed_columns
    outbox_list outbox_list_pending outbox_list_dead outbox_list_discarded outbox_list_cause outbox_row_before
    outbox_summary_columns outbox_summaries outbox_number outbox_numbers outbox_content
    stats_total stats_pending stats_dead outbox_pulse sweep_look
    inbox_accept inbox_refuse inbox_read inbox_old inbox_delete
    // Events, snapshots, checkpoints.
    savepoint savepoint_back savepoint_release unmet_fragment must_have_met
    stream_first stream_move stream_raise stream_version streams_free streams_move
    slot_own slot_take slot_had slot_floor slot_add slots_settled slots_unsettled slots_seen slots_there slots_over slots_delete
    event_columns events_top events_all events_forward events_backward
    events_add events_placed events_given events_standing events_known mark_add marks_add
    streams_list events_story
    snapshot_load snapshot_save
    checkpoint_read checkpoint_lock checkpoint_first checkpoint_move checkpoint_rewind checkpoint_list
    parked_clear parked_add parked_forget parked_list
    // What the runners of all processes say of themselves.
    runners_keep runners_write runners_list runners_forget
}

/// What other texts may use: `{name}`, and what stands for it.
fn fragments(texts: &Texts) -> Vec<(String, String)> {
    let is_part = |name: &str| name.ends_with("_columns") || name.ends_with("_fragment");
    let parts = texts.named().into_iter().filter(|(name, _)| is_part(name));
    parts.map(|(name, text)| (format!("{{{name}}}"), bare(text))).collect()
}

/// A fragment stands within a line: it comes without comments.
fn bare(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("--"));
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Fills a text of the folder.
pub(crate) fn fill(
    text: &str,
    fragments: &[(String, String)],
    naming: &Naming,
    quotes: (char, char),
) -> String {
    // Twice: a fragment may use another.
    let mut filled = strip_comments(text);
    for _ in 0..2 {
        for (mark, part) in fragments {
            filled = filled.replace(mark, part);
        }
    }
    naming.fill_quoted(&filled, quotes)
}

/// Without whole lines of comment, which the server would read each time.
fn strip_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

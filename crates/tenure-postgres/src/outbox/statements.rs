//! The SQL of the outbox and the inbox.
//!
//! As in the file of the same name above, names of tables and numbers are all that is spliced in.

use tenure_core::naming::Naming;

use crate::statements::{BEGIN_WRITE, Limits, watched_session};

/// One half of the number of the lock that one who sleeps holds, a relay or a reader of events; the other is the number of
/// the table. "tenw".
pub(crate) const WAKEUP_CLASS: i32 = 0x7465_6e77;

/// How a plan is chosen on connections of the outbox. Its tables are never analysed when they are new, and a plan that is
/// kept was perhaps made when they were empty: so there must be no choice. Each table is reached by its index, row by row.
const PLANNER: [&str; 8] = [
    "enable_seqscan = off",
    "enable_bitmapscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
    "enable_material = off",
    "max_parallel_workers_per_gather = 0",
    "jit = off",
    "plan_cache_mode = force_generic_plan",
];

/// The statements over one set of tables.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) look: String,
    /// The same at one part.
    pub(crate) look_part: String,
    pub(crate) load: String,
    pub(crate) record: String,
    pub(crate) record_done: String,
    pub(crate) enqueue: String,
    pub(crate) enqueue_now: String,
    pub(crate) enqueue_all: String,
    pub(crate) compare: String,
    pub(crate) sweep: String,
    pub(crate) wake: String,
    pub(crate) stats: String,
    pub(crate) list: Lists,
    pub(crate) show: String,
    pub(crate) attempts: String,
    pub(crate) count_dead: String,
    pub(crate) retry: String,
    pub(crate) discard: String,
    pub(crate) inbox_accept: String,
    pub(crate) inbox_read: String,
    pub(crate) inbox_refuse: String,
    pub(super) table: String,
    pub(super) channel: String,
}

/// How messages of each state are found.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) any: String,
    pub(crate) by_id: String,
    pub(crate) pending: String,
    pub(crate) dispatched: String,
    pub(crate) dead: String,
    pub(crate) discarded: String,
}

impl Statements {
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| fill(naming, &template.replace("{dead_filter}", DEAD_FILTER));
        let list = |rows: &str, state: &str, order: &str, more: &str| {
            let template = include_str!("../../sql/outbox_list.sql");
            let parts = [("{rows}", rows), ("{state}", state), ("{order}", order), ("{more}", more)];
            fill(&parts.iter().fold(template.to_owned(), |sql, (mark, part)| sql.replace(mark, part)))
        };
        let by_id = "o.message_id = $6::text::uuid";
        Self {
            look: fill(&look(WHOLE)),
            look_part: fill(&look(PART)),
            load: fill(include_str!("../../sql/outbox_load.sql")),
            record: fill(include_str!("../../sql/outbox_record.sql")),
            record_done: fill(include_str!("../../sql/outbox_record_done.sql")),
            enqueue: fill(include_str!("../../sql/outbox_enqueue.sql")),
            enqueue_now: fill(include_str!("../../sql/outbox_enqueue_now.sql")),
            enqueue_all: fill(include_str!("../../sql/outbox_enqueue_all.sql")),
            compare: fill(include_str!("../../sql/outbox_compare.sql")),
            sweep: fill(include_str!("../../sql/outbox_sweep.sql")),
            wake: fill(include_str!("../../sql/outbox_wake.sql")),
            stats: fill(include_str!("../../sql/outbox_stats.sql")),
            list: Lists {
                any: list(BY_MESSAGE, "true", "o.id", ""),
                by_id: list(BY_MESSAGE, by_id, "o.id", ""),
                pending: list(BY_QUEUE, "p.due_at IS NOT NULL", "p.id", ""),
                dispatched: list(BY_MESSAGE, "p.id IS NULL AND d.id IS NULL", "o.id", ""),
                dead: list(BY_GRAVE, "d.discarded_at IS NULL", "d.id", ""),
                discarded: list(BY_GRAVE, "d.discarded_at IS NOT NULL", "d.id", ""),
            },
            show: list(BY_MESSAGE, by_id, "o.id", CONTENT),
            attempts: fill(include_str!("../../sql/outbox_attempts.sql")),
            count_dead: fill(include_str!("../../sql/outbox_count_dead.sql")),
            retry: fill(include_str!("../../sql/outbox_retry.sql")),
            discard: fill(include_str!("../../sql/outbox_discard.sql")),
            inbox_accept: fill(include_str!("../../sql/inbox_accept.sql")),
            inbox_read: fill(include_str!("../../sql/inbox_read.sql")),
            inbox_refuse: fill(include_str!("../../sql/inbox_refuse.sql")),
            table: naming.table("outbox"),
            channel: channel(naming),
        }
    }
}

const BY_MESSAGE: &str = "{outbox} AS o\n\
     LEFT JOIN {outbox_pending} AS p ON p.id = o.id LEFT JOIN {outbox_dead} AS d ON d.id = o.id";
const BY_QUEUE: &str = "{outbox_pending} AS p\n\
     JOIN {outbox} AS o ON o.id = p.id LEFT JOIN {outbox_dead} AS d ON d.id = p.id";
const BY_GRAVE: &str = "{outbox_dead} AS d\n\
     JOIN {outbox} AS o ON o.id = d.id LEFT JOIN {outbox_pending} AS p ON p.id = d.id";
const CONTENT: &str = ", o.content_type, o.headers, o.payload, o.payload_bytes";

/// What a look is put together of, in the order of [`LOOK_MARKS`].
type LookPieces = [&'static str; LOOK_MARKS.len()];

const LOOK_MARKS: [&str; 14] = [
    "{step}",
    "{step_first}",
    "{step_next}",
    "{step_bound}",
    "{step_end}",
    "{own}",
    "{own_head}",
    "{foreign_head}",
    "{own_lane}",
    "{own_row}",
    "{walk}",
    "{unordered}",
    "{walked}",
    "{not_walked}",
];

/// All parts: nothing is asked of a source or a row.
const WHOLE: LookPieces =
    ["", "", "", "", "", "", "", "", "", "", "", include_str!("../../sql/outbox_unordered.sql"), "", ""];

/// One part. A source belongs to it by its hash, found together with the source by the same probe of the index; a row
/// without a source by its number, as [`Part::has_row`](tenure_core::outbox::Part::has_row) has it.
const PART: LookPieces = [
    ", step",
    ", 0::bigint",
    ", v.step + CASE WHEN h.source IS NULL THEN 0 ELSE 1 END",
    " AND v.step < $17",
    " OR v.step >= $17",
    ", abs(hashtextextended(p.source, 0) % $16) = $15 AS own",
    " AND h.own",
    " OR NOT h.own",
    "\n    WHERE abs(hashtextextended(l.source, 0) % $16) = $15",
    " AND (((p.id & 1073741823) * 2654435761) >> 32) % $16 = $15",
    include_str!("../../sql/outbox_part_walk.sql"),
    include_str!("../../sql/outbox_part_unordered.sql"),
    include_str!("../../sql/outbox_part_walked.sql"),
    ", NULL::timestamptz, NULL::bigint",
];

/// A look put together of its pieces.
fn look(pieces: LookPieces) -> String {
    let template = include_str!("../../sql/outbox_look.sql").to_owned();
    LOOK_MARKS.iter().zip(pieces).fold(template, |sql, (mark, piece)| sql.replace(mark, piece.trim_end()))
}

/// Which dead messages are meant.
const DEAD_FILTER: &str = "($1::text IS NULL OR o.topic = $1) AND ($2::text IS NULL OR o.source = $2) \
     AND ($3::text IS NULL OR o.type = $3) AND ($4::text IS NULL OR o.message_id = $4::text::uuid)";

/// Fills in what migrations and statements of the outbox have besides names of tables.
pub(crate) fn fill(naming: &Naming, template: &str) -> String {
    let class = WAKEUP_CLASS.to_string();
    let filled = template.replace("{wakeup_class}", &class).replace("{wakeup_channel}", &channel(naming));
    naming.fill(&filled)
}

/// What the name of the channel begins with; the number of the table follows. Below the 63 bytes that Postgres keeps.
fn channel(naming: &Naming) -> String {
    format!("{}outbox_", naming.prefix)
}

/// A session that sleeps for long: no limit of the role's or the database's may end it.
pub(crate) fn sleeping_session(modern: bool) -> String {
    let modern = if modern { "SET idle_session_timeout = 0; " } else { "" };
    format!("{modern}SET lock_timeout = 0; SET statement_timeout = 0; {}", watched_session(None))
}

/// What is said on a new connection of the outbox.
pub(crate) fn opening(limits: &Limits, checks: bool) -> String {
    limits.session(checks) + &planner("SET")
}

/// Begins a transaction around one statement, where no session keeps what was said.
pub(crate) fn begin(limits: &Limits) -> String {
    format!("{}{}", limits.begin(), planner("SET LOCAL"))
}

/// Begins a transaction in which the planner may choose: for counting, where an index is of no use.
pub(crate) fn begin_counting(limits: &Limits) -> String {
    let free = PLANNER[..5].iter().map(|setting| format!("SET LOCAL {}; ", setting.replace("off", "on")));
    format!("{BEGIN_WRITE}; {}{}SET LOCAL jit = off", limits.local(), free.collect::<String>())
}

fn planner(set: &str) -> String {
    PLANNER.map(|setting| format!("{set} {setting}; ")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_everything_asks_nothing_about_parts() {
        let Statements { look, look_part, .. } = Statements::new(&Naming::default());
        for sql in [&look, &look_part] {
            assert!(!sql.contains(['{', '}']), "every mark is filled in: {sql}");
        }
        let code = |sql: &str| sql.lines().filter(|line| !line.trim().starts_with("--")).collect::<String>();
        for piece in ["step", "hash", "walk", "$15", "$18"] {
            assert!(!code(&look).contains(piece) && code(&look_part).contains(piece), "{piece}");
        }
    }
}

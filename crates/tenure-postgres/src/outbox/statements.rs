//! The SQL of the outbox and the inbox.
//!
//! As in the file of the same name above, names of tables and numbers are all that is spliced in.

use tenure_core::naming::Naming;

use crate::statements::{Limits, watched_session};

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
    pub(crate) row_before: String,
    pub(crate) pulse: String,
    pub(crate) causes: String,
    pub(crate) count_dead: Dead,
    pub(crate) retry: Dead,
    pub(crate) discard: Dead,
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
    pub(crate) of_cause: String,
    pub(crate) rows: String,
    pub(crate) named: String,
}

/// How dead messages are found: all of them, those of one cause, or the one of an id.
#[derive(Debug)]
pub(crate) struct Dead {
    pub(crate) any: String,
    pub(crate) of_cause: String,
    pub(crate) of_id: String,
}

impl Statements {
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| fill(naming, &template.replace("{dead_filter}", DEAD_FILTER));
        let list = |walk: &str, but: &str, more: &str| {
            let template = include_str!("../../sql/outbox_list.sql");
            let parts = [("{walk}", walk), ("{but}", but), ("{more}", more)];
            fill(&parts.iter().fold(template.to_owned(), |sql, (mark, part)| sql.replace(mark, part)))
        };
        let walked = |table: &str, fits: &str, which: &str| {
            let parts = [("{table}", table), ("{fits}", fits), ("{which}", which)];
            let walk = parts.iter().fold(WALK_BESIDE.to_owned(), |sql, (mark, part)| sql.replace(mark, part));
            list(&walk, "", "")
        };
        let dead = |template: &str| {
            let fill = |walk: &str| {
                let pass = include_str!("../../sql/outbox_dead_pass.sql").replace("{walk}", walk);
                fill(&template.replace("{pass}", pass.trim_end()).replace("{passed}", DEAD_PASSED))
            };
            Dead {
                any: fill(&DEAD_WALK.replace("{cause}", "")),
                of_cause: fill(&DEAD_WALK.replace("{cause}", " AND d.cause = $9")),
                of_id: fill(DEAD_BY_ID),
            }
        };
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
                any: list(WALK, "", ""),
                by_id: list(BY_ID, "", ""),
                pending: walked("{outbox_pending}", "x.due_at IS NOT NULL", ""),
                dispatched: list(WALK, UNFINISHED, ""),
                dead: walked("{outbox_dead}", "true", " AND x.discarded_at IS NULL"),
                discarded: walked("{outbox_dead}", "x.discarded_at IS NOT NULL", ""),
                of_cause: walked("{outbox_dead}", "true", " AND x.discarded_at IS NULL AND x.cause = $10"),
                rows: list(BY_ROWS, "", ""),
                named: list(BY_IDS, "", ""),
            },
            show: list(BY_ID, "", CONTENT),
            attempts: fill(include_str!("../../sql/outbox_attempts.sql")),
            row_before: fill(include_str!("../../sql/outbox_row_before.sql")),
            pulse: fill(include_str!("../../sql/outbox_pulse.sql")),
            causes: fill(include_str!("../../sql/dead_causes.sql")),
            count_dead: dead(include_str!("../../sql/outbox_count_dead.sql")),
            retry: dead(include_str!("../../sql/outbox_retry.sql")),
            discard: dead(include_str!("../../sql/outbox_discard.sql")),
            inbox_accept: fill(include_str!("../../sql/inbox_accept.sql")),
            inbox_read: fill(include_str!("../../sql/inbox_read.sql")),
            inbox_refuse: fill(include_str!("../../sql/inbox_refuse.sql")),
            table: naming.table("outbox"),
            channel: channel(naming),
        }
    }
}

/// The newest messages, whatever their state.
const WALK: &str = "SELECT o.id, o.topic, o.source, o.type, o.created_at, true AS fits FROM {outbox} AS o \
     WHERE o.id < $1 AND o.id > $6 ORDER BY o.id DESC LIMIT $7";
/// The newest of a smaller table. A row that has lost its message counts as one that was looked at.
const WALK_BESIDE: &str = "SELECT x.id, o.topic, o.source, o.type, o.created_at, x.fits AND o.id IS NOT NULL AS fits \
     FROM (SELECT x.id, {fits} AS fits FROM {table} AS x \
           WHERE x.id < $1 AND x.id > $6{which} ORDER BY x.id DESC LIMIT $7) AS x \
     LEFT JOIN {outbox} AS o ON o.id = x.id AND x.fits";
/// The one of an id.
const BY_ID: &str = "SELECT o.id, o.topic, o.source, o.type, o.created_at, true AS fits FROM {outbox} AS o \
     WHERE o.message_id = $10::text::uuid AND o.id < $1 LIMIT 1";
/// Those of these numbers.
const BY_ROWS: &str = "SELECT o.id, o.topic, o.source, o.type, o.created_at, true AS fits FROM {outbox} AS o \
     WHERE o.id = ANY ($10::bigint[])";
/// Those of these ids.
const BY_IDS: &str = "SELECT o.id, o.topic, o.source, o.type, o.created_at, true AS fits FROM {outbox} AS o \
     WHERE o.message_id = ANY ($10::text[]::uuid[])";
/// Those that are not finished are taken off, and read as two ranges of two indexes, for to look each row up would cost ten
/// times as much.
const UNFINISHED: &str = "
        EXCEPT (
            SELECT p.id FROM {outbox_pending} AS p WHERE p.id < $1 AND p.id >= (SELECT end_id FROM reached)
            UNION ALL
            SELECT d.id FROM {outbox_dead} AS d WHERE d.id < $1 AND d.id >= (SELECT end_id FROM reached)
        )";
const CONTENT: &str = ", o.content_type, o.headers, left(o.payload, $11) AS payload, \
     substring(o.payload_bytes FROM 1 FOR $11) AS payload_bytes, \
     coalesce(octet_length(o.payload), octet_length(o.payload_bytes), 0)::bigint AS payload_size";

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
     AND ($3::text IS NULL OR o.type = $3) AND ($4::text IS NULL OR o.message_id = $4::text::uuid) \
     AND ($7::timestamptz IS NULL OR o.created_at >= $7) AND ($8::timestamptz IS NULL OR o.created_at < $8)";
/// Dead messages in the order of their numbers, each with its place.
const DEAD_WALK: &str = "SELECT d.id, row_number() OVER (ORDER BY d.id) AS place FROM {outbox_dead} AS d \
     WHERE d.discarded_at IS NULL{cause} AND d.id > $6 ORDER BY d.id LIMIT $10";
/// The one of an id, whatever it died of: that is looked at with the rest of the filter.
const DEAD_BY_ID: &str = "SELECT d.id, 1::bigint AS place FROM {outbox} AS o JOIN {outbox_dead} AS d ON d.id = o.id \
     WHERE o.message_id = $4::text::uuid AND d.discarded_at IS NULL AND d.id > $6 \
       AND ($9::bigint IS NULL OR d.cause = $9) LIMIT $10";
/// How far a pass has come: how many fit, one more than is meant if there are more; where the last that is meant stands, its place
/// and its number; and, if there are no more, how many were looked at and the last of them.
const DEAD_PASSED: &str = "SELECT f.fit, m.place AS met_at, m.id AS met_last, \
            CASE WHEN f.fit <= $5 THEN (SELECT count(*) FROM w) END AS looked, \
            CASE WHEN f.fit <= $5 THEN (SELECT max(id) FROM w) END AS last \
     FROM (SELECT count(*) AS fit FROM fit) AS f LEFT JOIN (SELECT max(place) AS place, max(id) AS id FROM met) AS m ON true";

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
    format!("{}; {}{}SET LOCAL jit = off", limits.opening(), limits.local(), free.collect::<String>())
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

//! The statements of the outbox and of the inbox.

use tenure_core::naming::Naming;
use tenure_core::outbox::INLINE_MAX_BYTES;

/// How many parameters one message has in `outbox_enqueue.sql`.
pub(crate) const ENQUEUE_PARAMETERS: usize = 12;
/// How many messages one statement inserts where each statement is a round trip to a driver's own thread.
pub(crate) const ENQUEUE_CHUNK: usize = 64;

/// The statements, with names filled in.
#[derive(Debug)]
pub(crate) struct OutboxStatements {
    pub(crate) enqueue: String,
    /// The same for [`ENQUEUE_CHUNK`] messages; returns the ids of those that were inserted.
    #[cfg_attr(not(feature = "sqlx"), allow(dead_code))]
    pub(crate) enqueue_chunk: String,
    pub(crate) existing: String,
    pub(crate) pending_any: String,
    pub(crate) lane_head: String,
    pub(crate) lane_same: String,
    pub(crate) lane_after: String,
    pub(crate) lane_next: String,
    pub(crate) unordered_head: String,
    pub(crate) unordered_same: String,
    pub(crate) unordered_after: String,
    pub(crate) unordered_next: String,
    pub(crate) unordered_walk_same: String,
    pub(crate) unordered_walk_after: String,
    pub(crate) unordered_row: String,
    pub(crate) load: String,
    pub(crate) pending_done: String,
    pub(crate) pending_again: String,
    pub(crate) pending_halt: String,
    pub(crate) pending_revive: String,
    pub(crate) pending_drop: String,
    pub(crate) attempt_add: String,
    pub(crate) attempts_list: String,
    pub(crate) dead_add: String,
    pub(crate) dead_list: Dead,
    pub(crate) dead_causes: String,
    pub(crate) dead_read: String,
    pub(crate) dead_drop: String,
    pub(crate) dead_discard: String,
    pub(crate) number: String,
    pub(crate) walks: Walks,
    pub(crate) row_before: String,
    /// One message, as a list shows it.
    pub(crate) one: String,
    /// The same, with all that it says.
    pub(crate) show: String,
    pub(crate) pending_few: String,
    pub(crate) pulse: String,
    pub(crate) stats_pending: String,
    pub(crate) stats_dead: String,
    pub(crate) stats_total: String,
    pub(crate) stats_oldest: String,
    pub(crate) sweep_look: String,
    pub(crate) sweep_message: String,
    pub(crate) sweep_attempts: String,
    pub(crate) sweep_inbox: String,
    pub(crate) inbox_accept: String,
    pub(crate) inbox_read: String,
    pub(crate) inbox_refuse: String,
}

/// How messages of each state are found.
#[derive(Debug)]
pub(crate) struct Walks {
    pub(crate) any: String,
    pub(crate) dispatched: String,
    /// What waits, where that is little.
    pub(crate) pending: String,
    /// What waits, where that is much: by all messages.
    pub(crate) queued: String,
    pub(crate) dead: String,
    pub(crate) discarded: String,
    pub(crate) of_cause: String,
}

/// How dead messages are found: all of them, or those of one cause.
#[derive(Debug)]
pub(crate) struct Dead {
    pub(crate) any: String,
    pub(crate) of_cause: String,
}

impl OutboxStatements {
    /// The statements for tables of these names.
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| naming.fill(template);
        let inline_max = INLINE_MAX_BYTES.to_string();
        let pending = include_str!("../../sql/pending_columns.sql").replace("{inline_max}", &inline_max);
        let pending = |rest: &str| fill(&format!("{pending}{rest}"));
        let columns = |more: &str| include_str!("../../sql/outbox_columns.sql").replace("{more}", more);
        let listed = |rest: &str| fill(&format!("{}{rest}", columns("")));
        let fits = include_str!("../../sql/outbox_fits.sql");
        let walk = |template: &str, state: &str, which: &str| {
            let parts = [("{fits}", fits), ("{state}", state), ("{which}", which)];
            fill(&parts.iter().fold(template.to_owned(), |sql, (mark, part)| sql.replace(mark, part)))
        };
        let dead = |template: &str, cause: &str| {
            let template = template.replace("{fits}", fits);
            Dead {
                any: fill(&template.replace("{cause}", "")),
                of_cause: fill(&template.replace("{cause}", cause)),
            }
        };
        let walk_all = include_str!("../../sql/outbox_walk.sql");
        let walk_dead = include_str!("../../sql/outbox_walk_dead.sql");
        let shown = |rest: &str| fill(&format!("{}{rest}", columns(CONTENT)));
        let enqueue = fill(include_str!("../../sql/outbox_enqueue.sql"));
        Self {
            enqueue_chunk: chunk(&enqueue),
            enqueue,
            existing: fill(include_str!("../../sql/outbox_existing.sql")),
            pending_any: fill(include_str!("../../sql/pending_any.sql")),
            lane_head: pending(include_str!("../../sql/lane_head.sql")),
            lane_same: pending(include_str!("../../sql/lane_same.sql")),
            lane_after: pending(include_str!("../../sql/lane_after.sql")),
            lane_next: fill(include_str!("../../sql/lane_next.sql")),
            unordered_head: pending(include_str!("../../sql/unordered_head.sql")),
            unordered_same: pending(include_str!("../../sql/unordered_same.sql")),
            unordered_after: pending(include_str!("../../sql/unordered_after.sql")),
            unordered_next: fill(include_str!("../../sql/unordered_next.sql")),
            unordered_walk_same: fill(include_str!("../../sql/unordered_walk_same.sql")),
            unordered_walk_after: fill(include_str!("../../sql/unordered_walk_after.sql")),
            unordered_row: pending(include_str!("../../sql/unordered_row.sql")),
            load: fill(include_str!("../../sql/outbox_load.sql")),
            pending_done: fill(include_str!("../../sql/pending_done.sql")),
            pending_again: fill(include_str!("../../sql/pending_again.sql")),
            pending_halt: fill(include_str!("../../sql/pending_halt.sql")),
            pending_revive: fill(include_str!("../../sql/pending_revive.sql")),
            pending_drop: fill(include_str!("../../sql/pending_drop.sql")),
            attempt_add: fill(include_str!("../../sql/attempt_add.sql")),
            attempts_list: fill(include_str!("../../sql/attempts_list.sql")),
            dead_add: fill(include_str!("../../sql/dead_add.sql")),
            dead_list: dead(include_str!("../../sql/dead_list.sql"), " and d.cause = ?9"),
            dead_causes: fill(include_str!("../../sql/dead_causes.sql")),
            dead_read: fill(include_str!("../../sql/dead_read.sql")),
            dead_drop: fill(include_str!("../../sql/dead_drop.sql")),
            dead_discard: fill(include_str!("../../sql/dead_discard.sql")),
            number: fill(include_str!("../../sql/outbox_number.sql")),
            walks: Walks {
                any: walk(walk_all, "", ""),
                dispatched: walk(
                    walk_all,
                    &format!(" and not exists ({QUEUED}) and not exists ({BURIED})"),
                    "",
                ),
                pending: walk(include_str!("../../sql/outbox_walk_pending.sql"), "", ""),
                queued: walk(walk_all, &format!(" and exists ({QUEUED} and p.due_at is not null)"), ""),
                dead: walk(walk_dead, "1", " and x.discarded_at is null"),
                discarded: walk(walk_dead, "x.discarded_at is not null", ""),
                of_cause: walk(walk_dead, "1", " and x.discarded_at is null and x.cause = ?9"),
            },
            row_before: fill(include_str!("../../sql/outbox_row_before.sql")),
            one: listed(include_str!("../../sql/outbox_one.sql")),
            show: shown(include_str!("../../sql/outbox_one.sql")),
            pending_few: fill(include_str!("../../sql/pending_few.sql")),
            pulse: fill(include_str!("../../sql/outbox_pulse.sql")),
            stats_pending: fill(include_str!("../../sql/stats_pending.sql")),
            stats_dead: fill(include_str!("../../sql/stats_dead.sql")),
            stats_total: fill(include_str!("../../sql/stats_total.sql")),
            stats_oldest: fill(include_str!("../../sql/stats_oldest.sql")),
            sweep_look: fill(include_str!("../../sql/sweep_look.sql")),
            sweep_message: fill(include_str!("../../sql/sweep_message.sql")),
            sweep_attempts: fill(include_str!("../../sql/sweep_attempts.sql")),
            sweep_inbox: fill(include_str!("../../sql/sweep_inbox.sql")),
            inbox_accept: fill(include_str!("../../sql/inbox_accept.sql")),
            inbox_read: fill(include_str!("../../sql/inbox_read.sql")),
            inbox_refuse: fill(include_str!("../../sql/inbox_refuse.sql")),
        }
    }
}

/// The message's place in the queue, and its grave.
const QUEUED: &str = "select 1 from {outbox_pending} as p where (p.lane, p.source_seq, p.source_index, p.id) \
     = (o.lane, o.source_seq, o.source_index, o.id)";
const BURIED: &str = "select 1 from {outbox_dead} as d where d.id = o.id";

/// What a message says; ?2 is how many bytes of its payload are read. As a text it would end where another program has written a NUL.
const CONTENT: &str = ", o.content_type, o.headers, substr(cast(o.payload as blob), 1, ?2) as payload, \
     substr(o.payload_bytes, 1, ?2) as payload_bytes, \
     coalesce(octet_length(o.payload), octet_length(o.payload_bytes), 0) as payload_size";

/// The statement for one message, made into one for many: its row of values again and again, each with parameters of
/// its own.
fn chunk(enqueue: &str) -> String {
    let (before, rest) = enqueue.split_once("values (").unwrap_or((enqueue, ""));
    let (row, after) = rest.split_once("\n)\n").unwrap_or((rest, ""));
    let rows: Vec<_> =
        (0..ENQUEUE_CHUNK).map(|at| format!("({}\n)", shifted(row, at * ENQUEUE_PARAMETERS))).collect();
    format!("{before}values {}\n{after}returning message_id", rows.join(", "))
}

/// The text with every numbered parameter moved on.
fn shifted(text: &str, by: usize) -> String {
    let mut parts = text.split('?');
    let mut moved = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = part[..digits].parse().unwrap_or_default();
        moved.push_str(&format!("?{}{}", number + by, &part[digits..]));
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_its_parameters_in_a_row() {
        let chunk = chunk(&Naming::default().fill(include_str!("../../sql/outbox_enqueue.sql")));
        let last = ENQUEUE_CHUNK * ENQUEUE_PARAMETERS;
        assert!(chunk.contains(&format!("?{last}\n)")) && !chunk.contains(&format!("?{}", last + 1)));
        assert_eq!(chunk.matches("coalesce(?").count(), 3 * ENQUEUE_CHUNK);
    }
}

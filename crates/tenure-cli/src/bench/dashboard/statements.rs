//! The SQL that fills a large house: everything that a page may have to look through, by bulk statements.
//!
//! The three databases get the same rows; what they write differently is in [`Dialect`]. Numbers are all that is put into a
//! text, and names of tables stand as they are: everything is in a schema, a database or a file of its own.

use super::house::House;
use crate::bench::outbox::statements::PAYLOAD;
use crate::bench::outbox::statements::mysql::FILL_LIST;

/// How many rows one statement inserts at most: so many numbers are there on MySQL.
const PIECE: u64 = 100_000;
/// What a node's process is called by, everywhere.
const INCARNATION: &str = "'00000000000000000000000000000001'";

/// What is written differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Postgres,
    Sqlite,
    /// And MariaDB.
    MySql,
}

impl Dialect {
    /// The one of a store, by the name that a rig gives it.
    pub(super) fn of(store: &str) -> Self {
        match store {
            "postgres" => Self::Postgres,
            "sqlite" => Self::Sqlite,
            _ => Self::MySql,
        }
    }

    /// Rows of one column `i`, both ends among them.
    fn numbers(self, first: u64, last: u64) -> String {
        match self {
            Self::Postgres => format!("generate_series({first}::bigint, {last}::bigint) AS n(i)"),
            Self::Sqlite => format!(
                "(WITH RECURSIVE c(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM c WHERE i < {last}) SELECT i FROM c) AS n"
            ),
            Self::MySql => format!(
                "(SELECT {first} + m.i AS i FROM numbers AS m WHERE m.i <= {last} - {first} ORDER BY m.i) AS n"
            ),
        }
    }

    /// A text with a number behind it.
    fn named(self, name: &str, number: &str) -> String {
        match self {
            Self::Postgres | Self::Sqlite => format!("('{name}' || ({number}))"),
            Self::MySql => format!("concat('{name}', {number})"),
        }
    }

    /// How often a number goes into another.
    fn div(self, number: &str, by: u64) -> String {
        match self {
            Self::Postgres | Self::Sqlite => format!("(({number}) / {by})"),
            Self::MySql => format!("(({number}) DIV {by})"),
        }
    }

    /// A moment, in seconds since 1970.
    fn moment(self, seconds: &str) -> String {
        match self {
            Self::Postgres => format!("to_timestamp(({seconds})::float8)"),
            Self::Sqlite => format!("(({seconds}) * 1000000)"),
            Self::MySql => format!("('1970-01-01 00:00:00' + INTERVAL ({seconds}) SECOND)"),
        }
    }

    /// An id with this number in it; [`super::house::id`] writes the same.
    fn id(self) -> &'static str {
        match self {
            Self::Postgres => "('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid",
            Self::Sqlite => "printf('00000000-0000-4000-8000-%012d', i)",
            Self::MySql => "concat('00000000-0000-4000-8000-', lpad(i, 12, '0'))",
        }
    }
}

/// All statements, in order. Each text is one to run by itself.
pub(super) fn fill(dialect: Dialect, house: &House) -> Vec<String> {
    let mut all = vec![beginning(dialect).to_owned()];
    let messages = |first, last| outbox(dialect, house, first, last);
    all.extend(in_pieces(house.rows).flat_map(|(first, last)| messages(first, last)));
    if dialect == Dialect::MySql {
        // As the other measurements fill the queue; some of it was tried before, and is in its lane.
        all.push(FILL_LIST.to_owned());
        all.push(
            "INSERT INTO tenure_outbox_pending (id, lane, place_a, place_b, due_us, attempts) \
             SELECT o.id, coalesce(o.source, ''), o.source_seq, o.source_index, \
                 TIMESTAMPDIFF(MICROSECOND, '1970-01-01', o.created_at), 1 \
             FROM tenure_outbox_arrivals AS a STRAIGHT_JOIN tenure_outbox AS o ON o.id = a.id WHERE a.id % 50 = 2"
                .to_owned(),
        );
        all.push("DELETE FROM tenure_outbox_arrivals WHERE id % 50 = 2".to_owned());
    }
    all.extend(
        in_pieces(house.long_stream).map(|(first, last)| events(dialect, first, last, "'long'", "i", "NULL")),
    );
    let short =
        (dialect.named("loan-", &dialect.div("i", 5)), dialect.named("story-", &dialect.div("i", 10)));
    let story = format!("CASE WHEN i % 50 = 0 THEN 'saga' ELSE {} END", short.1);
    all.extend(
        in_pieces(house.events)
            .map(|(first, last)| events(dialect, first - 1, last - 1, &short.0, "i % 5 + 1", &story)),
    );
    all.push(
        "INSERT INTO tenure_streams (stream, version) SELECT stream, max(version) FROM tenure_events GROUP BY stream"
            .to_owned(),
    );
    all.extend(in_pieces(house.audit).map(|(first, last)| audit(dialect, house, first, last)));
    all.extend(in_pieces(house.history).map(|(first, last)| history(dialect, house, first, last)));
    all.extend(in_pieces(house.parked).map(|(first, last)| parked(dialect, house, first, last)));
    all.extend(cluster(dialect, house));
    all.extend(rest(dialect).iter().map(|&text| text.to_owned()));
    all
}

fn in_pieces(count: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..count.div_ceil(PIECE)).map(move |piece| (piece * PIECE + 1, ((piece + 1) * PIECE).min(count)))
}

/// What would put every row into the queue is out of the way: most are finished.
fn beginning(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "ALTER TABLE tenure_outbox DISABLE TRIGGER USER",
        Dialect::Sqlite => "DROP TRIGGER tenure_outbox_enqueued",
        Dialect::MySql => "DO 0",
    }
}

/// Messages and what has become of them; [`House`] says which is what.
fn outbox(dialect: Dialect, house: &House, first: u64, last: u64) -> Vec<String> {
    let House { rows, sources, waiting, now, .. } = *house;
    let numbers = dialect.numbers(first, last);
    let rare = format!("i IN ({})", house.rare().map(|row| row.to_string()).join(", "));
    let source = format!(
        "CASE WHEN {rare} THEN 'rare' ELSE {} END",
        dialect.named("source-", &format!("i % {sources}"))
    );
    let created = dialect.moment(&format!("{now} - {rows} + i"));
    let (given, fresh, null) = match dialect {
        Dialect::Postgres => (" OVERRIDING SYSTEM VALUE", "", ""),
        Dialect::Sqlite => ("", "", ""),
        Dialect::MySql => ("", ", fresh", ", NULL"),
    };
    let mut all = vec![format!(
        "INSERT INTO tenure_outbox (id, message_id, source, source_seq, topic, type, payload, created_at{fresh}){given} \
         SELECT i, {id}, {source}, i, CASE WHEN {rare} THEN 'rare' WHEN i % 3 = 0 THEN 'payments' ELSE 'orders' END, \
             CASE WHEN {rare} THEN 'Rare' ELSE 'OrderPlaced' END, '{PAYLOAD}', {created}{null} FROM {numbers}",
        id = dialect.id()
    )];
    let queue = match dialect {
        Dialect::Postgres => Some(("id, source, source_seq", format!("i, {source}, i"))),
        Dialect::Sqlite => Some(("id, lane, source_seq", format!("i, {source}, i"))),
        Dialect::MySql => None,
    };
    if let Some((columns, values)) = queue.filter(|_| last > waiting) {
        all.push(format!(
            "INSERT INTO tenure_outbox_pending ({columns}, source_index, due_at, attempts) \
             SELECT {values}, 0, {created}, CASE WHEN i % 50 = 2 THEN 1 ELSE 0 END \
             FROM {numbers} WHERE i > {waiting} AND i % 20 <> 1"
        ));
    }
    let (of, from) = match dialect {
        Dialect::Postgres | Dialect::Sqlite => (", source", format!(", {source}")),
        Dialect::MySql => ("", String::new()),
    };
    let cause =
        format!("CASE WHEN i = {} THEN 61 ELSE {} % 60 + 1 END", house.rare_dead(), dialect.div("i", 20));
    all.push(format!(
        "INSERT INTO tenure_outbox_dead (id, died_at, outcome, reason, attempts, halts, cause, discarded_at{of}) \
         SELECT i, {created}, 'rejected', {reason}, 2, i % 10000 = 21, {cause}, CASE WHEN i % 100 = 1 THEN {created} END{from} \
         FROM {numbers} WHERE i % 20 = 1",
        reason = dialect.named("the receiver said no, for reason ", &cause)
    ));
    for (number, which) in [(1, format!("i <= {waiting} OR i % 20 = 1")), (2, "i % 20 = 1".to_owned())] {
        all.push(format!(
            "INSERT INTO tenure_outbox_attempts (message, number, at, outcome, took_us, node, term) \
             SELECT i, {number}, {created}, CASE WHEN i % 20 = 1 THEN 'rejected' ELSE 'success' END, 10, 'node-1', 1 \
             FROM {numbers} WHERE {which}"
        ));
    }
    all
}

fn events(dialect: Dialect, first: u64, last: u64, stream: &str, version: &str, correlation: &str) -> String {
    let (numbers, recorded) = (dialect.numbers(first, last), dialect.moment("1700000000 + i"));
    let id = match dialect {
        Dialect::Postgres => "gen_random_uuid()",
        Dialect::Sqlite | Dialect::MySql => dialect.id(),
    };
    // MySQL tells by another column, which may be empty.
    let (any, not_any) = match dialect {
        Dialect::Postgres => (", any_version", ", false"),
        Dialect::Sqlite => (", any_version", ", 0"),
        Dialect::MySql => ("", ""),
    };
    format!(
        "INSERT INTO tenure_events (stream, version, event_id, type, schema_version, correlation, recorded_at, payload{any}) \
         SELECT {stream}, {version}, {id}, 'OrderPlaced', 1, {correlation}, {recorded}, '{PAYLOAD}'{not_any} FROM {numbers}"
    )
}

fn audit(dialect: Dialect, house: &House, first: u64, last: u64) -> String {
    let at = dialect.moment(&format!("{} - {} + i", house.now, house.audit));
    format!(
        "INSERT INTO tenure_audit (at, actor, action, subject, detail) \
         SELECT {at}, CASE WHEN i = 1 THEN 'eve' ELSE 'ada' END, 'outbox retry', {subject}, '' FROM {numbers}",
        subject = dialect.named("message ", "i"),
        numbers = dialect.numbers(first, last)
    )
}

fn history(dialect: Dialect, house: &House, first: u64, last: u64) -> String {
    let at = dialect.moment(&format!("{} - {} + i", house.now, house.history));
    let name = format!(
        "CASE WHEN i = 1 THEN 'rare' ELSE {} END",
        dialect.named("lease-", &format!("i % {}", house.leases))
    );
    format!(
        "INSERT INTO tenure_lease_history (name, term, cause, node, incarnation, machine, pid, at) \
         SELECT {name}, i, 'acquired', 'node-1', {INCARNATION}, 'machine', 1, {at} FROM {numbers}",
        numbers = dialect.numbers(first, last)
    )
}

fn parked(dialect: Dialect, house: &House, first: u64, last: u64) -> String {
    format!(
        "INSERT INTO tenure_parked (subscription, position, stream, version, type, reason, attempts, parked_at) \
         SELECT 'subscription-1', i, 'long', i, 'OrderPlaced', 'the handler said no', 3, {at} FROM {numbers}",
        at = dialect.moment(&house.now.to_string()),
        numbers = dialect.numbers(first, last)
    )
}

/// Subscriptions, leases, nodes, daemons and loops.
fn cluster(dialect: Dialect, house: &House) -> Vec<String> {
    let now = dialect.moment(&house.now.to_string());
    let (yes, no) = if dialect == Dialect::Postgres { ("true", "false") } else { ("1", "0") };
    let holder =
        format!("1, 'node-1', {INCARNATION}, {INCARNATION}, 'machine', 1, 'database', {now}, {now}, {now}");
    let of_lease =
        "name, term, node, incarnation, claim, machine, pid, backend, acquired_at, renewed_at, expires_at";
    let lease = |name: &str, count: u64| {
        let (name, numbers) = (dialect.named(name, "i"), dialect.numbers(0, count - 1));
        format!("INSERT INTO tenure_leases ({of_lease}) SELECT {name}, {holder} FROM {numbers}")
    };
    vec![
        lease("lease-", house.leases),
        lease("tenure/node/node-", house.nodes),
        lease("tenure/daemon/daemon-", house.daemons),
        format!(
            "INSERT INTO tenure_checkpoints (name, position, moved_at) SELECT {}, i, {now} FROM {}",
            dialect.named("subscription-", "i"),
            dialect.numbers(1, house.subscriptions)
        ),
        format!(
            "INSERT INTO tenure_nodes (name, incarnation, term, machine, pid, labels, version, capacity, leads, agents, leaving, \
                 joined_at, revision) \
             SELECT {}, {INCARNATION}, 1, 'machine', 1, '{{}}', '1', 100, {yes}, '{{}}', {no}, {now}, 1 FROM {}",
            dialect.named("node-", "i"),
            dialect.numbers(0, house.nodes - 1)
        ),
        format!(
            "INSERT INTO tenure_assignments (daemon, state, node, node_term, generation, reason, since, weight, labels, retired, \
                 failures, avoids, moves, revision) \
             SELECT {}, 'active', {}, 1, 1, 'placed', {now}, 1, '{{}}', {no}, 0, '[]', 0, i FROM {}",
            dialect.named("daemon-", "i"),
            dialect.named("node-", &format!("i % {}", house.nodes)),
            dialect.numbers(0, house.daemons - 1)
        ),
        format!(
            "INSERT INTO tenure_runners (node, incarnation, kind, name, machine, pid, state, every_ms, cycled_ms, advanced_ms, \
                 counters, started_at, seen_at) \
             SELECT {}, {INCARNATION}, 'relay', {}, 'machine', 1, 'leading', 1000, 10, 10, '{{}}', {now}, {soon} FROM {}",
            dialect.named("node-", &format!("i % {}", house.nodes)),
            dialect.named("relay-", "i"),
            dialect.numbers(1, house.runners),
            // They are shown only while they were seen a moment ago.
            soon = dialect.moment(&(house.now + 36_000).to_string())
        ),
    ]
}

/// What lets the database come to rest, and plan by what is there.
fn rest(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgres => &[
            "ALTER TABLE tenure_outbox ENABLE TRIGGER USER",
            "VACUUM (ANALYZE) tenure_outbox, tenure_outbox_pending, tenure_outbox_attempts, tenure_outbox_dead, \
             tenure_events, tenure_streams, tenure_audit, tenure_lease_history, tenure_parked, tenure_leases, \
             tenure_assignments, tenure_nodes, tenure_runners, tenure_checkpoints",
        ],
        Dialect::Sqlite => &["PRAGMA wal_checkpoint(truncate)"],
        Dialect::MySql => &[
            "ANALYZE TABLE tenure_outbox, tenure_outbox_pending, tenure_outbox_attempts, tenure_outbox_dead, \
             tenure_events, tenure_streams, tenure_audit, tenure_lease_history, tenure_parked, tenure_leases, \
             tenure_assignments, tenure_nodes, tenure_runners, tenure_checkpoints",
        ],
    }
}

//! What the hot statements of the outbox read: a million rows behind one source must not slow the others.

use std::time::{Duration, Instant};

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};
use tenure_core::contract::OutboxStore as _;
use tenure_core::outbox::{
    Discover, LaneLook, Look, NewMessage, Part, Place, RowId, Sequence, UnorderedLook,
};
use tenure_sql::{Statements, Texts, include_statements};

use crate::outbox::{everything, look};
use crate::sandbox::{Sandbox, on_both};

const TEXTS: Texts = include_statements!("../../sql/");

/// So many stand for the million: what reads them all shows, and the test is quick.
const MANY: u32 = 30_000;

/// A parked source of very many rows, some others before and behind it, and rows without a source.
async fn fill(sandbox: &Sandbox) {
    let outbox = sandbox.table("outbox");
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 \
                  UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let numbers = format!(
        "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n \
         FROM {digits} AS a, {digits} AS b, {digits} AS c, {digits} AS d, {digits} AS e) AS numbers"
    );
    sandbox
        .batch(&format!(
            "INSERT INTO {outbox} (source, topic, type, payload, deliver_at) \
             SELECT 'parked', 't', 'k', 'x', IF(n = 0, '2090-01-01', NULL) FROM {numbers} WHERE n < {MANY} ORDER BY n; \
             INSERT INTO {outbox} (source, topic, type, payload) \
             SELECT concat(IF(n % 2 = 0, 'a', 'z'), n % 20), 't', 'k', 'x' FROM {numbers} WHERE n < 200; \
             INSERT INTO {outbox} (topic, type, payload, deliver_at) \
             SELECT 't', 'k', 'x', IF(n < {MANY}, '2090-01-01', NULL) FROM {numbers} WHERE n < {MANY} + 50; {queue}",
            queue = queue(sandbox)
        ))
        .await;
}

/// Puts everything into the queue that is not there, as a relay would.
fn queue(sandbox: &Sandbox) -> String {
    let texts = Statements::new(&TEXTS, &sandbox.options().naming, ('`', '`'));
    let (outbox, all) = (sandbox.table("outbox"), texts.pending_lay.replace("o.id IN ($1)", "o.fresh = 1"));
    format!("{all}; UPDATE {outbox} SET fresh = NULL")
}

/// How many rows a statement reads, by the server's own count.
pub(crate) async fn reads(user: &mut MySqlConnection, statements: &[String]) -> i64 {
    sqlx::raw_sql("FLUSH STATUS").execute(&mut *user).await.unwrap();
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(statement.clone())).fetch_all(&mut *user).await.unwrap();
    }
    let rows =
        sqlx::query("SHOW SESSION STATUS LIKE 'Handler\\_read\\_%'").fetch_all(&mut *user).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(1).parse::<i64>().unwrap()).sum()
}

pub(crate) fn filled(statement: &str, values: &[&str]) -> String {
    let mut text = statement.to_owned();
    for (at, value) in values.iter().enumerate().rev() {
        text = text.replace(&format!("${}", at + 1), value);
    }
    text
}

/// What those before have left in the index is there until the server has cleared it away.
#[test]
fn who_puts_messages_into_the_queue_goes_on_behind_the_last_ones() {
    on_both(|sandbox| async move {
        let outbox = sandbox.table("outbox");
        let many = vec!["('s', 't', 'k', 'x')"; 3_000].join(",");
        sandbox.batch(&format!("INSERT INTO {outbox} (source, topic, type, payload) VALUES {many}")).await;
        let texts = Statements::new(&TEXTS, &sandbox.options().naming, ('`', '`'));
        let mut user = sandbox.user().await;
        for (after, most) in [(["256", "0"], 60), (["1", "2500"], 60), (["1", "3000"], 5)] {
            let hold = filled(&texts.fresh_hold, &[after[0], after[1], "20"]);
            let read = reads(&mut user, &["BEGIN".into(), hold, "ROLLBACK".into()]).await;
            assert!(read <= most, "after {after:?}: {read} rows were read");
        }
    });
}

#[test]
fn the_hot_statements_read_what_they_answer_and_little_else() {
    on_both(|sandbox| async move {
        fill(&sandbox).await;
        let naming = sandbox.options().naming;
        let texts = Statements::new(&TEXTS, &naming, ('`', '`'));
        let mut user = sandbox.user().await;
        let (first, parked) = (i64::MIN.to_string(), "X'7061726B6564'");
        let branch =
            |source: &str, id: &str, limit: &str| filled(&texts.outbox_lane, &[source, "0", "0", id, limit]);
        let beside = |branches: &[String], listed: &str| {
            filled(&texts.outbox_lanes, &[&branches.join(" UNION ALL "), "1000", listed])
        };
        let lanes = |branches: &[String]| beside(branches, "0");
        let step =
            [&texts.outbox_walk_find, &texts.outbox_walk_move, &texts.outbox_walk_head].map(Clone::clone);
        let walk: Vec<_> =
            [filled(&texts.outbox_walk, &["X'61'"])].into_iter().chain(step.clone()).chain(step).collect();
        let asked: Vec<(&str, Vec<String>, i64)> = vec![
            ("any", vec![texts.outbox_any.clone()], 4),
            ("a lane from its middle", vec![lanes(&[branch(parked, "20000", "5")])], 40),
            ("a lane beside the list", vec![beside(&[branch(parked, "20000", "5")], "10")], 70),
            (
                "several lanes",
                vec![lanes(&[
                    branch(parked, "20000", "5"),
                    branch("X'7A31'", &first, "5"),
                    branch("X'61'", "7", "5"),
                ])],
                70,
            ),
            (
                "sources beside known ones",
                vec![filled(&texts.outbox_sources, &["X''", "X'7061726B6564',X'6130'", "20", "1000", "0"])],
                60,
            ),
            ("sources behind", vec![filled(&texts.outbox_sources, &["X'71'", "X''", "20", "1000", "0"])], 60),
            ("a walk of two steps", walk, 8),
            (
                "names on a stretch that is full of one source",
                vec![filled(&texts.outbox_names, &["X'7041'", "20"])],
                70,
            ),
            (
                "the heads of two sources",
                vec![filled(
                    &texts.outbox_heads,
                    &[&[parked, "X'7A31'"]
                        .map(|name| filled(&texts.outbox_head, &[name]))
                        .join(" UNION ALL ")],
                )],
                16,
            ),
            (
                "the sources between three, however many rows one has",
                vec![filled(
                    &texts.outbox_heads,
                    &[&[["X''", "X'7041'"], ["X'7041'", "X'7A31'"], [parked, "X'FF'"]]
                        .map(|two| filled(&texts.outbox_between, &two))
                        .join(" UNION ALL ")],
                )],
                24,
            ),
            ("without a source", vec![filled(&texts.outbox_unordered, &[&first, &first, "20"])], 85),
            (
                "without a source, narrow",
                vec![filled(&texts.outbox_unordered_narrow, &[&first, &first, "20"])],
                60,
            ),
            ("the next without a source", vec![filled(&texts.outbox_unordered_next, &["1"])], 5),
            (
                "locks",
                vec!["BEGIN".into(), filled(&texts.outbox_lock, &["7,9,20000"]), "ROLLBACK".into()],
                10,
            ),
            (
                "finishes",
                vec!["BEGIN".into(), filled(&texts.outbox_finish, &["7,9,20000", "0"]), "ROLLBACK".into()],
                20,
            ),
            ("an id", vec![filled(&texts.outbox_number, &["_utf8mb4 X'37'"])], 2),
            ("ids", vec![filled(&texts.outbox_existing, &["_utf8mb4 X'37',_utf8mb4 X'38'"])], 6),
        ];
        for analysed in [false, true] {
            for (what, statements, most) in &asked {
                let mut read = reads(&mut user, statements).await;
                for _ in 0..50 {
                    if read <= *most {
                        break;
                    }
                    // passes time: what was deleted is stepped over until the server has cleared it away
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    read = reads(&mut user, statements).await;
                }
                assert!(read <= *most, "{what}: {read} rows were read, analysed {analysed}: {statements:?}");
            }
            sandbox
                .batch(&format!(
                    "ANALYZE TABLE {}, {}",
                    sandbox.table("outbox"),
                    sandbox.table("outbox_pending")
                ))
                .await;
        }
    });
}

/// A source that is emptied under a walk was found all the same, and does not end it.
#[test]
fn a_walk_tells_where_it_stands_and_not_only_what_it_found() {
    on_both(|sandbox| async move {
        let (outbox, texts) =
            (sandbox.table("outbox"), Statements::new(&TEXTS, &sandbox.options().naming, ('`', '`')));
        let insert = "(source, topic, type, payload) VALUES ('a', 't', 'k', 'x'), ('b', 't', 'k', 'x')";
        sandbox.batch(&format!("INSERT INTO {outbox} {insert}; {}", queue(&sandbox))).await;
        let mut user = sandbox.user().await;
        for step in [filled(&texts.outbox_walk, &["X'00'"]), texts.outbox_walk_find.clone()] {
            sqlx::raw_sql(AssertSqlSafe(step)).execute(&mut user).await.unwrap();
        }
        sandbox.batch(&format!("DELETE FROM {} WHERE lane = 'a'", sandbox.table("outbox_pending"))).await;
        let mut seen = Vec::new();
        for _ in 0..3 {
            let ask = |text: &str| sqlx::raw_sql(AssertSqlSafe(text.to_owned()));
            ask(&texts.outbox_walk_move).execute(&mut user).await.unwrap();
            let heads = ask(&texts.outbox_walk_head).fetch_all(&mut user).await.unwrap().len();
            let at = ask(&texts.outbox_walk_end).fetch_one(&mut user).await.unwrap();
            seen.push((heads, at.get::<Option<Vec<u8>>, _>(0)));
            ask(&texts.outbox_walk_find).execute(&mut user).await.unwrap();
        }
        assert_eq!(seen, [(1, Some(b"a".to_vec())), (1, Some(b"b".to_vec())), (0, None)]);
    });
}

/// A search that goes on behind its first page finds all there is, whichever way it goes: sources with some rows each, with very many,
/// one that stands still, one that is not due, those of another part.
#[test]
fn a_search_over_sources_of_all_sizes_finds_each_once() {
    on_both(|sandbox| async move {
        let (outbox, pending) = (sandbox.table("outbox"), sandbox.table("outbox_pending"));
        // Some of 23 rows each; between them, now and then, one of 700, and five in a row.
        let sizes = (0..150).map(|n| if n % 40 == 7 || (100..105).contains(&n) { 700 } else { 23 });
        let rows: Vec<_> = sizes
            .enumerate()
            .flat_map(|(n, size)| vec![format!("('s{n:03}', 't', 'k', 'x')"); size])
            .collect();
        for rows in rows.chunks(1_000) {
            let rows = rows.join(", ");
            sandbox
                .batch(&format!("INSERT INTO {outbox} (source, topic, type, payload) VALUES {rows}"))
                .await;
        }
        sandbox
            .batch(&format!(
                "{queue}; UPDATE {pending} SET due_us = 9000000000000000 WHERE lane = 's050'; \
                 UPDATE {pending} SET queued = 2 WHERE lane = 's060' ORDER BY id LIMIT 1",
                queue = queue(&sandbox)
            ))
            .await;
        let store = sandbox.sql().await;
        let search = |part: Option<Part>| {
            let store = &store;
            async move {
                let (mut found, mut resting, mut after) = (Vec::new(), Vec::new(), None);
                loop {
                    let except = vec!["s003".to_owned(), "s047".to_owned()];
                    let discover = Discover { after, sources: 60, rows_each: 2, except };
                    let look = Look { discover: Some(discover), part, ..Look::default() };
                    let page = store.look(&look).await.unwrap();
                    found.extend(page.rows.iter().filter_map(|row| row.source.clone()));
                    resting.extend(page.resting.into_iter().map(|(source, _)| source));
                    after = page.more_after;
                    if after.is_none() {
                        return (found, resting);
                    }
                }
            }
        };
        let twice = |source: String| [source.clone(), source];
        let due = (0..150).filter(|n| ![3, 47, 50, 60].contains(n)).map(|n| format!("s{n:03}"));
        let due: Vec<_> = due.flat_map(twice).collect();
        let (found, resting) = search(None).await;
        assert_eq!((&found, resting), (&due, vec!["s050".to_owned(), "s060".to_owned()]));
        let (mut of_parts, mut rested) = (Vec::new(), Vec::new());
        for index in 0..4 {
            let (found, resting) = search(Some(Part::new(index, 4).unwrap())).await;
            of_parts.extend(found);
            rested.extend(resting);
        }
        of_parts.sort();
        rested.sort();
        assert_eq!((of_parts, rested), (due, vec!["s050".to_owned(), "s060".to_owned()]));
    });
}

/// The whole look, by the clock: what reads the parked rows would take a hundred times longer.
#[test]
fn a_million_rows_behind_one_source_cost_one_step() {
    on_both(|sandbox| async move {
        fill(&sandbox).await;
        let store = sandbox.sql().await;
        let page = look(&store).await;
        assert_eq!(page.rows.len(), 250);
        assert!(page.next_due.is_some());
        let start = Instant::now();
        for round in 0..50 {
            // Behind the parked source, by a walk over it: the page is full of its rows.
            let discover = Discover { after: Some("b".into()), sources: 3, rows_each: 2, except: Vec::new() };
            let page = store.look(&Look { discover: Some(discover), ..Look::default() }).await.unwrap();
            assert_eq!((page.rows.len(), page.more_after.as_deref()), (4, Some("z11")), "round {round}");
            let after = Some(Place { sequence: Sequence::default(), id: RowId(20_000) });
            let lane = LaneLook { source: "parked".into(), after, limit: 5 };
            assert_eq!(
                store.look(&Look { lanes: vec![lane], ..Look::default() }).await.unwrap().rows.len(),
                5
            );
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    });
}

/// The same for what belongs to other parts.
#[test]
fn e7_a_million_rows_of_another_part_cost_one_step_or_a_bounded_search() {
    on_both(|sandbox| async move {
        fill(&sandbox).await;
        let store = sandbox.sql().await;
        let part_of =
            |name: &str| Part::all(8).unwrap().find(|part| part.has_source(name.as_bytes())).unwrap();
        let name = (0..).map(|n| format!("zz{n}")).find(|name| part_of(name) != part_of("parked")).unwrap();
        let message = NewMessage::json("t", "k", "{}").from_source(name.as_str());
        store.enqueue(&[message], &Default::default()).await.unwrap();
        let start = Instant::now();
        for _ in 0..20 {
            let page = store.look(&Look { part: Some(part_of(&name)), ..everything() }).await.unwrap();
            assert!(page.rows.iter().any(|row| row.lane() == Some(name.as_str())));
            assert!(page.rows.iter().all(|row| row.lane() != Some("parked")));
        }
        let unordered = Some(UnorderedLook { after: None, limit: 1 });
        for part in Part::all(1024).unwrap().take(50) {
            let look = Look { unordered: unordered.clone(), part: Some(part), ..Look::default() };
            store.look(&look).await.unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    });
}

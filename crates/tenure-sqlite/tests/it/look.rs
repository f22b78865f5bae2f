//! What a relay sees: order, rotation, parked sources, and rows that anyone may have inserted.

use std::time::{Duration, Instant};

use rusqlite::params;
use rusqlite::types::Value;
use tenure_core::contract::OutboxStore;
use tenure_core::outbox::{
    Body, Discover, Found, LaneLook, Limits, Loaded, Look, NewMessage, Part, RowId, Stored, UnorderedLook,
    decode,
};
use tenure_sqlite::SqliteStore;

use crate::backend::SqliteFile;
use crate::outbox::{again, dead, done, everything, from, look, message, only, record, send};

fn places(rows: &[Stored]) -> Vec<(Option<&str>, i64, i32)> {
    rows.iter().map(|row| (row.lane(), row.sequence.version, row.sequence.index)).collect()
}

async fn lane(store: &SqliteStore, after: Option<&Stored>, limit: u32) -> Vec<Stored> {
    let lane = LaneLook { source: "a".into(), after: after.map(Stored::place), limit };
    store.look(&Look { lanes: vec![lane], ..Look::default() }).await.unwrap().rows
}

fn discover(after: Option<&str>, sources: u32, rows_each: u32, except: &[&str]) -> Look {
    let except = except.iter().map(ToString::to_string).collect();
    let discover = Some(Discover { after: after.map(str::to_owned), sources, rows_each, except });
    Look { discover, ..Look::default() }
}

#[tokio::test]
async fn rows_of_a_source_come_in_order_and_page_by_page() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let places_sent =
        [(2, 0), (1, 5), (1, -1), (-7, 0), (1, 5), (2, 0), (i64::MAX, i32::MAX), (i64::MIN, i32::MIN)];
    let messages: Vec<_> = places_sent
        .iter()
        .map(|(version, index)| {
            let mut message = from("a");
            (message.sequence.version, message.sequence.index) = (*version, *index);
            message
        })
        .collect();
    send(&store, &messages).await;
    let all = lane(&store, None, 100).await;
    let mut expected: Vec<_> = all.iter().map(Stored::place).collect();
    expected.sort();
    assert_eq!(all.iter().map(Stored::place).collect::<Vec<_>>(), expected);
    assert_eq!(all.len(), places_sent.len());
    for limit in 1..4 {
        let mut paged: Vec<Stored> = Vec::new();
        loop {
            let page = lane(&store, paged.last(), limit).await;
            assert!(page.len() <= limit as usize);
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all, "{limit}");
    }
}

#[tokio::test]
async fn the_rotation_visits_every_source_once() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    // In the order of their bytes, which is not that of any language.
    let sources = ["B", "a", "aa", "z", "ä", "\u{1F600}"];
    for source in sources {
        send(&store, &[from(source), from(source), from(source)]).await;
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.look(&discover(after.as_deref(), 2, 2, &["aa"])).await.unwrap();
        assert!(page.rows.len() <= 4);
        seen.extend(page.rows.iter().map(|row| row.lane().unwrap().to_owned()));
        after = page.more_after;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["B", "B", "a", "a", "z", "z", "ä", "ä", "\u{1F600}", "\u{1F600}"]);
    let page = store.look(&discover(None, 5, 1, &["aa"])).await.unwrap();
    assert_eq!((page.rows.len(), page.more_after), (5, None));
}

#[tokio::test]
async fn s44_a_source_that_waits_is_passed_over_and_says_when_it_is_due() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    send(&store, &[from("a"), from("a"), from("b")]).await;
    let rows = look(&store).await.rows;
    record(&store, &[again(rows[0].id, 1, Duration::from_secs(60))]).await;
    let page = look(&store).await;
    assert_eq!(places(&page.rows), [(Some("b"), 0, 0)]);
    assert!(page.next_due.unwrap() > page.now);
    // The source itself shows the row that waits, and nothing behind it.
    let waits = lane(&store, None, 10).await;
    assert_eq!((waits.len(), waits[0].attempts), (1, 1));
}

#[tokio::test]
async fn rows_without_a_source_come_in_the_order_in_which_they_became_due() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let connection = file.raw();
    for (created_at, deliver_at) in [(30, None), (10, Some(40)), (20, None), (20, None), (20, Some(i64::MAX))]
    {
        let insert =
            "insert into tenure_outbox (topic, type, created_at, deliver_at) values ('t', 'k', ?1, ?2)";
        connection.execute(insert, params![created_at, deliver_at]).unwrap();
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let unordered = Some(UnorderedLook { after, limit: 1 });
        let page = store.look(&Look { unordered, ..Look::default() }).await.unwrap();
        assert_eq!(page.next_due.unwrap().as_micros(), i64::MAX);
        let Some(row) = page.rows.first() else { break };
        after = Some((row.due_at, row.id));
        seen.push((row.due_at.as_micros(), row.id.0));
    }
    assert_eq!(seen, [(20, 3), (20, 4), (30, 1), (40, 2)]);
}

#[tokio::test]
async fn a_million_rows_behind_one_source_cost_one_step() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    // Not quite a million: a step that reads them all would take a hundred times longer already.
    file.raw()
        .execute_batch(
            "with recursive n (n) as (select 1 union all select n + 1 from n where n < 50000) \
             insert into tenure_outbox (source, topic, type, deliver_at) \
             select 'parked', 't', 'k', 9000000000000000 from n",
        )
        .unwrap();
    send(&store, &[from("z"), message("1")]).await;
    let start = Instant::now();
    for _ in 0..100 {
        let rows = look(&store).await.rows;
        assert_eq!(places(&rows), [(Some("z"), 0, 0), (None, 0, 0)]);
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn e7_a_million_rows_of_another_part_cost_one_step_or_a_bounded_search() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let source = |name: &str| Part::all(8).unwrap().find(|part| part.has_source(name.as_bytes())).unwrap();
    let mine = source("z");
    let foreign = (0..).map(|number| format!("a{number}")).find(|name| source(name) != mine).unwrap();
    // They are due: a look that reads them to leave them out would take a hundred times longer.
    let fill = |source: &str, rows: u32| {
        file.raw()
            .execute(
                "with recursive n (n) as (select 1 union all select n + 1 from n where n < ?2) \
                 insert into tenure_outbox (source, topic, type, payload) select nullif(?1, ''), 't', 'k', '' from n",
                params![source, rows],
            )
            .unwrap();
    };
    fill(&foreign, 50_000);
    send(&store, &[from("z")]).await;
    let start = Instant::now();
    for _ in 0..100 {
        let page = store.look(&Look { part: Some(mine), ..everything() }).await.unwrap();
        assert_eq!(places(&page.rows), [(Some("z"), 0, 0)]);
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    fill("", 10_000);
    let unordered = Some(UnorderedLook { after: None, limit: 1 });
    let start = Instant::now();
    for part in Part::all(1024).unwrap().take(100) {
        let page =
            store.look(&Look { unordered: unordered.clone(), part: Some(part), ..Look::default() }).await;
        let page = page.unwrap();
        assert!(page.rows.len() == 1 || page.unordered_after.is_some(), "part {part}");
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn large_payloads_are_loaded_on_their_own() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let sizes = [16 * 1024, 16 * 1024 + 1];
    for size in sizes {
        send(&store, &[NewMessage::new("t", "k", Body::Text("x".repeat(size)))]).await;
        send(&store, &[NewMessage::bytes("t", "k", "x/y", vec![7; size])]).await;
    }
    let rows = look(&store).await.rows;
    assert_eq!(rows[0].body, Found::Body(Body::Text("x".repeat(sizes[0]))));
    assert_eq!(rows[1].body, Found::Body(Body::Bytes(vec![7; sizes[0]])));
    assert_eq!((&rows[2].body, &rows[3].body), (&Found::Large, &Found::Large));
    let load = async |id| store.load(id, &Limits::default()).await.unwrap();
    assert_eq!(load(rows[2].id).await, Loaded::Body(Body::Text("x".repeat(sizes[1]))));
    assert_eq!(load(rows[3].id).await, Loaded::Body(Body::Bytes(vec![7; sizes[1]])));
    assert_eq!(load(RowId(99)).await, Loaded::Gone);
}

/// One bad row of each kind, the reason why it is parked, and a good row behind them.
#[tokio::test]
async fn s43_a_bad_row_says_why_and_the_rest_flows() {
    let bad: [(&str, Value, &str); 13] = [
        ("message_id", "7".to_owned().into(), "`7` is not a UUID"),
        ("source", "s".repeat(501).into(), "501 bytes"),
        ("source", String::new().into(), "source is empty"),
        ("source", "a\0b".to_owned().into(), "U+0000"),
        ("source_index", 3_000_000_000_i64.into(), "beyond 32 bits"),
        ("topic", "a\u{1}".to_owned().into(), "topic holds"),
        ("type", String::new().into(), "type is empty"),
        ("payload", "a\0b".to_owned().into(), "NUL"),
        ("payload_bytes", vec![1_u8].into(), "both payload and payload_bytes"),
        ("headers", "[]".to_owned().into(), "no object"),
        ("headers", "{\"a\": {}}".to_owned().into(), "`a`"),
        ("headers", "{".to_owned().into(), "no object"),
        ("content_type", "application/json".to_owned().into(), "says JSON"),
    ];
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    for (column, value, _) in &bad {
        let columns = [("topic", "t"), ("type", "k"), ("payload", "{"), ("source", "lane")];
        let columns: Vec<_> = columns.into_iter().filter(|(name, _)| name != column).collect();
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).chain([*column]).collect();
        let values = columns.iter().map(|(_, value)| Value::from((*value).to_owned())).chain([value.clone()]);
        let marks = ["?", "?", "?", "?", "?"][..names.len()].join(", ");
        let insert = format!("insert into tenure_outbox ({}) values ({marks})", names.join(", "));
        file.raw().execute(&insert, rusqlite::params_from_iter(values)).unwrap();
    }
    send(&store, &[from("good")]).await;
    let mut rows = look(&store).await.rows;
    rows.sort_by_key(|row| row.id);
    assert_eq!(rows.len(), bad.len() + 1);
    for (row, (column, _, reason)) in rows.iter().zip(&bad) {
        let poison = decode(row.clone(), &Limits::default(), None).unwrap_err().to_string();
        assert!(poison.contains(reason), "{column}: {poison}");
        assert_eq!(record(&store, &[dead(row.id, 1, true)]).await, [row.id], "{column}");
    }
    let rows = look(&store).await.rows;
    assert_eq!(places(&rows), [(Some("good"), 0, 0)]);
    decode(only(&store).await, &Limits::default(), None).unwrap();
}

/// SQLite takes any bytes for text. They must neither fail a look nor hide what stands behind them.
#[tokio::test]
async fn text_that_is_not_utf_8_is_parked_and_stops_nobody() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    for column in ["message_id", "source", "topic", "type", "payload", "headers", "content_type"] {
        let rest: Vec<_> = ["topic", "type"].into_iter().filter(|name| *name != column).collect();
        let insert = format!(
            "insert into tenure_outbox ({column}, {}) values (cast(x'6162ff' as text), {})",
            rest.join(", "),
            vec!["'x'"; rest.len()].join(", ")
        );
        file.raw().execute(&insert, []).unwrap();
    }
    send(&store, &[from("zz")]).await;
    for sources in [1, 2, 1000] {
        let look = Look {
            discover: Some(Discover { after: None, sources, rows_each: 9, except: Vec::new() }),
            ..everything()
        };
        let page = store.look(&look).await.unwrap();
        assert_eq!(page.rows.len(), 8, "{sources}");
    }
    for row in look(&store).await.rows {
        match decode(row.clone(), &Limits::default(), None) {
            Ok(_) => assert_eq!(row.lane(), Some("zz")),
            Err(poison) => {
                assert_eq!(row.lane(), None, "{poison}");
                assert_eq!(record(&store, &[done(row.id, 1)]).await, [row.id]);
            }
        }
    }
    assert_eq!(only(&store).await.lane(), Some("zz"));
}

#[tokio::test]
async fn no_payload_at_all_is_no_empty_text() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    file.raw().execute("insert into tenure_outbox (topic, type) values ('t', 'k')", []).unwrap();
    assert_eq!(only(&store).await.body, Found::Unclear(Found::NEITHER));
}

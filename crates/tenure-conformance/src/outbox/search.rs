//! Finding messages: by pages, by time, and no further than was asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::outbox::{
    Body, DeadWalk, Filter, LOOK_MAX, Listing, NewMessage, Retention, RowId, Selection, State, Summary,
};

use super::backend::OutboxBackend;
use super::desk::{Desk, all, done, everywhere, id_of, message, of, only};

async fn search(desk: &Desk<'_>, selection: &Selection) -> Listing {
    let listed = desk.admin.list(selection).await;
    listed.unwrap_or_else(|error| panic!("a list must be answered: {error}"))
}

/// Page by page to the end. Answers all that was found, and how many pages it took.
async fn to_the_end(desk: &Desk<'_>, selection: Selection) -> (Vec<Summary>, usize) {
    let (mut found, mut selection) = (Vec::new(), selection);
    for pages in 1..200 {
        let listing = search(desk, &selection).await;
        assert!(listing.messages.len() <= selection.limit as usize, "a page is bounded: {listing:?}");
        let lowest = listing.messages.last().map(|last| last.row);
        if let (Some(more), Some(lowest)) = (listing.more_before, lowest) {
            assert!(more <= lowest, "it goes on behind what was found: {listing:?}");
        }
        found.extend(listing.messages);
        let Some(more) = listing.more_before else { return (found, pages) };
        assert!(selection.before.is_none_or(|before| more < before), "each page gets on");
        selection.before = Some(more);
    }
    panic!("a search must come to its end");
}

fn rows(found: &[Summary]) -> Vec<RowId> {
    found.iter().map(|message| message.row).collect()
}

/// All pages together are all there is, none twice, also while others enqueue and sweep.
pub async fn a_search_ends_where_it_was_told_and_goes_on_from_there(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..30).map(message).collect();
    desk.sends(&sent).await;
    for row in desk.looks(&everywhere()).await.rows.iter().filter(|row| row.id.0 % 3 == 0) {
        desk.settles(done(row)).await;
    }
    let whole = search(&desk, &Selection { limit: 100, ..Selection::default() }).await;
    assert_eq!((whole.messages.len(), whole.more_before), (30, None));
    assert!(whole.messages.windows(2).all(|pair| pair[0].row > pair[1].row), "the newest first");
    let oldest = whole.messages.last().map(|last| last.created_at);
    assert_eq!(whole.looked_back_to, oldest, "all was looked at");
    let exact = search(&desk, &Selection { limit: 30, ..Selection::default() }).await;
    assert_eq!((exact.messages.len(), exact.more_before), (30, None), "there are no more, and it says so");

    let retention = Retention { dispatched: Some(Duration::ZERO), ..Retention::default() };
    backend.pass(Duration::from_millis(20)).await;
    for (limit, steps) in [(7, 0), (1, 1), (4, 3), (100, 11), (3, LOOK_MAX), (2, u32::MAX)] {
        let (mut found, mut selection) = (Vec::new(), Selection { limit, steps, ..Selection::default() });
        let there = rows(&search(&desk, &Selection { limit: 200, ..Selection::default() }).await.messages);
        loop {
            let listing = search(&desk, &selection).await;
            found.extend(rows(&listing.messages));
            let Some(more) = listing.more_before else { break };
            selection.before = Some(more);
            if selection.steps == 3 {
                desk.sends(&[message(100)]).await;
                let swept = desk.store.sweep(None, &Retention { batch: 2, ..retention.clone() }, None).await;
                swept.expect("a sweep");
            }
        }
        assert!(found.windows(2).all(|pair| pair[0] > pair[1]), "none twice, and in order: {found:?}");
        let gone = there.iter().filter(|row| !found.contains(row)).count();
        assert!(gone == 0 || steps == 3, "{gone} are missing at limit {limit}, steps {steps}");
        let still: BTreeSet<_> =
            rows(&search(&desk, &Selection { limit: 200, ..Selection::default() }).await.messages)
                .into_iter()
                .collect();
        assert!(there.iter().filter(|row| still.contains(row)).all(|row| found.contains(row)), "no gaps");
    }
}

/// The bound is on what is looked at: a filter that fits the first message only is answered by empty pages, at a known cost.
pub async fn a_search_looks_at_no_more_rows_than_it_may(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let rare = NewMessage { topic: "rare".into(), ..message(0) };
    desk.sends(std::slice::from_ref(&rare)).await;
    let many: Vec<_> = (1..300).map(message).collect();
    desk.sends(&many).await;
    for state in [None, Some(State::Pending)] {
        let filter = Filter { state, topic: Some("rare".into()), ..all() };
        let mut selection = Selection { filter, limit: 10, steps: 100, before: None };
        for page in 0..2 {
            let listing = search(&desk, &selection).await;
            assert_eq!(listing.messages, [], "page {page} of {state:?} looks at a hundred rows only");
            assert!(listing.looked_back_to.is_some() && listing.more_before.is_some());
            selection.before = listing.more_before;
        }
        let listing = search(&desk, &selection).await;
        assert_eq!(listing.messages.len(), 1, "{state:?}");
        assert_eq!(listing.messages[0].id, id_of(&rare).to_string());
        let everything = Selection { steps: 0, before: None, ..selection };
        assert_eq!(search(&desk, &everything).await.messages.len(), 1, "{state:?}");
    }
    // Also a search by state alone: none of these was dispatched.
    let dispatched = Filter { state: Some(State::Dispatched), ..all() };
    let selection = Selection { filter: dispatched, limit: 10, steps: 100, before: None };
    let (found, pages) = to_the_end(&desk, selection).await;
    assert_eq!(found, []);
    assert!((3..=4).contains(&pages), "300 rows, a hundred at a time: {pages} pages");
}

/// By state, page by page: each message is found under its state and under no other.
pub async fn a_search_by_state_has_no_gaps(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let sent: Vec<_> = (0..24).map(|number| of(&format!("s{}", number % 5), number)).collect();
    for (number, message) in sent.iter().enumerate() {
        match number % 4 {
            0 => desk.delivers(message).await,
            1 => desk.buries(message, false).await,
            2 => {
                desk.buries(message, false).await;
                desk.discards(&only(message), "ann", 1).await;
            }
            _ => {
                desk.sends(std::slice::from_ref(message)).await;
            }
        }
    }
    let expected = [State::Dispatched, State::Dead, State::Discarded, State::Pending];
    for (place, state) in expected.into_iter().enumerate() {
        let filter = Filter { state: Some(state), ..all() };
        let mut wanted: Vec<_> =
            sent.iter().skip(place).step_by(4).map(|message| id_of(message).to_string()).collect();
        wanted.reverse();
        for (limit, steps) in [(100, 0), (2, 0), (2, 3), (1, 1)] {
            let selection = Selection { filter: filter.clone(), limit, steps, before: None };
            let (found, _) = to_the_end(&desk, selection).await;
            assert!(found.iter().all(|found| found.state == state), "{state:?}: {found:?}");
            let found: Vec<_> = found.into_iter().map(|found| found.id).collect();
            assert_eq!(found, wanted, "{state:?} at {limit}, {steps}");
        }
        let of_source = Filter { source: Some("s1".into()), ..filter };
        let selection = Selection { filter: of_source, limit: 3, steps: 2, before: None };
        let (found, _) = to_the_end(&desk, selection).await;
        let wanted = sent.iter().skip(place).step_by(4).filter(|sent| sent.source.as_deref() == Some("s1"));
        assert_eq!(found.len(), wanted.count(), "{state:?} of a source");
    }
}

/// From a moment on, up to before another: the edges belong to where they are said to.
pub async fn a_search_by_time_finds_the_edges(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let mut moments = Vec::new();
    for number in 0..12 {
        let one = message(number);
        if number % 3 == 0 {
            desk.delivers(&one).await
        } else {
            desk.sends(std::slice::from_ref(&one)).await;
        }
        moments.push(desk.summary(&one).await.created_at);
        backend.pass(Duration::from_millis(3)).await;
    }
    assert!(moments.windows(2).all(|pair| pair[0] < pair[1]), "time passes: {moments:?}");
    let found = async |from, until, state| {
        let filter = Filter { from, until, state, ..all() };
        let (found, _) = to_the_end(&desk, Selection { filter, limit: 5, ..Selection::default() }).await;
        found.into_iter().map(|found| found.created_at).rev().collect::<Vec<_>>()
    };
    for (from, until) in [(0, 11), (3, 7), (5, 6), (4, 4), (11, 0)] {
        let wanted = if from < until { &moments[from..until] } else { &[] };
        assert_eq!(found(Some(moments[from]), Some(moments[until]), None).await, wanted, "{from} to {until}");
    }
    assert_eq!(found(Some(moments[9]), None, None).await, moments[9..]);
    assert_eq!(found(None, Some(moments[2]), None).await, moments[..2]);
    let long_ago = tenure_core::time::StoreTime::from_micros(0);
    let far = tenure_core::time::StoreTime::from_micros(moments[11].as_micros() + 60_000_000);
    assert_eq!(found(Some(long_ago), Some(far), None).await, moments);
    assert_eq!(found(None, Some(long_ago), None).await, []);
    assert_eq!(found(Some(far), None, None).await, []);
    let pending: Vec<_> =
        moments[2..9].iter().enumerate().filter(|(at, _)| (at + 2) % 3 != 0).map(|(_, at)| *at).collect();
    assert_eq!(found(Some(moments[2]), Some(moments[9]), Some(State::Pending)).await, pending);
}

/// No more of a payload is read than was asked for, and its size is told all the same.
pub async fn a_payload_is_cut_where_it_was_told_and_its_size_is_whole(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let text = format!("{{\"a\":\"{}\"}}", "x".repeat(5_000));
    let written = NewMessage { body: Body::Text(text.clone()), ..message(1) };
    let bytes: Vec<u8> = (0..5_000).map(|number| (number % 251) as u8).collect();
    let raw = NewMessage { body: Body::Bytes(bytes.clone()), ..message(2) };
    let small = message(3);
    desk.sends(&[written.clone(), raw.clone(), small.clone()]).await;
    let show = async |message: &NewMessage, most: usize| {
        let shown = desk.admin.show(&id_of(message).to_string(), most).await.expect("an answer");
        shown.expect("a message")
    };
    for (message, whole, is_text) in [(&written, text.as_bytes(), true), (&raw, &bytes[..], false)] {
        for most in [0, 1, 4_096, 4_999, whole.len(), 1_000_000, usize::MAX] {
            let shown = show(message, most).await;
            let cut = &whole[..whole.len().min(most)];
            assert_eq!(shown.payload.as_deref(), Some(cut), "at most {most}");
            assert_eq!((shown.payload_bytes, shown.is_text), (whole.len() as u64, is_text));
        }
    }
    let shown = show(&small, 4_096).await;
    assert_eq!(shown.payload.as_deref(), Some(small.body.as_bytes()));
    assert_eq!(shown.payload_bytes, small.body.as_bytes().len() as u64);
}

/// A filter is data, whatever stands in it.
pub async fn filters_that_are_sql_stay_filters(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let quoted = "' OR 1=1 --";
    desk.sends(&[message(1), NewMessage { topic: quoted.into(), ..message(2) }]).await;
    desk.buries(&message(3), false).await;
    let long = "x".repeat(10_000);
    for text in [quoted, "%", "_", "\\", "\"; drop table x; --", "🦀", "a\0b", &long] {
        let with = |put: fn(&mut Filter, String)| {
            let mut filter = all();
            put(&mut filter, text.to_owned());
            filter
        };
        let filters = [
            with(|filter, text| filter.topic = Some(text)),
            with(|filter, text| filter.source = Some(text)),
            with(|filter, text| filter.kind = Some(text)),
            with(|filter, text| filter.id = Some(text)),
        ];
        for (place, filter) in filters.into_iter().enumerate() {
            let wanted = usize::from(place == 0 && text == quoted);
            let selection = Selection { filter: filter.clone(), limit: 10, ..Selection::default() };
            // A database may refuse a text that no column of it can hold.
            let found = desk.admin.list(&selection).await.map(|listing| listing.messages.len());
            assert!(found.as_ref().is_ok_and(|found| *found == wanted) || text.contains('\0'), "{found:?}");
            let counted =
                desk.admin.count_dead(&DeadWalk::of(filter.clone(), 10)).await.map(|count| count.number);
            assert!(counted.as_ref().is_ok_and(|found| *found == 0) || text.contains('\0'), "{counted:?}");
        }
        let shown = desk.admin.show(text, 10).await;
        assert!(matches!(shown, Ok(None)) || text.contains('\0'), "{shown:?}");
    }
    assert_eq!(desk.stats().await.dead, 1, "nothing was changed");
}

//! Streams by name, and events by what they share.

use tenure_core::event::{
    Append, Expected, Metadata, NewEvent, Position, STREAMS_MAX, Snapshot, StreamLine, Version,
};
use tenure_core::outbox::Body;

use super::backend::EventBackend;
use super::scribe::{Scribe, event, numbers, stream, to};
use crate::backend::Need;
use crate::suite::skip;

fn names(lines: &[StreamLine]) -> Vec<&str> {
    lines.iter().map(|line| line.stream.as_str()).collect()
}

fn sharing(correlation: &str, number: u32) -> NewEvent {
    let metadata = Metadata { correlation: Some(correlation.to_owned()), ..Metadata::default() };
    NewEvent { metadata, ..event(number) }
}

/// A name begins with a prefix byte by byte, and nothing in a prefix is a pattern.
pub async fn streams_are_listed_by_bytes_after_a_prefix(backend: &dyn EventBackend) {
    let (ann, stories) = (Scribe::open(backend).await, backend.operators().await.stories);
    let list = async |prefix: &str, after: Option<&str>, limit: u32| {
        let after = after.map(stream);
        stories.streams(prefix, after.as_ref(), limit).await.expect("a list")
    };
    assert_eq!(list("", None, 10).await, []);
    let mut all = vec![
        "loan-1",
        "loan-10",
        "loan-2",
        "loan",
        "Loan-1",
        "loan%",
        "loan_1",
        "lo\\an",
        "l'oan",
        "l\"oan",
        "lo",
        "\u{1f980}-1",
        "\u{1f980}",
        "ä",
        "z",
        "loan-1 ",
        "lp",
        "\u{10ffff}x",
    ];
    for name in &all {
        ann.appends(&to(name, [1, 2])).await;
    }
    ann.appends(&to("loan-1", [3])).await;
    all.sort_unstable();
    assert_eq!(names(&list("", None, 100).await), all, "by their bytes");
    for prefix in [
        "loan",
        "loan-",
        "loan-1",
        "loan%",
        "loan_",
        "lo",
        "lo\\",
        "l'",
        "l\"",
        "\u{1f980}",
        "none",
        "%",
        "\u{10ffff}",
        "lp",
    ] {
        let wanted: Vec<_> = all.iter().copied().filter(|name| name.starts_with(prefix)).collect();
        assert_eq!(names(&list(prefix, None, 100).await), wanted, "{prefix:?}");
        let (mut paged, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
        loop {
            let page = list(prefix, after.as_deref(), 2).await;
            let Some(last) = page.last() else { break };
            after = Some(last.stream.as_str().to_owned());
            paged.extend(page.iter().map(|line| line.stream.as_str().to_owned()));
        }
        assert_eq!(paged, wanted, "{prefix:?} page by page");
    }
    assert_eq!(list("", None, u32::MAX).await.len().min(STREAMS_MAX as usize), all.len());
    assert_eq!(list("loan", Some("z"), 10).await, [], "nothing of the prefix stands behind");
    let body = Body::Text("{}".into());
    let snapshot =
        Snapshot { stream: stream("loan-1"), version: Version(2), kind: "k".into(), schema: 1, body };
    ann.events.save_snapshot(&snapshot).await.expect("a snapshot");
    let lines = list("loan-1", None, 1).await;
    assert_eq!(
        lines,
        [StreamLine { stream: stream("loan-1"), version: Version(3), snapshot: Some(Version(2)) }]
    );
    assert_eq!(list("loan-2", None, 1).await[0].snapshot, None);
}

/// All events of a correlation, in order, over all streams; and of no other.
pub async fn a_story_has_all_events_of_its_correlation_and_no_others(backend: &dyn EventBackend) {
    let (ann, stories) = (Scribe::open(backend).await, backend.operators().await.stories);
    let read = async |correlation: &str, after: i64, limit: u32| {
        let page = stories.story(correlation, Position(after), limit).await.expect("a story");
        assert_eq!(page.unreadable, []);
        page.events
    };
    for number in 0..20 {
        let shared = match number % 4 {
            0 => sharing("story 7", number),
            1 => sharing("story 7 ", number),
            2 => sharing("STORY 7", number),
            _ => event(number),
        };
        let name = format!("s{}", number % 3);
        ann.appends(&Append::new(stream(&name), Expected::Any, vec![shared])).await;
    }
    let story = read("story 7", 0, 100).await;
    assert_eq!(numbers(&story), [0, 4, 8, 12, 16]);
    assert!(story.windows(2).all(|pair| pair[0].position < pair[1].position));
    assert!(story.iter().all(|event| event.metadata.correlation.as_deref() == Some("story 7")));
    assert_eq!(numbers(&read("story 7", 0, 2).await), [0, 4]);
    assert_eq!(numbers(&read("story 7", story[1].position.0, 2).await), [8, 12]);
    assert_eq!(read("story 7", story[4].position.0, 10).await, []);
    for other in ["story", "", "%", "' OR 1=1 --", &"x".repeat(10_000)] {
        assert_eq!(read(other, 0, 10).await, [], "{other:?}");
    }
}

/// A row that cannot be read is told, and holds nobody up.
pub async fn a_story_tells_of_a_row_that_cannot_be_read(backend: &dyn EventBackend) {
    let (ann, stories) = (Scribe::open(backend).await, backend.operators().await.stories);
    let shared = (0..3).map(|number| sharing("s", number)).collect();
    ann.appends(&Append::new(stream("s"), Expected::Any, shared)).await;
    let story = stories.story("s", Position::START, 10).await.expect("a story").events;
    if !backend.damage(story[1].position).await {
        return skip(backend, Need::Damage);
    }
    let page = stories.story("s", Position::START, 10).await.expect("a story");
    assert_eq!(numbers(&page.events), [0, 2]);
    assert_eq!(page.unreadable.iter().map(|row| row.position).collect::<Vec<_>>(), [story[1].position]);
}

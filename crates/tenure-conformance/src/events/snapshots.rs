//! Snapshots: only the newest one of a stream counts.

use tenure_core::event::{Snapshot, Version};
use tenure_core::outbox::Body;

use super::backend::EventBackend;
use super::scribe::{Scribe, stream};

fn snapshot(name: &str, version: i64, payload: &str) -> Snapshot {
    let body = Body::Text(payload.to_owned());
    Snapshot { stream: stream(name), version: Version(version), kind: "book".into(), schema: 1, body }
}

async fn load(scribe: &Scribe, name: &str) -> Option<Snapshot> {
    scribe.events.load_snapshot(&stream(name)).await.expect("an answer")
}

/// It is there as it was saved, for its stream alone.
pub async fn a_snapshot_is_kept_as_it_is(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    assert_eq!(load(&ann, "s").await, None);
    let texts = snapshot("s", 3, " {\"b\":1.0,\n\"a\": \"\u{e9}'\"} ");
    let bytes = Snapshot {
        schema: 7,
        kind: "b\u{fc}ch".into(),
        body: Body::Bytes(vec![0, 255, 1]),
        ..snapshot("S", 1, "")
    };
    let large = snapshot("large", 9, &format!("\"{}\"", "x".repeat(300_000)));
    for snapshot in [texts, bytes, large] {
        ann.events.save_snapshot(&snapshot).await.expect("saved");
        assert_eq!(load(&bob, snapshot.stream.as_str()).await, Some(snapshot));
    }
    assert_eq!(load(&bob, "t").await, None);
}

/// A slow node's older snapshot is not kept, a newer one is; at the same version the last one is.
pub async fn only_a_snapshot_that_is_not_older_is_kept(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let mut newest = snapshot("s", 5, "5");
    ann.events.save_snapshot(&newest).await.expect("saved");
    bob.events.save_snapshot(&snapshot("s", 4, "4")).await.expect("an answer");
    assert_eq!(load(&ann, "s").await, Some(newest.clone()));
    // A new kind or schema writes the same version anew.
    newest = Snapshot { kind: "book2".into(), schema: 2, body: Body::Bytes(vec![5]), ..newest };
    bob.events.save_snapshot(&newest).await.expect("saved");
    assert_eq!(load(&ann, "s").await, Some(newest));
    let newer = snapshot("s", 6, "6");
    bob.events.save_snapshot(&newer).await.expect("saved");
    assert_eq!(load(&ann, "s").await, Some(newer));
}

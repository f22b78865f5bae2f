//! Wake-ups: hints only, but where there are any they come.

use std::sync::Arc;

use tenure_core::contract::Wakeup;
use tenure_core::event::Position;

use super::backend::EventBackend;
use super::scribe::{Scribe, first_time, numbers, to};
use crate::backend::Need;
use crate::outbox::wakeup::hinted;
use crate::suite::skip;

async fn watch(scribe: &Scribe) -> Option<Arc<dyn Wakeup>> {
    scribe.events.watch().await.expect("an answer")
}

/// Who is armed is told of what other nodes append, and of what its own store does.
pub async fn s47_an_armed_reader_is_woken_by_an_append(backend: &dyn EventBackend) {
    let (ann, bob) = (Scribe::open(backend).await, Scribe::open(backend).await);
    let Some(wakeup) = watch(&ann).await else { return skip(backend, Need::Wakeup) };
    wakeup.arm(true);
    assert!(hinted(&wakeup).await, "arming has taken effect");
    for (number, who) in [&bob, &ann, &bob].into_iter().enumerate() {
        who.appends(&to("s", [number as u32])).await;
        assert!(hinted(&wakeup).await, "append {number}");
    }
}

/// And of what a user's own program commits.
pub async fn s47_an_armed_reader_is_woken_by_a_users_commit(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let Some(wakeup) = watch(&ann).await else { return skip(backend, Need::Wakeup) };
    wakeup.arm(true);
    assert!(hinted(&wakeup).await, "arming has taken effect");
    for number in 0..2 {
        let Some(mut open) = backend.begin_append().await else { return skip(backend, Need::UserAppend) };
        first_time(open.append(&to("s", [number])).await.expect("an answer"));
        open.commit().await.expect("committed");
        assert!(hinted(&wakeup).await, "commit {number}");
    }
}

/// Whatever was appended while it was not armed, it is told to look once it is armed again.
pub async fn s47_arming_a_reader_again_is_told(backend: &dyn EventBackend) {
    let ann = Scribe::open(backend).await;
    let Some(wakeup) = watch(&ann).await else { return skip(backend, Need::Wakeup) };
    for number in 0..2 {
        wakeup.arm(true);
        assert!(hinted(&wakeup).await);
        wakeup.arm(false);
        ann.appends(&to("s", [number])).await;
    }
    wakeup.arm(true);
    assert!(hinted(&wakeup).await);
    let page = ann.page(Position::START, 10).await;
    assert_eq!(numbers(&page.events), [0, 1], "and with no hint at all it would be there as well");
}

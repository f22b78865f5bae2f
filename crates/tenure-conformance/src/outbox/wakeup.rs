//! Wake-ups: hints only, but where there are any they come.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::Wakeup;

use super::backend::OutboxBackend;
use super::desk::{Desk, message};
use crate::backend::Need;
use crate::suite::skip;

/// A hint that has not come by then does not come.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn hinted(wakeup: &Arc<dyn Wakeup>) -> bool {
    // Safe to drop by contract.
    matches!(tokio::time::timeout(PATIENCE, wakeup.hint()).await, Ok(Ok(())))
}

/// Who is armed is told of what a user's own program commits; arming itself is told once it has taken effect.
pub async fn s47_an_armed_relay_is_woken_by_a_users_commit(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let Some(wakeup) = desk.store.listen().await.expect("an answer") else {
        return skip(backend, Need::Wakeup);
    };
    wakeup.arm(true);
    assert!(hinted(&wakeup).await, "arming has taken effect");
    for number in 0..3 {
        let mut transaction = backend.begin().await;
        transaction.enqueue(&[message(number)]).await.expect("enqueued");
        transaction.commit().await.expect("committed");
        assert!(hinted(&wakeup).await, "commit {number}");
    }
}

/// And of what is enqueued through the very store that it works on, as in a program that both sends and relays.
pub async fn s47_an_armed_relay_is_woken_by_its_own_stores_commit(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let Some(wakeup) = desk.store.listen().await.expect("an answer") else {
        return skip(backend, Need::Wakeup);
    };
    wakeup.arm(true);
    assert!(hinted(&wakeup).await, "arming has taken effect");
    for number in 0..3 {
        desk.sends(&[message(number)]).await;
        assert!(hinted(&wakeup).await, "commit {number}");
    }
}

/// Whatever was enqueued while it was not armed, it is told to look once it is armed again.
pub async fn s47_arming_again_is_told(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let Some(wakeup) = desk.store.listen().await.expect("an answer") else {
        return skip(backend, Need::Wakeup);
    };
    for number in 0..2 {
        wakeup.arm(true);
        assert!(hinted(&wakeup).await);
        wakeup.arm(false);
        desk.sends(&[message(number)]).await;
    }
    wakeup.arm(true);
    assert!(hinted(&wakeup).await);
    assert_eq!(desk.due().await.len(), 2, "and with no hint at all it would be there as well");
}

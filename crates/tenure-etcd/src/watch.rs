//! The hint that a grant is over: a watch on its key.

use std::time::Duration;

use etcd_client::{EventType, WatchFilterType, WatchOptions};
use tenure_core::StoreError;
use tenure_core::contract::Watch;
use tenure_core::lease::Term;

use crate::call::Call;
use crate::error::store_error;
use crate::keys::Keys;
use crate::link::Link;
use crate::look::Look;

/// Waits for the grant with this term to be over. Dropping the future resets the stream, and etcd ends the watch.
pub(crate) async fn watch(
    link: &Link,
    keys: &Keys,
    term: Term,
    patience: Duration,
) -> Result<Watch, StoreError> {
    match tokio::time::timeout(patience, until_gone(link, keys, term)).await {
        Ok(Ok(())) => Ok(Watch::Fallen),
        Ok(Err(error)) => Err(error),
        Err(_) => Ok(Watch::StillUp),
    }
}

async fn until_gone(link: &Link, keys: &Keys, term: Term) -> Result<(), StoreError> {
    let mut call = Call::begin(link);
    let look = Look::take(&mut call, keys).await?;
    if look.held.is_none_or(|held| held.term != term) {
        return Ok(());
    }
    // From the revision after the read: nothing that happens in between is missed. Renewals are of no interest.
    let options =
        WatchOptions::new().with_start_revision(look.revision + 1).with_filters([WatchFilterType::NoPut]);
    let mut stream = call.watch(&keys.held, options).await?;
    loop {
        let message = stream.message().await;
        let message = message.map_err(|error| store_error(&link.label, "watching the lease", error))?;
        let Some(message) = message else {
            return Err(unwatched(link, "etcd ended the watch without a word"));
        };
        if message.canceled() {
            return Err(unwatched(link, &why_cancelled(message.compact_revision(), message.cancel_reason())));
        }
        if message.events().iter().any(|event| event.event_type() == EventType::Delete) {
            return Ok(());
        }
    }
}

fn unwatched(link: &Link, why: &str) -> StoreError {
    StoreError::Unreachable { store: link.label.to_string(), message: format!("watching the lease: {why}") }
}

fn why_cancelled(compacted: i64, reason: &str) -> String {
    match (compacted, reason) {
        (0, "") => "etcd cancelled the watch".to_owned(),
        (0, reason) => format!("etcd cancelled the watch: {reason}"),
        (revision, _) => format!("etcd has forgotten what was before revision {revision}"),
    }
}

//! Telling one who waits that it is its turn.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Vacancy, Watch};
use tenure_core::lease::{LeaseName, Term};

use super::member::{Member, Waiting};
use super::store::{Inner, KafkaLeases};

#[async_trait]
impl Vacancy for KafkaLeases {
    async fn watch(&self, name: &LeaseName, term: Term, patience: Duration) -> Result<Watch, StoreError> {
        let watching = async {
            match self.0.present(name) {
                Some(member) => until_ours(&member).await,
                None => self.0.until_over(name, term).await,
            }
        };
        match tokio::time::timeout(patience, watching).await {
            Ok(ended) => ended.map(|()| Watch::Fallen),
            Err(_) => Ok(Watch::StillUp),
        }
    }
}

/// Returns when the group has given us the partition: that the former holder has left is no use before.
async fn until_ours(member: &Member) -> Result<(), StoreError> {
    let _waiting = Waiting::begin(&member.seat);
    let mut changes = member.seat.follow();
    loop {
        {
            let state = member.seat.lock();
            let ours = state.assigned().is_some() && state.holding.is_none();
            if ours || state.closed || state.failure.is_some() {
                return Ok(());
            }
        }
        if changes.changed().await.is_err() {
            return Ok(());
        }
    }
}

impl Inner {
    /// Returns when the topic says that the grant is over; for one who has not claimed.
    async fn until_over(&self, name: &LeaseName, term: Term) -> Result<(), StoreError> {
        let tail = self.tail().await?;
        let mut follower = tail.follow();
        let over = follower
            .wait_for(|view| {
                let seen = view.leases.get(name);
                seen.is_some_and(|seen| seen.term > term || !seen.sign.what.is_held())
            })
            .await;
        // A reader that has stopped tells nothing; a hint more does no harm.
        drop(over);
        Ok(())
    }
}

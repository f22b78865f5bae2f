//! The watch on one object, which tells a contender that it is free.
//!
//! It does one thing more: each change it hears of is a sight of the object. A contender that waits then counts a dead
//! holder's duration from its last renewal, and not from when it next would have looked.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Vacancy, Watch};
use tenure_core::lease::{LeaseName, Term};
use tokio::time::Instant;

use crate::decide::is_over;
use crate::requests::News;
use crate::store::{KubernetesStore, Shared};

/// The longest single stream. Shorter than the silence after which a connection counts as dead.
const STREAM_MAX: Duration = Duration::from_secs(20);
/// How long to wait before a stream that ended at once is opened again.
const BREATH: Duration = Duration::from_millis(100);

#[async_trait]
impl Vacancy for KubernetesStore {
    async fn watch(&self, name: &LeaseName, term: Term, patience: Duration) -> Result<Watch, StoreError> {
        let end = Instant::now() + patience;
        loop {
            let began = Instant::now();
            let left = end.saturating_duration_since(began);
            // A look has its own deadline, even where patience has none left: it is what makes a watch answer at all.
            let found = self.shared.look(name, began + left.min(self.shared.timeout()).max(BREATH)).await?;
            let seen = found.as_ref().map(|(object, _)| &object.seen);
            let Some(seen) = seen.filter(|seen| !is_over(Some(seen), term)) else { return Ok(Watch::Fallen) };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Watch::StillUp);
            }
            let heed = listener(Arc::clone(&self.shared), name.clone(), term);
            let object = self.shared.object_name(name);
            let heard =
                self.shared.requests.watch(&object, &seen.version, left.min(STREAM_MAX), heed).await?;
            if heard.unwrap_or_default() == Heard::Over {
                return Ok(Watch::Fallen);
            }
            // A stream may end for many reasons, 410 among them: look, and watch from there. Not in a hot loop.
            if began.elapsed() < BREATH {
                tokio::time::sleep_until((began + BREATH).min(end)).await;
            }
        }
    }
}

/// What a stream came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// The grant is over.
    Over,
    /// Nothing is known: look again.
    #[default]
    Nothing,
}

/// Notes every change, and stops at the one that ends the grant.
fn listener(shared: Arc<Shared>, name: LeaseName, term: Term) -> impl FnMut(News) -> Option<Heard> + Send {
    move |news| match news {
        News::Changed(lease) => match shared.see(&name, *lease) {
            Ok((object, _)) => is_over(Some(&object.seen), term).then_some(Heard::Over),
            // What cannot be read is told by the look that follows.
            Err(_) => Some(Heard::Nothing),
        },
        News::Deleted => {
            shared.see_none(&name);
            Some(Heard::Over)
        }
        News::Ended => Some(Heard::Nothing),
    }
}

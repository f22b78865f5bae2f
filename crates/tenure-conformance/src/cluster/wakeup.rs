//! Wake-ups: hints only, but where there are any they come.

use std::time::Duration;

use super::actor::{Scene, all_taken};
use super::backend::ClusterBackend;
use crate::backend::Need;
use crate::outbox::wakeup::hinted;
use crate::suite::skip;

/// After how long without a hint there is none left.
const QUIET: Duration = Duration::from_millis(200);

/// Who is armed is told of what other nodes and the leader change.
pub async fn s47_an_armed_node_is_woken_by_a_change(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let watch = backend.cluster().await.watch().await.expect("an answer");
    let Some(wakeup) = watch else { return skip(backend, Need::Wakeup) };
    wakeup.arm(true);
    assert!(hinted(&wakeup).await, "arming has taken effect");
    let row = scene.assigned("work/a", &scene.ann).await;
    assert!(hinted(&wakeup).await, "assigned");
    all_taken(scene.ann.acknowledges(&row).await);
    assert!(hinted(&wakeup).await, "acknowledged");
    all_taken(scene.bob.leaves().await);
    assert!(hinted(&wakeup).await, "leaving");
    // What is left over of the changes.
    while tokio::time::timeout(QUIET, wakeup.hint()).await.is_ok() {}
    backend.cluster().await.wake().await.expect("an answer");
    assert!(hinted(&wakeup).await, "by hand");
}

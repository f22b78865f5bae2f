//! The leader: only the holder of its lease places anything.

use tenure_core::cluster::{Answer, Placement, Refusal};

use super::actor::{Actor, Scene, all_taken, assert_fenced, outlive, refusal};
use super::backend::ClusterBackend;
use crate::lease::player::named;

/// Everyone sees who leads, and when nobody does.
pub async fn a_look_shows_who_leads(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let look = scene.look().await;
    assert_eq!(look.leads(), Some((scene.lea.name(), scene.lea.term())));
    scene.lea.ends().await;
    assert_eq!(scene.look().await.leads(), None);
    let mia = Actor::leads(backend, "mia").await;
    let look = scene.look().await;
    assert_eq!(look.leads(), Some((mia.name(), mia.term())));
    assert!(mia.term() > scene.lea.term());
}

/// Every order that a leader can give.
async fn every_order(scene: &Scene<'_>) -> Vec<Placement> {
    let (free, running) = (scene.row("work/free").await, scene.row("work/held").await);
    vec![
        Actor::assign(&free, &scene.ann),
        Actor::revoke(&running, Some(&scene.bob)),
        Actor::unassign(&running),
        Placement::Explain { daemon: free.name().clone(), reason: "for no reason".to_owned() },
        Placement::Forget { node: scene.bob.name().clone(), term: scene.bob.term() },
    ]
}

async fn is_fenced(scene: &Scene<'_>, what: &str) {
    let before = scene.everything().await;
    for placement in every_order(scene).await {
        let answer = scene.lea.places(vec![placement.clone()]).await;
        assert!(matches!(answer, Answer::Fenced(_)), "{what}, {placement:?}: {answer:?}");
        assert_eq!(scene.everything().await, before, "{what}, {placement:?}");
    }
    scene.tells_one_story().await;
}

/// A leader that was followed by another changes nothing: no row, no generation, no lease, no line of history.
pub async fn s63_a_deposed_leader_changes_nothing(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/free", "work/held"]).await;
    scene.running("work/held", &scene.ann).await;
    scene.lea.ends().await;
    is_fenced(&scene, "nobody leads").await;
    let mia = Actor::leads(backend, "mia").await;
    is_fenced(&scene, "another one leads").await;
    all_taken(mia.places(vec![Actor::assign(&scene.row("work/free").await, &scene.bob)]).await);
    is_fenced(&scene, "another one has placed").await;
}

/// A leader whose ttl has ended changes nothing, even when nobody has followed.
pub async fn s63_an_expired_leader_changes_nothing(backend: &dyn ClusterBackend) {
    let mut scene = Scene::with(backend, &["work/free", "work/held"]).await;
    scene.running("work/held", &scene.ann).await;
    scene.lea.ends().await;
    let lease = named(tenure_core::cluster::LEADER_LEASE);
    scene.lea = Actor::takes(backend, "lea", &lease, backend.short_ttl()).await;
    outlive(backend).await;
    is_fenced(&scene, "its ttl has ended").await;
}

/// Any other lease is no office of a leader's, though it be held and its term be the same.
pub async fn s63_only_the_leaders_lease_places(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let before = scene.everything().await;
    assert_eq!(scene.ann.term(), scene.lea.term());
    let placement = Actor::assign(&scene.row("work/a").await, &scene.ann);
    let answer = refusal(scene.ann.places(vec![placement.clone()]).await);
    assert!(matches!(answer, Refusal::Invalid(_)), "{answer}");
    let mut wrong = scene.lea.clone();
    wrong.grant.term = wrong.term().next().expect("a term");
    assert_fenced(&wrong.places(vec![placement.clone()]).await);
    assert_eq!(scene.everything().await, before);
    all_taken(scene.lea.places(vec![placement]).await);
    scene.tells_one_story().await;
}

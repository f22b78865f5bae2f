//! Many at once: orders happen one after another, and clusters do not see each other.

use tenure_core::cluster::{Cursor, Verdict};

use super::actor::{ALL, Actor, Scene, all_taken, spec, verdicts};
use super::backend::ClusterBackend;
use crate::backend::Need;
use crate::events::scribe::at_once;
use crate::suite::skip;

/// Of many leaders' orders for one daemon one is taken, however they come.
pub async fn s71_of_many_assignments_at_once_one_is_taken(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let row = scene.row("work/a").await;
    let mut parts = Vec::new();
    for number in 0..8 {
        let (mut lea, to) = (scene.lea.clone(), if number % 2 == 0 { &scene.ann } else { &scene.bob });
        lea.cluster = backend.cluster().await;
        let placement = Actor::assign(&row, to);
        parts.push(async move { verdicts(lea.places(vec![placement]).await) });
    }
    let taken = at_once(parts).await.iter().filter(|verdicts| verdicts[..] == [Verdict::Taken]).count();
    assert_eq!(taken, 1);
    assert_eq!(scene.row("work/a").await.moves, 1);
    scene.tells_one_story().await;
}

/// Orders from many nodes at once each are one change, and whoever reads along by revision sees every one.
pub async fn s71_orders_at_once_happen_one_after_another(backend: &dyn ClusterBackend) {
    const NODES: usize = 6;
    const EACH: usize = 8;
    let scene = Scene::with(backend, &[]).await;
    let before = scene.revision().await;
    let mut parts = Vec::new();
    for number in 0..NODES {
        let node = Actor::enters(backend, &format!("node-{number}"), crate::lease::player::LONG).await;
        parts.push(async move {
            all_taken(node.registers(node.member()).await);
            for part in 0..EACH {
                node.declares(vec![spec(&format!("work/{number}/{part}"))]).await;
            }
        });
    }
    let reader = tokio::spawn({
        let cluster = backend.cluster().await;
        async move {
            let (mut cursor, mut seen) = (Cursor::default(), Vec::new());
            while seen.len() < NODES * EACH {
                let page = cluster.daemons_after(&cursor, 3).await.expect("a page");
                if let Some(last) = page.last() {
                    cursor = Cursor { revision: last.revision, daemon: Some(last.name().clone()) };
                }
                seen.extend(page);
                assert!(seen.len() <= NODES * EACH, "each once");
                tokio::task::yield_now().await;
            }
            seen
        }
    });
    at_once(parts).await;
    let look = scene.look().await;
    assert_eq!(look.nodes.len(), NODES + 2);
    assert_eq!(look.revision.0, before.0 + (NODES * (EACH + 1)) as u64, "every order is one change");
    let mut revisions: Vec<_> = scene.daemons().await.iter().map(|row| row.revision).collect();
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), NODES * EACH, "each has a revision of its own");
    let seen = tokio::time::timeout(std::time::Duration::from_secs(30), reader).await;
    let mut seen = seen.expect("a reader along the way misses nothing").expect("no panic");
    seen.sort_by(|a, b| a.name().cmp(b.name()));
    assert_eq!(seen, scene.daemons().await);
    scene.tells_one_story().await;
}

/// A node acknowledges while the leader revokes, again and again: no answer contradicts the rows.
pub async fn s71_acknowledgements_race_with_revocations(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    for round in 0..6 {
        let row = scene.assigned("work/a", &scene.ann).await;
        let (lea, ann, told) = (scene.lea.clone(), scene.ann.clone(), row.clone());
        let revoke = Actor::revoke(&row, Some(&scene.bob));
        let (acknowledged, ()) =
            tokio::join!(async move { verdicts(ann.acknowledges(&told).await) }, async move {
                all_taken(lea.places(vec![revoke]).await)
            },);
        assert_eq!(acknowledged.len(), 1, "round {round}");
        all_taken(scene.ann.confirms(&row).await);
        let moved = scene.row("work/a").await;
        assert_eq!(moved.node(), Some(scene.bob.name()));
        all_taken(scene.bob.confirms(&moved).await);
        scene.tells_one_story().await;
    }
    assert!(scene.lea.cluster.daemons_after(&Cursor::default(), ALL).await.expect("daemons").len() == 1);
}

/// Another cluster in the same place has nodes, daemons, leaders and revisions of its own.
pub async fn clusters_do_not_see_each_other(backend: &dyn ClusterBackend) {
    let Some(neighbour) = backend.neighbour().await else { return skip(backend, Need::Neighbour) };
    let (ours, theirs) =
        (Scene::with(backend, &["work/a"]).await, Scene::with(&*neighbour, &["work/a", "work/b"]).await);
    ours.running("work/a", &ours.ann).await;
    assert_eq!((ours.daemons().await.len(), theirs.daemons().await.len()), (1, 2));
    assert_eq!(theirs.row("work/a").await.moves, 0);
    assert_eq!(theirs.revision().await.0 + 2, ours.revision().await.0);
    theirs.running("work/a", &theirs.bob).await;
    assert_eq!(ours.row("work/a").await.node(), Some(ours.ann.name()));
    ours.tells_one_story().await;
    theirs.tells_one_story().await;
}

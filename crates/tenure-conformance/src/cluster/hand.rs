//! What a node says of the daemons that were given to it, and of no others.

use std::time::Duration;

use tenure_core::cluster::{Answer, Daemon, DaemonState, Order, Refusal};
use tenure_core::lease::Cause;

use super::actor::{Scene, all_taken, daemon, hasty, outlive, patient, refusal};
use super::backend::ClusterBackend;
use crate::lease::player::LONG;

/// Only the generation that was assigned is acknowledged, by the node to which it was assigned.
pub async fn s64_only_the_exact_generation_is_acknowledged(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let first = scene.assigned("work/a", &scene.ann).await;
    all_taken(scene.ann.confirms(&first).await);
    let second = scene.assigned("work/a", &scene.ann).await;
    let third = Daemon { generation: second.generation.and_then(|g| g.next()), ..second.clone() };
    let before = scene.everything().await;
    for (who, wrong) in [(&scene.ann, &first), (&scene.ann, &third), (&scene.bob, &second)] {
        let answer = refusal(who.acknowledges(wrong).await);
        assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    }
    let nowhere = Daemon { generation: second.generation, ..scene.row("work/b").await };
    let answer = refusal(scene.ann.acknowledges(&nowhere).await);
    assert_eq!(answer, Refusal::Stale { daemon: daemon("work/b") });
    let unknown = Daemon { spec: super::actor::spec("work/none"), ..second.clone() };
    let answer = refusal(scene.ann.acknowledges(&unknown).await);
    assert_eq!(answer, Refusal::NoDaemon(daemon("work/none")));
    assert_eq!(scene.everything().await, before);
    all_taken(scene.ann.acknowledges(&second).await);
    let row = scene.row("work/a").await;
    assert_eq!((row.state, row.deadline, row.generation), (DaemonState::Active, None, second.generation));
    assert_eq!((row.place.clone(), row.reason.clone()), (second.place.clone(), second.reason.clone()));
    scene.tells_one_story().await;
}

/// After a lost answer a node acknowledges again, and nothing more happens.
pub async fn an_acknowledgement_may_be_repeated(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let row = scene.running("work/a", &scene.ann).await;
    let before = scene.everything().await;
    all_taken(scene.ann.acknowledges(&row).await);
    assert_eq!(scene.everything().await, before);
    scene.revoked("work/a", None, patient()).await;
    let answer = refusal(scene.ann.acknowledges(&row).await);
    assert!(matches!(answer, Refusal::StillHeld { state: DaemonState::Revoking, .. }), "{answer}");
    scene.tells_one_story().await;
}

/// Under its own lease a node speaks for itself alone, though the terms be the same number.
pub async fn s64_a_node_speaks_only_for_itself(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    assert_eq!(scene.ann.term(), scene.bob.term());
    let assigned = scene.assigned("work/a", &scene.ann).await;
    let before = scene.everything().await;
    let (fence, node) = (scene.bob.fence(), scene.ann.name().clone());
    let generation = assigned.generation.expect("one");
    let daemons = vec![(daemon("work/a"), generation)];
    for order in [
        Order::Acknowledge { fence: fence.clone(), node: node.clone(), daemons: daemons.clone() },
        Order::Confirm { fence: fence.clone(), node: node.clone(), daemons, deadlines: patient() },
        Order::Fail {
            fence,
            node: node.clone(),
            daemon: daemon("work/a"),
            generation,
            reason: "it fell".to_owned(),
            cool_down: LONG,
        },
    ] {
        let answer = scene.bob.orders(&order).await;
        assert_eq!(answer, Answer::Refused(Refusal::NodeOver(node.clone())), "{order:?}");
        assert_eq!(scene.everything().await, before, "{order:?}");
    }
    scene.tells_one_story().await;
}

/// A daemon that has stopped goes to the next node in the same moment, under the next generation.
pub async fn a_stopped_daemon_goes_to_the_next_node(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    let told = scene.revoked("work/a", Some(&scene.bob), patient()).await;
    assert_eq!((told.state, told.next.as_ref()), (DaemonState::Revoking, Some(scene.bob.name())));
    assert_eq!((told.generation, told.place.clone()), (old.generation, old.place.clone()));
    let look = scene.look().await;
    for node in [&scene.ann, &scene.bob] {
        let member = &look.node(node.name()).expect("a node").member;
        assert_eq!(member.revision, look.revision, "{} is told", node.name());
    }
    assert!(scene.passes(&old.fence().expect("a fence")).await, "it may finish its work");
    all_taken(scene.ann.confirms(&told).await);
    let new = scene.row("work/a").await;
    assert_eq!(new.place, Some((scene.bob.name().clone(), scene.bob.term())));
    assert_eq!(
        (new.state, new.next.clone(), new.reason.as_str()),
        (DaemonState::Assigning, None, "it goes elsewhere")
    );
    assert!(new.generation > old.generation && new.moves == old.moves + 1);
    assert!(!scene.passes(&old.fence().expect("a fence")).await, "at once");
    assert!(scene.passes(&new.fence().expect("a fence")).await);
    assert_eq!(scene.causes("work/a").await, [Cause::Acquired, Cause::Released, Cause::Acquired]);
    all_taken(scene.bob.acknowledges(&new).await);
    scene.tells_one_story().await;
}

/// A confirmation that is repeated, or of a generation before, takes nothing from anyone.
pub async fn s64_only_the_exact_generation_is_confirmed(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    scene.revoked("work/a", Some(&scene.bob), patient()).await;
    all_taken(scene.ann.confirms(&old).await);
    let stale = Refusal::Stale { daemon: daemon("work/a") };
    let before = scene.everything().await;
    assert_eq!(refusal(scene.ann.confirms(&old).await), stale);
    assert_eq!(refusal(scene.bob.confirms(&old).await), stale);
    assert_eq!(refusal(scene.ann.fails(&old, "it fell", LONG).await), stale);
    assert_eq!(scene.everything().await, before);
    all_taken(scene.bob.acknowledges(&scene.row("work/a").await).await);
    scene.revoked("work/a", Some(&scene.ann), patient()).await;
    let back = scene.row("work/a").await;
    assert_eq!(refusal(scene.bob.confirms(&old).await), stale);
    assert_eq!(scene.row("work/a").await, back);
    all_taken(scene.bob.confirms(&back).await);
    let again = scene.row("work/a").await;
    assert_eq!(again.node(), Some(scene.ann.name()));
    assert_eq!(refusal(scene.ann.acknowledges(&old).await), stale, "the same node, an older generation");
    assert_eq!(refusal(scene.ann.confirms(&old).await), stale);
    assert_eq!(scene.row("work/a").await, again);
    scene.tells_one_story().await;
}

/// What the leader decided then is impossible by now: the daemon waits for it, and is nowhere meanwhile.
pub async fn a_daemon_whose_next_node_is_gone_waits(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let (a, b) = (scene.running("work/a", &scene.ann).await, scene.running("work/b", &scene.ann).await);
    scene.revoked("work/a", Some(&scene.bob), patient()).await;
    scene.revoked("work/b", Some(&scene.bob), patient()).await;
    all_taken(scene.bob.leaves().await);
    all_taken(scene.ann.confirms(&a).await);
    all_taken(scene.bob.departs().await);
    scene.bob.ends().await;
    all_taken(scene.ann.confirms(&b).await);
    for (name, old) in [("work/a", &a), ("work/b", &b)] {
        let row = scene.row(name).await;
        assert_eq!((row.state, row.place.clone(), row.next.clone()), (DaemonState::Unassigned, None, None));
        assert_eq!(row.generation, old.generation);
        assert!(!scene.passes(&old.fence().expect("a fence")).await);
        assert_eq!(scene.causes(name).await, [Cause::Acquired, Cause::Released]);
        scene.running(name, &scene.ann).await;
    }
    scene.tells_one_story().await;
}

/// What was assigned and not started is given back at once; what runs is not, unless its node was told or leaves.
pub async fn only_what_was_to_stop_or_never_ran_is_confirmed(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let assigned = scene.assigned("work/a", &scene.ann).await;
    all_taken(scene.ann.confirms(&assigned).await);
    let row = scene.row("work/a").await;
    assert_eq!((row.state, row.generation), (DaemonState::Unassigned, assigned.generation));
    let running = scene.running("work/a", &scene.bob).await;
    let before = scene.everything().await;
    let answer = refusal(scene.bob.confirms(&running).await);
    assert_eq!(answer, Refusal::StillHeld { daemon: daemon("work/a"), state: DaemonState::Active });
    assert_eq!(scene.everything().await, before);
    scene.tells_one_story().await;
}

/// A daemon that failed is nowhere, says why, and avoids the node for longer each time.
pub async fn s70_a_failed_daemon_avoids_its_node(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let cool_down = Duration::from_secs(60);
    for (number, factor) in [(1, 1), (2, 2), (3, 4)] {
        let old = scene.running("work/a", &scene.ann).await;
        all_taken(scene.ann.fails(&old, "the disk\0is full", cool_down).await);
        let row = scene.row("work/a").await;
        assert_eq!((row.state, row.place.clone(), row.failures), (DaemonState::Unassigned, None, number));
        assert_eq!(row.reason, "it failed on ann: the disk\u{fffd}is full");
        let [avoid] = &row.avoids[..] else { panic!("one node: {:?}", row.avoids) };
        assert_eq!((&avoid.node, avoid.until), (scene.ann.name(), row.since.after(cool_down * factor)));
        assert!(!scene.passes(&old.fence().expect("a fence")).await);
        let answer = refusal(scene.ann.fails(&old, "again", cool_down).await);
        assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
        assert_eq!(scene.row("work/a").await, row);
        scene.tells_one_story().await;
    }
    let old = scene.running("work/a", &scene.bob).await;
    assert_eq!(old.avoids.len(), 1, "it is kept as long as it counts");
    all_taken(scene.bob.fails(&old, &"ä".repeat(5_000), Duration::MAX).await);
    let row = scene.row("work/a").await;
    let longest = row.avoids.iter().find(|avoid| avoid.node == *scene.bob.name()).expect("bob");
    assert!(longest.until <= row.since.after(Duration::from_secs(3_600)), "there is a limit");
    assert!(row.avoids(scene.ann.name(), row.since) && row.avoids.len() == 2);
    assert!(row.reason.len() <= 2_100 && row.reason.contains("äää"), "{}", row.reason.len());
    scene.tells_one_story().await;
}

/// A node that was told to stop a daemon, and finds that it failed, has stopped it.
pub async fn a_failed_daemon_that_was_to_stop_has_stopped(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let (a, b) = (scene.running("work/a", &scene.ann).await, scene.running("work/b", &scene.ann).await);
    all_taken(scene.lea.steers("work/a", tenure_core::cluster::Steering::Pause).await);
    all_taken(scene.lea.retires(&["work/b"]).await);
    all_taken(scene.ann.fails(&a, "it fell", LONG).await);
    all_taken(scene.ann.fails(&b, "it fell", LONG).await);
    let paused = scene.row("work/a").await;
    assert_eq!((paused.state, paused.paused_by.as_deref()), (DaemonState::Unassigned, Some("o'hara")));
    scene.removed("work/b").await;
    for old in [&a, &b] {
        assert!(!scene.passes(&old.fence().expect("a fence")).await);
    }
    assert_eq!(scene.causes("work/b").await, [Cause::Acquired, Cause::Released]);
    scene.tells_one_story().await;
}

/// A node that comes late is told so, whoever has the daemon by then; also when it is the same node again.
pub async fn a_node_that_gets_a_daemon_again_gets_another_generation(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let first = scene.assigned_within("work/a", &scene.ann, hasty(backend)).await;
    outlive(backend).await;
    let second = scene.assigned("work/a", &scene.ann).await;
    assert!(second.generation > first.generation);
    let answer = refusal(scene.ann.acknowledges(&first).await);
    assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    all_taken(scene.ann.acknowledges(&second).await);
    assert!(!scene.passes(&first.fence().expect("a fence")).await);
    scene.tells_one_story().await;
}

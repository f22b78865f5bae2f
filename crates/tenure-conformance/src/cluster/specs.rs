//! Which daemons there are: declared, changed, retired, divided anew.

use tenure_core::cluster::{Daemon, DaemonState, Group, Order, Placement, Refusal};
use tenure_core::lease::{Cause, Fence, Term};

use super::actor::{Actor, Scene, all_taken, daemon, part, patient, refusal, spec};
use super::backend::ClusterBackend;

/// A declaration is kept as it is; the same again changes nothing, another one changes what it says and no more.
pub async fn a_declaration_is_kept_and_may_be_changed(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let said = part("work/a", "work of eight", 8).with_weight(9).on("zone", "a").on("disk", "ssd");
    scene.lea.declares(vec![said.clone(), spec("work/b")]).await;
    let row = scene.row("work/a").await;
    assert_eq!(row, Daemon { revision: row.revision, ..Daemon::new(said.clone(), row.since) });
    assert_eq!(row.revision, scene.revision().await);
    let before = scene.everything().await;
    scene.lea.declares(vec![spec("work/b"), said]).await;
    assert_eq!(scene.everything().await, before);
    let running = scene.running("work/b", &scene.ann).await;
    scene.lea.declares(vec![spec("work/b").with_weight(5).on("zone", "b")]).await;
    let changed = scene.row("work/b").await;
    let new = spec("work/b").with_weight(5).on("zone", "b");
    assert_eq!(
        changed,
        Daemon { spec: new, revision: scene.revision().await, ..running },
        "it stays where it is"
    );
    scene.tells_one_story().await;
}

/// Of a declaration with one bad part nothing is done.
pub async fn what_no_daemon_can_be_is_refused(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let before = scene.everything().await;
    let long = "x".repeat(161);
    for bad in [
        spec("work/bad").with_weight(0),
        spec("work/bad").with_weight(1_000_001),
        spec("work/bad").on("", "x"),
        spec("work/bad").on("a", "x\0"),
        spec("work/bad").in_group(Group { name: String::new(), layout: 1 }),
        spec("work/bad").in_group(Group { name: long.clone(), layout: 1 }),
        spec("work/bad").in_group(Group { name: "a\0".to_owned(), layout: 1 }),
        spec("work/bad").in_group(Group { name: "g".to_owned(), layout: 0 }),
    ] {
        let order = Order::Declare { specs: vec![spec("work/good"), bad.clone()], deadlines: patient() };
        let answer = refusal(scene.lea.orders(&order).await);
        assert!(matches!(&answer, Refusal::Invalid(why) if why.contains("work/bad")), "{bad:?}: {answer}");
    }
    assert_eq!(scene.everything().await, before);
}

/// A daemon that is nowhere goes at once, one that runs goes when it has stopped; the leader removes the row, and nobody else.
pub async fn a_retired_daemon_goes_for_good(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b", "work/c"]).await;
    let (b, c) = (scene.running("work/b", &scene.ann).await, scene.assigned("work/c", &scene.ann).await);
    all_taken(scene.lea.retires(&["work/a", "work/b", "work/c"]).await);
    scene.removed("work/a").await;
    for old in [&b, &c] {
        let told = scene.row(old.name().as_str()).await;
        assert_eq!((told.state, told.retired, told.is_wanted()), (DaemonState::Revoking, true, false));
        assert_eq!((told.place.clone(), told.next.clone()), (old.place.clone(), None));
        assert!(scene.passes(&old.fence().expect("a fence")).await, "until it has stopped");
        let remove = vec![Placement::Remove { daemon: old.name().clone() }];
        assert_eq!(refusal(scene.lea.places(remove).await), Refusal::Stale { daemon: old.name().clone() });
    }
    scene.tells_one_story().await;
    let answer = refusal(scene.lea.retires(&["work/a"]).await);
    assert_eq!(answer, Refusal::NoDaemon(daemon("work/a")));
    all_taken(scene.ann.confirms(&b).await);
    all_taken(scene.ann.confirms(&c).await);
    let look = scene.look().await;
    assert_eq!(look.node(scene.ann.name()).expect("ann").member.revision, look.revision, "its node is told");
    scene.removed("work/b").await;
    scene.removed("work/c").await;
    assert_eq!(scene.daemons().await, []);
    for old in [&b, &c] {
        assert!(!scene.passes(&old.fence().expect("a fence")).await);
        let lease = scene.lease(old.name().as_str()).await.expect("its lease stays, and remembers its term");
        assert_eq!((Some(lease.term), lease.released_at.is_some()), (old.generation, true));
        assert_eq!(scene.causes(old.name().as_str()).await, [Cause::Acquired, Cause::Released]);
    }
    let answer = refusal(scene.ann.confirms(&b).await);
    assert_eq!(answer, Refusal::NoDaemon(daemon("work/b")));
}

/// A retired daemon whose node died is gone once the leader has taken it back: nothing stays behind.
pub async fn a_retired_daemon_of_a_dead_node_goes_as_well(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let a = scene.running("work/a", &scene.ann).await;
    all_taken(scene.lea.retires(&["work/a"]).await);
    let answer = refusal(scene.lea.places(vec![Actor::unassign(&a)]).await);
    assert!(matches!(answer, Refusal::StillHeld { .. }), "{answer}");
    scene.ann.ends().await;
    let answer = refusal(scene.lea.places(vec![Actor::assign(&a, &scene.bob)]).await);
    assert_eq!(answer, Refusal::NotWanted(daemon("work/a")));
    all_taken(scene.lea.places(vec![Actor::unassign(&a)]).await);
    scene.removed("work/a").await;
    assert!(!scene.passes(&a.fence().expect("a fence")).await);
    scene.tells_one_story().await;
}

/// One that is declared again while it stops, stops, and is placed anew then.
pub async fn a_daemon_declared_again_while_it_stops_comes_back(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    all_taken(scene.lea.retires(&["work/a"]).await);
    scene.lea.declares(vec![spec("work/a")]).await;
    let row = scene.row("work/a").await;
    assert_eq!((row.state, row.retired), (DaemonState::Revoking, false));
    all_taken(scene.ann.confirms(&old).await);
    let row = scene.row("work/a").await;
    assert_eq!((row.state, row.generation), (DaemonState::Unassigned, old.generation));
    let new = scene.running("work/a", &scene.bob).await;
    assert!(new.generation > old.generation);
    scene.tells_one_story().await;
}

/// Whatever was deleted, the next generation is above all that ever were.
pub async fn s15_generations_never_go_back(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let mut last: Option<Term> = None;
    let mut rises = async |how: &str| {
        let row = scene.running("work/a", &scene.ann).await;
        assert!(row.generation > last, "{how}: {:?} after {last:?}", row.generation);
        if let Some(term) = last {
            let old = Fence { lease: daemon("work/a").lease().expect("a lease"), term };
            assert!(!scene.passes(&old).await, "{how}");
        }
        assert!(scene.passes(&row.fence().expect("a fence")).await, "{how}");
        last = row.generation;
        row
    };
    let row = rises("the first").await;
    all_taken(scene.lea.retires(&["work/a"]).await);
    all_taken(scene.ann.confirms(&row).await);
    scene.removed("work/a").await;
    scene.lea.declares(vec![spec("work/a")]).await;
    assert_eq!(scene.row("work/a").await.generation, None);
    let row = rises("removed and declared again").await;
    all_taken(scene.lea.retires(&["work/a"]).await);
    all_taken(scene.ann.confirms(&row).await);
    scene.lea.declares(vec![spec("work/a")]).await;
    assert_eq!(scene.row("work/a").await.generation, row.generation, "declared before it was removed");
    rises("retired and declared again").await;
    backend.delete_daemon(&daemon("work/a")).await;
    assert_eq!(scene.finds("work/a").await, None);
    scene.lea.declares(vec![spec("work/a")]).await;
    let row = rises("its row was deleted").await;
    scene.revoked("work/a", None, patient()).await;
    all_taken(scene.ann.confirms(&row).await);
    if backend.delete_row(&daemon("work/a").lease().expect("a lease")).await {
        let row = rises("its lease was deleted").await;
        all_taken(scene.lea.retires(&["work/a"]).await);
        all_taken(scene.ann.confirms(&row).await);
        scene.removed("work/a").await;
        backend.delete_row(&daemon("work/a").lease().expect("a lease")).await;
        scene.lea.declares(vec![spec("work/a")]).await;
        rises("both were deleted").await;
    }
}

/// The parts of sixteen are placed when the last of eight is gone, and not before.
pub async fn layouts_do_not_run_beside_each_other(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/else"]).await;
    let parts = |layout: u32| (0..3).map(move |n| part(&format!("work/g/{layout}/{n}"), "g", layout));
    scene.lea.declares(parts(8).collect()).await;
    let first = scene.running("work/g/8/0", &scene.ann).await;
    let second = scene.assigned("work/g/8/1", &scene.bob).await;
    scene.lea.declares(vec![part("work/h/8/0", "h", 8)]).await;
    let other = scene.running("work/h/8/0", &scene.ann).await;
    scene.lea.declares(parts(16).collect()).await;
    scene.removed("work/g/8/2").await;
    for old in [&first, &second] {
        let row = scene.row(old.name().as_str()).await;
        assert_eq!((row.state, row.retired), (DaemonState::Revoking, true));
        assert!(row.reason.contains("16"), "{}", row.reason);
    }
    assert_eq!(scene.row("work/h/8/0").await, other, "another thing that is divided");
    let refused = async |by: &Daemon| {
        let before = scene.everything().await;
        let new = scene.row("work/g/16/0").await;
        let answer = refusal(scene.lea.places(vec![Actor::assign(&new, &scene.bob)]).await);
        assert_eq!(answer, Refusal::OtherLayout { other: by.name().clone() });
        assert_eq!(scene.everything().await, before);
    };
    refused(&first).await;
    all_taken(scene.ann.confirms(&first).await);
    refused(&second).await;
    scene.bob.ends().await;
    let new = scene.row("work/g/16/0").await;
    let answer = refusal(scene.lea.places(vec![Actor::assign(&new, &scene.ann)]).await);
    assert!(matches!(answer, Refusal::OtherLayout { .. }), "not even when its node is over: {answer}");
    all_taken(scene.lea.places(vec![Actor::unassign(&second)]).await);
    scene.removed("work/g/8/1").await;
    scene.running("work/g/16/0", &scene.ann).await;
    scene.running("work/g/16/1", &scene.ann).await;
    scene.tells_one_story().await;
}

/// A leader that does not say which group a daemon is of has not looked at it: it is refused.
pub async fn a_part_is_placed_only_as_a_part(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    scene.lea.declares(vec![part("work/a", "g", 8)]).await;
    let row = scene.row("work/a").await;
    let mut blind = row.clone();
    blind.spec.group = None;
    let answer = refusal(scene.lea.places(vec![Actor::assign(&blind, &scene.ann)]).await);
    assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    assert_eq!(scene.row("work/a").await, row);
    scene.running("work/a", &scene.ann).await;
    let order = Order::Declare { specs: vec![part("work/a", "g", 16)], deadlines: patient() };
    let answer = refusal(scene.lea.orders(&order).await);
    assert_eq!(answer, Refusal::OtherLayout { other: daemon("work/a") }, "it runs as one of eight");
    assert_eq!(scene.row("work/a").await.spec, row.spec);
    scene.tells_one_story().await;
}

/// A node brings along parts of several things, each divided anew: of each the old parts go.
pub async fn every_group_of_a_declaration_is_divided_anew(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    scene.lea.declares(vec![part("work/g/1", "g", 1), part("work/h/1", "h", 1)]).await;
    let (g, h) = (scene.running("work/g/1", &scene.ann).await, scene.running("work/h/1", &scene.ann).await);
    let news = vec![part("work/g/2", "g", 2), part("work/h/3", "h", 3)];
    all_taken(scene.bob.brings(scene.bob.member(), news).await);
    for old in [&g, &h] {
        assert!(scene.row(old.name().as_str()).await.retired, "{:?}", old.name());
        all_taken(scene.ann.confirms(old).await);
    }
    scene.running("work/g/2", &scene.bob).await;
    scene.running("work/h/3", &scene.bob).await;
    scene.tells_one_story().await;
}

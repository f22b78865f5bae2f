//! Operators: what they want is kept in the row, survives every leader, and is written down.

use tenure_core::cluster::{DaemonState, Order, Refusal, Steering};
use tenure_core::id::NodeName;

use super::actor::{Actor, Scene, all_taken, assert_fenced, daemon, patient, refusal};
use super::backend::ClusterBackend;
use crate::backend::Need;
use crate::suite::skip;

/// A paused daemon stops and is placed by nobody, whatever happens to nodes and leaders.
pub async fn s69_a_pause_survives_nodes_and_leaders(backend: &dyn ClusterBackend) {
    let mut scene = Scene::with(backend, &["work/a", "work/b", "work/c"]).await;
    let a = scene.running("work/a", &scene.ann).await;
    scene.running("work/b", &scene.ann).await;
    for name in ["work/a", "work/b", "work/c"] {
        all_taken(scene.lea.steers(name, Steering::Pause).await);
        let row = scene.row(name).await;
        assert_eq!((row.paused_by.as_deref(), row.is_wanted()), (Some("o'hara"), false));
        assert!(row.reason.contains("paused by o'hara"), "{}", row.reason);
    }
    let told = scene.row("work/a").await;
    assert_eq!(
        (told.state, told.place.clone(), told.next.clone()),
        (DaemonState::Revoking, a.place.clone(), None)
    );
    all_taken(scene.ann.confirms(&a).await);
    scene.ann.ends().await;
    let old = scene.lea.clone();
    old.ends().await;
    scene.lea = Actor::leads(backend, "mia").await;
    for name in ["work/a", "work/b", "work/c"] {
        let row = scene.row(name).await;
        assert_eq!(row.paused_by.as_deref(), Some("o'hara"), "{name}");
        let placement = Actor::assign(&row, &scene.bob);
        assert_fenced(&old.places(vec![placement.clone()]).await);
        assert_eq!(refusal(scene.lea.places(vec![placement]).await), Refusal::NotWanted(daemon(name)));
    }
    all_taken(scene.lea.places(vec![Actor::unassign(&scene.row("work/b").await)]).await);
    let row = scene.row("work/b").await;
    assert_eq!((row.state, row.paused_by.as_deref()), (DaemonState::Unassigned, Some("o'hara")));
    scene.lea.declares(vec![super::actor::spec("work/b").with_weight(4)]).await;
    assert_eq!(scene.row("work/b").await.paused_by.as_deref(), Some("o'hara"), "and a new declaration");
    scene.tells_one_story().await;
}

/// A resumed daemon is placed again; one that is resumed while it stops, stops first.
pub async fn s69_a_resumed_daemon_runs_again(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    all_taken(scene.lea.steers("work/a", Steering::Pause).await);
    all_taken(scene.lea.steers("work/a", Steering::Resume).await);
    let row = scene.row("work/a").await;
    assert!(row.is_wanted() && row.reason.contains("o'hara"), "{}", row.reason);
    scene.running("work/a", &scene.ann).await;
    let b = scene.running("work/b", &scene.ann).await;
    all_taken(scene.lea.steers("work/b", Steering::Pause).await);
    all_taken(scene.lea.steers("work/b", Steering::Resume).await);
    let stops = scene.row("work/b").await;
    assert_eq!((stops.state, stops.is_wanted()), (DaemonState::Revoking, true));
    let answer = refusal(scene.ann.acknowledges(&b).await);
    assert!(matches!(answer, Refusal::StillHeld { .. }), "{answer}");
    all_taken(scene.ann.confirms(&b).await);
    let again = scene.running("work/b", &scene.ann).await;
    assert!(again.generation > b.generation);
    scene.tells_one_story().await;
}

/// A moved daemon goes where it was sent, and is to stay there.
pub async fn a_moved_daemon_goes_there_and_stays(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let to = |node: &Actor| Steering::Move { to: node.name().clone() };
    let a = scene.running("work/a", &scene.ann).await;
    all_taken(scene.lea.steers("work/a", to(&scene.bob)).await);
    let told = scene.row("work/a").await;
    assert_eq!((told.state, told.next.as_ref()), (DaemonState::Revoking, Some(scene.bob.name())));
    assert_eq!(told.pinned_to.as_ref(), Some(scene.bob.name()));
    all_taken(scene.ann.confirms(&a).await);
    let there = scene.row("work/a").await;
    assert_eq!((there.node(), there.pinned_to.as_ref()), (Some(scene.bob.name()), Some(scene.bob.name())));
    assert!(there.reason.contains("o'hara"), "{}", there.reason);
    all_taken(scene.bob.acknowledges(&there).await);
    let running = scene.row("work/a").await;
    all_taken(scene.lea.steers("work/a", to(&scene.bob)).await);
    let same = scene.row("work/a").await;
    assert_eq!((same.state, same.generation), (DaemonState::Active, running.generation), "it is there");
    all_taken(scene.lea.steers("work/a", Steering::Unpin).await);
    assert_eq!(scene.row("work/a").await.pinned_to, None);
    scene.revoked("work/a", Some(&scene.ann), patient()).await;
    all_taken(scene.lea.steers("work/a", to(&scene.bob)).await);
    all_taken(scene.bob.confirms(&running).await);
    assert_eq!(
        scene.row("work/a").await.node(),
        Some(scene.bob.name()),
        "though it was on its way elsewhere"
    );
    all_taken(scene.lea.steers("work/b", to(&scene.bob)).await);
    let nowhere = scene.row("work/b").await;
    assert_eq!(
        (nowhere.state, nowhere.pinned_to.as_ref()),
        (DaemonState::Unassigned, Some(scene.bob.name()))
    );
    scene.tells_one_story().await;
}

/// What cannot be done is refused with words, changes nothing, and is not written down.
pub async fn what_an_operator_cannot_have_is_refused(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "other/a"]).await;
    scene.running("work/a", &scene.ann).await;
    all_taken(scene.bob.leaves().await);
    let before = (scene.everything().await, backend.daemon_audit().await);
    let to = |node: &str| Steering::Move { to: NodeName::new(node).expect("a node's name") };
    for (name, steering, words) in [
        ("other/a", to("ann"), "cannot run daemon other/a: it has no agent for it"),
        ("work/a", to("nobody"), "no node nobody"),
        ("work/a", to("bob"), "about to leave"),
        ("work/none", Steering::Pause, "no daemon work/none"),
        ("work/none", Steering::Resume, "no daemon work/none"),
        ("work/none", Steering::Unpin, "no daemon work/none"),
        ("work/none", to("ann"), "no daemon work/none"),
    ] {
        let answer = refusal(scene.lea.steers(name, steering).await).to_string();
        assert!(answer.contains(words), "{answer}");
    }
    for by in ["", "a\0b", &"x".repeat(201)] {
        let (daemon, by) = (daemon("work/a"), by.to_owned());
        let order = Order::Steer { daemon, steering: Steering::Pause, by, deadlines: patient() };
        let answer = refusal(scene.lea.orders(&order).await);
        assert!(matches!(answer, Refusal::Invalid(_)), "{answer}");
    }
    assert_eq!((scene.everything().await, backend.daemon_audit().await), before);
}

/// Who did what to which daemon.
pub async fn what_operators_do_is_audited(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b%'"]).await;
    let Some(none) = backend.daemon_audit().await else { return skip(backend, Need::Audit) };
    assert_eq!(none, []);
    scene.running("work/a", &scene.ann).await;
    let to = Steering::Move { to: scene.bob.name().clone() };
    for (name, steering) in [
        ("work/a", Steering::Pause),
        ("work/b%'", Steering::Pause),
        ("work/a", Steering::Resume),
        ("work/a", to),
        ("work/a", Steering::Unpin),
    ] {
        all_taken(scene.lea.steers(name, steering).await);
    }
    let lines = backend.daemon_audit().await.expect("an audit");
    let lines: Vec<_> =
        lines.iter().map(|(by, what, which)| (by.as_str(), what.as_str(), which.as_str())).collect();
    assert_eq!(
        lines,
        [
            ("o'hara", "daemon paused", "work/a"),
            ("o'hara", "daemon paused", "work/b%'"),
            ("o'hara", "daemon resumed", "work/a"),
            ("o'hara", "daemon moved to bob", "work/a"),
            ("o'hara", "daemon may be anywhere", "work/a"),
        ]
    );
}

//! Placing: where a daemon may go, and when it may be taken from where it is.

use tenure_core::cluster::{Agents, DaemonState, Labels, Member, Order, Placement, Refusal, Verdict};
use tenure_core::lease::{Cause, Evidence, Fence};

use super::actor::{
    Actor, Scene, all_taken, assert_fenced, daemon, hasty, outlive, patient, refusal, spec, verdicts,
};
use super::backend::ClusterBackend;
use crate::backend::Need;
use crate::lease::player::{LONG, announcing, unique};
use crate::suite::skip;

/// A placement is a row, a lease whose term is the generation, and a line of history; and its fence holds at once.
pub async fn an_assignment_is_a_row_a_lease_and_a_line(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let before = scene.row("work/a").await;
    assert_eq!(
        (before.state, before.fence(), scene.lease("work/a").await),
        (DaemonState::Unassigned, None, None)
    );
    let row = scene.assigned("work/a", &scene.ann).await;
    let look = scene.look().await;
    assert_eq!(row.state, DaemonState::Assigning);
    assert_eq!(row.place, Some((scene.ann.name().clone(), scene.ann.term())));
    assert_eq!((row.moves, row.failures, row.next.clone()), (1, 0, None));
    assert_eq!((row.revision, row.reason.as_str()), (look.revision, "ann is to run it"));
    assert!(row.since >= before.since && row.since <= look.now);
    assert_eq!(row.deadline, Some(row.since.after(LONG)));
    let member = &look.node(scene.ann.name()).expect("ann").member;
    assert_eq!(member.revision, look.revision, "the node is told");
    let (lease, generation) = (scene.lease("work/a").await.expect("a lease"), row.generation.expect("one"));
    assert_eq!((lease.term, &lease.node), (generation, &scene.ann.player.node));
    assert!(lease.is_held(look.now) && lease.acquired_at == row.since && lease.presence.is_none());
    assert!(lease.expires_at > look.now.after(LONG * 1_000), "it ends with its placement, not with a ttl");
    let history = scene.history("work/a").await;
    let [line] = &history[..] else { panic!("one line: {history:?}") };
    assert_eq!((line.term, line.cause, &line.node), (generation, Cause::Acquired, &scene.ann.player.node));
    assert!(scene.passes(&row.fence().expect("a fence")).await);
    scene.tells_one_story().await;
}

/// An order that was decided by an old row is refused: of any older generation, or of none.
pub async fn an_assignment_names_the_last_generation(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let never = scene.row("work/a").await;
    let first = scene.running("work/a", &scene.ann).await;
    scene.revoked("work/a", None, patient()).await;
    all_taken(scene.ann.confirms(&first).await);
    let free = scene.row("work/a").await;
    assert_eq!((free.state, free.generation), (DaemonState::Unassigned, first.generation));
    let before = scene.everything().await;
    let answer = refusal(scene.lea.places(vec![Actor::assign(&never, &scene.bob)]).await);
    assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    assert_eq!(scene.everything().await, before);
    let second = scene.assigned("work/a", &scene.bob).await;
    assert!(second.generation > first.generation);
    for old in [Actor::assign(&free, &scene.ann), Actor::revoke(&free, None), Actor::unassign(&free)] {
        let answer = refusal(scene.lea.places(vec![old]).await);
        assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    }
    assert_eq!(scene.row("work/a").await, second);
    scene.tells_one_story().await;
}

/// A node without the agent or a label is told apart from one that can run a daemon, in words.
pub async fn s66_an_unfit_node_is_refused_with_words(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "other/a", "sweeper", "workshop/a"]).await;
    scene.lea.declares(vec![spec("work/ssd").on("disk", "ssd")]).await;
    let before = scene.everything().await;
    for (name, why) in [
        ("other/a", "no agent"),
        ("sweeper", "no agent"),
        ("workshop/a", "no agent"),
        ("work/ssd", "disk=ssd"),
    ] {
        let placement = Actor::assign(&scene.row(name).await, &scene.ann);
        let answer = refusal(scene.lea.places(vec![placement]).await);
        assert!(matches!(&answer, Refusal::Unfit { reason, .. } if reason.contains(why)), "{name}: {answer}");
    }
    assert_eq!(scene.everything().await, before);
    let labelled = Member {
        labels: Labels([("disk".to_owned(), "ssd".to_owned())].into()),
        agents: Agents { names: [daemon("sweeper")].into(), families: ["work".to_owned()].into() },
        ..scene.ann.member()
    };
    all_taken(scene.ann.registers(labelled).await);
    scene.running("work/ssd", &scene.ann).await;
    scene.running("sweeper", &scene.ann).await;
    scene.tells_one_story().await;
}

/// A node that is not there, or not the one that was meant, gets nothing.
pub async fn a_node_that_is_over_gets_nothing(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let row = scene.row("work/a").await;
    let eve = Actor::enters(backend, "eve", LONG).await;
    let answer = refusal(scene.lea.places(vec![Actor::assign(&row, &eve)]).await);
    assert_eq!(answer, Refusal::NoNode(eve.name().clone()));
    let mut later = scene.ann.clone();
    later.grant.term = later.term().next().expect("a term");
    let over = Refusal::NodeOver(scene.ann.name().clone());
    assert_eq!(refusal(scene.lea.places(vec![Actor::assign(&row, &later)]).await), over);
    scene.ann.ends().await;
    assert_eq!(refusal(scene.lea.places(vec![Actor::assign(&row, &scene.ann)]).await), over);
    let again = Actor::enters(backend, "ann", LONG).await;
    for meant in [&scene.ann, &again] {
        let answer = refusal(scene.lea.places(vec![Actor::assign(&row, meant)]).await);
        assert_eq!(answer, over, "it lives, and has not registered");
    }
    let answer = refusal(
        scene
            .lea
            .places(vec![Placement::Explain { daemon: daemon("work/none"), reason: String::new() }])
            .await,
    );
    assert_eq!(answer, Refusal::NoDaemon(daemon("work/none")));
    assert_eq!(scene.row("work/a").await, row);
    scene.tells_one_story().await;
}

/// What is refused does not keep the rest from being done.
pub async fn each_part_of_an_order_is_decided_by_itself(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b", "work/c"]).await;
    let (a, b, c) = (scene.row("work/a").await, scene.row("work/b").await, scene.row("work/c").await);
    let before = scene.revision().await;
    let answer = scene
        .lea
        .places(vec![
            Actor::assign(&a, &scene.ann),
            Actor::assign(&a, &scene.bob),
            Placement::Explain { daemon: daemon("work/none"), reason: "?".to_owned() },
            Actor::assign(&b, &scene.bob),
            Placement::Explain { daemon: daemon("work/c"), reason: "no room".to_owned() },
        ])
        .await;
    let taken: Vec<bool> = verdicts(answer).iter().map(Verdict::is_taken).collect();
    assert_eq!(taken, [true, false, false, true, true]);
    let (a, b, now) = (scene.row("work/a").await, scene.row("work/b").await, scene.revision().await);
    assert_eq!((a.node(), b.node()), (Some(scene.ann.name()), Some(scene.bob.name())));
    let explained = scene.row("work/c").await;
    assert_eq!((explained.reason.as_str(), explained.state), ("no room", c.state));
    assert_eq!((a.revision, b.revision, explained.revision), (now, now, now), "one order is one change");
    assert!(now > before);
    scene.tells_one_story().await;
}

/// As long as its node lives and has time, a daemon is not taken from it.
pub async fn a_daemon_of_a_living_node_stays(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let stays = async |state: DaemonState| {
        let (row, before) = (scene.row("work/a").await, scene.everything().await);
        for take in [Actor::assign(&row, &scene.bob), Actor::unassign(&row)] {
            let answer = refusal(scene.lea.places(vec![take]).await);
            assert_eq!(answer, Refusal::StillHeld { daemon: daemon("work/a"), state });
        }
        assert_eq!(scene.everything().await, before);
    };
    let row = scene.assigned("work/a", &scene.ann).await;
    stays(DaemonState::Assigning).await;
    all_taken(scene.ann.acknowledges(&row).await);
    stays(DaemonState::Active).await;
    scene.revoked("work/a", None, patient()).await;
    stays(DaemonState::Revoking).await;
    scene.tells_one_story().await;
}

/// The leader takes a daemon whose node is over; the old generation is refused at once, and the new one holds.
async fn is_taken_over(scene: &Scene<'_>, old: &tenure_core::cluster::Daemon) {
    let new = scene.running("work/a", &scene.bob).await;
    assert!(new.generation > old.generation && new.moves == old.moves + 1);
    assert!(new.avoids.is_empty(), "its node is over, it has not failed there");
    assert!(!scene.passes(&old.fence().expect("a fence")).await);
    assert!(scene.passes(&new.fence().expect("a fence")).await);
    assert_eq!(scene.causes("work/a").await, [Cause::Acquired, Cause::Expired, Cause::Acquired]);
    scene.tells_one_story().await;
}

/// Its node gave its lease back.
pub async fn a_daemon_whose_node_has_stopped_is_free(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    scene.ann.ends().await;
    is_taken_over(&scene, &old).await;
    assert_fenced(&scene.ann.confirms(&old).await);
}

/// The ttl of its node has ended.
pub async fn a_daemon_whose_node_expired_is_free(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let eve = Actor::joins_briefly(backend, "eve").await;
    let old = scene.assigned("work/a", &eve).await;
    outlive(backend).await;
    is_taken_over(&scene, &old).await;
    assert_fenced(&eve.acknowledges(&old).await);
}

/// Its node's presence ended, and another incarnation took the lease by that evidence.
pub async fn a_daemon_whose_node_was_deposed_is_free(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    let session = unique();
    scene.ann.player.renews(&scene.ann.grant, &announcing(1, session)).await;
    let twin = Actor::enters_by(backend, "ann", Evidence { term: scene.ann.term(), session }).await;
    assert!(twin.term() > scene.ann.term());
    is_taken_over(&scene, &old).await;
    assert_fenced(&scene.ann.confirms(&old).await);
}

/// A node that has not acknowledged in time loses the daemon, and its acknowledgement comes too late.
pub async fn a_late_acknowledgement_is_refused(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let late = scene.assigned_within("work/a", &scene.ann, hasty(backend)).await;
    scene.assigned_within("work/b", &scene.ann, hasty(backend)).await;
    outlive(backend).await;
    let moved = scene.assigned("work/a", &scene.bob).await;
    assert!(moved.generation > late.generation);
    assert!(moved.avoids(scene.ann.name(), scene.look().await.now), "and is not given it again at once");
    let answer = refusal(scene.ann.acknowledges(&late).await);
    assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    assert!(!scene.passes(&late.fence().expect("a fence")).await);
    assert_eq!(scene.row("work/a").await, moved);
    all_taken(scene.ann.acknowledges(&scene.row("work/b").await).await);
    let row = scene.row("work/b").await;
    assert_eq!((row.state, row.deadline), (DaemonState::Active, None), "nobody took it: late is in time");
    scene.tells_one_story().await;
}

/// A node that does not stop a daemon in time loses it by the leader's word; what runs there is refused by its fence.
pub async fn s65_a_daemon_that_is_not_stopped_in_time_is_moved(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    let told = scene.revoked("work/a", Some(&scene.bob), hasty(backend)).await;
    assert_eq!(told.deadline, Some(told.since.after(backend.short_ttl())));
    assert!(scene.passes(&old.fence().expect("a fence")).await, "until it is moved");
    let again = scene.revoked("work/a", None, patient()).await;
    assert_eq!((again.deadline, again.since), (told.deadline, told.since), "no second delay");
    outlive(backend).await;
    let moved = scene.assigned("work/a", &scene.bob).await;
    assert!(!scene.passes(&old.fence().expect("a fence")).await);
    assert!(moved.avoids(scene.ann.name(), scene.look().await.now));
    let answer = refusal(scene.ann.confirms(&old).await);
    assert_eq!(answer, Refusal::Stale { daemon: daemon("work/a") });
    assert_eq!(scene.row("work/a").await, moved);
    scene.tells_one_story().await;
}

/// A daemon is taken back from a node that is over when no other can run it, and says why it is nowhere.
pub async fn a_daemon_that_nobody_can_run_says_why(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let old = scene.running("work/a", &scene.ann).await;
    scene.ann.ends().await;
    all_taken(scene.lea.places(vec![Actor::unassign(&old)]).await);
    let row = scene.row("work/a").await;
    assert_eq!((row.state, row.generation), (DaemonState::Unassigned, old.generation));
    assert_eq!(
        (row.reason.as_str(), row.place.clone(), row.deadline),
        ("there is no node for it", None, None)
    );
    assert!(!scene.passes(&old.fence().expect("a fence")).await);
    assert_eq!(scene.causes("work/a").await, [Cause::Acquired, Cause::Expired]);
    let explain = |reason: &str| Placement::Explain { daemon: daemon("work/a"), reason: reason.to_owned() };
    all_taken(scene.lea.places(vec![explain("still none")]).await);
    assert_eq!(scene.row("work/a").await.reason, "still none");
    let before = scene.everything().await;
    all_taken(scene.lea.places(vec![explain("still none")]).await);
    assert_eq!(scene.everything().await, before, "the same reason is no change");
    let running = scene.running("work/a", &scene.bob).await;
    all_taken(scene.lea.places(vec![explain("nonsense")]).await);
    assert_eq!(scene.row("work/a").await, running, "it is somewhere");
    scene.tells_one_story().await;
}

/// A user's transaction under the daemon's fence is open: whoever would end that generation is told to come later.
pub async fn s01_a_daemon_in_use_is_not_taken(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let (a, b) = (scene.running("work/a", &scene.ann).await, scene.running("work/b", &scene.ann).await);
    scene.revoked("work/a", Some(&scene.bob), patient()).await;
    let Some(open) = backend.hold_fence(&a.fence().expect("a fence")).await else {
        return skip(backend, Need::HeldFence);
    };
    let in_use = Refusal::InUse(daemon("work/a"));
    assert_eq!(refusal(scene.ann.confirms(&a).await), in_use);
    assert_eq!(refusal(scene.ann.fails(&a, "it fell", LONG).await), in_use);
    let revoke = scene.lea.places(vec![Actor::revoke(&b, None)]).await;
    all_taken(revoke);
    all_taken(scene.ann.confirms(&b).await);
    scene.ann.ends().await;
    let take = || vec![Actor::assign(&a, &scene.bob), Actor::unassign(&a)];
    for placement in take() {
        assert_eq!(refusal(scene.lea.places(vec![placement]).await), in_use);
    }
    scene.tells_one_story().await;
    open.commit().await;
    scene.running("work/a", &scene.bob).await;
    assert!(!scene.passes(&a.fence().expect("a fence")).await);
    scene.tells_one_story().await;
}

/// As many daemons in one order as a family may have.
pub async fn a_thousand_daemons_in_one_order(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let names: Vec<String> = (0..1_000).map(|number| format!("work/{number:04}")).collect();
    scene.lea.declares(names.iter().map(|name| spec(name)).collect()).await;
    let declared = scene.revision().await;
    let rows = scene.daemons().await;
    assert_eq!(rows.len(), 1_000);
    assert!(rows.iter().all(|row| row.revision == declared));
    let place = rows.iter().map(|row| Actor::assign(row, &scene.ann)).collect();
    all_taken(scene.lea.places(place).await);
    let rows = scene.daemons().await;
    let each = |rows: &[tenure_core::cluster::Daemon]| {
        rows.iter().map(|row| (row.name().clone(), row.generation.expect("one"))).collect::<Vec<_>>()
    };
    let (fence, node) = (scene.ann.fence(), scene.ann.name().clone());
    let acknowledge = Order::Acknowledge { fence: fence.clone(), node: node.clone(), daemons: each(&rows) };
    all_taken(scene.ann.orders(&acknowledge).await);
    assert!(scene.daemons().await.iter().all(|row| row.state == DaemonState::Active));
    let revoke = rows.iter().map(|row| Actor::revoke(row, Some(&scene.bob))).collect();
    all_taken(scene.lea.places(revoke).await);
    let confirm = Order::Confirm { fence, node, daemons: each(&rows), deadlines: patient() };
    all_taken(scene.ann.orders(&confirm).await);
    let moved = scene.daemons().await;
    assert_eq!(moved.len(), 1_000);
    for (before, after) in rows.iter().zip(&moved) {
        assert_eq!((after.node(), after.state), (Some(scene.bob.name()), DaemonState::Assigning));
        assert!(after.generation > before.generation, "{after:?}");
    }
    let look = scene.look().await;
    assert_eq!(look.revision.0, declared.0 + 4, "four orders are four changes");
    let (first, last) = (&moved[0], &moved[999]);
    for row in [first, last] {
        assert!(scene.passes(&row.fence().expect("a fence")).await);
        let old = Fence { term: rows[0].generation.expect("one"), ..row.fence().expect("a fence") };
        assert!(!scene.passes(&old).await);
    }
}

//! Nodes: a row beside a lease, and only the lease says whether a node lives.

use tenure_core::cluster::{Agents, Labels, Member, Placement, Refusal, Revision};
use tenure_core::id::NodeName;
use tenure_core::lease::{Fence, Revoke};

use super::actor::{Actor, Scene, all_taken, assert_fenced, daemon, outlive, refusal, spec};
use super::backend::ClusterBackend;
use crate::lease::player::LONG;

/// What a node says of itself is what others see.
pub async fn a_node_registers_and_is_seen(backend: &dyn ClusterBackend) {
    let ann = Actor::enters(backend, "ann", LONG).await;
    let empty = ann.cluster.look().await.expect("a look");
    assert_eq!((empty.revision, empty.nodes.len(), empty.leader.clone()), (Revision(0), 0, None));
    let said = Member {
        labels: Labels([("zone".to_owned(), "a".to_owned()), ("disk".to_owned(), "ssd".to_owned())].into()),
        version: "2.1-β".to_owned(),
        capacity: 7,
        leads: false,
        agents: Agents {
            names: [daemon("sweeper"), daemon("a/b")].into(),
            families: ["work".to_owned(), "more".to_owned()].into(),
        },
        ..ann.member()
    };
    all_taken(ann.registers(said.clone()).await);
    let look = ann.cluster.look().await.expect("a look");
    let [standing] = &look.nodes[..] else { panic!("one node: {:?}", look.nodes) };
    let joined_at = standing.member.joined_at;
    assert_eq!(standing.member, Member { joined_at, revision: Revision(1), ..said });
    assert!(joined_at >= ann.grant.acquired_at && joined_at <= look.now, "by the store's clock");
    assert_eq!(look.revision, Revision(1));
    assert_eq!(standing.lease, Some(ann.player.row(&ann.grant.name).await));
    assert!(standing.is_alive(look.now) && standing.takes_daemons(look.now));
    assert_eq!(look.node(ann.name()), Some(standing));
}

/// Nothing is registered without the lease, under a wrong term, or under the lease of another, whatever its term is.
pub async fn a_node_registers_only_under_its_own_lease(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let eve = Actor::enters(backend, "eve", LONG).await;
    let before = scene.everything().await;
    let mut wrong = eve.clone();
    wrong.grant.term = eve.term().next().expect("a term");
    assert_fenced(&wrong.registers(eve.member()).await);
    let mut nobody = eve.clone();
    nobody.grant.name = crate::lease::player::named("tenure/node/nobody");
    assert_fenced(&nobody.registers(eve.member()).await);
    assert_eq!(scene.ann.term(), eve.term(), "terms of different leases are the same number");
    let as_eve = Actor { player: eve.player.clone(), ..scene.ann.clone() };
    assert_eq!(refusal(as_eve.registers(eve.member()).await), Refusal::NodeOver(eve.name().clone()));
    for answer in [as_eve.leaves().await, as_eve.departs().await] {
        assert_eq!(refusal(answer), Refusal::NodeOver(eve.name().clone()));
    }
    assert_eq!(scene.everything().await, before);
    all_taken(eve.registers(eve.member()).await);
    assert!(scene.look().await.node(eve.name()).is_some());
    let as_ann = Actor { grant: eve.grant.clone(), ..scene.ann.clone() };
    assert_eq!(refusal(as_ann.leaves().await), Refusal::NodeOver(scene.ann.name().clone()));
    assert!(!scene.look().await.node(scene.ann.name()).expect("ann").member.leaving);
}

/// A registration that is repeated changes nothing; one that says something else does.
pub async fn registering_again_is_the_same_or_a_change(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let before = scene.everything().await;
    all_taken(scene.ann.registers(scene.ann.member()).await);
    assert_eq!(scene.everything().await, before, "nothing is used up for nothing");
    let was = scene.look().await.node(scene.ann.name()).expect("ann").member.clone();
    all_taken(scene.ann.registers(Member { capacity: 3, ..scene.ann.member() }).await);
    let look = scene.look().await;
    let now = look.node(scene.ann.name()).expect("ann").member.clone();
    assert!(look.revision > before.0);
    assert_eq!(now, Member { capacity: 3, revision: look.revision, ..was }, "since when it is there stays");
}

/// A live node whose row was deleted registers again, and its daemons have not moved.
pub async fn s61_a_row_that_vanished_is_registered_again(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b"]).await;
    let running = scene.running("work/a", &scene.ann).await;
    let assigned = scene.assigned("work/b", &scene.ann).await;
    backend.delete_node(scene.ann.name()).await;
    assert!(scene.look().await.node(scene.ann.name()).is_none());
    let placement = Actor::assign(&running, &scene.bob);
    let answer = refusal(scene.lea.places(vec![placement]).await);
    assert!(matches!(answer, Refusal::StillHeld { .. }), "its lease decides, not its row: {answer}");
    all_taken(scene.ann.registers(scene.ann.member()).await);
    let look = scene.look().await;
    let again = look.node(scene.ann.name()).expect("ann");
    assert_eq!((again.member.term, &again.member.agents), (scene.ann.term(), &scene.ann.member().agents));
    assert!(again.takes_daemons(look.now));
    assert_eq!(scene.row("work/a").await, running);
    assert_eq!(scene.row("work/b").await, assigned);
    all_taken(scene.ann.acknowledges(&assigned).await);
    scene.tells_one_story().await;
}

/// A node that crashed comes back as another one under the same name; what the first one had is not its.
pub async fn a_new_incarnation_replaces_the_row(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let first = Actor::joins_briefly(backend, "eve").await;
    let old = scene.assigned("work/a", &first).await;
    outlive(backend).await;
    let second = Actor::joins(backend, "eve").await;
    assert!(second.term() > first.term());
    let look = scene.look().await;
    let member = &look.node(second.name()).expect("eve").member;
    assert_eq!((&member.node, member.term), (&second.player.node, second.term()));
    assert_eq!(look.nodes.len(), 3);
    assert_fenced(&first.registers(first.member()).await);
    assert_fenced(&first.acknowledges(&old).await);
    let answer = refusal(second.acknowledges(&old).await);
    assert!(matches!(answer, Refusal::Stale { .. }), "{answer}");
    assert_eq!(scene.row("work/a").await, old);
    let new = scene.running("work/a", &second).await;
    assert!(new.generation > old.generation);
    scene.tells_one_story().await;
}

/// What a node brings along is declared with it, or nothing is done.
pub async fn a_registration_declares_daemons(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let eve = Actor::enters(backend, "eve", LONG).await;
    let before = scene.everything().await;
    let bad = spec("work/bad").with_weight(0);
    let answer = refusal(eve.brings(eve.member(), vec![spec("work/c"), bad]).await);
    assert!(matches!(&answer, Refusal::Invalid(why) if why.contains("work/bad")), "{answer}");
    assert_eq!(scene.everything().await, before);
    let known = scene.row("work/a").await;
    all_taken(eve.brings(eve.member(), vec![spec("work/a"), spec("work/c").with_weight(3)]).await);
    assert_eq!(scene.row("work/a").await, known, "it was there, and is as it was");
    let new = scene.row("work/c").await;
    assert_eq!((new.spec.weight, new.revision), (3, scene.revision().await));
    assert!(!new.reason.is_empty() && new.generation.is_none());
    assert_eq!(scene.look().await.node(eve.name()).expect("eve").member.revision, new.revision);
    scene.tells_one_story().await;
}

/// Texts and numbers out of their range are refused with words, and leave nothing.
pub async fn what_a_node_may_not_say_is_refused(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let before = scene.everything().await;
    let labels = |key: &str, value: &str| Labels([(key.to_owned(), value.to_owned())].into());
    let member = || scene.ann.member();
    let many = (0..51).map(|number| (format!("k{number}"), "v".to_owned())).collect();
    let families = |family: &str| Agents { names: Default::default(), families: [family.to_owned()].into() };
    let crowd = (0..1_001).map(|number| daemon(&format!("d{number}"))).collect();
    for bad in [
        Member { capacity: 0, ..member() },
        Member { capacity: 1_000_001, ..member() },
        Member { labels: Labels(many), ..member() },
        Member { labels: labels("a\0b", "x"), ..member() },
        Member { labels: labels("a", "x\ny"), ..member() },
        Member { labels: labels("", "x"), ..member() },
        Member { labels: labels("a", &"x".repeat(101)), ..member() },
        Member { version: "v".repeat(101), ..member() },
        Member { version: "v\0".to_owned(), ..member() },
        Member { agents: families(""), ..member() },
        Member { agents: families("a\0"), ..member() },
        Member { agents: Agents { names: crowd, families: Default::default() }, ..member() },
    ] {
        let answer = refusal(scene.ann.registers(bad.clone()).await);
        assert!(matches!(&answer, Refusal::Invalid(why) if !why.is_empty()), "{bad:?}: {answer}");
    }
    let mut long = member();
    long.node.name = NodeName::new("n".repeat(161)).expect("a node's name");
    let answer = refusal(scene.ann.registers(long).await);
    assert!(matches!(answer, Refusal::Invalid(_)), "{answer}");
    assert_eq!(scene.everything().await, before);
}

/// A node that leaves gets nothing more, gives back what it has, and is gone without waiting for any ttl.
pub async fn s72_a_node_leaves_in_order(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a", "work/b", "work/c"]).await;
    let (running, assigned) =
        (scene.running("work/a", &scene.ann).await, scene.assigned("work/b", &scene.ann).await);
    let others = Actor::confirms(&scene.ann, &running);
    assert!(matches!(refusal(others.await), Refusal::StillHeld { .. }), "it does not leave");
    all_taken(scene.ann.leaves().await);
    let once = scene.everything().await;
    all_taken(scene.ann.leaves().await);
    assert_eq!(scene.everything().await, once, "once is enough");
    let look = scene.look().await;
    let standing = look.node(scene.ann.name()).expect("ann");
    assert!(standing.member.leaving && standing.is_alive(look.now) && !standing.takes_daemons(look.now));
    let leaving = Refusal::Leaving(scene.ann.name().clone());
    let placement = Actor::assign(&scene.row("work/c").await, &scene.ann);
    assert_eq!(refusal(scene.lea.places(vec![placement]).await), leaving);
    assert_eq!(refusal(scene.ann.acknowledges(&assigned).await), leaving);
    all_taken(scene.ann.confirms(&running).await);
    let waits = scene.row("work/a").await;
    assert_eq!((waits.place.clone(), waits.generation), (None, running.generation));
    assert!(waits.reason.contains("ann"), "{}", waits.reason);
    scene.running("work/b", &scene.bob).await;
    scene.running("work/a", &scene.bob).await;
    all_taken(scene.ann.departs().await);
    assert!(scene.look().await.node(scene.ann.name()).is_none());
    all_taken(scene.ann.departs().await);
    assert_eq!(refusal(scene.ann.leaves().await), Refusal::NoNode(scene.ann.name().clone()));
    scene.tells_one_story().await;
}

/// The row of a node that lives stays, whoever thinks that it is stale.
pub async fn s60_only_a_node_that_is_over_is_forgotten(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &[]).await;
    let forget = |node: &Actor| vec![Placement::Forget { node: node.name().clone(), term: node.term() }];
    let before = scene.everything().await;
    let answer = refusal(scene.lea.places(forget(&scene.ann)).await);
    assert_eq!(answer, Refusal::NodeLives(scene.ann.name().clone()));
    let mut other = scene.ann.clone();
    other.grant.term = other.term().next().expect("a term");
    all_taken(scene.lea.places(forget(&other)).await);
    assert_eq!(scene.everything().await, before, "another registration than the one that was meant");
    scene.ann.ends().await;
    all_taken(scene.lea.places(forget(&scene.ann)).await);
    let look = scene.look().await;
    assert_eq!((look.nodes.len(), look.revision > before.0), (1, true));
    all_taken(scene.lea.places(forget(&scene.ann)).await);
    assert_eq!(scene.revision().await, look.revision, "it is so already");
}

/// One whom an operator asked to go may still act until it has stopped: it is out of office, and not free game.
pub async fn a_revoked_node_lives_until_it_has_stopped(backend: &dyn ClusterBackend) {
    let scene = Scene::with(backend, &["work/a"]).await;
    let running = scene.running("work/a", &scene.ann).await;
    let admin = backend.admin().await.expect("an operator's view");
    let revoked = admin.revoke(&scene.ann.grant.name, "o'hara", false).await.expect("an answer");
    assert!(matches!(revoked, Revoke::Asked { .. }), "{revoked:?}");
    assert_fenced(&scene.ann.registers(Member { capacity: 2, ..scene.ann.member() }).await);
    let look = scene.look().await;
    assert!(look.node(scene.ann.name()).expect("ann").is_alive(look.now));
    let answer = refusal(scene.lea.places(vec![Actor::assign(&running, &scene.bob)]).await);
    assert!(matches!(answer, Refusal::StillHeld { .. }), "{answer}");
    scene.ann.ends().await;
    let moved = scene.running("work/a", &scene.bob).await;
    let old =
        Fence { lease: daemon("work/a").lease().expect("a lease"), term: running.generation.expect("one") };
    assert!(moved.generation > running.generation && !scene.passes(&old).await);
    scene.tells_one_story().await;
}

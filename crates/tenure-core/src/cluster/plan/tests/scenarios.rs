//! One situation each: what is planned, and why.

use super::*;

#[test]
fn daemons_go_to_the_least_loaded_node_and_ties_go_by_name() {
    let mut world = World::new();
    world.join(member("a"));
    world.join(Member { capacity: 2, ..member("b") });
    world.declare(vec![spec("w/0").with_weight(4), spec("w/1"), spec("w/2"), spec("w/3")]);
    let plan = world.carry_out(false);
    assert_eq!(goes_to(&plan, "w/0").as_deref(), Some("b"), "the heaviest first, where it weighs the least");
    assert_eq!(reason(&plan, "w/0"), "the least loaded of 2 nodes that could run it then");
    assert_eq!(world.counts(), BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 2)]));
}

#[test]
fn s66_a_daemon_without_an_agent_is_explained_once_and_never_placed() {
    let mut world = World::new();
    world.declare(vec![spec("x/1"), spec("w/1").on("zone", "b")]);
    assert_eq!(reason(&world.carry_out(false), "x/1"), "there is no node");
    for name in ["a", "b", "c"] {
        world.join(member(name));
    }
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "x/1"), "no node has an agent for it");
    assert_eq!(reason(&plan, "w/1"), "no node is labelled zone=b");
    assert_eq!(world.plan(false), []);
    world.register(Member {
        agents: Agents { names: [name("x/1")].into(), ..Agents::default() },
        ..member("c")
    });
    let plan = world.carry_out(false);
    assert_eq!(goes_to(&plan, "x/1").as_deref(), Some("c"));
    assert_eq!(reason(&plan, "x/1"), "the only node that could run it then");
    let mixed = "none of 3 nodes can run it: 2 are not labelled zone=b, 1 has no agent for it";
    assert_eq!(reason(&plan, "w/1"), mixed);
    assert_eq!(world.daemon("w/1").moves, 0);
}

#[test]
fn a_daemon_that_failed_everywhere_waits_and_says_until_when() {
    let mut world = World::running(&["a", "b"], 1);
    world.fail("w/00000");
    let plan = world.carry_out(true);
    assert_eq!(goes_to(&plan, "w/00000").as_deref(), Some("b"));
    world.answer();
    world.fail("w/00000");
    let soonest = world.daemon("w/00000").avoids.iter().map(|avoid| avoid.until).min().unwrap();
    let plan = world.carry_out(true);
    let (why, when) = (reason(&plan, "w/00000"), format!("; tried again there after {soonest}"));
    assert!(why.starts_with("it failed on b: ") && why.ends_with(&when), "{why}");
    assert_eq!(world.plan(true), []);
    world.pass(world.now.until(soonest));
    assert_eq!(goes_to(&world.carry_out(true), "w/00000").as_deref(), Some("a"));
}

#[test]
fn the_daemons_of_a_node_that_is_gone_go_elsewhere_and_then_it_is_forgotten() {
    let mut world = World::running(&["a", "b"], 4);
    world.die("a");
    let plan = world.carry_out(false);
    assert_eq!(plan.len(), 2, "{plan:?}");
    assert_eq!(reason(&plan, "w/00000"), "its node a is gone");
    assert_eq!(world.plan(false), [Placement::Forget { node: node("a"), term: term(1) }]);
    world.settle(false);
    assert_eq!(world.counts(), BTreeMap::from([("b".to_owned(), 4)]));
    world.die("b");
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "w/00003"), "its node b is gone; there is no node");
    assert!(world.rows().values().all(|daemon| daemon.state == DaemonState::Unassigned));
    assert_eq!(world.plan(false), [Placement::Forget { node: node("b"), term: term(1) }]);
}

#[test]
fn a_node_that_was_restarted_gets_its_daemons_under_the_new_term() {
    let mut world = World::running(&["a"], 1);
    world.join(member("a"));
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "w/00000"), "its node a was restarted");
    assert_eq!(world.daemon("w/00000").place, Some((node("a"), term(2))));
}

#[test]
fn a_node_without_a_row_counts_as_gone_and_the_store_asks_its_lease() {
    let mut world = World::running(&["a", "b"], 2);
    world.tables.delete_node(&node("a"));
    let plan = world.plan(false);
    assert_eq!(goes_to(&plan, "w/00000").as_deref(), Some("b"));
    let order = world.place(plan);
    let held = Refusal::StillHeld { daemon: name("w/00000"), state: DaemonState::Active };
    assert_eq!(world.apply(&order), Answer::Done(vec![Verdict::Refused(held)]));
    world.die("a");
    assert_eq!(goes_to(&world.carry_out(false), "w/00000").as_deref(), Some("b"));
}

#[test]
fn s69_a_paused_daemon_of_a_dead_node_rests_and_a_retired_one_is_gone() {
    let mut world = World::running(&["a", "b"], 4);
    let on_a = |daemon: &&Daemon| daemon.node() == Some(&node("a"));
    let rows = world.rows();
    let names: Vec<&str> = rows.values().filter(on_a).map(|daemon| daemon.name().as_str()).collect();
    world.steer(names[0], Steering::Pause);
    world.retire(names[1]);
    world.die("a");
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, names[0]), "its node a is gone; paused by ops");
    assert_eq!(world.daemon(names[0]).state, DaemonState::Unassigned);
    world.settle(true);
    assert!(!world.rows().contains_key(&name(names[1])));
    assert_eq!(world.plan(true), []);
    world.steer(names[0], Steering::Resume);
    assert_eq!(goes_to(&world.carry_out(false), names[0]).as_deref(), Some("b"));
}

#[test]
fn s72_daemons_of_a_leaving_node_are_told_where_they_go() {
    let mut world = World::running(&["a", "b", "c"], 6);
    world.declare(vec![spec("w/9").on("zone", "z")]);
    world.register(labelled("a", "zone", "z"));
    world.settle(true);
    world.declare(vec![spec("w/8")]);
    world.carry_out(false);
    let on_its_way = world.daemon("w/8");
    let going = on_its_way.node().unwrap().to_string();
    world.leave(&going);
    let plan = world.carry_out(false);
    let assigned = plan.iter().filter(|placement| matches!(placement, Placement::Assign { .. })).count();
    assert_eq!(assigned, 1, "what nobody runs yet goes at once: {plan:?}");
    assert_eq!(reason(&plan, "w/8"), format!("node {going} is leaving"));
    world.settle(false);
    assert_eq!(world.counts().get(&going), None);
    if going != "a" {
        world.leave("a");
    }
    let plan = world.carry_out(false);
    let nowhere = "node a is leaving; none of 3 nodes can run it: 2 are not labelled zone=z, 1 is leaving";
    assert_eq!(reason(&plan, "w/9"), nowhere);
    world.settle(false);
    assert_eq!(world.daemon("w/9").state, DaemonState::Unassigned);
}

#[test]
fn a_daemon_whose_next_node_is_gone_is_told_another_and_keeps_its_deadline() {
    let mut world = World::running(&["a", "b", "c"], 3);
    world.leave("a");
    world.carry_out(false);
    let before = world.daemon("w/00000");
    let next = before.next.clone().unwrap();
    world.pass(secs(1));
    world.die(next.as_str());
    let plan = world.carry_out(false);
    let after = world.daemon("w/00000");
    assert_eq!(reason(&plan, "w/00000"), format!("it cannot go to {next} any more"));
    assert_eq!((after.deadline, after.state), (before.deadline, DaemonState::Revoking));
    assert_ne!(after.next, before.next);
}

#[test]
fn a_silent_node_loses_a_daemon_to_any_other_and_keeps_it_only_if_there_is_none() {
    let mut world = World::new();
    world.join(member("a"));
    world.declare_many(1);
    world.carry_out(false);
    world.pass(world.settings.acknowledge);
    let plan = world.carry_out(false);
    assert_eq!(goes_to(&plan, "w/00000").as_deref(), Some("a"));
    assert_eq!(reason(&plan, "w/00000"), "node a did not acknowledge it in time");
    world.join(member("b"));
    world.declare_many(10);
    world.pass(world.settings.acknowledge);
    assert_eq!(goes_to(&world.carry_out(false), "w/00000").as_deref(), Some("b"));
}

#[test]
fn s65_what_a_node_does_not_stop_in_time_is_taken_by_force() {
    let mut world = World::running(&["a", "b", "c"], 3);
    world.leave("a");
    world.carry_out(false);
    world.steer("w/00001", Steering::Pause);
    world.retire("w/00002");
    let next = world.daemon("w/00000").next.unwrap();
    world.pass(world.settings.drain);
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "w/00000"), "node a did not stop it in time; taken by force");
    assert_eq!(goes_to(&plan, "w/00000"), Some(next.to_string()));
    assert_eq!(reason(&plan, "w/00001"), "node b did not stop it in time; taken by force; paused by ops");
    world.answer();
    world.settle(true);
    assert!(!world.rows().contains_key(&name("w/00002")));
    assert_eq!(world.plan(true), []);
}

#[test]
fn a_daemon_whose_node_lost_its_label_moves_and_one_that_fits_nowhere_stops() {
    let mut world = World::new();
    world.join(labelled("a", "zone", "z"));
    world.join(member("b"));
    world.declare(vec![spec("w/1").on("zone", "z")]);
    world.settle(false);
    world.register(member("a"));
    let plan = world.carry_out(false);
    let nowhere = "node a cannot run it any more: it is not labelled zone=z; no node is labelled zone=z";
    assert_eq!(reason(&plan, "w/1"), nowhere);
    world.settle(false);
    world.register(labelled("b", "zone", "z"));
    assert_eq!(goes_to(&world.carry_out(false), "w/1").as_deref(), Some("b"));
}

#[test]
fn a_pinned_daemon_goes_home_when_its_node_is_back_and_is_never_spread() {
    let mut world = World::running(&["a", "b"], 8);
    for daemon in world.rows().keys() {
        world.steer(daemon.as_str(), Steering::Move { to: node("b") });
    }
    world.settle(true);
    assert_eq!(world.counts(), BTreeMap::from([("b".to_owned(), 8)]), "uneven as it is");
    world.die("b");
    let plan = world.carry_out(false);
    let away = "its node b is gone; it is wanted on b, which cannot take it now; the only node that could run it then";
    assert_eq!(reason(&plan, "w/00000"), away);
    world.settle(false);
    world.join(member("b"));
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "w/00000"), "an operator wants it on b");
    world.settle(false);
    assert_eq!(world.counts(), BTreeMap::from([("b".to_owned(), 8)]));
}

#[test]
fn parts_of_a_new_layout_wait_until_all_of_the_old_one_are_gone() {
    let parts = |layout: u32| -> Vec<DaemonSpec> {
        let group = Group { name: "g".into(), layout };
        (0..layout).map(|part| spec(&format!("w/{layout}-{part}")).in_group(group.clone())).collect()
    };
    let mut world = World::new();
    world.join(member("a"));
    world.join(member("b"));
    world.declare(parts(2));
    world.settle(false);
    world.declare(parts(3));
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "w/3-0"), "it waits until daemon w/2-0 of another layout is gone");
    assert_eq!(world.plan(false), []);
    world.die("a");
    world.carry_out(false);
    assert_eq!(world.daemon("w/3-0").state, DaemonState::Unassigned, "one of the old is on b still");
    world.settle(false);
    let names: Vec<String> = world.rows().keys().map(ToString::to_string).collect();
    assert_eq!(names, ["w/3-0", "w/3-1", "w/3-2"]);
    assert!(world.rows().values().all(|daemon| daemon.state == DaemonState::Active));
}

#[test]
fn parts_of_a_dead_layout_make_way_in_the_same_plan() {
    let part = |layout| spec(&format!("w/{layout}")).in_group(Group { name: "g".into(), layout });
    let mut world = World::running(&["a"], 0);
    world.declare(vec![part(2)]);
    world.settle(false);
    world.join(member("b"));
    world.declare(vec![part(3)]);
    world.die("a");
    assert_eq!(goes_to(&world.carry_out(false), "w/3").as_deref(), Some("b"));
}

#[test]
fn one_plan_never_places_parts_of_two_layouts() {
    let world = World::running(&["a", "b"], 0);
    let look = world.tables.look(&world.leases, world.now);
    let part = |layout| spec(&format!("w/{layout}")).in_group(Group { name: "g".into(), layout });
    let daemons = [2, 3].map(part).map(|spec| (spec.name.clone(), Daemon::new(spec, world.now))).into();
    let (now, nodes, settings) = (world.now, &look.nodes, &world.settings);
    let plan = plan(&Picture { now, nodes, daemons: &daemons, quiet: false, settings });
    assert_eq!(goes_to(&plan, "w/2").as_deref(), Some("a"));
    assert_eq!(reason(&plan, "w/3"), "it waits until daemon w/2 of another layout is gone");
}

#[test]
fn what_was_on_its_way_arrives_there_and_is_counted_once() {
    let mut world = World::running(&["a"], 4);
    world.join(member("b"));
    world.leave("a");
    world.carry_out(false);
    world.join(member("c"));
    world.declare((0..8).map(|number| spec(&format!("w/x{number}"))).collect());
    world.die("a");
    let plan = world.carry_out(false);
    for daemon in ["w/00000", "w/00001", "w/00002", "w/00003"] {
        assert_eq!(goes_to(&plan, daemon).as_deref(), Some("b"));
    }
    assert_eq!(world.counts(), BTreeMap::from([("b".to_owned(), 6), ("c".to_owned(), 6)]));
}

#[test]
fn during_a_deploy_daemons_go_to_the_new_version_unless_it_is_crowded() {
    let mut world = World::running(&["a", "b", "c"], 12);
    world.pass(secs(1));
    world.join(Member { version: "2".into(), ..member("d") });
    world.declare(vec![spec("w/x").with_weight(4)]);
    world.settle(false);
    assert_eq!(world.daemon("w/x").node(), Some(&node("d")), "as full as all others, and of the new version");
    world.declare((0..20).map(|number| spec(&format!("w/y{number}"))).collect());
    let plan = world.carry_out(false);
    assert_eq!(reason(&plan, "w/y0"), "the only node of version 2 that could run it then");
    let new = plan.iter().filter(|p| matches!(p, Placement::Assign { to, .. } if *to == node("d"))).count();
    assert!((10..=15).contains(&new), "up to about twice the mean of 9: {new}");
    // Without anyone coming or going the version does not count.
    world.declare(vec![spec("w/z")]);
    assert_ne!(goes_to(&world.plan(true), "w/z").as_deref(), Some("d"));
}

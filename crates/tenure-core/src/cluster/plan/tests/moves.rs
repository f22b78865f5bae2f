//! How many moves it takes: a cluster in motion must not make more motion.

use super::*;

fn total(moves: &[u64]) -> u64 {
    moves.iter().sum()
}

fn most(moves: &[u64]) -> u64 {
    moves.iter().copied().max().unwrap_or(0)
}

#[test]
fn a_new_node_gets_its_share_once_it_is_quiet_and_each_daemon_moves_once() {
    for old in [1, 2, 5, 9, 19] {
        let names: Vec<String> = (0..old).map(|number| format!("n{number:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut world = World::running(&names, 380);
        world.join(member("x"));
        assert_eq!(world.plan(false), [], "nothing moves before it is quiet");
        let before = world.rows();
        world.settle(true);
        let moves = world.moves_since(&before);
        let share = 380 / (old + 1);
        let got = world.counts()["x"];
        assert!(got.abs_diff(share) <= 1, "{got} of {share} with {old} old ones");
        assert_eq!((total(&moves), most(&moves)), (got as u64, 1));
    }
}

#[test]
fn what_is_even_enough_stays() {
    let mut world = World::running(&["a", "b"], 20);
    world.settings.uneven = 20;
    let on_a: Vec<String> = world
        .rows()
        .values()
        .filter(|d| d.node() == Some(&node("a")))
        .map(|d| d.name().to_string())
        .collect();
    let to_b = |world: &mut World, daemon: &str| {
        world.steer(daemon, Steering::Move { to: node("b") });
        world.answer();
        world.steer(daemon, Steering::Unpin);
    };
    to_b(&mut world, &on_a[0]);
    to_b(&mut world, &on_a[1]);
    assert_eq!(world.plan(true), [], "12 against 8: a fifth above the mean, and not more");
    to_b(&mut world, &on_a[2]);
    let plan = world.plan(true);
    assert_eq!(plan.len(), 3, "all of the surplus goes: {plan:?}");
    let Placement::Revoke { daemon, reason, .. } = &plan[0] else { panic!("{plan:?}") };
    assert_eq!(reason, "moved from b to even the load (13 against 7)");
    assert!(!on_a[..3].contains(&daemon.to_string()), "those that moved of late stay");
}

#[test]
fn only_so_many_are_on_their_way_at_once() {
    let mut world = World::running(&["a"], 60);
    world.settings.moves_at_once = 8;
    world.join(member("b"));
    assert_eq!(world.carry_out(true).len(), 8);
    assert_eq!(world.plan(true), [], "they have not arrived");
    world.settle(true);
    assert!(world.counts()["b"] >= 24, "{:?}", world.counts());
}

#[test]
fn a_full_node_from_which_nothing_may_go_does_not_hide_the_others() {
    let mut world = World::running(&["a"], 40);
    for daemon in world.rows().keys() {
        world.steer(daemon.as_str(), Steering::Move { to: node("a") });
    }
    world.join(labelled("b", "zone", "z"));
    world.declare((0..12).map(|number| spec(&format!("w/z{number}")).on("zone", "z")).collect());
    world.settle(true);
    world.join(labelled("c", "zone", "z"));
    world.join(member("d"));
    world.settle(true);
    let counts = BTreeMap::from([("a".to_owned(), 40), ("b".to_owned(), 6), ("c".to_owned(), 6)]);
    assert_eq!(world.counts(), counts);
}

#[test]
fn a_fuller_node_of_pinned_daemons_does_not_make_the_others_seem_empty() {
    let mut world = World::running(&["a"], 40);
    for daemon in world.rows().keys() {
        world.steer(daemon.as_str(), Steering::Move { to: node("a") });
    }
    world.join(member("b"));
    world.declare((0..12).map(|number| spec(&format!("w/z{number}"))).collect());
    world.settle(true);
    world.join(member("c"));
    world.settle(true);
    let counts = BTreeMap::from([("a".to_owned(), 40), ("b".to_owned(), 6), ("c".to_owned(), 6)]);
    assert_eq!(world.counts(), counts);
}

#[test]
fn a_daemon_is_not_spread_to_where_it_failed() {
    let mut world = World::running(&["a", "b"], 2);
    world.steer("w/00000", Steering::Move { to: node("a") });
    world.fail("w/00001");
    world.settle(true);
    assert_eq!(world.counts(), BTreeMap::from([("a".to_owned(), 2)]));
    world.pass(world.settings.cool_down);
    assert_eq!(goes_to(&world.plan(true), "w/00001").as_deref(), Some("b"));
}

#[test]
fn heavy_daemons_are_spread_without_swapping_the_full_node_for_another() {
    let mut world = World::new();
    world.join(member("a"));
    world.declare(vec![spec("w/heavy").with_weight(9), spec("w/light")]);
    world.settle(false);
    world.join(member("b"));
    world.settle(true);
    assert_eq!(world.daemon("w/heavy").node(), Some(&node("a")));
    assert_eq!(world.daemon("w/light").node(), Some(&node("b")));
    let mut world = World::new();
    world.join(member("a"));
    world.declare(vec![spec("w/heavy").with_weight(6), spec("w/light").with_weight(4)]);
    world.settle(false);
    world.steer("w/light", Steering::Move { to: node("a") });
    world.join(member("b"));
    world.settle(true);
    assert_eq!(world.daemon("w/heavy").node(), Some(&node("b")), "6 and 4 are better than 10 and 0");
}

#[test]
fn s68_replacing_one_node_moves_only_its_daemons_and_each_once() {
    for (count, daemons) in [(3, 90), (6, 600), (10, 1000)] {
        let names: Vec<String> = (0..count).map(|number| format!("n{number:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut world = World::running(&names, daemons);
        let before = world.rows();
        world.join(member("x"));
        world.settle(false);
        world.leave("n00");
        world.settle(false);
        world.depart("n00");
        world.settle(false);
        world.settle(true);
        let moves = world.moves_since(&before);
        assert!(total(&moves) * 10 <= (daemons / count * 11) as u64, "{} of {daemons}", total(&moves));
        assert_eq!(most(&moves), 1);
        assert_eq!(world.counts()["x"], daemons / count);
    }
}

#[test]
fn s68_new_nodes_that_join_before_the_old_ones_leave_cost_one_move_each() {
    let old = ["a", "b", "c", "d", "e", "f"];
    for version in ["1", "2"] {
        let mut world = World::running(&old, 600);
        let before = world.rows();
        for new in ["s", "t", "u", "v", "w", "x"] {
            world.pass(secs(1));
            world.join(Member { version: version.into(), ..member(new) });
            world.settle(false);
        }
        for old in old {
            world.leave(old);
            world.settle(false);
            world.depart(old);
        }
        world.settle(true);
        let moves = world.moves_since(&before);
        assert_eq!((total(&moves), most(&moves)), (600, 1), "version {version}");
    }
}

#[test]
fn s68_a_rolling_restart_of_six_costs_fewer_than_two_moves_a_daemon() {
    let names = ["a", "b", "c", "d", "e", "f"];
    for version in ["1", "2"] {
        let mut world = World::running(&names, 1000);
        let before = world.rows();
        for name in names {
            world.leave(name);
            world.settle(false);
            world.depart(name);
            world.settle(false);
            world.pass(secs(5));
            world.join(Member { version: version.into(), ..member(name) });
            world.settle(false);
        }
        world.settle(true);
        let moves = world.moves_since(&before);
        assert!(total(&moves) <= 2000, "{} moves of 1000 daemons, version {version}", total(&moves));
        let counts = world.counts();
        assert!(counts.len() == 6 && counts.values().all(|count| (133..=200).contains(count)), "{counts:?}");
    }
}

#[test]
fn s68_a_flapping_node_costs_the_moves_of_its_first_death_only() {
    let mut world = World::running(&["a", "b", "c", "d"], 1000);
    let before = world.rows();
    for _ in 0..50 {
        world.die("d");
        world.settle(false);
        world.pass(secs(3));
        world.join(member("d"));
        world.settle(false);
        world.pass(secs(3));
    }
    assert_eq!(total(&world.moves_since(&before)), 250);
    let before = world.rows();
    world.settle(true);
    assert_eq!(
        (world.counts()["d"], total(&world.moves_since(&before))),
        (250, 250),
        "it gets its share in the end"
    );
}

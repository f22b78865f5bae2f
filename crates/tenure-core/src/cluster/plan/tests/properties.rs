//! Whatever happens: plans are taken as they are, come to an end, and leave nothing undone.

use proptest::prelude::*;

use super::*;
use crate::cluster::Standing;
use crate::cluster::decide::misfit;

const NODES: [&str; 5] = ["a", "b", "c", "d", "e"];
const FAMILIES: [&str; 3] = ["w", "v", "x"];

/// Something that happens to a cluster.
#[derive(Debug, Clone)]
enum Event {
    Join { node: usize, kind: usize, capacity: u32, version: u8 },
    Relabel { node: usize, kind: usize },
    Leave(usize),
    Depart(usize),
    Die(usize),
    Declare { daemon: usize, weight: u32, zone: bool },
    Divide { layout: u32 },
    Retire(usize),
    Pause(usize),
    Resume(usize),
    Move { daemon: usize, node: usize },
    Unpin(usize),
    Fail(usize),
    Answer,
    Acknowledge,
    Pass(u64),
    Plan { quiet: bool },
}

fn event() -> impl Strategy<Value = Event> {
    let node = 0..NODES.len();
    let daemon = 0..24_usize;
    prop_oneof![
        4 => (node.clone(), 0..4_usize, 1..4_u32, 1..3_u8)
            .prop_map(|(node, kind, capacity, version)| Event::Join { node, kind, capacity, version }),
        1 => (node.clone(), 0..4_usize).prop_map(|(node, kind)| Event::Relabel { node, kind }),
        2 => node.clone().prop_map(Event::Leave),
        1 => node.clone().prop_map(Event::Depart),
        2 => node.clone().prop_map(Event::Die),
        6 => (daemon.clone(), 1..6_u32, any::<bool>())
            .prop_map(|(daemon, weight, zone)| Event::Declare { daemon, weight, zone }),
        1 => (2..5_u32).prop_map(|layout| Event::Divide { layout }),
        1 => daemon.clone().prop_map(Event::Retire),
        1 => daemon.clone().prop_map(Event::Pause),
        1 => daemon.clone().prop_map(Event::Resume),
        1 => (daemon.clone(), node).prop_map(|(daemon, node)| Event::Move { daemon, node }),
        1 => daemon.clone().prop_map(Event::Unpin),
        2 => daemon.prop_map(Event::Fail),
        4 => Just(Event::Answer),
        2 => Just(Event::Acknowledge),
        4 => (0..40_u64).prop_map(Event::Pass),
        8 => any::<bool>().prop_map(|quiet| Event::Plan { quiet }),
    ]
}

fn of_kind(name: &str, kind: usize) -> Member {
    let families = |families: &[&str]| Agents {
        names: BTreeSet::new(),
        families: families.iter().map(|family| (*family).to_owned()).collect(),
    };
    match kind {
        0 => member(name),
        1 => Member { agents: families(&["w", "v"]), ..member(name) },
        2 => Member { agents: families(&["w", "v"]), ..labelled(name, "zone", "z") },
        _ => Member { agents: families(&["v"]), ..member(name) },
    }
}

fn daemon_name(number: usize) -> String {
    format!("{}/{number:02}", FAMILIES[if number == 0 { 2 } else { number % 2 }])
}

impl World {
    fn is_up(&self, node: &NodeName) -> bool {
        self.terms.get(node).is_some_and(|number| self.lives(&(node.clone(), term(*number))))
    }

    fn has_row(&self, node: &NodeName) -> bool {
        self.tables.look(&self.leases, self.now).node(node).is_some()
    }

    /// Lets something happen, where it can.
    fn happen(&mut self, event: &Event) {
        let up = |world: &Self, number: usize| {
            let name = node(NODES[number]);
            world.is_up(&name) && world.has_row(&name)
        };
        match event {
            Event::Join { node: number, kind, capacity, version } if !self.is_up(&node(NODES[*number])) => {
                let member = of_kind(NODES[*number], *kind);
                self.join(Member { capacity: *capacity, version: version.to_string(), ..member });
            }
            Event::Relabel { node: number, kind } if up(self, *number) => {
                self.register(of_kind(NODES[*number], *kind));
            }
            Event::Leave(number) if up(self, *number) => self.leave(NODES[*number]),
            Event::Depart(number) if up(self, *number) => self.depart(NODES[*number]),
            Event::Die(number) if self.is_up(&node(NODES[*number])) => self.die(NODES[*number]),
            Event::Declare { daemon, weight, zone } => {
                let spec = spec(&daemon_name(*daemon)).with_weight(*weight);
                self.declare(vec![if *zone { spec.on("zone", "z") } else { spec }]);
            }
            Event::Divide { layout } => {
                let group = Group { name: "g".into(), layout: *layout };
                let part = |part| spec(&format!("w/g{layout}-{part}")).in_group(group.clone());
                self.declare((0..*layout).map(part).collect());
            }
            Event::Retire(daemon) if self.has(*daemon) => self.retire(&daemon_name(*daemon)),
            Event::Pause(daemon) => self.try_to_steer(*daemon, Steering::Pause),
            Event::Resume(daemon) => self.try_to_steer(*daemon, Steering::Resume),
            Event::Move { daemon, node: number } => {
                self.try_to_steer(*daemon, Steering::Move { to: node(NODES[*number]) });
            }
            Event::Unpin(daemon) => self.try_to_steer(*daemon, Steering::Unpin),
            Event::Fail(daemon) if self.has(*daemon) => {
                let row = self.daemon(&daemon_name(*daemon));
                if row.place.is_some_and(|place| self.lives(&place)) {
                    self.fail(&daemon_name(*daemon));
                }
            }
            Event::Answer => self.answer(),
            Event::Acknowledge => {
                for (node, daemons) in self.waiting(DaemonState::Assigning) {
                    let fence = self.fence(&node);
                    self.apply(&Order::Acknowledge { fence, node, daemons });
                }
            }
            Event::Pass(seconds) => self.pass(secs(*seconds)),
            Event::Plan { quiet } => drop(self.carry_out(*quiet)),
            _ => {}
        }
    }

    fn has(&self, daemon: usize) -> bool {
        self.rows().contains_key(&name(&daemon_name(daemon)))
    }

    /// An operator may ask for what is refused.
    fn try_to_steer(&mut self, daemon: usize, steering: Steering) {
        self.steer(&daemon_name(daemon), steering);
    }

    /// Whatever is to run and can, runs where it may; whatever does not run says why.
    fn assert_mended(&self) {
        let look = self.tables.look(&self.leases, self.now);
        for daemon in self.rows().values() {
            let can = look.nodes.iter().filter(|node| {
                node.takes_daemons(self.now)
                    && misfit(daemon, &node.member).is_none()
                    && !daemon.avoids(&node.member.node.name, self.now)
            });
            let can: Vec<&NodeName> = can.map(|node| &node.member.node.name).collect();
            let Some(at) = daemon.node() else {
                assert!(!daemon.is_wanted() || can.is_empty(), "{daemon:?}");
                assert!(!daemon.reason.contains("waits for the leader"), "{daemon:?}");
                continue;
            };
            assert_eq!((daemon.state, daemon.is_wanted()), (DaemonState::Active, true), "{daemon:?}");
            // It may be where it failed, if it was left there: a node that did not answer gets it again.
            let fits =
                |node: &Standing| node.takes_daemons(self.now) && misfit(daemon, &node.member).is_none();
            assert!(look.node(at).is_some_and(fits), "{daemon:?}");
            let home = daemon.pinned_to.as_ref().filter(|home| can.contains(home));
            assert!(home.is_none_or(|home| home == at), "{daemon:?}");
        }
        assert!(look.nodes.iter().all(|node| node.is_alive(self.now)), "all that are over are forgotten");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_plan_is_never_refused_and_comes_to_an_end(
        events in proptest::collection::vec(event(), 1..80),
        moves_at_once in 1..10_u32,
        uneven in 0..60_u32,
    ) {
        let mut world = World::new();
        world.settings.moves_at_once = moves_at_once;
        world.settings.uneven = uneven;
        for event in &events {
            world.happen(event);
            // A plan is taken whenever it is made, also when it is not carried out then.
            let order = world.place(world.plan(true));
            let answer = world.tables.clone().apply(&order, &mut world.leases.clone(), &BTreeSet::new(), world.now).0;
            let taken = matches!(&answer, Answer::Done(verdicts) if verdicts.iter().all(Verdict::is_taken));
            prop_assert!(taken, "{:?}: {:?}", order, answer);
        }
        world.settle(false);
        world.settle(true);
        prop_assert_eq!(world.plan(true), vec![]);
        prop_assert_eq!(world.plan(false), vec![]);
        world.assert_mended();
    }

    #[test]
    fn spreading_moves_equal_daemons_once_and_no_more_of_them_than_there_are_too_many(
        counts in proptest::collection::vec(0..40_usize, 2..8),
        moves_at_once in 1..100_u32,
    ) {
        let names: Vec<String> = (0..counts.len()).map(|number| format!("n{number}")).collect();
        let mut world = World::new();
        for name in &names {
            world.join(labelled(name, "only", name));
        }
        let mut specs = Vec::new();
        for (name, count) in names.iter().zip(&counts) {
            specs.extend((0..*count).map(|number| spec(&format!("w/{name}-{number}")).on("only", name)));
        }
        world.declare(specs.clone());
        world.settle(false);
        // From now on all may be anywhere.
        world.declare(specs.into_iter().map(|spec| DaemonSpec { labels: Labels::default(), ..spec }).collect());
        let before = world.rows();
        world.settings.moves_at_once = moves_at_once;
        world.settle(true);
        let moves = world.moves_since(&before);
        let total: usize = counts.iter().sum();
        let surplus: usize = counts.iter().map(|count| count.saturating_sub(total / counts.len())).sum();
        prop_assert!(moves.iter().all(|moves| *moves <= 1));
        prop_assert!(moves.iter().sum::<u64>() <= surplus as u64);
        let now: Vec<usize> = names.iter().map(|name| world.counts().get(name).copied().unwrap_or(0)).collect();
        let (most, least) = (now.iter().max().unwrap(), now.iter().min().unwrap());
        // Within a fifth of the mean, or as even as whole daemons can be.
        let even = most * 5 * now.len() <= total * 6 && least * 5 * now.len() >= total * 4;
        prop_assert!(even || most - least <= 1, "{:?} became {:?}", counts, now);
    }

    #[test]
    fn nodes_that_come_before_others_go_cost_one_move_for_each_daemon_of_those_that_go(
        (old, gone) in (2..8_usize).prop_flat_map(|old| (Just(old), 1..=old)),
        each in 1..20_usize,
        deploy in any::<bool>(),
        at_once in any::<bool>(),
    ) {
        let names: Vec<String> = (0..old).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut world = World::running(&names, old * each);
        let before = world.rows();
        for number in 0..gone {
            world.pass(secs(1));
            let version = if deploy { "2" } else { "1" };
            world.join(Member { version: version.into(), ..member(&format!("x{number}")) });
            world.settle(false);
        }
        for name in &names[..gone] {
            world.leave(name);
            if !at_once {
                world.settle(false);
                world.depart(name);
            }
        }
        world.settle(false);
        world.settle(true);
        let moves = world.moves_since(&before);
        prop_assert!(moves.iter().all(|moves| *moves <= 1), "{:?}", moves);
        prop_assert_eq!(moves.iter().sum::<u64>(), (gone * each) as u64);
    }
}

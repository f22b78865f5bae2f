//! What once went wrong in a decision, each with the rows that showed it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;
use crate::cluster::{
    Agents, DaemonSpec, DaemonState, Deadlines, Group, LEADER_LEASE, Labels, Placement, Steering,
};
use crate::id::{Node, Unique};
use crate::lease::{Fence, LeaseName};

const NOW: StoreTime = StoreTime::from_micros(1_000_000);
const DEADLINES: Deadlines =
    Deadlines { acknowledge: Duration::from_secs(30), drain: Duration::from_secs(30) };

fn name(text: &str) -> DaemonName {
    DaemonName::new(text).unwrap()
}

fn node(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

fn fence(lease: &str) -> Fence {
    Fence { lease: LeaseName::new(lease).unwrap(), term: Term::FIRST }
}

fn member(text: &str) -> Member {
    let node = Node {
        name: node(text),
        incarnation: Unique::from_u128(text.len() as u128),
        machine: "m".to_owned(),
        pid: 1,
    };
    Member {
        node,
        term: Term::FIRST,
        labels: Labels::default(),
        version: String::new(),
        capacity: 1,
        leads: true,
        agents: Agents { names: BTreeSet::new(), families: ["work".to_owned()].into() },
        leaving: false,
        joined_at: NOW,
        revision: Revision(1),
    }
}

fn lease(lease: &str, holder: &Node, expires_at: StoreTime) -> LeaseRecord {
    LeaseRecord {
        name: LeaseName::new(lease).unwrap(),
        term: Term::FIRST,
        node: holder.clone(),
        claim: holder.incarnation,
        renewals: 0,
        kind: None,
        backend: "test".to_owned(),
        acquired_at: NOW,
        renewed_at: NOW,
        expires_at,
        released_at: None,
        revoked_at: None,
        presence: None,
        origin: None,
    }
}

/// Two nodes of term 1 that live, the lease of an office, and these daemons.
fn rows(office: &str, daemons: Vec<Daemon>) -> Rows {
    let nodes = vec![member("ann"), member("beth")];
    let later = NOW.after(Duration::from_secs(60));
    let held = |member: &Member| {
        let its = format!("tenure/node/{}", member.node.name);
        (member.node.name.clone(), lease(&its, &member.node, later))
    };
    Rows {
        now: NOW,
        revision: Revision(9),
        office: Some(lease(office, &nodes[0].node, later)),
        node_leases: nodes.iter().map(held).collect(),
        nodes,
        daemons: daemons.into_iter().map(|daemon| (daemon.name().clone(), daemon)).collect(),
        leases: BTreeMap::new(),
        in_use: BTreeSet::new(),
    }
}

fn placed(text: &str, state: DaemonState) -> Daemon {
    Daemon {
        state,
        place: Some((node("ann"), Term::FIRST)),
        generation: Term::new(5),
        deadline: (state != DaemonState::Active).then(|| NOW.after(Duration::from_secs(9))),
        ..Daemon::new(DaemonSpec::new(name(text)), NOW)
    }
}

fn part(text: &str, layout: u32) -> DaemonSpec {
    DaemonSpec::new(name(text)).in_group(Group { name: text[..6].to_owned(), layout })
}

#[test]
fn a_fence_of_another_lease_with_the_same_term_is_refused() {
    let assigning = || vec![placed("work/a", DaemonState::Assigning)];
    let theirs = Order::Acknowledge {
        fence: fence("tenure/node/beth"),
        node: node("ann"),
        daemons: vec![(name("work/a"), Term::new(5).unwrap())],
    };
    let decided = decide(&theirs, rows("tenure/node/beth", assigning()));
    assert_eq!(decided.answer, Answer::Refused(Refusal::NodeOver(node("ann"))));
    assert!(decided.writes.is_empty());
    let placement = Placement::Explain { daemon: name("work/a"), reason: "because".to_owned() };
    let place = |lease: &str| Order::Place {
        fence: fence(lease),
        placements: vec![placement.clone()],
        deadlines: DEADLINES,
    };
    let decided = decide(&place("tenure/node/ann"), rows("tenure/node/ann", assigning()));
    assert!(matches!(decided.answer, Answer::Refused(Refusal::Invalid(_))), "{:?}", decided.answer);
    let decided = decide(&place(LEADER_LEASE), rows(LEADER_LEASE, assigning()));
    assert!(matches!(decided.answer, Answer::Done(_)), "{:?}", decided.answer);
}

#[test]
fn an_assignment_that_names_another_group_is_refused() {
    let daemon = Daemon::new(part("work/a", 8), NOW);
    let assign = |group: Option<&str>| Order::Place {
        fence: fence(LEADER_LEASE),
        placements: vec![Placement::Assign {
            daemon: name("work/a"),
            generation: None,
            to: node("ann"),
            term: Term::FIRST,
            reason: String::new(),
            group: group.map(ToOwned::to_owned),
        }],
        deadlines: DEADLINES,
    };
    for (group, taken) in [(None, false), (Some("other"), false), (Some("work/a"), true)] {
        let decided = decide(&assign(group), rows(LEADER_LEASE, vec![daemon.clone()]));
        assert_eq!(decided.answer == Answer::Done(vec![Verdict::Taken]), taken, "{group:?}");
    }
}

#[test]
fn a_retired_daemon_whose_node_is_over_is_taken_back_and_then_removed() {
    let retired = Daemon { retired: true, ..placed("work/a", DaemonState::Revoking) };
    let mut rows = rows(LEADER_LEASE, vec![retired]);
    rows.node_leases.remove(&node("ann"));
    let unassign = Placement::Unassign {
        daemon: name("work/a"),
        generation: Term::new(5).unwrap(),
        reason: "its node is over".to_owned(),
    };
    let remove = Placement::Remove { daemon: name("work/a") };
    let placements = vec![remove.clone(), unassign, remove];
    let order = Order::Place { fence: fence(LEADER_LEASE), placements, deadlines: DEADLINES };
    let decided = decide(&order, rows);
    let early = Verdict::Refused(Refusal::Stale { daemon: name("work/a") });
    assert_eq!(decided.answer, Answer::Done(vec![early, Verdict::Taken, Verdict::Taken]));
    assert_eq!(decided.writes.gone, [name("work/a")]);
    assert!(decided.writes.daemons.is_empty());
}

#[test]
fn every_group_that_is_declared_gets_its_layout() {
    let daemons = vec![
        Daemon { spec: part("work/a/8", 8), ..placed("work/a/8", DaemonState::Active) },
        Daemon { spec: part("work/b/8", 8), ..placed("work/b/8", DaemonState::Active) },
    ];
    let order =
        Order::Declare { specs: vec![part("work/a/16", 16), part("work/b/4", 4)], deadlines: DEADLINES };
    let decided = decide(&order, rows(LEADER_LEASE, daemons));
    let retired: Vec<&str> =
        decided.writes.daemons.iter().filter(|d| d.retired).map(|d| d.name().as_str()).collect();
    assert_eq!(retired, ["work/a/8", "work/b/8"]);
}

#[test]
fn a_placed_daemon_does_not_change_its_layout() {
    let daemon = Daemon { spec: part("work/a", 8), ..placed("work/a", DaemonState::Active) };
    let order = Order::Declare { specs: vec![part("work/a", 16)], deadlines: DEADLINES };
    let decided = decide(&order, rows(LEADER_LEASE, vec![daemon]));
    assert_eq!(decided.answer, Answer::Refused(Refusal::OtherLayout { other: name("work/a") }));
    let nowhere = Daemon::new(part("work/a", 8), NOW);
    let decided = decide(&order, rows(LEADER_LEASE, vec![nowhere]));
    assert_eq!(decided.answer, Answer::Done(vec![Verdict::Taken]));
}

#[test]
fn a_daemon_that_is_moved_to_where_it_stops_comes_back_there() {
    let stops = Daemon { next: Some(node("beth")), ..placed("work/a", DaemonState::Revoking) };
    let order = Order::Steer {
        daemon: name("work/a"),
        steering: Steering::Move { to: node("ann") },
        by: "me".to_owned(),
        deadlines: DEADLINES,
    };
    let decided = decide(&order, rows(LEADER_LEASE, vec![stops]));
    let row = &decided.writes.daemons[0];
    assert_eq!((row.next.as_ref(), row.pinned_to.as_ref()), (Some(&node("ann")), Some(&node("ann"))));
}

#[test]
fn reasons_are_cut_to_what_is_stored() {
    let reason = format!("a\0b{}", "x".repeat(3_000));
    let explain = Order::Place {
        fence: fence(LEADER_LEASE),
        placements: vec![Placement::Explain { daemon: name("work/a"), reason }],
        deadlines: DEADLINES,
    };
    let daemon = Daemon::new(DaemonSpec::new(name("work/a")), NOW);
    let decided = decide(&explain, rows(LEADER_LEASE, vec![daemon]));
    let row = decided.writes.daemons[0].clone();
    assert!(row.reason.starts_with("a\u{fffd}b") && row.reason.len() <= 2_010, "{}", row.reason.len());
    let again = decide(&explain, rows(LEADER_LEASE, vec![row]));
    assert!(again.writes.is_empty(), "what is stored already is no change");
}

#[test]
fn s69_a_pause_survives_another_layout() {
    let paused = Daemon { paused_by: Some("ada".to_owned()), ..Daemon::new(part("work/a/0-of-2", 2), NOW) };
    let daemons = vec![paused, Daemon::new(part("work/a/1-of-2", 2), NOW)];
    let specs = vec![part("work/a/0-of-3", 3), part("work/a/1-of-3", 3), DaemonSpec::new(name("work/b"))];
    let order = Order::Declare { specs, deadlines: DEADLINES };
    let decided = decide(&order, rows(LEADER_LEASE, daemons));
    let by = |text: &str| {
        let row = decided.writes.daemons.iter().find(|row| row.name().as_str() == text).unwrap();
        row.paused_by.clone()
    };
    assert_eq!(by("work/a/0-of-3").as_deref(), Some("ada"), "what was held back may be in it");
    assert_eq!(by("work/a/1-of-3").as_deref(), Some("ada"));
    assert_eq!(by("work/b"), None, "it is no part of it");
}

#[test]
fn a_part_that_nodes_are_there_for_is_not_retired_by_an_operator() {
    let daemons = || {
        vec![Daemon::new(part("work/a/0-of-2", 2), NOW), Daemon::new(DaemonSpec::new(name("work/b")), NOW)]
    };
    let retire = |text: &str, by: Option<&str>| Order::Retire {
        daemons: vec![name(text)],
        by: by.map(str::to_owned),
        deadlines: DEADLINES,
    };
    let refused = decide(&retire("work/a/0-of-2", Some("ada")), rows(LEADER_LEASE, daemons()));
    assert!(
        matches!(&refused.answer, Answer::Done(verdicts) if !verdicts[0].is_taken()),
        "{:?}",
        refused.answer
    );
    assert!(refused.writes.is_empty());
    let mut nobody = rows(LEADER_LEASE, daemons());
    nobody.node_leases.clear();
    let taken = |decided: Decided| decided.answer == Answer::Done(vec![Verdict::Taken]);
    assert!(taken(decide(&retire("work/a/0-of-2", Some("ada")), nobody)), "nobody is there for it");
    assert!(taken(decide(&retire("work/a/0-of-2", None), rows(LEADER_LEASE, daemons()))), "a program knows");
    let decided = decide(&retire("work/b", Some("ada")), rows(LEADER_LEASE, daemons()));
    assert_eq!(decided.writes.audit, [("ada".to_owned(), "daemon retired".to_owned(), name("work/b"))]);
}

#[test]
fn where_an_operator_sends_a_daemon_is_not_changed_by_an_older_plan() {
    let stops = Daemon { next: Some(node("beth")), ..placed("work/a", DaemonState::Revoking) };
    let revoke = Placement::Revoke {
        daemon: name("work/a"),
        generation: Term::new(5).unwrap(),
        next: Some(node("ann")),
        reason: "to even the load".to_owned(),
    };
    let order = Order::Place { fence: fence(LEADER_LEASE), placements: vec![revoke], deadlines: DEADLINES };
    let decided = decide(&order, rows(LEADER_LEASE, vec![stops.clone()]));
    assert!(decided.writes.is_empty(), "it goes to beth");
    let mut gone = rows(LEADER_LEASE, vec![stops]);
    gone.node_leases.remove(&node("beth"));
    assert_eq!(decide(&order, gone).writes.daemons[0].next, Some(node("ann")), "beth is gone");
}

#[test]
fn an_operator_forgives_what_failed() {
    let mut failed = Daemon { failures: 4, ..Daemon::new(DaemonSpec::new(name("work/a")), NOW) };
    failed.avoid(node("ann"), Duration::from_secs(600), NOW);
    for steering in [Steering::Move { to: node("ann") }, Steering::Resume] {
        let order =
            Order::Steer { daemon: name("work/a"), steering, by: "ada".to_owned(), deadlines: DEADLINES };
        let decided = decide(&order, rows(LEADER_LEASE, vec![failed.clone()]));
        assert_eq!((decided.writes.daemons[0].avoids.len(), decided.writes.daemons[0].failures), (0, 0));
    }
}

#[test]
fn whoever_ran_a_daemon_without_a_row_is_told_when_it_is_placed_anew() {
    let fresh = Daemon::new(DaemonSpec::new(name("work/a")), NOW);
    let mut rows = rows(LEADER_LEASE, vec![fresh]);
    let held = lease("tenure/daemon/work/a", &member("ann").node, NOW.after(Duration::from_secs(60)));
    rows.leases.insert(name("work/a"), held);
    let assign = Placement::Assign {
        daemon: name("work/a"),
        generation: None,
        to: node("beth"),
        term: Term::FIRST,
        reason: "because".to_owned(),
        group: None,
    };
    let order = Order::Place { fence: fence(LEADER_LEASE), placements: vec![assign], deadlines: DEADLINES };
    let decided = decide(&order, rows);
    let told: Vec<&str> = decided.writes.nodes.iter().map(|member| member.node.name.as_str()).collect();
    assert_eq!(told, ["ann", "beth"]);
}

#[test]
fn s62_a_leader_that_takes_a_living_node_for_dead_changes_nothing() {
    // Itself, say: its heartbeat is written, and an old look does not show it.
    let daemons = vec![placed("work/a", DaemonState::Active)];
    let assign = Placement::Assign {
        daemon: name("work/a"),
        generation: Term::new(5),
        to: node("beth"),
        term: Term::FIRST,
        reason: "its node ann is gone".to_owned(),
        group: None,
    };
    let placements = vec![assign, Placement::Forget { node: node("ann"), term: Term::FIRST }];
    let order = Order::Place { fence: fence(LEADER_LEASE), placements, deadlines: DEADLINES };
    let decided = decide(&order, rows(LEADER_LEASE, daemons));
    let held = Refusal::StillHeld { daemon: name("work/a"), state: DaemonState::Active };
    let refused = vec![Verdict::Refused(held), Verdict::Refused(Refusal::NodeLives(node("ann")))];
    assert_eq!(decided.answer, Answer::Done(refused));
    assert!(decided.writes.is_empty());
}

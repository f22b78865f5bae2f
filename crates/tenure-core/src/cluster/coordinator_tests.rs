//! When a leader plans, and what it does about answers.

use super::*;
use crate::cluster::{Agents, DaemonSpec, Group, LEADER_LEASE, Labels, Member};
use crate::id::{Node, Unique};
use crate::lease::{LeaseName, LeaseRecord};

const NOW: StoreTime = StoreTime::from_micros(1_000_000);

fn at(millis: u64) -> Monotonic {
    Monotonic::from_origin(Duration::from_millis(millis))
}

fn fence() -> Fence {
    Fence { lease: LeaseName::new(LEADER_LEASE).unwrap(), term: Term::FIRST }
}

/// A look that shows one node, which lives.
fn look(revision: u64) -> ClusterLook {
    let node = Node {
        name: NodeName::new("ann").unwrap(),
        incarnation: Unique::from_u128(1),
        machine: "m".to_owned(),
        pid: 1,
    };
    let member = Member {
        node: node.clone(),
        term: Term::FIRST,
        labels: Labels::default(),
        version: String::new(),
        capacity: 1,
        leads: true,
        agents: Agents { families: ["work".to_owned()].into(), ..Agents::default() },
        leaving: false,
        joined_at: NOW,
        revision: Revision(1),
    };
    let lease = LeaseRecord {
        name: LeaseName::new("tenure/node/ann").unwrap(),
        term: Term::FIRST,
        claim: node.incarnation,
        node,
        renewals: 0,
        kind: None,
        backend: "test".to_owned(),
        acquired_at: NOW,
        renewed_at: NOW,
        expires_at: NOW.after(Duration::from_secs(60)),
        released_at: None,
        revoked_at: None,
        presence: None,
        origin: None,
    };
    let nodes = vec![Standing { member, lease: Some(lease) }];
    ClusterLook { now: NOW, revision: Revision(revision), leader: None, nodes }
}

fn nowhere(revision: u64) -> Daemon {
    let spec = DaemonSpec::new(DaemonName::new("work/a").unwrap());
    Daemon { revision: Revision(revision), ..Daemon::new(spec, NOW) }
}

fn placed(state: DaemonState, revision: u64) -> Daemon {
    let place = Some((NodeName::new("ann").unwrap(), Term::FIRST));
    Daemon { state, place, generation: Term::new(revision), ..nowhere(revision) }
}

impl Coordinator {
    /// Reads what it wants, at once.
    fn reads(&mut self, page: Vec<Daemon>) {
        let wanted = self.wants().expect("it wants to read");
        self.read(&wanted, page);
    }
}

fn coordinator() -> Coordinator {
    Coordinator::new(ClusterSettings::default(), at(0))
}

#[test]
fn a_leader_that_has_not_looked_takes_nobody_for_dead() {
    let mut leader = coordinator();
    leader.reads(vec![placed(DaemonState::Active, 5)]);
    assert_eq!(leader.next_order(&fence(), at(10)), None, "it knows the daemons and no nodes");
    leader.looked(&look(5), at(20));
    assert_eq!(leader.next_order(&fence(), at(30)), None, "the node lives");
}

/// A leader that has one daemon to place, and has given the order.
fn placing() -> (Coordinator, Order) {
    let mut leader = coordinator();
    leader.looked(&look(5), at(0));
    leader.reads(vec![nowhere(5)]);
    let order = leader.next_order(&fence(), at(10)).expect("an order");
    (leader, order)
}

#[test]
fn what_a_leader_has_ordered_is_not_ordered_again_by_old_rows() {
    let (mut leader, order) = placing();
    assert!(leader.answered(&order, Some(&Answer::Done(vec![Verdict::Taken])), at(20)));
    leader.looked(&look(5), at(50));
    assert_eq!(leader.next_order(&fence(), at(60)), None, "this look is older than the order");
    leader.looked(&look(6), at(100));
    leader.reads(vec![placed(DaemonState::Assigning, 6)]);
    assert_eq!(leader.next_order(&fence(), at(130)), None, "it is on its way");
}

#[test]
fn an_order_that_came_to_nothing_is_given_again_although_nothing_changed() {
    let (mut leader, order) = placing();
    // Nobody else changes anything, and what was taken is not there: rows were deleted by hand, say.
    assert!(leader.answered(&order, Some(&Answer::Done(vec![Verdict::Taken])), at(20)));
    leader.looked(&look(5), at(1_100));
    assert!(leader.next_order(&fence(), at(1_100)).is_some());
}

#[test]
fn what_was_refused_as_old_is_planned_anew_as_soon_as_its_row_is_known() {
    let (mut leader, order) = placing();
    let stale = Verdict::Refused(Refusal::Stale { daemon: DaemonName::new("work/a").unwrap() });
    assert!(leader.answered(&order, Some(&Answer::Done(vec![stale])), at(20)));
    assert_eq!(leader.next_order(&fence(), at(50)), None, "it would be refused again");
    leader.looked(&look(6), at(60));
    leader.reads(vec![Daemon { generation: Term::new(6), ..nowhere(6) }]);
    assert!(leader.next_order(&fence(), at(90)).is_some(), "not a second later");
}

#[test]
fn what_changes_while_it_reads_is_read_next() {
    let mut leader = coordinator();
    leader.looked(&look(10), at(0));
    let wanted = leader.wants().unwrap();
    // The page was read before this change, and arrives after it.
    leader.looked(&look(11), at(0));
    leader.read(&wanted, Vec::new());
    let next = leader.wants().unwrap();
    assert_eq!(next.after, Cursor { revision: Revision(10), daemon: None });
    leader.read(&next, Vec::new());
    assert_eq!(leader.wants(), None);
}

#[test]
fn s71_while_an_order_is_under_way_no_other_is_given() {
    let (mut leader, order) = placing();
    leader.looked(&look(6), at(50));
    leader.reads(vec![nowhere(6)]);
    assert_eq!(leader.next_order(&fence(), at(100)), None, "nobody knows what becomes of the first");
    // No answer, so what is so is read anew, and not at once.
    assert!(leader.answered(&order, None, at(200)));
    assert_eq!(leader.next_order(&fence(), at(300)), None);
    assert!(leader.next_order(&fence(), at(1_300)).is_some());
}

#[test]
fn a_deposed_leader_gives_no_further_order() {
    let (mut leader, order) = placing();
    let fenced = crate::lease::Fenced { fence: fence(), loss: crate::lease::Loss::Expired };
    assert!(!leader.answered(&order, Some(&Answer::Fenced(fenced)), at(20)));
}

#[test]
fn parts_whose_rows_are_gone_are_declared_again_and_nothing_else_is() {
    let part = |index: u32, layout: u32| {
        let spec = DaemonSpec::new(DaemonName::new(format!("work/{index}-of-{layout}")).unwrap());
        spec.in_group(Group { name: "work".to_owned(), layout })
    };
    let specs = [part(0, 2), part(1, 2), DaemonSpec::new(DaemonName::new("work/alone").unwrap())];
    let missing = |known: Vec<DaemonSpec>| -> Vec<String> {
        let mut leader = coordinator();
        leader.looked(&look(5), at(0));
        leader.reads(known.into_iter().map(|spec| Daemon { spec, ..nowhere(5) }).collect());
        leader.missing(&specs).iter().map(|spec| spec.name.to_string()).collect()
    };
    assert_eq!(missing(vec![part(0, 2)]), ["work/1-of-2"]);
    assert!(missing(vec![part(0, 2), part(1, 2)]).is_empty());
    assert!(missing(vec![part(0, 2), part(0, 3)]).is_empty(), "another number is about to replace it");
    let unread = Coordinator::new(ClusterSettings::default(), at(0));
    assert!(unread.missing(&specs).is_empty(), "nothing is known yet");
}

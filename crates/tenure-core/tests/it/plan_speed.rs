//! A plan for a large cluster is short work, so that a leader that just came into office acts at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::cluster::{
    Agents, ClusterSettings, Daemon, DaemonName, DaemonSpec, Labels, Member, Picture, Revision, Standing,
    node_lease, plan,
};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{LeaseRecord, Term};
use tenure_core::time::StoreTime;

fn standing(number: u128, now: StoreTime) -> Standing {
    let name = NodeName::new(format!("n{number:02}")).unwrap();
    let incarnation = Unique::from_u128(number);
    let node = Node { name: name.clone(), incarnation, machine: "m".into(), pid: 1 };
    let term = Term::new(1).unwrap();
    let lease = LeaseRecord {
        name: node_lease(&name).unwrap(),
        term,
        node: node.clone(),
        claim: incarnation,
        renewals: 0,
        kind: None,
        backend: "memory".into(),
        acquired_at: now,
        renewed_at: now,
        expires_at: now.after(Duration::from_secs(6)),
        released_at: None,
        revoked_at: None,
        presence: None,
        origin: None,
    };
    let member = Member {
        node,
        term,
        labels: Labels::default(),
        version: "1".into(),
        capacity: 1,
        leads: true,
        agents: Agents { families: ["w".to_owned()].into(), ..Agents::default() },
        leaving: false,
        joined_at: now,
        revision: Revision::default(),
    };
    Standing { member, lease: Some(lease) }
}

#[test]
fn fifty_thousand_daemons_are_placed_from_nothing_in_one_short_plan() {
    let now = StoreTime::from_micros(1_000_000_000);
    let nodes: Vec<Standing> = (0..20).map(|number| standing(number, now)).collect();
    let daemons: BTreeMap<DaemonName, Daemon> = (0..50_000)
        .map(|number| DaemonName::new(format!("w/{number}")).unwrap())
        .map(|name| (name.clone(), Daemon::new(DaemonSpec::new(name), now)))
        .collect();
    let settings = ClusterSettings::default();
    let started = Instant::now();
    let placements =
        plan(&Picture { now, nodes: &nodes, daemons: &daemons, quiet: false, settings: &settings });
    let took = started.elapsed();
    assert_eq!(placements.len(), 50_000);
    // Some 20 ms when optimised; the bound is for a build that is not, on a machine that is busy.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

//! Who plays in a case: nodes, a leader, and one who looks at everything. Cases read as what they do.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::cluster::{
    Agents, Answer, ClusterLook, Cursor, Daemon, DaemonFilter, DaemonName, DaemonSpec, DaemonState,
    Deadlines, Group, LEADER_LEASE, Labels, Member, Order, Placement, Refusal, Revision, Steering, Verdict,
    node_lease,
};
use tenure_core::contract::{ClusterStore, LeaseAdmin};
use tenure_core::id::NodeName;
use tenure_core::lease::{
    Cause, Change, Evidence, Fence, FenceCheck, Grant, LeaseName, LeaseRecord, Release, Term,
};
use tenure_core::time::StoreTime;

use super::backend::ClusterBackend;
use crate::lease::player::{LONG, Player, named};

/// More rows than any case has.
pub(crate) const ALL: u32 = 10_000;
/// How much longer than a span the suite waits for its end.
const SLACK: Duration = Duration::from_millis(150);

/// The daemon of this name.
pub(crate) fn daemon(name: &str) -> DaemonName {
    DaemonName::new(name).unwrap_or_else(|error| panic!("{name:?} must be a daemon's name: {error}"))
}

/// A daemon that every node of the suite can run, if its name begins with `work/`.
pub(crate) fn spec(name: &str) -> DaemonSpec {
    DaemonSpec::new(daemon(name))
}

/// A part of something that is divided.
pub(crate) fn part(name: &str, group: &str, layout: u32) -> DaemonSpec {
    spec(name).in_group(Group { name: group.to_owned(), layout })
}

/// Deadlines that do not end while a case runs.
pub(crate) fn patient() -> Deadlines {
    Deadlines { acknowledge: LONG, drain: LONG }
}

/// Deadlines that a case can outlive.
pub(crate) fn hasty(backend: &dyn ClusterBackend) -> Deadlines {
    Deadlines { acknowledge: backend.short_ttl(), drain: backend.short_ttl() }
}

/// Outlives a ttl or a deadline of [`Backend::short_ttl`](crate::Backend::short_ttl).
pub(crate) async fn outlive(backend: &dyn ClusterBackend) {
    backend.pass(backend.short_ttl() + SLACK).await;
}

/// The verdicts of an order that was carried out.
#[track_caller]
pub(crate) fn verdicts(answer: Answer) -> Vec<Verdict> {
    match answer {
        Answer::Done(verdicts) => verdicts,
        other => panic!("the order must be carried out, but the answer is {other:?}"),
    }
}

/// Every part was taken.
#[track_caller]
pub(crate) fn all_taken(answer: Answer) {
    for verdict in verdicts(answer) {
        assert_eq!(verdict, Verdict::Taken);
    }
}

/// Why the only part, or the whole of it, was refused.
#[track_caller]
pub(crate) fn refusal(answer: Answer) -> Refusal {
    match answer {
        Answer::Refused(refusal) => refusal,
        Answer::Done(verdicts) => match &verdicts[..] {
            [Verdict::Refused(refusal)] => refusal.clone(),
            _ => panic!("one part must be refused, but the verdicts are {verdicts:?}"),
        },
        other @ Answer::Fenced(_) => panic!("it must be refused for what it says, but is {other:?}"),
    }
}

/// Whoever gave the order is out of office.
#[track_caller]
pub(crate) fn assert_fenced(answer: &Answer) {
    assert!(matches!(answer, Answer::Fenced(_)), "it must be fenced, but the answer is {answer:?}");
}

/// The holder of one lease: a node, or the leader.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    pub(crate) player: Player,
    pub(crate) cluster: Arc<dyn ClusterStore>,
    pub(crate) grant: Grant,
}

impl Actor {
    /// Takes a lease under a name.
    pub(crate) async fn takes(
        backend: &dyn ClusterBackend,
        name: &str,
        lease: &LeaseName,
        ttl: Duration,
    ) -> Self {
        let player = Player::enter(backend, name).await;
        let grant = player.takes(lease, ttl).await;
        Self { player, cluster: backend.cluster().await, grant }
    }

    /// A leader.
    pub(crate) async fn leads(backend: &dyn ClusterBackend, name: &str) -> Self {
        Self::takes(backend, name, &named(LEADER_LEASE), LONG).await
    }

    /// A node with its lease, and without a row.
    pub(crate) async fn enters(backend: &dyn ClusterBackend, name: &str, ttl: Duration) -> Self {
        let lease = node_lease(&NodeName::new(name).expect("a node's name")).expect("a node's lease");
        Self::takes(backend, name, &lease, ttl).await
    }

    /// A node that takes the lease of one of the same name, by evidence that it is gone.
    pub(crate) async fn enters_by(backend: &dyn ClusterBackend, name: &str, evidence: Evidence) -> Self {
        let player = Player::enter(backend, name).await;
        let lease = node_lease(&player.node.name).expect("a node's lease");
        let grant = player.deposes(&lease, evidence).await;
        Self { player, cluster: backend.cluster().await, grant }
    }

    /// A node that is registered.
    pub(crate) async fn joins(backend: &dyn ClusterBackend, name: &str) -> Self {
        let node = Self::enters(backend, name, LONG).await;
        all_taken(node.registers(node.member()).await);
        node
    }

    /// One that a case can outlive.
    pub(crate) async fn joins_briefly(backend: &dyn ClusterBackend, name: &str) -> Self {
        let node = Self::enters(backend, name, backend.short_ttl()).await;
        all_taken(node.registers(node.member()).await);
        node
    }

    pub(crate) fn name(&self) -> &NodeName {
        &self.player.node.name
    }

    pub(crate) fn term(&self) -> Term {
        self.grant.term
    }

    pub(crate) fn fence(&self) -> Fence {
        Fence { lease: self.grant.name.clone(), term: self.grant.term }
    }

    /// The row of a node that has code for the family `work`.
    pub(crate) fn member(&self) -> Member {
        Member {
            node: self.player.node.clone(),
            term: self.grant.term,
            labels: Labels::default(),
            version: "1.0".to_owned(),
            capacity: 1,
            leads: true,
            agents: Agents { names: Default::default(), families: ["work".to_owned()].into() },
            leaving: false,
            joined_at: StoreTime::from_micros(0),
            revision: Revision::default(),
        }
    }

    pub(crate) async fn orders(&self, order: &Order) -> Answer {
        let answer = self.cluster.apply(order).await;
        answer.unwrap_or_else(|error| panic!("{} got no answer to {order:?}: {error}", self.name()))
    }

    pub(crate) async fn registers(&self, member: Member) -> Answer {
        self.brings(member, Vec::new()).await
    }

    /// Registers, and declares daemons with it.
    pub(crate) async fn brings(&self, member: Member, declares: Vec<DaemonSpec>) -> Answer {
        let member = Box::new(member);
        self.orders(&Order::Register { fence: self.fence(), member, declares, deadlines: patient() }).await
    }

    pub(crate) async fn leaves(&self) -> Answer {
        self.orders(&Order::Leave { fence: self.fence(), node: self.name().clone() }).await
    }

    pub(crate) async fn departs(&self) -> Answer {
        self.orders(&Order::Depart { fence: self.fence(), node: self.name().clone() }).await
    }

    /// Gives its lease back.
    pub(crate) async fn ends(&self) {
        assert_eq!(self.player.releases(&self.grant).await, Release::Released);
    }

    pub(crate) async fn declares(&self, specs: Vec<DaemonSpec>) {
        all_taken(self.orders(&Order::Declare { specs, deadlines: patient() }).await);
    }

    pub(crate) async fn retires(&self, names: &[&str]) -> Answer {
        let daemons = names.iter().map(|name| daemon(name)).collect();
        self.orders(&Order::Retire { daemons, by: None, deadlines: patient() }).await
    }

    pub(crate) async fn steers(&self, name: &str, steering: Steering) -> Answer {
        let daemon = daemon(name);
        let by = "o'hara".to_owned();
        self.orders(&Order::Steer { daemon, steering, by, deadlines: patient() }).await
    }

    pub(crate) async fn places(&self, placements: Vec<Placement>) -> Answer {
        self.places_within(placements, patient()).await
    }

    pub(crate) async fn places_within(&self, placements: Vec<Placement>, deadlines: Deadlines) -> Answer {
        self.orders(&Order::Place { fence: self.fence(), placements, deadlines }).await
    }

    /// The order that gives a daemon, as its row is now, to a node.
    pub(crate) fn assign(row: &Daemon, to: &Self) -> Placement {
        Placement::Assign {
            daemon: row.name().clone(),
            generation: row.generation,
            to: to.name().clone(),
            term: to.term(),
            reason: format!("{} is to run it", to.name()),
            group: row.spec.group.as_ref().map(|group| group.name.clone()),
        }
    }

    /// The order that has a daemon stopped.
    pub(crate) fn revoke(row: &Daemon, next: Option<&Self>) -> Placement {
        Placement::Revoke {
            daemon: row.name().clone(),
            generation: row.generation.expect("a generation"),
            next: next.map(|next| next.name().clone()),
            reason: "it goes elsewhere".to_owned(),
        }
    }

    /// The order that takes a daemon back.
    pub(crate) fn unassign(row: &Daemon) -> Placement {
        Placement::Unassign {
            daemon: row.name().clone(),
            generation: row.generation.expect("a generation"),
            reason: "there is no node for it".to_owned(),
        }
    }

    pub(crate) async fn acknowledges(&self, row: &Daemon) -> Answer {
        self.orders(&Order::Acknowledge {
            fence: self.fence(),
            node: self.name().clone(),
            daemons: vec![(row.name().clone(), row.generation.expect("a generation"))],
        })
        .await
    }

    pub(crate) async fn confirms(&self, row: &Daemon) -> Answer {
        self.orders(&Order::Confirm {
            fence: self.fence(),
            node: self.name().clone(),
            daemons: vec![(row.name().clone(), row.generation.expect("a generation"))],
            deadlines: patient(),
        })
        .await
    }

    pub(crate) async fn fails(&self, row: &Daemon, reason: &str, cool_down: Duration) -> Answer {
        self.orders(&Order::Fail {
            fence: self.fence(),
            node: self.name().clone(),
            daemon: row.name().clone(),
            generation: row.generation.expect("a generation"),
            reason: reason.to_owned(),
            cool_down,
        })
        .await
    }
}

/// A leader, two nodes, and everything to be seen of them.
pub(crate) struct Scene<'b> {
    pub(crate) backend: &'b dyn ClusterBackend,
    pub(crate) lea: Actor,
    pub(crate) ann: Actor,
    pub(crate) bob: Actor,
    admin: Arc<dyn LeaseAdmin>,
}

impl<'b> Scene<'b> {
    /// With these daemons, which are nowhere yet.
    pub(crate) async fn with(backend: &'b dyn ClusterBackend, daemons: &[&str]) -> Self {
        let scene = Self {
            backend,
            lea: Actor::leads(backend, "lea").await,
            ann: Actor::joins(backend, "ann").await,
            bob: Actor::joins(backend, "bob").await,
            admin: backend.admin().await.expect("a cluster's store has an operator's view"),
        };
        if !daemons.is_empty() {
            scene.lea.declares(daemons.iter().map(|name| spec(name)).collect()).await;
        }
        scene
    }

    pub(crate) async fn look(&self) -> ClusterLook {
        self.lea.cluster.look().await.expect("a look")
    }

    pub(crate) async fn revision(&self) -> Revision {
        self.look().await.revision
    }

    /// Every daemon by name.
    pub(crate) async fn daemons(&self) -> Vec<Daemon> {
        self.lea.cluster.daemons(&DaemonFilter::beginning("")).await.expect("daemons")
    }

    /// A daemon's row, if there is one.
    pub(crate) async fn finds(&self, name: &str) -> Option<Daemon> {
        let rows = self.lea.cluster.daemons(&DaemonFilter::beginning(name)).await.expect("daemons");
        rows.into_iter().find(|row| row.name().as_str() == name)
    }

    /// The leader removes a daemon that goes for good and is nowhere.
    pub(crate) async fn removed(&self, name: &str) {
        let row = self.row(name).await;
        assert!(row.retired && row.place.is_none() && !row.is_wanted(), "{row:?}");
        all_taken(self.lea.places(vec![Placement::Remove { daemon: daemon(name) }]).await);
        assert_eq!(self.finds(name).await, None);
    }

    /// A daemon's row, which must be there.
    pub(crate) async fn row(&self, name: &str) -> Daemon {
        self.finds(name).await.unwrap_or_else(|| panic!("{name} must have a row"))
    }

    pub(crate) async fn lease(&self, name: &str) -> Option<LeaseRecord> {
        self.lea.player.looks(&daemon(name).lease().expect("a lease")).await
    }

    /// What became of a daemon's lease, the first line first.
    pub(crate) async fn history(&self, name: &str) -> Vec<Change> {
        let lease = daemon(name).lease().expect("a lease");
        let mut lines = self.admin.history(Some(&lease), None, ALL).await.expect("a history");
        lines.reverse();
        lines
    }

    pub(crate) async fn causes(&self, name: &str) -> Vec<Cause> {
        self.history(name).await.iter().map(|line| line.cause).collect()
    }

    /// Whether writes under a daemon's present generation pass.
    pub(crate) async fn passes(&self, fence: &Fence) -> bool {
        let check = self.backend.check_fence(fence).await.expect("a cluster's store checks fences");
        check == FenceCheck::Holds
    }

    /// The leader gives a daemon to a node.
    pub(crate) async fn assigned(&self, name: &str, to: &Actor) -> Daemon {
        self.assigned_within(name, to, patient()).await
    }

    pub(crate) async fn assigned_within(&self, name: &str, to: &Actor, deadlines: Deadlines) -> Daemon {
        let placement = Actor::assign(&self.row(name).await, to);
        all_taken(self.lea.places_within(vec![placement], deadlines).await);
        self.row(name).await
    }

    /// And the node runs it.
    pub(crate) async fn running(&self, name: &str, on: &Actor) -> Daemon {
        let row = self.assigned(name, on).await;
        all_taken(on.acknowledges(&row).await);
        self.row(name).await
    }

    /// The leader has a running daemon stopped.
    pub(crate) async fn revoked(&self, name: &str, next: Option<&Actor>, deadlines: Deadlines) -> Daemon {
        let placement = Actor::revoke(&self.row(name).await, next);
        all_taken(self.lea.places_within(vec![placement], deadlines).await);
        self.row(name).await
    }

    /// Everything there is: what an order that was refused must leave as it is.
    pub(crate) async fn everything(
        &self,
    ) -> (Revision, Vec<Member>, Vec<Daemon>, Vec<LeaseRecord>, Vec<Change>) {
        let look = self.look().await;
        let members = look.nodes.into_iter().map(|standing| standing.member).collect();
        let (leases, _) =
            self.admin.list(&tenure_core::lease::LeasePageOf::first(ALL)).await.expect("leases");
        let history = self.admin.history(None, None, ALL).await.expect("a history");
        (look.revision, members, self.daemons().await, leases, history)
    }

    /// Rows, leases, fences and history say the same of every daemon, and it is read alike in every way.
    pub(crate) async fn tells_one_story(&self) {
        let (look, rows) = (self.look().await, self.daemons().await);
        let mut by_revision = self.lea.cluster.daemons_after(&Cursor::default(), ALL).await.expect("daemons");
        assert!(
            by_revision.is_sorted_by_key(|row| (row.revision, row.name().clone())),
            "by revision and name"
        );
        by_revision.sort_by(|a, b| a.name().cmp(b.name()));
        assert_eq!(by_revision, rows, "the daemons by revision are the daemons by name");
        for row in &rows {
            assert!(row.revision <= look.revision && row.revision > Revision(0), "{row:?}");
            let lease = self.lease(row.name().as_str()).await;
            let history = self.history(row.name().as_str()).await;
            assert_eq!(lease.as_ref().map(|lease| lease.term), row.generation, "{row:?} and {lease:?}");
            assert_eq!(
                row.deadline.is_some(),
                matches!(row.state, DaemonState::Assigning | DaemonState::Revoking)
            );
            let held = lease.as_ref().filter(|lease| lease.is_held(look.now));
            assert_eq!(held.map(|lease| &lease.node.name), row.node(), "{row:?} and {lease:?}");
            assert_eq!(row.place.is_none(), row.state == DaemonState::Unassigned, "{row:?}");
            let begun = history.iter().filter(|line| line.cause == Cause::Acquired).count() as u64;
            let ended = history.len() as u64 - begun;
            assert_eq!((begun, begun - ended), (row.moves, u64::from(held.is_some())), "{history:?}");
            if let Some(fence) = row.fence() {
                assert!(self.passes(&fence).await, "{row:?}");
                assert_eq!(
                    history.last().map(|line| (line.term, line.cause)),
                    Some((fence.term, Cause::Acquired))
                );
            }
            if let Some(lease) = &lease {
                assert_eq!((lease.kind.as_deref(), &*lease.backend), (Some("daemon"), "cluster"));
            }
        }
    }
}

//! What a run has seen, in numbers: a chaos in which nothing happens proves nothing.

use std::fmt;
use std::ops::AddAssign;

use crate::cluster::ClusterTally;
use crate::events::EventTally;

/// Numbers of one run, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// New grants.
    pub granted: u64,
    /// Grants repeated to a claim whose answer was lost.
    pub granted_again: u64,
    /// Grants given back.
    pub released: u64,
    /// Grants that ran out.
    pub expired: u64,
    /// Grants taken over because their presence ended.
    pub crashed: u64,
    /// Grants ended by an operator.
    pub revoked: u64,
    /// Renewals that were told that the grant is over.
    pub renewals_lost: u64,
    /// Renewals that came after a later one.
    pub renewals_out_of_order: u64,
    /// Releases that had nothing to release.
    pub releases_not_held: u64,
    /// Protected writes let in.
    pub writes_accepted: u64,
    /// Protected writes refused.
    pub writes_refused: u64,
    /// Claims refused because terms went back.
    pub regresses: u64,
    /// Messages committed.
    pub committed: u64,
    /// Messages refused because another has their id.
    pub conflicts: u64,
    /// Looks of relays.
    pub looks: u64,
    /// Deliveries that reached the receiver.
    pub deliveries: u64,
    /// Messages that took effect.
    pub effects: u64,
    /// Attempts recorded.
    pub attempts: u64,
    /// Messages given up.
    pub dead: u64,
    /// Messages retried or discarded by an operator.
    pub steered: u64,
    /// Messages that retention deleted.
    pub swept: u64,
    /// Records of relays let in.
    pub records_accepted: u64,
    /// Records of relays refused.
    pub records_refused: u64,
    /// Faults of nodes, links and stores.
    pub blows: u64,
    /// Steps of the world.
    pub steps: u64,
    /// What the world of events has seen.
    pub events: EventTally,
    /// What the world of a cluster has seen.
    pub cluster: ClusterTally,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.granted += other.granted;
        self.granted_again += other.granted_again;
        self.released += other.released;
        self.expired += other.expired;
        self.crashed += other.crashed;
        self.revoked += other.revoked;
        self.renewals_lost += other.renewals_lost;
        self.renewals_out_of_order += other.renewals_out_of_order;
        self.releases_not_held += other.releases_not_held;
        self.writes_accepted += other.writes_accepted;
        self.writes_refused += other.writes_refused;
        self.regresses += other.regresses;
        self.committed += other.committed;
        self.conflicts += other.conflicts;
        self.looks += other.looks;
        self.deliveries += other.deliveries;
        self.effects += other.effects;
        self.attempts += other.attempts;
        self.dead += other.dead;
        self.steered += other.steered;
        self.swept += other.swept;
        self.records_accepted += other.records_accepted;
        self.records_refused += other.records_refused;
        self.blows += other.blows;
        self.steps += other.steps;
        self.events += other.events;
        self.cluster += other.cluster;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { granted, granted_again, released, expired, crashed, revoked, steps, blows, .. } = self;
        write!(
            f,
            "{steps} steps, {blows} faults; grants {granted} new, {granted_again} repeated, {released} released, "
        )?;
        write!(
            f,
            "{expired} expired, {crashed} crashed, {revoked} revoked; renewals {} lost, ",
            self.renewals_lost
        )?;
        write!(f, "{} out of order; writes {} in, ", self.renewals_out_of_order, self.writes_accepted)?;
        write!(f, "{} refused; ", self.writes_refused)?;
        let Self { committed, deliveries, effects, attempts, dead, steered, swept, .. } = self;
        write!(f, "messages {committed} committed, {deliveries} deliveries, {effects} effects, ")?;
        write!(f, "{attempts} attempts, {dead} dead, {steered} steered, {swept} swept; ")?;
        writeln!(f, "records {} in, {} refused", self.records_accepted, self.records_refused)?;
        self.events.fmt(f)?;
        writeln!(f)?;
        self.cluster.fmt(f)
    }
}

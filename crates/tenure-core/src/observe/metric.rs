//! Every number that Tenure tells, in one table: from it come the registry, the text for Prometheus, the reference and the
//! check of the Grafana dashboard and the alert rules.
//!
//! No label ever holds a payload, a message's id, a source, a topic, a stream or a URL.

use super::instrument::{Counter, Elsewhere, Facts, Family, Gauge, Histogram, Instrument, Visitor};
use crate::error::StoreError;
use crate::lease::Loss;
use crate::outbox::Kind;

/// So many names of one kind are told apart; the rest are `other`.
pub const NAMES_MAX: usize = 64;

/// How a number moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only up, from the start of the process.
    Counter,
    /// Up and down; not there while it is not known.
    Gauge,
    /// How many took how long.
    Histogram,
}

/// What a label can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// One of these.
    These(&'static [&'static str]),
    /// A name that somebody chose: the first so many, then `other`.
    Named {
        /// How many.
        max: usize,
    },
}

/// A label of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// What it is called.
    pub name: &'static str,
    /// What it can be.
    pub values: Values,
}

/// A number that Tenure tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// What it is called, with dots.
    pub name: &'static str,
    /// How it moves.
    pub kind: MetricKind,
    /// In what it is counted.
    pub unit: &'static str,
    /// What it says.
    pub help: &'static str,
    /// What it is told apart by.
    pub labels: &'static [Label],
}

impl Metric {
    /// Its name for Prometheus: `tenure_outbox_attempts_total`.
    pub fn prometheus_name(&self) -> String {
        let name = self.name.replace('.', "_");
        match self.kind {
            MetricKind::Counter => name + "_total",
            MetricKind::Gauge | MetricKind::Histogram => name,
        }
    }
}

const fn these(name: &'static str, values: &'static [&'static str]) -> Label {
    Label { name, values: Values::These(values) }
}

const fn named(name: &'static str) -> Label {
    Label { name, values: Values::Named { max: NAMES_MAX } }
}

const fn one(name: &'static str) -> Label {
    Label { name, values: Values::Named { max: 1 } }
}

const OUTCOME: Label = these("outcome", &["success", "rejected", "transient", "poison"]);
const KIND: Label = named("kind");
const GROUP: Label = named("group");
const SUBSCRIPTION: Label = named("subscription");

macro_rules! metrics {
    ($($(#[$note:meta])* $field:ident: $instrument:ty = $made:expr, $kind:ident, $name:literal, $unit:literal, [$($label:expr),*], $help:literal;)*) => {
        /// Every metric, in the order in which they are shown.
        pub const METRICS: &[Metric] = &[$(
            Metric { name: $name, kind: MetricKind::$kind, unit: $unit, help: $help, labels: &[$($label),*] },
        )*];

        /// The numbers of this process.
        #[derive(Debug)]
        #[allow(missing_docs, reason = "the table says what each is")]
        pub struct Meter { $(pub $field: $instrument,)* }

        /// The numbers of this process: one registry for all of it, as the loops of a process are one list.
        pub static METER: Meter = Meter { $($field: $made,)* };

        impl Meter {
            /// Shows every series to `visitor`.
            pub fn visit(&self, visitor: &mut dyn Visitor) {
                let mut metrics = METRICS.iter();
                $(if let Some(metric) = metrics.next() { self.$field.visit(metric, &[], visitor); })*
            }
        }
    };
}

metrics! {
    outbox_attempts: Counter<4> = Counter::new(), Counter, "tenure.outbox.attempts", "attempts", [OUTCOME],
        "Attempts to deliver that were recorded, by how they ended.";
    outbox_dispatch: Histogram<4> = Histogram::new(), Histogram, "tenure.outbox.dispatch.duration_ms", "ms", [OUTCOME],
        "How long attempts took at the sink.";
    outbox_died: Counter<4> = Counter::new(), Counter, "tenure.outbox.died", "messages", [OUTCOME],
        "Messages that were given up, by how their last attempt ended.";
    outbox_deleted: Counter<4> = Counter::new(), Counter, "tenure.outbox.retention.deleted", "rows",
        [these("what", &["dispatched", "dead", "discarded", "inbox"])],
        "Rows that retention deleted.";
    outbox_enqueued: Counter<1> = Counter::new(), Counter, "tenure.outbox.enqueued", "messages", [],
        "Messages that this process has put into transactions. Whether they were committed only the database knows.";
    outbox_pending: Gauge<1> = Gauge::new(), Gauge, "tenure.outbox.pending", "messages", [],
        "Messages that wait, counted no further than a bound. Not there while it is not known.";
    outbox_dead: Gauge<1> = Gauge::new(), Gauge, "tenure.outbox.dead", "messages", [],
        "Dead messages, counted no further than a bound. Not there while it is not known.";
    outbox_lag: Gauge<1> = Gauge::new(), Gauge, "tenure.outbox.lag_ms", "ms", [],
        "For how long the oldest message that is due has waited. Not there while it is not known.";
    outbox_halted: Gauge<1> = Gauge::new(), Gauge, "tenure.outbox.halted_sources", "sources", [],
        "Sources that stand still behind a dead message. Not there while it is not known.";
    outbox_in_flight: Gauge<1> = Gauge::new(), Gauge, "tenure.outbox.in_flight", "deliveries", [],
        "Deliveries of this process that are under way.";
    outbox_held: Gauge<1> = Gauge::new(), Gauge, "tenure.outbox.held", "rows", [],
        "Rows that relays of this process hold in memory.";
    outbox_looks: Counter<1> = Counter::new(), Counter, "tenure.outbox.looks", "looks", [],
        "Looks of relays at the outbox.";
    outbox_hints: Counter<1> = Counter::new(), Counter, "tenure.outbox.hints", "hints", [],
        "Hints that something was committed.";
    outbox_record: Histogram<1> = Histogram::new(), Histogram, "tenure.outbox.record.duration_ms", "ms", [],
        "How long it took to record a batch of outcomes.";
    inbox_accepts: Counter<4> = Counter::new(), Counter, "tenure.inbox.accepts", "messages",
        [these("answer", &["fresh", "duplicate", "refused", "mismatch"])],
        "What inboxes of this process answered.";
    lease_acquisitions: Family<Counter<3>> = Family::new(), Counter, "tenure.lease.acquisitions", "claims",
        [KIND, these("answer", &["granted", "held", "unknown"])],
        "Claims of leases, by what the store answered.";
    lease_renewals: Family<Counter<3>> = Family::new(), Counter, "tenure.lease.renewals", "renewals",
        [KIND, these("answer", &["extended", "lost", "unknown"])],
        "Renewals of leases, by what the store answered.";
    lease_losses: Family<Counter<8>> = Family::new(), Counter, "tenure.lease.losses", "leases",
        [KIND, these("cause", &["trust_ended", "expired", "taken", "released", "revoked", "unknown", "stalled", "fenced"])],
        "Leases that were lost and not given back, by why.";
    lease_held: Family<Gauge<1>> = Family::new(), Gauge, "tenure.lease.held", "leases", [KIND],
        "Leases that this process holds.";
    lease_renew: Family<Histogram<1>> = Family::new(), Histogram, "tenure.lease.renew.duration_ms", "ms", [KIND],
        "How long renewals took.";
    presence_pings: Counter<1> = Counter::new(), Counter, "tenure.presence.pings", "pings", [],
        "Pings of presence sessions that were answered.";
    presence_broken: Counter<1> = Counter::new(), Counter, "tenure.presence.broken", "sessions", [],
        "Presence sessions that broke or could not be opened.";
    fence_refusals: Counter<4> = Counter::new(), Counter, "tenure.fence.refusals", "writes",
        [these("place", &["outbox", "checkpoint", "cluster", "user"])],
        "Writes that a store refused because their fence was over: proof that fencing works, not a fault.";
    election_leading: Gauge<1> = Gauge::new(), Gauge, "tenure.election.leading", "nodes", [],
        "1 while this node leads its cluster, 0 while it stands by.";
    election_terms: Counter<1> = Counter::new(), Counter, "tenure.election.terms", "terms", [],
        "How often this node was elected.";
    election_failover: Histogram<1> = Histogram::new(), Histogram, "tenure.election.failover_ms", "ms", [],
        "How long this node had seen no leader when it was elected.";
    cluster_nodes: Gauge<1> = Gauge::new(), Gauge, "tenure.cluster.nodes", "nodes", [],
        "Nodes that live, as this node sees the cluster.";
    cluster_daemons: Gauge<1> = Gauge::new(), Gauge, "tenure.cluster.daemons", "daemons", [],
        "Daemons that run on this node.";
    daemon_starts: Family<Counter<1>> = Family::new(), Counter, "tenure.daemon.starts", "daemons", [GROUP],
        "Daemons that this node has started.";
    daemon_stops: Family<Counter<1>> = Family::new(), Counter, "tenure.daemon.stops", "daemons", [GROUP],
        "Daemons that have ended on this node, in whatever way.";
    daemon_failures: Family<Counter<1>> = Family::new(), Counter, "tenure.daemon.failures", "daemons", [GROUP],
        "Daemons that ended before they were told to.";
    events_appends: Counter<4> = Counter::new(), Counter, "tenure.events.appends", "appends",
        [these("answer", &["appended", "conflict", "repeated", "unknown"])],
        "Appends to streams, by what the store answered.";
    events_append: Histogram<1> = Histogram::new(), Histogram, "tenure.events.append.duration_ms", "ms", [],
        "How long appends took.";
    entity_commands: Counter<4> = Counter::new(), Counter, "tenure.entity.commands", "commands",
        [these("reply", &["accepted", "duplicate", "rejected", "failed"])],
        "Commands to aggregates and processes, by their reply.";
    subscription_events: Family<Counter<1>> = Family::new(), Counter, "tenure.subscription.events", "events", [SUBSCRIPTION],
        "Events that were handled.";
    subscription_parked: Family<Counter<1>> = Family::new(), Counter, "tenure.subscription.parked", "events", [SUBSCRIPTION],
        "Events that were put aside because their handling failed.";
    subscription_behind: Family<Gauge<1>> = Family::new(), Gauge, "tenure.subscription.behind", "positions", [SUBSCRIPTION],
        "How far a reader of this process is behind the last position.";
    runner_cycled: Elsewhere = Elsewhere, Gauge, "tenure.runner.cycled_ago_ms", "ms",
        [these("kind", &super::RUNNER_KINDS), named("name")],
        "How long ago a loop of this process went round.";
    runner_advanced: Elsewhere = Elsewhere, Gauge, "tenure.runner.advanced_ago_ms", "ms",
        [these("kind", &super::RUNNER_KINDS), named("name")],
        "How long ago a loop of this process got on with its work.";
    runner_every: Elsewhere = Elsewhere, Gauge, "tenure.runner.every_ms", "ms",
        [these("kind", &super::RUNNER_KINDS), named("name")],
        "How often a loop goes round when nothing happens.";
    store_errors: Counter<6> = Counter::new(), Counter, "tenure.store.errors", "calls",
        [these("kind", &["unreachable", "busy", "refused", "read_only", "schema", "failed"])],
        "Calls to a store that had no answer.";
    store_away: Gauge<1> = Gauge::new(), Gauge, "tenure.store.away_ms", "ms", [],
        "For how long the database has not answered when this process asked how things stand; 0 while it answers.";
    dashboard_requests: Family<Counter<4>> = Family::new(), Counter, "tenure.dashboard.requests", "requests",
        [named("route"), these("class", &["2xx", "3xx", "4xx", "5xx"])],
        "Requests to the dashboard.";
    dashboard_duration: Histogram<1> = Histogram::new(), Histogram, "tenure.dashboard.duration_ms", "ms", [],
        "How long the dashboard took to answer.";
    dashboard_live: Gauge<1> = Gauge::new(), Gauge, "tenure.dashboard.live", "viewers", [],
        "Live views that are open.";
    dashboard_refused: Counter<6> = Counter::new(), Counter, "tenure.dashboard.refused", "requests",
        [these("reason", &["host", "proxy", "credentials", "permission", "origin", "crowded"])],
        "Requests that the dashboard refused, by why.";
    telemetry_dropped: Counter<2> = Counter::new(), Counter, "tenure.telemetry.dropped", "items",
        [these("what", &["spans", "metrics"])],
        "Spans, and reports of all metrics, that no collector has taken.";
    info: Facts = Facts::new(), Gauge, "tenure.info", "", [one("node"), one("incarnation"), one("version")],
        "Which process this is; always 1.";
}

impl Meter {
    /// A store gave no answer.
    pub fn store_error(&self, error: &StoreError) {
        let slot = match error {
            StoreError::Unreachable { .. } => 0,
            StoreError::Busy { .. } => 1,
            StoreError::Refused { .. } => 2,
            StoreError::ReadOnly { .. } => 3,
            StoreError::SchemaMissing { .. }
            | StoreError::SchemaOlder { .. }
            | StoreError::SchemaNewer { .. } => 4,
            StoreError::Pooled { .. } | StoreError::Corrupt { .. } | StoreError::Failed { .. } => 5,
        };
        self.store_errors.add(slot, 1);
    }
}

/// Where a kind of outcome stands among the values of its label.
pub const fn outcome_slot(kind: Kind) -> usize {
    match kind {
        Kind::Success => 0,
        Kind::Rejected => 1,
        Kind::Transient => 2,
        Kind::Poison => 3,
    }
}

/// Where the cause of a loss stands among the values of its label.
pub const fn loss_slot(loss: &Loss) -> usize {
    match loss {
        Loss::TrustEnded => 0,
        Loss::Expired => 1,
        Loss::Taken { .. } => 2,
        Loss::Released => 3,
        Loss::Revoked => 4,
        Loss::Unknown => 5,
        Loss::Stalled => 6,
        Loss::Fenced => 7,
    }
}

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_used_once_and_says_its_unit() {
        let names: BTreeSet<String> = METRICS.iter().map(Metric::prometheus_name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            assert!(metric.name.starts_with("tenure."), "{}", metric.name);
            assert!(metric.help.ends_with('.') || metric.name == "tenure.info", "{}", metric.name);
            assert_eq!(metric.name.ends_with("_ms"), metric.unit == "ms", "{}", metric.name);
            let fixed = metric.labels.iter().filter(|label| matches!(label.values, Values::These(_))).count();
            assert!(fixed <= 1, "{}", metric.name);
        }
    }

    #[test]
    fn b14_the_numbers_of_a_relay_are_there() {
        for name in [
            "tenure.outbox.attempts",
            "tenure.outbox.dispatch.duration_ms",
            "tenure.outbox.retention.deleted",
        ] {
            assert!(metric(name).is_some(), "{name}");
        }
        let outcomes: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(OUTCOME.values, Values::These(&["success", "rejected", "transient", "poison"]));
        for (slot, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!((outcome_slot(kind), kind.as_str()), (slot, outcomes[slot]));
        }
    }
}

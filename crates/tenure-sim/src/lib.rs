//! The deterministic simulator of Tenure: the real decisions of `tenure-core` in a world where everything goes wrong.
//!
//! A seed decides the number of nodes, their settings and clocks, the weather of every link and every blow; two runs of a
//! seed are the same to the last byte of their trace. After every step the [`invariants`] are checked; after the storm
//! comes a calm in which work must go on.
//!
//! A simulator that finds nothing proves nothing, so each safety rule of the core can be switched off
//! ([`run_without`]), and the tests demand that its absence is found.
//!
//! | module | what it holds |
//! |---|---|
//! | `world` | true time, the queue of events, the store, the network; the outbox, its producers, operators and receiver |
//! | `actor` | a node: the driver around the core's machines, a relay among them |
//! | `events` | a second world: a store of streams and positions, those who append, entities, and readers |
//! | `cluster` | a third world: nodes, a leader, and daemons that run where they are told |
//! | `faults` | the weather of links, the temper of the receiver, and blows to nodes and sessions |
//! | [`oracle`], [`invariants`] | who sees everything, and what must hold |
//! | [`scenarios`] | chaos, and the numbered failures of the catalogue |

mod actor;
mod clock;
mod cluster;
mod events;
mod faults;
pub mod invariants;
pub mod oracle;
mod plan;
mod report;
pub mod scenarios;
mod trace;
mod world;

pub use cluster::ClusterTally;
pub use events::EventTally;
pub use report::{Failure, Report};
pub use tenure_core::mutation::Rule;
use tenure_core::mutation::without;
pub use world::Tally;

/// Runs the chaos of one seed.
pub fn run(seed: u64) -> Result<Report, Failure> {
    scenarios::chaos::run(seed)
}

/// Runs the chaos of one seed in the world of a cluster alone.
pub fn run_cluster(seed: u64) -> Result<Report, Failure> {
    scenarios::chaos::cluster(seed)
}

/// Runs the chaos of one seed with one rule switched off.
pub fn run_without(rule: Rule, seed: u64) -> Result<Report, Failure> {
    // The rules of a cluster matter in its world alone; the others are to be noticed where they are kept.
    let chaos =
        if is_of_cluster(rule) { scenarios::chaos::cluster } else { scenarios::chaos::without_cluster };
    without(rule, || chaos(seed)).map_err(|failure| Failure { rule: Some(rule), ..failure })
}

/// The rules whose absence the chaos must notice: all but three that take a relay which is never done (one of them more than a
/// thousand sources that never run dry), and that have tests of their own in the core; and two about leases of other places, which
/// are not in this world, and which the conformance suite proves.
pub fn simulated_rules() -> impl Iterator<Item = Rule> {
    Rule::ALL.into_iter().filter(|rule| {
        !matches!(
            rule,
            Rule::MakeWay | Rule::MakeRoom | Rule::LookBehind | Rule::OriginRises | Rule::PlacesTakeTurns
        )
    })
}

/// Whether a rule is kept by a cluster.
fn is_of_cluster(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::LeaderFence
            | Rule::OwnerOver
            | Rule::AcknowledgeByGeneration
            | Rule::ConfirmByGeneration
            | Rule::OneLayout
            | Rule::StartAcknowledged
            | Rule::StopBeforeStart
            | Rule::StopOutOfOffice
    )
}

/// Looks for the first of `seeds` in which the absence of a rule is noticed.
pub fn find_without(rule: Rule, seeds: impl IntoIterator<Item = u64>) -> Option<Failure> {
    seeds.into_iter().find_map(|seed| run_without(rule, seed).err())
}

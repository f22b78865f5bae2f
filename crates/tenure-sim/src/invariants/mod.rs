//! What must hold after every step, one file each. The names are those of the catalogue of failures.

mod append_atomic;
mod attempt_tried_once;
mod attempts_append_only;
mod audit_complete;
mod bounded_retries;
mod checkpoint_never_skips;
mod daemon_changed_only_by_generation;
mod dispatch_only_if_committed;
mod effect_at_most_once;
mod entity_effect_once;
mod every_row_terminal_or_scheduled;
mod expected_version_holds;
mod generations_rise;
mod heartbeat_never_starved;
mod history_complete;
mod lease_changed_only_by_term;
mod no_live_node_lost;
mod no_stale_effect_accepted;
mod no_stale_order_accepted;
mod no_stale_record_accepted;
mod no_stale_write_accepted;
mod one_believer_within_drift;
mod one_layout;
mod one_runner_per_daemon_generation;
mod pause_survives;
mod per_source_order;
mod plan_moves_bounded;
mod projection_effect_once;
mod state_never_backwards;
mod stream_versions_without_gaps;
mod token_monotonic;

use std::fmt;

pub use append_atomic::AppendAtomic;
pub use attempt_tried_once::AttemptTriedOnce;
pub use attempts_append_only::AttemptsAppendOnly;
pub use audit_complete::AuditComplete;
pub use bounded_retries::BoundedRetries;
pub use checkpoint_never_skips::CheckpointNeverSkips;
pub use daemon_changed_only_by_generation::DaemonChangedOnlyByGeneration;
pub use dispatch_only_if_committed::DispatchOnlyIfCommitted;
pub use effect_at_most_once::EffectAtMostOnce;
pub use entity_effect_once::EntityEffectOnce;
pub use every_row_terminal_or_scheduled::EveryRowTerminalOrScheduled;
pub use expected_version_holds::ExpectedVersionHolds;
pub use generations_rise::GenerationsRise;
pub use heartbeat_never_starved::HeartbeatNeverStarved;
pub use history_complete::HistoryComplete;
pub use lease_changed_only_by_term::LeaseChangedOnlyByTerm;
pub use no_live_node_lost::NoLiveNodeLost;
pub use no_stale_effect_accepted::NoStaleEffectAccepted;
pub use no_stale_order_accepted::NoStaleOrderAccepted;
pub use no_stale_record_accepted::NoStaleRecordAccepted;
pub use no_stale_write_accepted::NoStaleWriteAccepted;
pub use one_believer_within_drift::OneBelieverWithinDrift;
pub use one_layout::OneLayout;
pub use one_runner_per_daemon_generation::OneRunnerPerDaemonGeneration;
pub use pause_survives::PauseSurvives;
pub use per_source_order::PerSourceOrder;
pub use plan_moves_bounded::PlanMovesBounded;
pub use projection_effect_once::ProjectionEffectOnce;
pub use state_never_backwards::StateNeverBackwards;
pub use stream_versions_without_gaps::StreamVersionsWithoutGaps;
pub use token_monotonic::TokenMonotonic;

use crate::oracle::Moment;

/// One thing that must always hold.
pub trait Invariant: fmt::Debug {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Looks at one step; says what is wrong, if something is.
    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String>;
}

/// Every invariant of leases and of the outbox.
pub fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::<TokenMonotonic>::default(),
        Box::<LeaseChangedOnlyByTerm>::default(),
        Box::<NoStaleWriteAccepted>::default(),
        Box::<OneBelieverWithinDrift>::default(),
        Box::<HistoryComplete>::default(),
        Box::<NoStaleRecordAccepted>::default(),
        Box::<DispatchOnlyIfCommitted>::default(),
        Box::<AttemptTriedOnce>::default(),
        Box::<EffectAtMostOnce>::default(),
        Box::<PerSourceOrder>::default(),
        Box::<AttemptsAppendOnly>::default(),
        Box::<StateNeverBackwards>::default(),
        Box::<EveryRowTerminalOrScheduled>::default(),
        Box::<BoundedRetries>::default(),
        Box::<AuditComplete>::default(),
    ]
}

/// Every invariant of events, entities and subscriptions.
pub fn of_events() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::<ExpectedVersionHolds>::default(),
        Box::<StreamVersionsWithoutGaps>::default(),
        Box::<AppendAtomic>::default(),
        Box::<EntityEffectOnce>::default(),
        Box::<CheckpointNeverSkips>::default(),
        Box::<ProjectionEffectOnce>::default(),
    ]
}

/// Every invariant of a cluster.
pub fn of_cluster() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::<OneRunnerPerDaemonGeneration>::default(),
        Box::<NoLiveNodeLost>::default(),
        Box::<DaemonChangedOnlyByGeneration>::default(),
        Box::<NoStaleOrderAccepted>::default(),
        Box::<NoStaleEffectAccepted>::default(),
        Box::<GenerationsRise>::default(),
        Box::<HeartbeatNeverStarved>::default(),
        Box::<PlanMovesBounded>::default(),
        Box::<PauseSurvives>::default(),
        Box::<OneLayout>::default(),
    ]
}

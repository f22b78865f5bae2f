//! Each safety rule is switched off once, and its absence must be noticed, by the invariant that it serves.

use tenure_sim::{Rule, find_without, simulated_rules};

/// Within how many seeds the absence of a rule must be noticed.
const SEEDS: u64 = 1000;

macro_rules! mutations {
    ($($test:ident = $rule:ident by $invariant:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            assert_eq!(noticed(Rule::$rule, $invariant), Ok(()), "only others noticed it");
        })*

        #[test]
        fn every_rule_has_a_test() {
            assert_eq!(vec![$(Rule::$rule),*], simulated_rules().collect::<Vec<_>>());
        }
    };
}

/// Looks for a seed at which this invariant notices it. At others a second one may, for what one rule keeps out can be wrong in
/// more than one way: an inbox that forgets also writes events twice. Without such a seed, those are told.
fn noticed(rule: Rule, invariant: &str) -> Result<(), Vec<&'static str>> {
    let (mut from, mut others) = (0, Vec::new());
    while let Some(failure) = find_without(rule, from..SEEDS) {
        if failure.invariant == invariant {
            return Ok(());
        }
        from = failure.seed + 1;
        others.push(failure.invariant);
    }
    Err(others)
}

mutations! {
    trust_from_the_answer_is_noticed = TrustFromStart by "one_believer_within_drift",
    a_missing_fence_is_noticed = Fence by "no_stale_write_accepted",
    expiry_by_the_askers_clock_is_noticed = StoreClock by "one_believer_within_drift",
    a_missing_deadline_is_noticed = StopAtDeadline by "one_believer_within_drift",
    release_by_name_is_noticed = ReleaseByTerm by "lease_changed_only_by_term",
    renewal_by_name_is_noticed = RenewByTerm by "lease_changed_only_by_term",
    a_forgotten_term_is_noticed = TermForEver by "token_monotonic",
    a_missing_margin_is_noticed = Margin by "one_believer_within_drift",
    a_hasty_contender_is_noticed = WaitOutPresence by "one_believer_within_drift",
    trust_beyond_the_last_ping_is_noticed = PresenceTrust by "one_believer_within_drift",
    evidence_about_another_session_is_noticed = EvidenceNamesSession by "one_believer_within_drift",
    a_doubtful_withdrawal_taken_for_done_is_noticed = DoubtKeepsPresence by "one_believer_within_drift",
    a_late_renewal_that_takes_effect_is_noticed = RenewalsInOrder by "one_believer_within_drift",
    a_source_that_goes_on_after_a_failure_is_noticed = LaneStops by "per_source_order",
    a_look_that_brings_back_what_was_settled_is_noticed = BuryUntilLooked by "attempt_tried_once",
    a_source_read_only_forwards_is_noticed = LookFromHead by "a_late_row_is_not_starved",
    a_list_read_past_what_was_left_is_noticed = ReadAgainWhatWasLeft by "per_source_order",
    a_lane_that_goes_before_the_list_is_noticed = LanesWaitForTheList by "per_source_order",
    a_forgotten_outcome_is_noticed = RecordAgain by "lag_goes_to_zero",
    an_attempt_recorded_out_of_turn_is_noticed = RecordNextAttempt by "state_never_backwards",
    a_source_that_goes_on_behind_a_halting_message_is_noticed = HaltHolds by "per_source_order",
    an_inbox_that_forgets_is_noticed = InboxRemembers by "effect_at_most_once",
    a_delivery_before_the_commit_is_noticed = OnlyCommitted by "dispatch_only_if_committed",
    retention_of_what_is_not_finished_is_noticed = SweepOnlyFinished by "every_row_terminal_or_scheduled",
    an_append_at_another_version_is_noticed = ExpectedVersion by "expected_version_holds",
    a_checkpoint_beyond_what_is_proven_is_noticed = CheckpointProven by "checkpoint_never_skips",
    a_checkpoint_moved_from_anywhere_is_noticed = CheckpointFrom by "checkpoint_never_skips",
    a_step_from_before_a_rewind_is_noticed = CheckpointRewinds by "checkpoint_never_skips",
    an_append_in_two_parts_is_noticed = AppendWhole by "append_atomic",
    an_order_from_anyone_is_noticed = LeaderFence by "no_stale_order_accepted",
    a_daemon_taken_from_a_living_node_is_noticed = OwnerOver by "no_live_node_lost",
    an_acknowledgement_of_another_generation_is_noticed = AcknowledgeByGeneration by "daemon_changed_only_by_generation",
    a_confirmation_of_another_generation_is_noticed = ConfirmByGeneration by "daemon_changed_only_by_generation",
    two_layouts_at_once_are_noticed = OneLayout by "one_layout",
    a_start_before_the_acknowledgement_is_noticed = StartAcknowledged by "one_runner_per_daemon_generation",
    a_start_before_the_stop_is_noticed = StopBeforeStart by "one_runner_per_daemon_generation",
    daemons_that_run_out_of_office_are_noticed = StopOutOfOffice by "one_runner_per_daemon_generation",
}

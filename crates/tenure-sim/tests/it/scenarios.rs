//! The directed scenarios, each with some seeds for delays, drift and skew.

use tenure_sim::Rule;
use tenure_sim::scenarios::Scenario;

macro_rules! scenarios {
    ($($test:ident = $number:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            let scenario = Scenario::numbered($number).unwrap();
            for seed in 0..30 {
                scenario.run(seed).unwrap_or_else(|failure| panic!("\n{failure}"));
            }
        })*

        #[test]
        fn every_scenario_has_a_test() {
            assert_eq!([$($number),*], Scenario::ALL.map(|scenario| scenario.number));
        }
    };
}

scenarios! {
    s01_paused_leader_is_fenced_and_steps_down = 1,
    s02_broken_session_costs_nobody_the_office = 2,
    s03_stale_renewal_changes_nothing = 3,
    s04_old_calls_of_the_same_owner_leave_its_new_term_alone = 4,
    s05_repeated_release_leaves_the_successor_alone = 5,
    s06_slow_answer_does_not_extend_trust = 6,
    s07_transient_failure_within_the_deadline_is_no_flap = 7,
    s08_failure_until_the_deadline_stops_then_releases = 8,
    s12_skewed_wall_clocks_change_nothing = 12,
    s13_drift_within_the_ratio_never_overlaps_and_beyond_it_the_fence_holds = 13,
    s14_the_holders_ttl_decides = 14,
    s15_terms_rise_for_ever_and_a_regress_is_refused = 15,
    s16_lost_grant_is_learned_by_asking_again = 16,
    s26_total_restart_has_a_leader_within_ttl_and_poll = 26,
    s27_a_crash_at_any_step_of_an_append_leaves_all_or_nothing = 27,
    s28_a_retry_after_a_lost_answer_gives_the_first_result = 28,
    s29_of_two_writers_one_wins_and_the_other_leaves_nothing = 29,
    s30_an_early_position_that_commits_late_is_not_skipped = 30,
    s31_a_hole_does_not_hold_a_reader_up = 31,
    s33_who_begins_early_and_appends_late_follows_in_its_stream = 33,
    s34_commits_during_a_read_are_not_skipped = 34,
    s40_what_was_not_recorded_is_delivered_again_and_applied_once = 40,
    s41_two_relays_at_once_burn_no_attempt_and_double_no_effect = 41,
    s42_a_late_record_changes_nothing = 42,
    s43_poison_rows_are_dead_at_once_and_the_rest_flows = 43,
    s44_a_failing_head_holds_its_source_and_no_other = 44,
    s45_a_dead_row_is_skipped_or_halts_its_source_by_choice = 45,
    s46_a_replayed_transaction_is_one_row_and_one_taken_back_is_none = 46,
    s47_lost_wakeups_cost_time_and_a_storm_costs_little = 47,
    s48_a_hanging_sink_keeps_no_place_and_costs_no_office = 48,
    s50_retention_leaves_alone_what_is_not_finished = 50,
    s51_two_operators_change_a_message_once = 51,
    s53_the_same_message_twice_at_once_is_one_effect = 53,
    s55_a_message_that_comes_again_long_after_is_one_effect = 55,
    s56_a_refused_message_is_refused_again_with_the_same_words = 56,
    s58_a_duplicate_sends_nothing_again = 58,
    s59_a_leader_without_a_turn_keeps_its_leases = 59,
    s60_an_old_look_costs_no_living_node_anything = 60,
    s61_a_deleted_row_comes_back_and_its_daemons_run_on = 61,
    s63_what_a_deposed_leader_ordered_is_refused = 63,
    s64_what_is_said_of_an_old_generation_is_refused = 64,
    s65_a_node_that_is_cut_off_stops_before_others_start = 65,
    s66_a_daemon_without_an_agent_stays_nowhere_and_says_why = 66,
    s68_a_flapping_node_and_a_deploy_move_only_what_must_move = 68,
    s69_a_pause_survives_its_node_and_its_leader = 69,
    s70_what_fails_goes_elsewhere_and_what_hangs_is_cut_off = 70,
    s72_a_graceful_stop_waits_for_no_ttl = 72,
}

/// A story that ends well whatever is broken tells nothing: each notices the absence of the rule that it is about.
#[test]
fn a_scenario_fails_without_its_rule() {
    let rules = [
        (1, Rule::Fence),
        (2, Rule::WaitOutPresence),
        (3, Rule::RenewByTerm),
        (4, Rule::ReleaseByTerm),
        (5, Rule::ReleaseByTerm),
        (6, Rule::TrustFromStart),
        (8, Rule::StopAtDeadline),
        (12, Rule::StoreClock),
        (13, Rule::Margin),
        (15, Rule::TermForEver),
        (27, Rule::AppendWhole),
        (28, Rule::ExpectedVersion),
        (29, Rule::ExpectedVersion),
        (30, Rule::CheckpointProven),
        (34, Rule::CheckpointProven),
        (40, Rule::RecordAgain),
        (41, Rule::Fence),
        (42, Rule::RecordNextAttempt),
        (44, Rule::LaneStops),
        (45, Rule::HaltHolds),
        (46, Rule::OnlyCommitted),
        (50, Rule::SweepOnlyFinished),
        (53, Rule::InboxRemembers),
        (55, Rule::InboxRemembers),
        (56, Rule::InboxRemembers),
        (58, Rule::InboxRemembers),
        (61, Rule::OwnerOver),
        (63, Rule::LeaderFence),
        (64, Rule::AcknowledgeByGeneration),
        (65, Rule::StopOutOfOffice),
    ];
    for (number, rule) in rules {
        let scenario = Scenario::numbered(number).unwrap();
        let noticed = (0..30).any(|seed| scenario.run_without(rule, seed).is_err());
        assert!(noticed, "scenario {number} does not notice that {rule:?} is off");
    }
}

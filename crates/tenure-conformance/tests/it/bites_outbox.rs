//! The proof that the outbox part bites: every flaw, and every safety rule switched off, fails the cases it should fail.

use tenure_conformance::OutboxBackend;
use tenure_conformance::outbox::CASES;
use tenure_core::mutation::{Rule, without};

use crate::bites::run;
use crate::broken_outbox::{BrokenOutboxBackend, Flaw};
use crate::memory::MemoryBackend;

/// A safety rule of the core that is off, and the cases that must notice.
const RULES: [(Rule, &[&str]); 8] = [
    (
        Rule::Fence,
        &[
            "s41_a_deposed_relay_changes_nothing",
            "s41_an_expired_relay_changes_nothing",
            "s41_a_relay_that_released_changes_nothing",
            "s41_a_revoked_relay_changes_nothing",
            "s41_a_fence_that_was_never_granted_changes_nothing",
            "s41_a_relay_deposed_in_its_batch_changes_nothing",
            "s50_a_deposed_sweeper_deletes_nothing",
        ],
    ),
    (
        Rule::RecordNextAttempt,
        &[
            "s40_a_record_may_be_repeated",
            "s42_what_is_finished_never_goes_back",
            "s41_an_attempt_is_not_burnt_twice",
        ],
    ),
    (
        Rule::HaltHolds,
        &[
            "s45_a_halted_head_is_never_due",
            "s45_a_dead_message_that_halts_holds_its_source",
            "s45_discarding_frees_a_halted_source",
            "s45_a_halted_source_goes_on_after_an_operators_decision",
        ],
    ),
    (
        Rule::InboxRemembers,
        &[
            "s53_a_message_is_fresh_once_for_each_consumer",
            "s53_of_two_who_accept_at_once_one_finds_it_fresh",
            "s54_mark_and_effect_are_there_together_or_not_at_all",
            "s55_a_duplicate_is_known_for_as_long_as_it_is_kept",
            "s56_a_refusal_is_repeated",
            "s57_another_content_under_one_id_is_told",
            "s58_a_duplicate_sends_nothing_again",
            "s40_a_crash_between_delivery_and_record_has_one_effect",
            "s44_everything_is_delivered_in_order_and_once_in_effect",
        ],
    ),
    (
        Rule::OnlyCommitted,
        &["s36_what_was_rolled_back_is_not_there", "s27_a_transaction_that_was_dropped_leaves_nothing"],
    ),
    (
        Rule::SweepOnlyFinished,
        &["s50_what_is_not_finished_is_never_deleted", "s50_a_sweep_goes_on_step_by_step"],
    ),
    (Rule::LaneStops, &["s44_a_failing_source_waits_and_others_flow"]),
    (Rule::RecordAgain, &["s44_everything_is_delivered_in_order_and_once_in_effect"]),
];

/// A flaw, and the cases that must notice.
const FLAWS: [(Flaw, &[&str]); 62] = [
    (Flaw::OrderById, &["s44_a_source_is_ordered_by_its_sequence_and_not_by_insertion"]),
    (Flaw::Cursor, &["s30_a_row_that_was_committed_late_is_seen"]),
    (Flaw::PlaceIgnored, &["a_lane_is_read_on_from_a_place"]),
    (Flaw::RotationEnds, &["discovery_goes_round_all_sources_by_their_bytes"]),
    (Flaw::ExceptIgnored, &["discovery_leaves_out_what_is_known"]),
    (
        Flaw::NextDueForgotten,
        &["s44_a_parked_head_parks_its_source_and_no_other", "a_delayed_message_is_not_due_before_its_time"],
    ),
    (Flaw::LargeInline, &["a_large_payload_is_loaded_when_its_turn_has_come"]),
    (
        Flaw::LoadFails,
        &["a_large_payload_is_loaded_when_its_turn_has_come", "a_relay_delivers_large_payloads"],
    ),
    (Flaw::LoadUnlimited, &["s38_what_is_above_the_limit_is_not_loaded"]),
    (Flaw::UnclearIsEmpty, &["s43_bad_rows_are_shown_as_they_are"]),
    (
        Flaw::DelayIgnored,
        &["a_delayed_message_is_not_due_before_its_time", "the_numbers_count_what_they_say"],
    ),
    (Flaw::ConflictIgnored, &["s46_the_same_id_with_another_content_is_an_error"]),
    (
        Flaw::KnownIsFresh,
        &[
            "s46_a_replayed_origin_has_the_same_id_and_no_second_row",
            "s28_of_two_who_enqueue_the_same_at_once_one_inserts_it",
        ],
    ),
    (Flaw::LimitsIgnored, &["s38_what_is_above_a_limit_is_refused"]),
    (Flaw::NotAllOrNone, &["s46_the_same_id_with_another_content_is_an_error"]),
    (Flaw::SuccessUnfenced, &["s41_a_deposed_relay_changes_nothing"]),
    (Flaw::AllApplied, &["s40_a_record_may_be_repeated", "s42_what_is_finished_never_goes_back"]),
    (Flaw::TermForgotten, &["s41_a_relay_in_office_records_with_its_term"]),
    (Flaw::NeverHalts, &["s45_a_dead_message_that_halts_holds_its_source"]),
    (Flaw::PauseIgnored, &["s44_a_parked_head_parks_its_source_and_no_other"]),
    (Flaw::SweepUnfenced, &["s50_a_deposed_sweeper_deletes_nothing"]),
    (
        Flaw::SweepUnbounded,
        &["s50_a_sweep_goes_on_step_by_step", "s50_an_inbox_forgets_what_is_old_in_bounded_steps"],
    ),
    (Flaw::SweepStops, &["s50_a_sweep_goes_on_step_by_step"]),
    (Flaw::NothingForEver, &["s50_what_is_young_or_kept_for_ever_stays"]),
    (Flaw::ListReversed, &["a_list_is_newest_first_and_paged"]),
    (Flaw::FilterIgnored, &["a_list_shows_what_fits_its_filter"]),
    (Flaw::PagingIgnored, &["a_list_is_newest_first_and_paged"]),
    (Flaw::AttemptsHidden, &["attempts_are_numbered_and_kept", "a_message_is_shown_with_all_its_attempts"]),
    (Flaw::HaltedUncounted, &["the_numbers_count_what_they_say"]),
    (Flaw::LagOfAll, &["the_lag_leaves_out_what_could_not_go"]),
    (Flaw::LagOfDelayed, &["the_lag_of_a_delayed_message_counts_from_its_time"]),
    (Flaw::BulkUnbounded, &["a_bulk_change_is_counted_filtered_and_bounded"]),
    (Flaw::RetryAnswersAll, &["s51_of_two_operators_at_once_one_retries_a_message"]),
    (Flaw::Unaudited, &["every_change_is_audited"]),
    (
        Flaw::RefusesTooLate,
        &["s56_what_took_effect_cannot_be_refused_later", "s56_a_refusal_stands_with_its_first_reason"],
    ),
    (Flaw::InboxBesides, &["s54_mark_and_effect_are_there_together_or_not_at_all"]),
    (
        Flaw::NeverWoken,
        &[
            "s47_an_armed_relay_is_woken_by_a_users_commit",
            "s47_an_armed_relay_is_woken_by_its_own_stores_commit",
        ],
    ),
    (Flaw::PartIgnored, &["e7_parts_are_disjoint_and_complete", "e7_a_source_stays_in_one_part"]),
    (Flaw::PartForgotten, &["e7_parts_are_disjoint_and_complete"]),
    (Flaw::PartByNumber, &["e7_a_source_stays_in_one_part", "e7_order_within_a_source_is_kept_by_parts"]),
    (Flaw::PartOfLaneIgnored, &["e7_a_source_stays_in_one_part"]),
    (Flaw::PartUnspread, &["e7_what_has_no_source_is_spread_over_all_parts"]),
    (Flaw::PartRotationEnds, &["e7_nothing_starves_among_the_sources_of_other_parts"]),
    (Flaw::PartSearchEnds, &["e7_a_search_goes_on_behind_rows_of_other_parts"]),
    (Flaw::PartNextDueForgotten, &["e7_a_part_is_told_when_its_own_is_due"]),
    (Flaw::StepsIgnored, &["a_search_looks_at_no_more_rows_than_it_may"]),
    (
        Flaw::MoreForgotten,
        &["a_search_ends_where_it_was_told_and_goes_on_from_there", "a_search_by_state_has_no_gaps"],
    ),
    (Flaw::PagingIgnored, &["a_search_by_state_has_no_gaps"]),
    (Flaw::FilterIgnored, &["filters_that_are_sql_stay_filters"]),
    (Flaw::TimeIgnored, &["a_search_by_time_finds_the_edges"]),
    (Flaw::PayloadUncut, &["a_payload_is_cut_where_it_was_told_and_its_size_is_whole"]),
    (Flaw::CountUnbounded, &["a_count_of_the_dead_ends_where_it_was_told"]),
    (Flaw::CauseIgnored, &["retry_of_a_cause_leaves_other_causes_alone"]),
    (Flaw::WalkUnbounded, &["a_rare_topic_among_many_dead_is_gone_through_once_by_bounded_calls"]),
    (
        Flaw::WalkBeginsAgain,
        &[
            "a_rare_topic_among_many_dead_is_gone_through_once_by_bounded_calls",
            "what_dies_again_behind_a_walk_is_not_met_twice",
        ],
    ),
    (
        Flaw::WalkEnds,
        &[
            "a_rare_topic_among_many_dead_is_gone_through_once_by_bounded_calls",
            "s51_two_operators_walk_through_one_group_and_each_message_is_changed_once",
        ],
    ),
    (Flaw::CauseIgnored, &["a_walk_by_cause_or_id_looks_at_no_others"]),
    (
        Flaw::CausesMixed,
        &["dead_messages_of_one_cause_are_one_group", "a_cause_survives_retry_and_a_second_death"],
    ),
    (Flaw::CausesEnd, &["causes_come_page_by_page"]),
    (Flaw::RetryAnswersAll, &["s51_two_operators_retry_one_group_and_each_message_is_changed_once"]),
    (Flaw::PulseUnbounded, &["a_pulse_counts_no_further_than_it_is_told"]),
    (Flaw::PulseBlind, &["a_pulse_agrees_with_the_numbers_of_a_small_outbox"]),
];

#[test]
fn a_safety_rule_switched_off_fails_its_outbox_cases() {
    for (rule, cases) in RULES {
        for name in cases {
            without(rule, || assert_fails(name, MemoryBackend::start(), &format!("without {rule:?}")));
        }
    }
}

#[test]
fn a_flawed_outbox_fails_its_cases() {
    for (flaw, cases) in FLAWS {
        for name in cases {
            assert_fails(name, BrokenOutboxBackend::start(flaw), &format!("with {flaw:?}"));
        }
    }
}

/// Everyone who adds a case can rely on its name.
#[test]
fn every_outbox_case_has_a_name_of_its_own() {
    let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

fn assert_fails(name: &str, backend: impl OutboxBackend + 'static, how: &str) {
    let case =
        CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"));
    assert!(run(case, &backend as &dyn OutboxBackend).is_err(), "{name} passes {how}: it does not bite");
}

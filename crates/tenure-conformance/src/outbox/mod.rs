//! The outbox part: the cases by theme, and the one list that makes a test of each.
//!
//! A new case is a public function in the file of its theme and a line in the list below; every backend then runs it.

use crate::suite::Case;

pub mod admin;
pub mod arrivals;
mod backend;
pub mod causes;
pub mod content;
pub(crate) mod desk;
mod driver;
pub mod enqueue;
pub mod fence;
pub mod inbox;
pub mod look;
pub mod parts;
pub mod pulse;
pub mod record;
pub mod relay;
pub mod retention;
pub mod search;
pub mod wakeup;
pub mod walk;

pub use backend::{AuditLine, OutboxBackend, PlainRow, UserTransaction};

/// Every outbox case, for authors who would rather loop over them than have a test of each.
pub const CASES: &[Case<dyn OutboxBackend>] = crate::__outbox_cases! { list };

/// The list: themes, and the cases in each.
#[doc(hidden)]
#[macro_export]
macro_rules! __outbox_cases {
    ($($what:tt)*) => {
        $crate::__outbox_each! {
            [$($what)*]
            enqueue {
                s36_what_was_rolled_back_is_not_there,
                s27_a_transaction_that_was_dropped_leaves_nothing,
                s27_data_and_messages_are_committed_together,
                b14_what_is_enqueued_is_counted,
                s28_enqueueing_again_after_a_lost_commit_makes_no_second_row,
                s28_the_same_message_twice_in_one_transaction_is_one_row,
                s28_of_two_who_enqueue_the_same_at_once_one_inserts_it,
                s46_a_replayed_origin_has_the_same_id_and_no_second_row,
                s46_the_same_id_with_another_content_is_an_error,
                s46_two_contents_under_one_id_in_one_call_are_an_error,
                s46_another_delay_is_no_other_content,
                s46_another_trace_is_no_other_content,
                many_messages_go_in_one_call,
                s38_what_is_above_a_limit_is_refused,
                s20_every_text_and_byte_is_kept_as_it_is,
                a_foreign_insert_needs_a_topic_a_type_and_a_payload,
                s46_ids_are_compared_without_regard_to_case,
            }
            look {
                s44_a_source_is_ordered_by_its_sequence_and_not_by_insertion,
                s44_sources_inserted_crosswise_keep_their_order,
                s30_a_row_that_was_committed_late_is_seen,
                a_lane_is_read_on_from_a_place,
                discovery_goes_round_all_sources_by_their_bytes,
                discovery_leaves_out_what_is_known,
                s44_a_parked_head_parks_its_source_and_no_other,
                s44_a_parked_source_goes_on_when_its_time_has_come,
                s45_a_halted_head_is_never_due,
                a_delayed_message_is_not_due_before_its_time,
                a_source_that_is_told_to_rest_has_nothing_due,
                what_has_no_source_comes_in_the_order_of_its_due_time,
                a_look_changes_nothing,
            }
            parts {
                e7_parts_are_disjoint_and_complete,
                e7_a_source_stays_in_one_part,
                e7_what_has_no_source_is_spread_over_all_parts,
                e7_nothing_starves_among_the_sources_of_other_parts,
                e7_a_search_goes_on_behind_rows_of_other_parts,
                e7_a_part_is_told_when_its_own_is_due,
                e7_order_within_a_source_is_kept_by_parts,
            }
            arrivals {
                what_has_come_is_listed_by_its_number,
                what_has_a_place_of_its_own_is_in_its_lane,
                what_a_foreign_program_inserts_is_listed,
                s30_what_was_committed_late_is_found,
                a_look_that_lays_tells_nothing_that_stands_behind_it,
                s44_what_is_behind_a_failure_is_laid_into_its_lane,
                s45_a_listed_message_dies_as_any_other,
                s41_a_run_is_recorded_once,
                s41_a_run_of_numbers_in_lanes_is_noted_too,
                what_a_relay_gives_back_is_laid_into_its_lane,
                without_the_list_everything_is_in_lanes,
                a_look_tells_of_nothing_that_it_has_left,
                a_look_onwards_sees_what_others_did_meanwhile,
                a_look_onwards_leaves_what_is_behind_a_lane,
                without_the_list_what_a_foreign_program_inserts_is_not_overtaken,
            }
            content {
                a_large_payload_is_loaded_when_its_turn_has_come,
                s38_what_is_above_the_limit_is_not_loaded,
                s43_bad_rows_are_shown_as_they_are,
                s43_a_message_id_that_is_no_uuid_is_not_delivered,
            }
            record {
                a_success_finishes_the_message,
                attempts_are_numbered_and_kept,
                s40_a_record_may_be_repeated,
                s42_what_is_finished_never_goes_back,
                s41_an_attempt_is_not_burnt_twice,
                outcomes_of_all_kinds_go_in_one_call,
                a_large_batch_of_successes_is_one_call,
                s45_a_dead_message_that_does_not_halt_lets_its_source_go_on,
                s45_a_dead_message_that_halts_holds_its_source,
                reasons_are_kept_as_they_are,
                s44_order_is_kept_through_retries,
            }
            fence {
                s41_a_relay_in_office_records_with_its_term,
                s41_a_deposed_relay_changes_nothing,
                s41_an_expired_relay_changes_nothing,
                s41_a_record_of_nothing_tells_whether_one_is_in_office,
                s41_a_relay_that_released_changes_nothing,
                s41_a_revoked_relay_changes_nothing,
                s41_a_fence_that_was_never_granted_changes_nothing,
                s50_a_deposed_sweeper_deletes_nothing,
            }
            inbox {
                s53_a_message_is_fresh_once_for_each_consumer,
                s53_of_two_who_accept_at_once_one_finds_it_fresh,
                s54_mark_and_effect_are_there_together_or_not_at_all,
                s55_a_duplicate_is_known_for_as_long_as_it_is_kept,
                s56_a_refusal_is_repeated,
                s56_a_refusal_counts_once_it_is_committed,
                s56_what_took_effect_cannot_be_refused_later,
                s56_a_refusal_stands_with_its_first_reason,
                s57_another_content_under_one_id_is_told,
                s58_a_duplicate_sends_nothing_again,
                s50_an_inbox_forgets_what_is_old_in_bounded_steps,
            }
            retention {
                s50_what_is_not_finished_is_never_deleted,
                s50_what_is_finished_goes_with_its_attempts,
                s50_a_sweep_goes_on_step_by_step,
                s50_what_is_young_or_kept_for_ever_stays,
            }
            admin {
                the_numbers_count_what_they_say,
                the_lag_leaves_out_what_could_not_go,
                the_lag_of_a_delayed_message_counts_from_its_time,
                s43_a_row_whose_id_is_no_uuid_is_shown_and_discarded,
                a_list_is_newest_first_and_paged,
                a_list_shows_what_fits_its_filter,
                a_message_is_shown_with_all_its_attempts,
                messages_are_found_by_their_ids,
                a_retried_message_has_a_full_budget,
                s51_of_two_operators_at_once_one_retries_a_message,
                s51_a_message_is_retried_or_discarded_not_both,
                every_change_is_audited,
                s45_discarding_frees_a_halted_source,
                s45_retrying_frees_a_halted_source_in_order,
                a_bulk_change_is_counted_filtered_and_bounded,
            }
            wakeup {
                s47_an_armed_relay_is_woken_by_a_users_commit,
                s47_an_armed_relay_is_woken_by_its_own_stores_commit,
                s47_arming_again_is_told,
            }
            relay {
                s44_everything_is_delivered_in_order_and_once_in_effect,
                s40_a_crash_between_delivery_and_record_has_one_effect,
                s41_a_relay_deposed_in_its_batch_changes_nothing,
                s43_poison_at_the_head_is_parked_and_the_rest_flows,
                s44_a_failing_source_waits_and_others_flow,
                s45_a_message_is_dead_after_its_last_attempt_and_can_be_retried,
                s45_a_halted_source_goes_on_after_an_operators_decision,
                a_relay_delivers_large_payloads,
            }
            search {
                a_search_ends_where_it_was_told_and_goes_on_from_there,
                a_search_looks_at_no_more_rows_than_it_may,
                a_search_by_state_has_no_gaps,
                a_search_by_time_finds_the_edges,
                a_payload_is_cut_where_it_was_told_and_its_size_is_whole,
                filters_that_are_sql_stay_filters,
            }
            causes {
                dead_messages_of_one_cause_are_one_group,
                causes_come_page_by_page,
                retry_of_a_cause_leaves_other_causes_alone,
                s51_two_operators_retry_one_group_and_each_message_is_changed_once,
                discarded_messages_are_in_no_group,
                a_cause_survives_retry_and_a_second_death,
                a_count_of_the_dead_ends_where_it_was_told,
            }
            walk {
                a_rare_topic_among_many_dead_is_gone_through_once_by_bounded_calls,
                what_dies_again_behind_a_walk_is_not_met_twice,
                s51_two_operators_walk_through_one_group_and_each_message_is_changed_once,
                a_walk_by_cause_or_id_looks_at_no_others,
            }
            pulse {
                a_pulse_agrees_with_the_numbers_of_a_small_outbox,
                the_lag_of_a_pulse_leaves_out_what_could_not_go,
                a_pulse_counts_no_further_than_it_is_told,
            }
        }
    };
}

/// What is made of the list: tests, or values.
#[doc(hidden)]
#[macro_export]
macro_rules! __outbox_each {
    ([tests $backend:expr] $($theme:ident { $($case:ident,)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::suite::run_outbox(::core::stringify!($case), $backend);
            }
        )*)*
    };
    ([list] $($theme:ident { $($case:ident,)* })*) => {
        &[$($(
            Case {
                name: ::core::stringify!($case),
                theme: ::core::stringify!($theme),
                run: |backend| ::std::boxed::Box::pin($theme::$case(backend)),
            },
        )*)*]
    };
}

//! The event part: the cases by theme, and the one list that makes a test of each.
//!
//! A new case is a public function in the file of its theme and a line in the list below; every backend then runs it.

use crate::suite::Case;

pub mod append;
pub mod audit;
mod backend;
pub mod checkpoints;
pub mod content;
pub mod marks;
pub mod open;
pub mod race;
pub mod read;
pub mod retry;
pub mod runners;
pub(crate) mod scribe;
pub mod snapshots;
pub mod stories;
pub mod wakeup;
pub mod whole;

pub use backend::{EventBackend, UserAppend};

/// Every event case, for authors who would rather loop over them than have a test of each.
pub const CASES: &[Case<dyn EventBackend>] = crate::__event_cases! { list };

/// The list: themes, and the cases in each.
#[doc(hidden)]
#[macro_export]
macro_rules! __event_cases {
    ($($what:tt)*) => {
        $crate::__event_each! {
            [$($what)*]
            append {
                versions_count_from_one,
                positions_rise_over_all_streams,
                only_the_expected_version_is_appended_to,
                a_gap_at_the_start_is_a_conflict,
                any_version_is_appended_to,
                a_thousand_events_are_one_append,
                what_makes_no_sense_is_refused,
            }
            read {
                a_stream_is_read_forward,
                a_stream_is_read_backward,
                a_stream_that_is_not_there_is_empty,
                all_events_are_read_page_by_page,
                s38_large_events_end_a_page_sooner,
                a_reader_at_the_head_sees_what_comes,
                a_reader_ahead_of_the_store_is_told,
                a_row_that_cannot_be_read_is_told_and_holds_nobody_up,
                a_stream_with_a_row_that_cannot_be_read_is_an_error,
            }
            content {
                an_event_is_read_as_it_was_appended,
                s20_every_text_and_byte_of_an_event_is_kept,
                s20_streams_that_differ_in_any_byte_are_different,
                s38_payloads_at_the_limit_pass_and_beyond_it_do_not,
                s38_what_is_no_json_or_too_deep_is_refused,
            }
            retry {
                s28_a_retry_gives_the_first_result,
                s28_a_retry_further_up_gives_the_first_result,
                s28_the_same_id_with_another_content_is_told,
                s28_a_part_of_an_append_is_no_retry,
                s28_an_id_of_another_stream_is_told,
                s28_of_the_same_append_many_times_at_once_one_is_written,
                a_conflict_leaves_the_ids_free,
            }
            race {
                s29_two_writers_one_expected_version,
                s29_many_writers_at_any_version_all_append,
                s34_a_reader_among_writers_misses_nothing,
                s34_a_reader_among_open_transactions_misses_nothing,
            }
            whole {
                b1_events_and_dispatches_are_there_together,
                s44_dispatches_of_a_stream_keep_their_order,
                s27_a_failing_dispatch_leaves_nothing,
                s27_an_impossible_dispatch_leaves_nothing,
                s29_a_conflict_sends_nothing,
                dispatches_alone_leave_the_stream_as_it_is,
            }
            open {
                s27_an_append_appears_with_its_transaction,
                s30_an_append_that_commits_late_is_not_skipped,
                s30_of_several_open_appends_the_first_one_counts,
                s32_who_has_not_appended_holds_nobody_up,
                s31_a_rolled_back_append_leaves_no_stall,
                s36_what_was_rolled_back_is_not_there,
                s29_after_a_conflict_the_transaction_goes_on,
            }
            marks {
                s53_a_message_takes_effect_once,
                s53_of_many_duplicates_at_once_one_takes_effect,
                s53_a_mark_without_events_is_remembered,
                s54_a_conflict_writes_no_mark,
                s56_a_refusal_is_repeated,
                s56_a_refusal_leaves_the_stream_as_it_is,
                s57_another_content_under_one_id_is_told,
                s58_a_duplicate_sends_nothing_again,
                s53_there_is_one_inbox,
            }
            snapshots {
                a_snapshot_is_kept_as_it_is,
                only_a_snapshot_that_is_not_older_is_kept,
            }
            checkpoints {
                a_checkpoint_moves_step_by_step,
                a_checkpoint_moves_only_from_where_it_is,
                of_many_steps_from_one_place_one_is_taken,
                a_step_back_is_an_error,
                what_is_put_aside_is_kept,
                subscriptions_are_listed_with_their_progress,
                s41_a_reader_out_of_office_moves_nothing,
                a_rewind_forgets_what_was_put_aside_after_it,
                a_step_from_before_a_rewind_is_refused_wherever_the_checkpoint_is,
                a_rewind_goes_no_further_than_the_end_of_the_log,
                a_rewind_is_audited,
                subscriptions_and_what_they_put_aside_come_page_by_page,
            }
            wakeup {
                s47_an_armed_reader_is_woken_by_an_append,
                s47_an_armed_reader_is_woken_by_a_users_commit,
                s47_arming_a_reader_again_is_told,
            }
            stories {
                streams_are_listed_by_bytes_after_a_prefix,
                a_story_has_all_events_of_its_correlation_and_no_others,
                a_story_tells_of_a_row_that_cannot_be_read,
            }
            audit {
                every_change_of_an_operator_is_in_the_audit_newest_first,
                audit_pages_have_no_gaps,
                audit_filters_are_only_texts,
            }
            runners {
                a_report_replaces_the_last_one_of_its_process,
                a_runner_that_is_gone_is_not_shown,
                many_runners_of_one_process_are_kept,
            }
        }
    };
}

/// What is made of the list: tests, or values.
#[doc(hidden)]
#[macro_export]
macro_rules! __event_each {
    ([tests $backend:expr] $($theme:ident { $($case:ident,)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::suite::run_events(::core::stringify!($case), $backend);
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

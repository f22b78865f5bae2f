//! The lease part: the cases by theme, and the one list that makes a test of each.
//!
//! A new case is a public function in the file of its theme and a line in the list below; every backend then runs it.

use crate::suite::Case;

pub mod acquire;
pub mod evidence;
pub mod expiry;
pub mod fence;
pub mod history;
pub mod locks;
pub mod names;
pub(crate) mod player;
pub mod presence;
pub mod race;
pub mod registry;
pub mod release;
pub mod renew;
pub mod revoke;
pub mod row;
pub mod terms;

/// Every lease case, for authors who would rather loop over them than have a test of each.
pub const CASES: &[Case] = crate::__lease_cases! { list };

/// The list: themes, and the cases in each.
#[doc(hidden)]
#[macro_export]
macro_rules! __lease_cases {
    ($($what:tt)*) => {
        $crate::__lease_each! {
            [$($what)*]
            acquire {
                a_free_lease_is_granted_and_then_held,
                s09_an_error_is_not_a_grant,
                s11_a_lease_claimed_many_times_is_free_after_one_release,
                s16_the_same_claim_gets_the_same_grant,
                s16_another_claim_of_the_same_node_finds_it_held,
                s16_the_same_claim_after_a_release_gets_a_new_term,
                s16_a_claim_dropped_half_way_leaves_nothing_half_done,
                s19_two_nodes_with_one_name_are_two,
            }
            race {
                s10_of_many_racing_for_a_new_lease_one_is_granted,
                s10_of_many_racing_for_a_released_lease_one_is_granted,
                s10_of_many_racing_for_an_expired_lease_one_is_granted,
                s10_of_many_racing_with_the_same_evidence_one_is_granted,
                s10_in_a_storm_no_term_is_given_twice,
            }
            renew {
                s03_stale_renew_is_lost_and_changes_nothing,
                s04_renewal_of_a_former_term_of_the_same_node_is_lost,
                a_released_grant_cannot_be_renewed,
                an_unknown_lease_cannot_be_renewed,
                a_renewal_that_comes_after_a_later_one_changes_nothing,
                renewals_are_counted_anew_for_every_grant,
            }
            release {
                s04_release_of_a_former_term_of_the_same_node_changes_nothing,
                s05_repeated_release_after_a_takeover_changes_nothing,
                s05_release_after_expiry_and_takeover_changes_nothing,
                a_release_may_be_repeated,
                s25_a_released_lease_is_granted_at_once,
            }
            expiry {
                c07_a_lease_is_free_once_its_ttl_has_ended,
                s12_a_lease_is_not_free_before_its_ttl_has_ended,
                s12_times_in_the_row_are_the_stores,
                s14_the_holders_ttl_decides_not_the_contenders,
                an_expired_grant_cannot_be_renewed,
                a_renewed_lease_outlives_its_first_ttl,
                s26_after_a_total_restart_the_wait_ends_with_the_old_ttl,
            }
            terms {
                s15_terms_rise_over_releases,
                s15_terms_rise_over_expiry,
                s15_terms_rise_over_a_deleted_row,
                s15_a_holder_whose_row_was_deleted_is_out_of_office,
                s15_a_term_that_went_back_is_refused_aloud,
            }
            names {
                s20_names_that_differ_in_any_byte_are_different_leases,
                s20_upper_and_lower_case_are_held_by_different_nodes,
                s20_the_longest_names_are_kept_whole,
                s20_what_is_no_name_is_refused_before_the_store,
                s20_quotes_and_unicode_in_a_holders_texts_are_data,
            }
            fence {
                s01_writes_of_an_old_term_are_refused_after_a_takeover,
                s01_writes_of_a_deposed_holder_are_refused,
                a_fence_holds_while_its_grant_does,
                a_fence_is_refused_once_its_ttl_has_ended,
                a_fence_is_refused_after_the_release,
                a_fence_that_was_never_granted_is_refused,
            }
            evidence {
                an_announced_presence_is_seen_by_contenders,
                evidence_of_the_announced_session_gets_the_lease,
                evidence_of_another_session_is_refused,
                evidence_of_another_term_is_refused,
                evidence_against_a_withdrawn_presence_is_refused,
                evidence_against_a_holder_without_presence_is_refused,
                evidence_of_a_session_before_the_announced_one_is_refused,
                evidence_works_once,
            }
            presence {
                s02_a_session_killed_by_the_server_costs_the_lease,
                s25_a_waiting_node_is_told_of_a_release_within_a_second,
                a_raised_flag_stays_up,
                a_lowered_flag_falls_for_every_watcher_and_no_other_does,
                a_closed_session_lowers_all_its_flags,
                a_dropped_session_lowers_its_flags,
                a_flag_that_was_never_raised_is_down,
                s11_a_flag_raised_twice_falls_when_it_is_lowered_once,
                a_silent_session_is_ended_by_the_store,
            }
            revoke {
                a_revoked_holder_is_told_and_others_wait_for_its_release,
                a_revoked_fence_is_refused,
                a_revoked_holder_that_does_not_answer_ends_with_its_ttl,
                a_forced_revocation_frees_the_lease_at_once,
                a_revocation_can_be_forced_afterwards,
                revoking_what_nobody_holds_changes_nothing,
            }
            row {
                an_unknown_lease_has_no_row,
                a05_the_row_says_who_holds_the_lease_and_since_when,
                a08_a_release_stamps_the_row_and_keeps_it,
                a10_losing_leaves_no_row,
                the_list_is_in_order_of_names_and_limited,
            }
            history {
                history_tells_every_change_of_holder_and_its_cause,
                what_changes_no_holder_writes_no_history,
                history_is_limited_and_newest_first,
                history_survives_its_row,
                s15_history_forgets_what_is_old_but_never_the_last_term,
                leases_and_their_history_come_page_by_page,
            }
            registry {
                a03_the_registry_can_be_prepared_again_and_again,
                a05_a_recorded_holding_is_seen_like_any_lease,
                a08_a_touched_holding_outlives_the_sweep,
                a08_a_recorded_release_stamps_the_row,
                a05_what_a_holding_was_granted_as_is_seen,
                s15_terms_rise_with_the_numbers_of_whoever_granted,
                s15_a_number_that_went_back_is_refused,
                s15_another_epoch_gets_a_higher_term,
                s15_who_was_granted_elsewhere_is_not_deposed_from_another_place,
                s15_of_two_who_record_at_once_the_later_number_stays,
                a_revoked_recorded_holder_is_told,
                a_holding_of_another_store_of_the_same_kind_is_no_lease_of_this_one,
                a03_the_sweep_stamps_only_what_was_forgotten,
                s04_a_former_recorded_holder_changes_nothing,
                s15_terms_of_recorded_holdings_rise,
                s16_a_recording_repeated_keeps_its_term,
                s01_a_recorded_term_is_a_fence,
                a_recording_does_not_overwrite_a_held_lease,
            }
            locks {
                a01_a_session_lock_excludes_others,
                s11_a_session_lock_excludes_its_own_provider,
                a02_waiting_for_a_session_lock_ends_with_its_release,
                s10_of_many_waiting_for_a_session_lock_one_gets_it,
                a01_a_dropped_session_lock_is_free,
                a_session_lock_that_was_given_back_counts_as_lost,
                s02_a_session_lock_killed_by_the_server_is_lost,
                s20_session_locks_of_different_names_are_different,
            }
        }
    };
}

/// What is made of the list: tests, or values.
#[doc(hidden)]
#[macro_export]
macro_rules! __lease_each {
    ([tests $backend:expr] $($theme:ident { $($case:ident,)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::suite::run(::core::stringify!($case), $backend);
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

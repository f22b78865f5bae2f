//! The proof that the suite bites: every flaw, and every safety rule switched off, fails the cases it should fail.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_conformance::Backend;
use tenure_conformance::lease::CASES;
use tenure_conformance::suite::Case;
use tenure_core::mutation::{Rule, without};

use crate::broken::{BrokenBackend, Flaw};
use crate::broken_locks::LockFlaw;
use crate::broken_presence::PresenceFlaw;
use crate::broken_registry::RegistryFlaw;
use crate::memory::MemoryBackend;

/// A safety rule of the core that is off, and the cases that must notice.
const RULES: [(Rule, &[&str]); 8] = [
    (
        Rule::RenewByTerm,
        &[
            "s03_stale_renew_is_lost_and_changes_nothing",
            "s04_renewal_of_a_former_term_of_the_same_node_is_lost",
            "s19_two_nodes_with_one_name_are_two",
        ],
    ),
    (
        Rule::ReleaseByTerm,
        &[
            "s04_release_of_a_former_term_of_the_same_node_changes_nothing",
            "s05_repeated_release_after_a_takeover_changes_nothing",
            "s05_release_after_expiry_and_takeover_changes_nothing",
        ],
    ),
    (
        Rule::TermForEver,
        &[
            "s15_terms_rise_over_releases",
            "s15_terms_rise_over_a_deleted_row",
            "s15_terms_of_recorded_holdings_rise",
        ],
    ),
    (
        Rule::Fence,
        &[
            "s01_writes_of_an_old_term_are_refused_after_a_takeover",
            "s01_writes_of_a_deposed_holder_are_refused",
            "s01_a_recorded_term_is_a_fence",
            "a_revoked_fence_is_refused",
        ],
    ),
    (
        Rule::EvidenceNamesSession,
        &[
            "evidence_of_another_session_is_refused",
            "evidence_of_a_session_before_the_announced_one_is_refused",
        ],
    ),
    (Rule::RenewalsInOrder, &["a_renewal_that_comes_after_a_later_one_changes_nothing"]),
    (Rule::OriginRises, &["s15_a_number_that_went_back_is_refused"]),
    (Rule::PlacesTakeTurns, &["s15_who_was_granted_elsewhere_is_not_deposed_from_another_place"]),
];

/// A store that is wrong in one way, and the cases that must notice.
const FLAWS: [(Flaw, &[&str]); 27] = [
    (
        Flaw::SameClaimIgnored,
        &[
            "s16_the_same_claim_gets_the_same_grant",
            "s11_a_lease_claimed_many_times_is_free_after_one_release",
        ],
    ),
    (
        Flaw::ExpiryIgnored,
        &[
            "c07_a_lease_is_free_once_its_ttl_has_ended",
            "s26_after_a_total_restart_the_wait_ends_with_the_old_ttl",
        ],
    ),
    (Flaw::ExpiredRenews, &["an_expired_grant_cannot_be_renewed"]),
    (
        Flaw::EarlyTakeover,
        &["a_free_lease_is_granted_and_then_held", "s10_of_many_racing_for_a_new_lease_one_is_granted"],
    ),
    (Flaw::LostIsExtended, &["a_released_grant_cannot_be_renewed", "an_unknown_lease_cannot_be_renewed"]),
    (
        Flaw::NotHeldIsReleased,
        &["a_release_may_be_repeated", "s05_repeated_release_after_a_takeover_changes_nothing"],
    ),
    (Flaw::ReleaseDeletes, &["a08_a_release_stamps_the_row_and_keeps_it"]),
    (Flaw::ContendersTtl, &["s14_the_holders_ttl_decides_not_the_contenders"]),
    (
        Flaw::HistoryMissing,
        &["history_tells_every_change_of_holder_and_its_cause", "what_changes_no_holder_writes_no_history"],
    ),
    (Flaw::HistoryReversed, &["history_is_limited_and_newest_first"]),
    (Flaw::ForgetsAll, &["s15_history_forgets_what_is_old_but_never_the_last_term"]),
    (Flaw::ForgetsNothing, &["s15_history_forgets_what_is_old_but_never_the_last_term"]),
    (
        Flaw::CaseFolded,
        &[
            "s20_upper_and_lower_case_are_held_by_different_nodes",
            "s20_names_that_differ_in_any_byte_are_different_leases",
        ],
    ),
    (Flaw::NamesCut, &["s20_the_longest_names_are_kept_whole"]),
    (Flaw::ErrorIsGrant, &["s09_an_error_is_not_a_grant", "s15_a_term_that_went_back_is_refused_aloud"]),
    (Flaw::PresenceForgotten, &["an_announced_presence_is_seen_by_contenders"]),
    (
        Flaw::Presence(PresenceFlaw::AlwaysFallen),
        &["a_raised_flag_stays_up", "a_lowered_flag_falls_for_every_watcher_and_no_other_does"],
    ),
    (Flaw::Presence(PresenceFlaw::Stacks), &["s11_a_flag_raised_twice_falls_when_it_is_lowered_once"]),
    (
        Flaw::Presence(PresenceFlaw::OutlivesItsSession),
        &["a_closed_session_lowers_all_its_flags", "a_dropped_session_lowers_its_flags"],
    ),
    (Flaw::Registry(RegistryFlaw::TouchForgotten), &["a08_a_touched_holding_outlives_the_sweep"]),
    (Flaw::Registry(RegistryFlaw::ReleaseForgotten), &["a08_a_recorded_release_stamps_the_row"]),
    (Flaw::Registry(RegistryFlaw::NeverSweeps), &["a03_the_sweep_stamps_only_what_was_forgotten"]),
    (Flaw::Locks(LockFlaw::Stacks), &["s11_a_session_lock_excludes_its_own_provider"]),
    (Flaw::Locks(LockFlaw::DropLeaks), &["a01_a_dropped_session_lock_is_free"]),
    (Flaw::Locks(LockFlaw::CaseFolded), &["s20_session_locks_of_different_names_are_different"]),
    (Flaw::Locks(LockFlaw::Impatient), &["a02_waiting_for_a_session_lock_ends_with_its_release"]),
    (
        Flaw::Locks(LockFlaw::LossUntold),
        &[
            "s02_a_session_lock_killed_by_the_server_is_lost",
            "a_session_lock_that_was_given_back_counts_as_lost",
        ],
    ),
];

#[test]
fn a_safety_rule_switched_off_fails_its_cases() {
    for (rule, cases) in RULES {
        for name in cases {
            without(rule, || assert_fails(name, MemoryBackend::start(), &format!("without {rule:?}")));
        }
    }
}

#[test]
fn a_flawed_store_fails_its_cases() {
    for (flaw, cases) in FLAWS {
        for name in cases {
            assert_fails(name, BrokenBackend::start(flaw), &format!("with {flaw:?}"));
        }
    }
}

fn assert_fails(name: &str, backend: impl Backend + 'static, how: &str) {
    let case =
        CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"));
    assert!(run(case, &backend as &dyn Backend).is_err(), "{name} passes {how}: it does not bite");
}

/// Runs a case on this very thread, for that is where a rule is switched off, and without really waiting.
pub(crate) fn run<B: ?Sized>(case: &Case<B>, backend: &B) -> Result<(), Box<dyn Any + Send>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    catch_unwind(AssertUnwindSafe(|| runtime.block_on((case.run)(backend))))
}

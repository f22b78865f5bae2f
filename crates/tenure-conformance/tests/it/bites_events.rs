//! The proof that the event part bites: every flaw, and every safety rule switched off, fails the cases it should fail.

use tenure_conformance::EventBackend;
use tenure_conformance::events::CASES;
use tenure_core::mutation::{Rule, without};

use crate::bites::run;
use crate::broken_events::{BrokenEventBackend, Flaw};
use crate::memory::MemoryBackend;

/// A safety rule of the core that is off, and the cases that must notice.
const RULES: [(Rule, &[&str]); 7] = [
    (
        Rule::ExpectedVersion,
        &[
            "s29_two_writers_one_expected_version",
            "only_the_expected_version_is_appended_to",
            "a_gap_at_the_start_is_a_conflict",
            "s29_a_conflict_sends_nothing",
            "s29_after_a_conflict_the_transaction_goes_on",
            "s28_a_retry_gives_the_first_result",
            "s54_a_conflict_writes_no_mark",
        ],
    ),
    (
        Rule::CheckpointFrom,
        &[
            "a_checkpoint_moves_only_from_where_it_is",
            "of_many_steps_from_one_place_one_is_taken",
            "a_rewind_forgets_what_was_put_aside_after_it",
        ],
    ),
    (Rule::CheckpointRewinds, &["a_step_from_before_a_rewind_is_refused_wherever_the_checkpoint_is"]),
    (Rule::AppendWhole, &["s27_a_failing_dispatch_leaves_nothing"]),
    (
        Rule::InboxRemembers,
        &[
            "s53_a_message_takes_effect_once",
            "s53_of_many_duplicates_at_once_one_takes_effect",
            "s53_there_is_one_inbox",
            "s56_a_refusal_is_repeated",
            "s57_another_content_under_one_id_is_told",
            "s58_a_duplicate_sends_nothing_again",
        ],
    ),
    (Rule::Fence, &["s41_a_reader_out_of_office_moves_nothing"]),
    (
        Rule::OnlyCommitted,
        &["s27_an_append_appears_with_its_transaction", "s36_what_was_rolled_back_is_not_there"],
    ),
];

/// A flaw, and the cases that must notice.
const FLAWS: [(Flaw, &[&str]); 37] = [
    (Flaw::DispatchesBesides, &["s27_a_failing_dispatch_leaves_nothing"]),
    (
        Flaw::DispatchesForgotten,
        &["b1_events_and_dispatches_are_there_together", "s44_dispatches_of_a_stream_keep_their_order"],
    ),
    (
        Flaw::IdsIgnored,
        &["s28_a_retry_gives_the_first_result", "s28_of_the_same_append_many_times_at_once_one_is_written"],
    ),
    (Flaw::OtherContentIgnored, &["s28_the_same_id_with_another_content_is_told"]),
    (Flaw::RetrySends, &["s28_a_retry_gives_the_first_result"]),
    (
        Flaw::HorizonIgnored,
        &[
            "s30_an_append_that_commits_late_is_not_skipped",
            "s30_of_several_open_appends_the_first_one_counts",
            "s34_a_reader_among_open_transactions_misses_nothing",
        ],
    ),
    (
        Flaw::PageEndsAtHead,
        &["all_events_are_read_page_by_page", "s34_a_reader_among_writers_misses_nothing"],
    ),
    (Flaw::DamageIsFatal, &["a_row_that_cannot_be_read_is_told_and_holds_nobody_up"]),
    (Flaw::DamagePassedOver, &["a_row_that_cannot_be_read_is_told_and_holds_nobody_up"]),
    (Flaw::StreamWithoutDamaged, &["a_stream_with_a_row_that_cannot_be_read_is_an_error"]),
    (Flaw::ReadsTwice, &["all_events_are_read_page_by_page", "a_reader_at_the_head_sees_what_comes"]),
    (Flaw::AheadUntold, &["a_reader_ahead_of_the_store_is_told"]),
    (Flaw::PageLimitIgnored, &["a_stream_is_read_forward", "all_events_are_read_page_by_page"]),
    (Flaw::FromIgnored, &["a_stream_is_read_forward", "a_stream_is_read_backward"]),
    (Flaw::BackwardIgnored, &["a_stream_is_read_backward"]),
    (Flaw::VersionOfPage, &["a_stream_is_read_forward", "a_stream_is_read_backward"]),
    (
        Flaw::MarkForgotten,
        &["s53_of_many_duplicates_at_once_one_takes_effect", "s58_a_duplicate_sends_nothing_again"],
    ),
    (Flaw::MarkBesides, &["s54_a_conflict_writes_no_mark", "s27_a_failing_dispatch_leaves_nothing"]),
    (Flaw::RefusalForgotten, &["s56_a_refusal_is_repeated"]),
    (Flaw::FingerprintIgnored, &["s57_another_content_under_one_id_is_told"]),
    (Flaw::EmptyUnchecked, &["dispatches_alone_leave_the_stream_as_it_is", "s54_a_conflict_writes_no_mark"]),
    (Flaw::MetadataForgotten, &["an_event_is_read_as_it_was_appended"]),
    (Flaw::BytesAsText, &["s20_every_text_and_byte_of_an_event_is_kept"]),
    (Flaw::NamesFolded, &["s20_streams_that_differ_in_any_byte_are_different"]),
    (Flaw::LimitsIgnored, &["s38_payloads_at_the_limit_pass_and_beyond_it_do_not"]),
    (
        Flaw::CommitsAtOnce,
        &["s27_an_append_appears_with_its_transaction", "s36_what_was_rolled_back_is_not_there"],
    ),
    (Flaw::RollbackStalls, &["s31_a_rolled_back_append_leaves_no_stall"]),
    (Flaw::SnapshotOverwrites, &["only_a_snapshot_that_is_not_older_is_kept"]),
    (Flaw::SnapshotOnlyNewer, &["only_a_snapshot_that_is_not_older_is_kept"]),
    (Flaw::StepUnfenced, &["s41_a_reader_out_of_office_moves_nothing"]),
    (Flaw::StepsBack, &["a_step_back_is_an_error"]),
    (Flaw::ParkedForgotten, &["what_is_put_aside_is_kept"]),
    (Flaw::RewindKeepsParked, &["a_rewind_forgets_what_was_put_aside_after_it"]),
    (Flaw::RewindBeyondTheEnd, &["a_rewind_goes_no_further_than_the_end_of_the_log"]),
    (Flaw::RewindsIgnored, &["a_step_from_before_a_rewind_is_refused_wherever_the_checkpoint_is"]),
    (Flaw::Unaudited, &["a_rewind_is_audited"]),
    (Flaw::NeverWoken, &["s47_an_armed_reader_is_woken_by_an_append"]),
];

#[test]
fn a_safety_rule_switched_off_fails_its_event_cases() {
    for (rule, cases) in RULES {
        for name in cases {
            without(rule, || assert_fails(name, MemoryBackend::start(), &format!("without {rule:?}")));
        }
    }
}

#[test]
fn flawed_events_fail_their_cases() {
    for (flaw, cases) in FLAWS {
        for name in cases {
            assert_fails(name, BrokenEventBackend::start(flaw), &format!("with {flaw:?}"));
        }
    }
}

/// It is the flaw that is noticed, and not the store that it is built into.
#[test]
fn events_without_a_flaw_pass_every_case() {
    for case in CASES {
        let backend = BrokenEventBackend::start(Flaw::None);
        assert!(run(case, &backend as &dyn EventBackend).is_ok(), "{} fails without a flaw", case.name);
    }
}

/// Everyone who adds a case can rely on its name.
#[test]
fn every_event_case_has_a_name_of_its_own() {
    let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

fn assert_fails(name: &str, backend: impl EventBackend + 'static, how: &str) {
    let case =
        CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"));
    assert!(run(case, &backend as &dyn EventBackend).is_err(), "{name} passes {how}: it does not bite");
}

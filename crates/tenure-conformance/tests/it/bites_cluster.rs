//! The proof that the cluster part bites: every flaw, and every safety rule switched off, fails the cases it should fail.

use tenure_conformance::ClusterBackend;
use tenure_conformance::cluster::CASES;
use tenure_core::mutation::{Rule, without};

use crate::bites::run;
use crate::broken_cluster::{BrokenClusterBackend, Flaw};
use crate::memory::MemoryBackend;

/// A safety rule of the core that is off, and the cases that must notice.
const RULES: [(Rule, &[&str]); 6] = [
    (
        Rule::LeaderFence,
        &[
            "s63_a_deposed_leader_changes_nothing",
            "s63_an_expired_leader_changes_nothing",
            "s63_only_the_leaders_lease_places",
            "a_node_registers_only_under_its_own_lease",
            "a_new_incarnation_replaces_the_row",
            "s64_a_node_speaks_only_for_itself",
            "a_revoked_node_lives_until_it_has_stopped",
            "s69_a_pause_survives_nodes_and_leaders",
        ],
    ),
    (
        Rule::OwnerOver,
        &[
            "a_daemon_of_a_living_node_stays",
            "s61_a_row_that_vanished_is_registered_again",
            "a_revoked_node_lives_until_it_has_stopped",
            "a_retired_daemon_of_a_dead_node_goes_as_well",
        ],
    ),
    (
        Rule::AcknowledgeByGeneration,
        &[
            "s64_only_the_exact_generation_is_acknowledged",
            "a_late_acknowledgement_is_refused",
            "a_node_that_gets_a_daemon_again_gets_another_generation",
            "a_new_incarnation_replaces_the_row",
        ],
    ),
    (
        Rule::ConfirmByGeneration,
        &[
            "s64_only_the_exact_generation_is_confirmed",
            "s65_a_daemon_that_is_not_stopped_in_time_is_moved",
            "s70_a_failed_daemon_avoids_its_node",
        ],
    ),
    (Rule::OneLayout, &["layouts_do_not_run_beside_each_other"]),
    (
        Rule::Fence,
        &[
            "a_stopped_daemon_goes_to_the_next_node",
            "s15_generations_never_go_back",
            "s63_a_deposed_leader_changes_nothing",
        ],
    ),
];

/// A flaw, and the cases that must notice.
const FLAWS: [(Flaw, &[&str]); 39] = [
    (
        Flaw::FenceTermIgnored,
        &["s63_a_deposed_leader_changes_nothing", "a_node_registers_only_under_its_own_lease"],
    ),
    (
        Flaw::FenceLeaseIgnored,
        &[
            "s63_only_the_leaders_lease_places",
            "s64_a_node_speaks_only_for_itself",
            "a_node_registers_only_under_its_own_lease",
        ],
    ),
    (Flaw::RowIsLife, &["s61_a_row_that_vanished_is_registered_again"]),
    (
        Flaw::AcknowledgesAny,
        &[
            "s64_only_the_exact_generation_is_acknowledged",
            "a_node_that_gets_a_daemon_again_gets_another_generation",
        ],
    ),
    (Flaw::ConfirmsAny, &["s64_only_the_exact_generation_is_confirmed"]),
    (Flaw::RepeatRefused, &["an_acknowledgement_may_be_repeated"]),
    (
        Flaw::LeaseForgotten,
        &["an_assignment_is_a_row_a_lease_and_a_line", "a_stopped_daemon_goes_to_the_next_node"],
    ),
    (
        Flaw::HistoryForgotten,
        &["an_assignment_is_a_row_a_lease_and_a_line", "a_daemon_that_nobody_can_run_says_why"],
    ),
    (Flaw::RevisionStuck, &["s34_a_reader_by_revision_misses_nothing", "a_registration_declares_daemons"]),
    (
        Flaw::RefusalCounts,
        &["revisions_rise_by_one_with_every_change", "s63_a_deposed_leader_changes_nothing"],
    ),
    (
        Flaw::NextForgotten,
        &["a_stopped_daemon_goes_to_the_next_node", "a_node_sees_what_it_has_and_what_comes"],
    ),
    (Flaw::PauseLost, &["s69_a_pause_survives_nodes_and_leaders"]),
    (Flaw::PrefixIsPattern, &["s20_a_prefix_is_taken_byte_by_byte"]),
    (Flaw::PageEndsRevision, &["s34_a_reader_by_revision_misses_nothing"]),
    (Flaw::PageRepeatsRevision, &["s34_a_reader_by_revision_misses_nothing"]),
    (
        Flaw::RevisionUnordered,
        &["s34_a_reader_by_revision_misses_nothing", "a_node_sees_what_it_has_and_what_comes"],
    ),
    (Flaw::NextUnseen, &["a_node_sees_what_it_has_and_what_comes"]),
    (Flaw::LimitIgnored, &["s20_a_prefix_is_taken_byte_by_byte"]),
    (Flaw::AfterIgnored, &["s20_a_prefix_is_taken_byte_by_byte", "a_node_sees_what_it_has_and_what_comes"]),
    (Flaw::NamesTrimmed, &["s20_daemons_that_differ_in_any_byte_are_different"]),
    (
        Flaw::LabelsForgotten,
        &[
            "a_node_registers_and_is_seen",
            "s66_an_unfit_node_is_refused_with_words",
            "s20_nodes_that_differ_in_any_byte_are_different",
        ],
    ),
    (Flaw::ReasonForgotten, &["a_daemon_that_nobody_can_run_says_why", "s20_every_reason_is_kept"]),
    (
        Flaw::DeadlineForgotten,
        &["an_assignment_is_a_row_a_lease_and_a_line", "s65_a_daemon_that_is_not_stopped_in_time_is_moved"],
    ),
    (Flaw::AvoidsForgotten, &["s70_a_failed_daemon_avoids_its_node", "a_late_acknowledgement_is_refused"]),
    (Flaw::Unaudited, &["what_operators_do_is_audited"]),
    (Flaw::NeverWoken, &["s47_an_armed_node_is_woken_by_a_change"]),
    (Flaw::BatchCut, &["a_thousand_daemons_in_one_order"]),
    (Flaw::AllOrNothing, &["each_part_of_an_order_is_decided_by_itself"]),
    (
        Flaw::LostUpdates,
        &["s71_of_many_assignments_at_once_one_is_taken", "s71_orders_at_once_happen_one_after_another"],
    ),
    (Flaw::LeaveForgotten, &["s72_a_node_leaves_in_order", "a_daemon_whose_next_node_is_gone_waits"]),
    (Flaw::DepartForgotten, &["s72_a_node_leaves_in_order", "revisions_rise_by_one_with_every_change"]),
    (Flaw::ForgetsTheLiving, &["s60_only_a_node_that_is_over_is_forgotten"]),
    (
        Flaw::FirstRowStays,
        &["a_new_incarnation_replaces_the_row", "registering_again_is_the_same_or_a_change"],
    ),
    (Flaw::AlwaysJoinsAnew, &["registering_again_is_the_same_or_a_change"]),
    (
        Flaw::DeclaresForgotten,
        &["a_registration_declares_daemons", "every_group_of_a_declaration_is_divided_anew"],
    ),
    (
        Flaw::GroupsForgotten,
        &[
            "a_declaration_is_kept_and_may_be_changed",
            "layouts_do_not_run_beside_each_other",
            "a_part_is_placed_only_as_a_part",
        ],
    ),
    (Flaw::OldLayoutStays, &["layouts_do_not_run_beside_each_other"]),
    (Flaw::RetiredForEver, &["a_daemon_declared_again_while_it_stops_comes_back"]),
    (Flaw::OneCluster, &["clusters_do_not_see_each_other"]),
];

#[test]
fn a_safety_rule_switched_off_fails_its_cluster_cases() {
    for (rule, cases) in RULES {
        for name in cases {
            without(rule, || assert_fails(name, MemoryBackend::start(), &format!("without {rule:?}")));
        }
    }
}

#[test]
fn a_flawed_cluster_fails_its_cases() {
    for (flaw, cases) in FLAWS {
        for name in cases {
            assert_fails(name, BrokenClusterBackend::start(flaw), &format!("with {flaw:?}"));
        }
    }
}

/// It is the flaw that is noticed, and not the store that it is built into.
#[test]
fn a_cluster_without_a_flaw_passes_every_case() {
    for case in CASES {
        let backend = BrokenClusterBackend::start(Flaw::None);
        assert!(run(case, &backend as &dyn ClusterBackend).is_ok(), "{} fails without a flaw", case.name);
    }
}

/// Everyone who adds a case can rely on its name.
#[test]
fn every_cluster_case_has_a_name_of_its_own() {
    let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

fn assert_fails(name: &str, backend: impl ClusterBackend + 'static, how: &str) {
    let case =
        CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"));
    assert!(run(case, &backend as &dyn ClusterBackend).is_err(), "{name} passes {how}: it does not bite");
}

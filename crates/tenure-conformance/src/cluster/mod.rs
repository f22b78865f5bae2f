//! The cluster part: the cases by theme, and the one list that makes a test of each.
//!
//! A new case is a public function in the file of its theme and a line in the list below; every backend then runs it.

use crate::suite::Case;

mod actor;
mod backend;
pub mod hand;
pub mod names;
pub mod nodes;
pub mod office;
pub mod place;
pub mod race;
pub mod read;
pub mod specs;
pub mod steer;
pub mod wakeup;

pub use backend::{ClusterBackend, HeldFence};

/// Every cluster case, for authors who would rather loop over them than have a test of each.
pub const CASES: &[Case<dyn ClusterBackend>] = crate::__cluster_cases! { list };

/// The list: themes, and the cases in each.
#[doc(hidden)]
#[macro_export]
macro_rules! __cluster_cases {
    ($($what:tt)*) => {
        $crate::__cluster_each! {
            [$($what)*]
            nodes {
                a_node_registers_and_is_seen,
                a_node_registers_only_under_its_own_lease,
                registering_again_is_the_same_or_a_change,
                s61_a_row_that_vanished_is_registered_again,
                a_new_incarnation_replaces_the_row,
                a_registration_declares_daemons,
                what_a_node_may_not_say_is_refused,
                s72_a_node_leaves_in_order,
                s60_only_a_node_that_is_over_is_forgotten,
                a_revoked_node_lives_until_it_has_stopped,
            }
            office {
                a_look_shows_who_leads,
                s63_a_deposed_leader_changes_nothing,
                s63_an_expired_leader_changes_nothing,
                s63_only_the_leaders_lease_places,
            }
            place {
                an_assignment_is_a_row_a_lease_and_a_line,
                an_assignment_names_the_last_generation,
                s66_an_unfit_node_is_refused_with_words,
                a_node_that_is_over_gets_nothing,
                each_part_of_an_order_is_decided_by_itself,
                a_daemon_of_a_living_node_stays,
                a_daemon_whose_node_has_stopped_is_free,
                a_daemon_whose_node_expired_is_free,
                a_daemon_whose_node_was_deposed_is_free,
                a_late_acknowledgement_is_refused,
                s65_a_daemon_that_is_not_stopped_in_time_is_moved,
                a_daemon_that_nobody_can_run_says_why,
                s01_a_daemon_in_use_is_not_taken,
                a_thousand_daemons_in_one_order,
            }
            hand {
                s64_only_the_exact_generation_is_acknowledged,
                an_acknowledgement_may_be_repeated,
                s64_a_node_speaks_only_for_itself,
                a_stopped_daemon_goes_to_the_next_node,
                s64_only_the_exact_generation_is_confirmed,
                a_daemon_whose_next_node_is_gone_waits,
                only_what_was_to_stop_or_never_ran_is_confirmed,
                s70_a_failed_daemon_avoids_its_node,
                a_failed_daemon_that_was_to_stop_has_stopped,
                a_node_that_gets_a_daemon_again_gets_another_generation,
            }
            steer {
                s69_a_pause_survives_nodes_and_leaders,
                s69_a_resumed_daemon_runs_again,
                a_moved_daemon_goes_there_and_stays,
                what_an_operator_cannot_have_is_refused,
                what_operators_do_is_audited,
            }
            specs {
                a_declaration_is_kept_and_may_be_changed,
                what_no_daemon_can_be_is_refused,
                a_retired_daemon_goes_for_good,
                a_retired_daemon_of_a_dead_node_goes_as_well,
                a_daemon_declared_again_while_it_stops_comes_back,
                s15_generations_never_go_back,
                layouts_do_not_run_beside_each_other,
                a_part_is_placed_only_as_a_part,
                every_group_of_a_declaration_is_divided_anew,
            }
            read {
                s20_a_prefix_is_taken_byte_by_byte,
                a_node_sees_what_it_has_and_what_comes,
                s34_a_reader_by_revision_misses_nothing,
                revisions_rise_by_one_with_every_change,
            }
            names {
                s20_daemons_that_differ_in_any_byte_are_different,
                s20_nodes_that_differ_in_any_byte_are_different,
                s20_groups_that_differ_in_any_byte_are_different,
                s20_every_reason_is_kept,
            }
            race {
                s71_of_many_assignments_at_once_one_is_taken,
                s71_orders_at_once_happen_one_after_another,
                s71_acknowledgements_race_with_revocations,
                clusters_do_not_see_each_other,
            }
            wakeup {
                s47_an_armed_node_is_woken_by_a_change,
            }
        }
    };
}

/// What is made of the list: tests, or values.
#[doc(hidden)]
#[macro_export]
macro_rules! __cluster_each {
    ([tests $backend:expr] $($theme:ident { $($case:ident,)* })*) => {
        $($(
            #[test]
            fn $case() {
                $crate::suite::run_cluster(::core::stringify!($case), $backend);
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

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
    ];
    for (number, rule) in rules {
        let scenario = Scenario::numbered(number).unwrap();
        let noticed = (0..30).any(|seed| scenario.run_without(rule, seed).is_err());
        assert!(noticed, "scenario {number} does not notice that {rule:?} is off");
    }
}

//! Stories that a world lives through: the random one, and one for each failure of the catalogue that leases, the outbox, events
//! and a cluster must pass.

pub mod chaos;
mod fleet;
mod history;
mod post;
mod s01_paused_leader;
mod s02_broken_session;
mod s03_stale_renewal;
mod s04_old_calls_of_the_same_owner;
mod s05_repeated_release;
mod s06_slow_answer;
mod s07_transient_failure;
mod s08_failure_until_the_deadline;
mod s12_skewed_clocks;
mod s13_drifting_clocks;
mod s14_different_ttls;
mod s15_terms_rise_for_ever;
mod s16_lost_grant;
mod s26_total_restart;
mod s27_crash_in_append;
mod s28_lost_answer;
mod s29_two_writers;
mod s30_early_position_late_commit;
mod s31_hole;
mod s33_early_begin_late_append;
mod s34_commits_during_a_read;
mod s40_crash_before_record;
mod s41_two_relays;
mod s42_late_record;
mod s43_poison_rows;
mod s44_transient_head;
mod s45_dead_row;
mod s46_replay;
mod s47_wakeups;
mod s48_sink_hangs;
mod s50_retention;
mod s51_two_operators;
mod s53_same_message_twice;
mod s55_long_after;
mod s56_refused_again;
mod s58_duplicate_sends_nothing;
mod s59_busy_leader;
mod s60_old_look;
mod s61_deleted_row;
mod s63_deposed_leader;
mod s64_old_generation;
mod s65_cut_off_node;
mod s66_no_agent;
mod s68_flapping;
mod s69_pause_survives;
mod s70_bad_daemons;
mod s72_graceful_stop;

use std::time::Duration;

use tenure_core::lease::LeaseSettings;
use tenure_core::mutation::{Rule, without};

use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::report::Failure;
use crate::world::World;

/// A directed scenario.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Its number in the catalogue of failures.
    pub number: u32,
    story: fn(u64) -> Result<(), Failure>,
}

impl Scenario {
    /// Every directed scenario.
    pub const ALL: [Self; 47] = [
        Self { number: 1, story: s01_paused_leader::run },
        Self { number: 2, story: s02_broken_session::run },
        Self { number: 3, story: s03_stale_renewal::run },
        Self { number: 4, story: s04_old_calls_of_the_same_owner::run },
        Self { number: 5, story: s05_repeated_release::run },
        Self { number: 6, story: s06_slow_answer::run },
        Self { number: 7, story: s07_transient_failure::run },
        Self { number: 8, story: s08_failure_until_the_deadline::run },
        Self { number: 12, story: s12_skewed_clocks::run },
        Self { number: 13, story: s13_drifting_clocks::run },
        Self { number: 14, story: s14_different_ttls::run },
        Self { number: 15, story: s15_terms_rise_for_ever::run },
        Self { number: 16, story: s16_lost_grant::run },
        Self { number: 26, story: s26_total_restart::run },
        Self { number: 27, story: s27_crash_in_append::run },
        Self { number: 28, story: s28_lost_answer::run },
        Self { number: 29, story: s29_two_writers::run },
        Self { number: 30, story: s30_early_position_late_commit::run },
        Self { number: 31, story: s31_hole::run },
        Self { number: 33, story: s33_early_begin_late_append::run },
        Self { number: 34, story: s34_commits_during_a_read::run },
        Self { number: 40, story: s40_crash_before_record::run },
        Self { number: 41, story: s41_two_relays::run },
        Self { number: 42, story: s42_late_record::run },
        Self { number: 43, story: s43_poison_rows::run },
        Self { number: 44, story: s44_transient_head::run },
        Self { number: 45, story: s45_dead_row::run },
        Self { number: 46, story: s46_replay::run },
        Self { number: 47, story: s47_wakeups::run },
        Self { number: 48, story: s48_sink_hangs::run },
        Self { number: 50, story: s50_retention::run },
        Self { number: 51, story: s51_two_operators::run },
        Self { number: 53, story: s53_same_message_twice::run },
        Self { number: 55, story: s55_long_after::run },
        Self { number: 56, story: s56_refused_again::run },
        Self { number: 58, story: s58_duplicate_sends_nothing::run },
        Self { number: 59, story: s59_busy_leader::run },
        Self { number: 60, story: s60_old_look::run },
        Self { number: 61, story: s61_deleted_row::run },
        Self { number: 63, story: s63_deposed_leader::run },
        Self { number: 64, story: s64_old_generation::run },
        Self { number: 65, story: s65_cut_off_node::run },
        Self { number: 66, story: s66_no_agent::run },
        Self { number: 68, story: s68_flapping::run },
        Self { number: 69, story: s69_pause_survives::run },
        Self { number: 70, story: s70_bad_daemons::run },
        Self { number: 72, story: s72_graceful_stop::run },
    ];

    /// The scenario with this number.
    pub fn numbered(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.number == number)
    }

    /// Lives it through with one seed: delays, drift and skew differ, the story is the same.
    pub fn run(&self, seed: u64) -> Result<(), Failure> {
        (self.story)(seed).map_err(|failure| Failure { scenario: Some(self.number), ..failure })
    }

    /// The same with one rule switched off.
    pub fn run_without(&self, rule: Rule, seed: u64) -> Result<(), Failure> {
        without(rule, || self.run(seed)).map_err(|failure| Failure { rule: Some(rule), ..failure })
    }
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn without_presence() -> LeaseSettings {
    LeaseSettings { presence: None, ..LeaseSettings::default() }
}

/// A world in which nothing goes wrong but what the story lets go wrong.
fn at_calm(seed: u64, nodes: usize, settings: &LeaseSettings) -> World {
    World::new(&Plan::calm(seed, nodes, settings), Oracle::new())
}

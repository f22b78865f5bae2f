//! A daemon that an operator paused is given to nobody and said yes to by nobody until it is resumed, whoever leads; and no
//! copy of it goes on beyond its time to stop, on a node that could see it.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::cluster::{DaemonName, DaemonState};
use tenure_core::time::StoreTime;

use super::Invariant;
use crate::oracle::{ClusterFact, Fact, Moment};

/// For a look, and for clocks that differ.
const SLACK: Duration = Duration::from_secs(5);

/// What is paused stays paused.
#[derive(Debug, Default)]
pub struct PauseSurvives {
    drain: Duration,
    /// Since when each is paused.
    paused: BTreeMap<DaemonName, StoreTime>,
}

impl Invariant for PauseSurvives {
    fn name(&self) -> &'static str {
        "pause_survives"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Cluster(ClusterFact::Kept { drain, .. }) => self.drain = *drain,
                Fact::Cluster(ClusterFact::Ordered(ordered)) => {
                    for after in ordered.after.values() {
                        let before = ordered.before.get(after.name());
                        let paused = before.is_some_and(|before| before.paused_by.is_some());
                        let begins =
                            before.is_some_and(|before| {
                                before.generation != after.generation || before.state != after.state
                            }) && matches!(after.state, DaemonState::Assigning | DaemonState::Active);
                        if paused && begins {
                            return Err(format!("it is paused, and begins to run: {after:?}"));
                        }
                    }
                    let is_paused = |name: &DaemonName| {
                        ordered.after.get(name).is_some_and(|daemon| daemon.paused_by.is_some())
                    };
                    self.paused.retain(|name, _| is_paused(name));
                    for name in ordered.after.keys().filter(|name| is_paused(name)) {
                        self.paused.entry(name.clone()).or_insert(ordered.now);
                    }
                }
                _ => {}
            }
        }
        let late = self.drain + SLACK;
        for runner in moment.runners.iter().filter(|runner| runner.believes && runner.sighted_for > late) {
            if let Some(since) = self.paused.get(&runner.spec.name)
                && since.until(moment.now) > late
            {
                return Err(format!("{} is paused and runs on n{}", runner.spec.name, runner.node));
            }
        }
        Ok(())
    }
}

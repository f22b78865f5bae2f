//! What must be so in a cluster once nothing goes wrong any more.

use tenure_core::cluster::{Daemon, DaemonName, DaemonState, Member};

use super::ClusterWorld;
use super::copy::Told;
use super::machine::Condition;

impl ClusterWorld {
    /// Whether every daemon is where it should be: says what is not so, if something is not.
    pub(crate) fn is_settled(&self) -> Result<(), String> {
        let living = self.store.living(self.now);
        for machine in &self.machines {
            let here = living.iter().any(|member| member.node.name == machine.name);
            let up = !matches!(machine.condition, Condition::Down);
            if here != up {
                return Err(format!(
                    "{}: its process is up: {up}; it counts as living: {here}",
                    machine.name
                ));
            }
        }
        let look = self.store.tables.look(&self.store.leases, self.now);
        if let Some(dead) = look.nodes.iter().find(|standing| !standing.is_alive(self.now)) {
            return Err(format!("dead node {} is not forgotten", dead.member.node.name));
        }
        let daemons = self.store.daemons();
        daemons.values().try_for_each(|daemon| self.is_right(daemon, &living))?;
        self.nothing_else_runs(&daemons)
    }

    fn is_right(&self, daemon: &Daemon, living: &[Member]) -> Result<(), String> {
        let able = |member: &&Member| {
            member.agents.can_run(daemon.name()) && member.labels.missing(&daemon.spec.labels).is_none()
        };
        let wrong = |what: &str| Err(format!("{what}: {daemon:?}"));
        let mut able = living.iter().filter(able).peekable();
        if !daemon.is_wanted() || able.peek().is_none() {
            return match daemon.state {
                DaemonState::Unassigned if daemon.reason.is_empty() => wrong("it has no reason"),
                DaemonState::Unassigned if daemon.retired => wrong("it is not gone"),
                DaemonState::Unassigned => Ok(()),
                _ => wrong("it is not to run, or cannot"),
            };
        }
        if daemon.state == DaemonState::Unassigned
            && able.all(|member| daemon.avoids(&member.node.name, self.now))
        {
            return Ok(());
        }
        if daemon.state != DaemonState::Active {
            return wrong("it does not run");
        }
        match self.runs_on(daemon.name()) {
            Some((node, generation)) => {
                let placed = daemon.place.as_ref();
                let there = placed.is_some_and(|(name, term)| {
                    *name == self.machines[node].name && self.seat(node) == Some(*term)
                });
                if there && daemon.generation == Some(generation) {
                    Ok(())
                } else {
                    wrong("it runs elsewhere")
                }
            }
            None => wrong("no copy runs, or several do"),
        }
    }

    fn nothing_else_runs(
        &self,
        daemons: &std::collections::BTreeMap<DaemonName, Daemon>,
    ) -> Result<(), String> {
        let copies =
            self.machines.iter().filter(|machine| machine.is_up()).flat_map(|m| m.process.copies.keys());
        for (name, generation) in copies {
            let known = daemons.get(name).filter(|daemon| daemon.state == DaemonState::Active);
            if known.and_then(|daemon| daemon.generation) != Some(*generation) {
                return Err(format!("a copy of {name}, generation {generation}, runs and should not"));
            }
        }
        Ok(())
    }

    /// Where the one copy of a daemon runs that believes that it may.
    pub(crate) fn runs_on(&self, name: &DaemonName) -> Option<(usize, tenure_core::lease::Term)> {
        let mut copies = self.machines.iter().enumerate().filter(|(_, machine)| machine.is_up()).flat_map(
            |(node, machine)| {
                let may_act = machine.process.may_act(machine.clock(self.now));
                let copies = machine.process.copies.iter();
                let theirs = copies.filter(move |((daemon, _), copy)| {
                    daemon == name && may_act && copy.told == Told::Nothing
                });
                theirs.map(move |((_, generation), _)| (node, *generation))
            },
        );
        let first = copies.next()?;
        copies.next().is_none().then_some(first)
    }

    /// A daemon's row.
    pub(crate) fn row(&self, name: &DaemonName) -> Option<Daemon> {
        self.store.daemons().remove(name)
    }

    /// The last change of the cluster.
    pub(crate) fn revision(&self) -> u64 {
        self.store.tables.look(&self.store.leases, self.now).revision.0
    }
}

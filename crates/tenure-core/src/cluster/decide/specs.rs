//! Which daemons there are to be.

use std::collections::BTreeMap;

use super::{Desk, Part, Whole};
use crate::cluster::{Daemon, DaemonName, DaemonSpec, DaemonState, Deadlines, Group, Refusal};

impl Desk {
    pub(super) fn declare_all(&mut self, specs: &[DaemonSpec], deadlines: Deadlines) -> Whole {
        for spec in specs {
            let invalid = |error| Refusal::Invalid(format!("daemon {}: {error}", spec.name));
            spec.check().map_err(invalid)?;
        }
        let paused = self.paused_parts(specs);
        for spec in specs {
            self.declare(spec)?;
        }
        // What an operator held back stays held back, however it is divided: which of the new parts it is in, nobody knows.
        for (name, by) in paused {
            if let Some(daemon) = self.daemons.get(&name).filter(|daemon| daemon.paused_by.is_none()).cloned()
            {
                let reason = format!("paused by {by}, as a part of the former layout was");
                self.put(Daemon { paused_by: Some(by), reason, ..daemon });
            }
        }
        // Of every group, the layout that was declared last is the one that is wanted.
        let wanted: BTreeMap<&str, u32> = specs
            .iter()
            .filter_map(|spec| spec.group.as_ref())
            .map(|g| (g.name.as_str(), g.layout))
            .collect();
        for (group, layout) in wanted {
            let of_other_layout = |daemon: &&Daemon| {
                let theirs = daemon.spec.group.as_ref();
                theirs.is_some_and(|theirs| theirs.name == group && theirs.layout != layout)
            };
            let old: Vec<DaemonName> =
                self.daemons.values().filter(of_other_layout).map(|daemon| daemon.name().clone()).collect();
            let reason = format!("{group} is divided into {layout} now");
            for name in old {
                self.end(&name, &reason, deadlines)?;
            }
        }
        Ok(specs.iter().map(|_| Ok(())).collect())
    }

    /// The new parts of what has a paused part of another layout, and who paused that.
    fn paused_parts(&self, specs: &[DaemonSpec]) -> Vec<(DaemonName, String)> {
        let paused = |group: &Group| {
            self.daemons.values().find_map(|daemon| {
                let theirs = daemon.spec.group.as_ref()?;
                let other = theirs.name == group.name && theirs.layout != group.layout;
                daemon.paused_by.clone().filter(|_| other)
            })
        };
        let new = specs.iter().filter(|spec| !self.daemons.contains_key(&spec.name));
        new.filter_map(|spec| Some((spec.name.clone(), paused(spec.group.as_ref()?)?))).collect()
    }

    fn declare(&mut self, spec: &DaemonSpec) -> Part {
        let row = match self.daemons.get(&spec.name) {
            Some(known) if known.spec == *spec && !known.retired => return Ok(()),
            // It runs as a part of what it was declared for, whatever its row would say from now on.
            Some(known) if known.spec.group != spec.group && known.place.is_some() => {
                return Err(Refusal::OtherLayout { other: spec.name.clone() });
            }
            // One that was told to stop for good stops, and is placed anew then.
            Some(known) => Daemon { spec: spec.clone(), retired: false, ..known.clone() },
            None => Daemon::new(spec.clone(), self.now),
        };
        self.put(row);
        Ok(())
    }

    pub(super) fn retire(&mut self, name: &DaemonName, deadlines: Deadlines) -> Part {
        self.end(name, "it goes for good", deadlines)
    }

    fn end(&mut self, name: &DaemonName, reason: &str, deadlines: Deadlines) -> Part {
        let mut daemon = self.daemon(name)?.clone();
        daemon.retired = true;
        // The leader removes the row once it is nowhere: whoever follows the rows misses nothing that way.
        match daemon.state {
            DaemonState::Unassigned => self.put(Daemon { reason: reason.to_owned(), ..daemon }),
            _ => self.ask_to_stop(daemon, None, reason, deadlines),
        }
        Ok(())
    }
}

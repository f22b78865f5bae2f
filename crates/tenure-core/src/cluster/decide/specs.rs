//! Which daemons there are to be.

use super::{Desk, Part, Whole};
use crate::cluster::{Daemon, DaemonName, DaemonSpec, DaemonState, Deadlines, Refusal};

impl Desk {
    pub(super) fn declare_all(&mut self, specs: &[DaemonSpec], deadlines: Deadlines) -> Whole {
        for spec in specs {
            let invalid = |error| Refusal::Invalid(format!("daemon {}: {error}", spec.name));
            spec.check().map_err(invalid)?;
        }
        for spec in specs {
            self.declare(spec);
        }
        // The layout that was declared last is the one that is wanted.
        if let Some(last) = specs.iter().filter_map(|spec| spec.group.as_ref()).next_back() {
            let of_other_layout = |daemon: &&Daemon| {
                let group = daemon.spec.group.as_ref();
                group.is_some_and(|theirs| theirs.name == last.name && theirs.layout != last.layout)
            };
            let old: Vec<DaemonName> =
                self.daemons.values().filter(of_other_layout).map(|daemon| daemon.name().clone()).collect();
            let reason = format!("{} is divided into {} now", last.name, last.layout);
            for name in old {
                self.end(&name, &reason, deadlines)?;
            }
        }
        Ok(specs.iter().map(|_| Ok(())).collect())
    }

    fn declare(&mut self, spec: &DaemonSpec) {
        let row = match self.daemons.get(&spec.name) {
            Some(known) if known.spec == *spec && !known.retired => return,
            // One that was told to stop for good stops, and is placed anew then.
            Some(known) => Daemon { spec: spec.clone(), retired: false, ..known.clone() },
            None => Daemon::new(spec.clone(), self.now),
        };
        self.put(row);
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

//! What an operator may do with a daemon. It is kept in the row, and so survives every leader.

use super::{Desk, Whole};
use crate::cluster::{Daemon, DaemonName, DaemonState, Deadlines, Member, Refusal, Steering};
use crate::id::check_name;

/// The longest name of an operator, in bytes.
const OPERATOR_MAX_BYTES: usize = 200;

impl Desk {
    pub(super) fn steer(
        &mut self,
        name: &DaemonName,
        steering: &Steering,
        by: &str,
        deadlines: Deadlines,
    ) -> Whole {
        check_operator(by)?;
        let daemon = self.daemon(name)?.clone();
        let action = match steering {
            Steering::Pause => self.pause(daemon, by, deadlines),
            Steering::Resume => self.resume(daemon, by),
            Steering::Move { to } => {
                self.fits(&daemon, to, None)?;
                let action = format!("daemon moved to {to}");
                // One that is to stop there is on its way to another node already.
                let stops = daemon.state == DaemonState::Revoking;
                let elsewhere = daemon.place.is_some() && (daemon.node() != Some(to) || stops);
                // Whoever says where knows better than what happened there before.
                let daemon =
                    Daemon { pinned_to: Some(to.clone()), avoids: Vec::new(), failures: 0, ..daemon };
                match daemon.is_wanted() && elsewhere {
                    true => self.ask_to_stop(daemon, Some(to), &format!("{by} moves it to {to}"), deadlines),
                    false => self.put(daemon),
                }
                action
            }
            Steering::Unpin => {
                self.put(Daemon { pinned_to: None, ..daemon });
                "daemon may be anywhere".to_owned()
            }
        };
        self.audit.push((by.to_owned(), action, name.clone()));
        Ok(vec![Ok(())])
    }

    /// An operator's retirement is written down; a program's own is not.
    pub(super) fn retire_all(
        &mut self,
        daemons: &[DaemonName],
        by: Option<&str>,
        deadlines: Deadlines,
    ) -> Whole {
        if let Some(by) = by {
            check_operator(by)?;
        }
        Ok(daemons
            .iter()
            .map(|daemon| {
                if by.is_some() {
                    self.is_no_part_in_use(daemon)?;
                }
                self.retire(daemon, deadlines)?;
                let line = by.map(|by| (by.to_owned(), "daemon retired".to_owned(), daemon.clone()));
                self.audit.extend(line);
                Ok(())
            })
            .collect())
    }

    /// To take one part away while nodes are there for all of them would leave what is in it to nobody.
    fn is_no_part_in_use(&self, name: &DaemonName) -> Result<(), Refusal> {
        let daemon = self.daemon(name)?;
        let Some(group) = &daemon.spec.group else { return Ok(()) };
        let runs =
            |member: &&Member| member.agents.can_run(name) && self.lives(&member.node.name, member.term);
        match self.nodes.values().find(runs) {
            Some(member) => Err(Refusal::Invalid(format!(
                "daemon {name} is a part of {}, which node {} is there for: pause it, or stop the nodes that divide {0} first",
                group.name, member.node.name
            ))),
            None => Ok(()),
        }
    }

    fn pause(&mut self, daemon: Daemon, by: &str, deadlines: Deadlines) -> String {
        let reason = format!("paused by {by}");
        let daemon = Daemon { paused_by: Some(by.to_owned()), ..daemon };
        match daemon.state {
            DaemonState::Unassigned => self.put(Daemon { reason, ..daemon }),
            _ => self.ask_to_stop(daemon, None, &reason, deadlines),
        }
        "daemon paused".to_owned()
    }

    fn resume(&mut self, daemon: Daemon, by: &str) -> String {
        let was_paused = daemon.paused_by.is_some();
        let mut daemon = Daemon { paused_by: None, avoids: Vec::new(), failures: 0, ..daemon };
        if was_paused && daemon.state == DaemonState::Unassigned {
            daemon.reason = format!("resumed by {by}; waits for the leader");
        }
        self.put(daemon);
        "daemon resumed".to_owned()
    }
}

fn check_operator(by: &str) -> Result<(), Refusal> {
    check_name("operator", by, OPERATOR_MAX_BYTES).map_err(|error| Refusal::Invalid(error.to_string()))
}

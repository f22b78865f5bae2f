//! What an operator may do with a daemon. It is kept in the row, and so survives every leader.

use super::{Desk, Whole};
use crate::cluster::{Daemon, DaemonName, DaemonState, Deadlines, Refusal, Steering};
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
        check_name("operator", by, OPERATOR_MAX_BYTES)
            .map_err(|error| Refusal::Invalid(error.to_string()))?;
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
                let daemon = Daemon { pinned_to: Some(to.clone()), ..daemon };
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
        let mut daemon = Daemon { paused_by: None, ..daemon };
        if was_paused && daemon.state == DaemonState::Unassigned {
            daemon.reason = format!("resumed by {by}; waits for the leader");
        }
        self.put(daemon);
        "daemon resumed".to_owned()
    }
}

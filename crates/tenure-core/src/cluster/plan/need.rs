//! What must be done about a daemon, judged from its row and its node alone.

use super::field::Field;
use crate::cluster::decide::misfit;
use crate::cluster::{Daemon, DaemonState};

/// Why something must be done, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// Its node is gone.
    Orphaned,
    /// Its node lives and did not answer in time.
    Late,
    /// It is nowhere.
    Homeless,
    /// Its node is leaving.
    Leaving,
    /// It is about to go where it cannot go any more.
    Stranded,
    /// Its node cannot run it any more.
    Misplaced,
    /// An operator wants it elsewhere, and there it can be now.
    Elsewhere,
}

/// What must be done about a daemon, if anything.
pub(super) fn of(daemon: &Daemon, field: &Field<'_>) -> Option<Need> {
    let Some((node, term)) = &daemon.place else { return daemon.is_wanted().then_some(Need::Homeless) };
    if !field.lives(node, *term) {
        return Some(Need::Orphaned);
    }
    let late = daemon.deadline.is_some_and(|deadline| deadline <= field.now);
    let member = field.member(node)?;
    match daemon.state {
        DaemonState::Unassigned => None,
        DaemonState::Assigning | DaemonState::Revoking if late => Some(Need::Late),
        DaemonState::Revoking => {
            let next = daemon.next.as_ref().filter(|_| daemon.is_wanted())?;
            let fits = |spot: usize| misfit(daemon, field.spots[spot].member).is_none();
            (!field.spot(next).is_some_and(fits)).then_some(Need::Stranded)
        }
        DaemonState::Assigning | DaemonState::Active if member.leaving => Some(Need::Leaving),
        DaemonState::Assigning | DaemonState::Active if misfit(daemon, member).is_some() => {
            Some(Need::Misplaced)
        }
        DaemonState::Assigning => None,
        DaemonState::Active => {
            let wanted_at = daemon.pinned_to.as_ref().filter(|pinned| *pinned != node)?;
            field.takes(daemon, wanted_at).map(|_| Need::Elsewhere)
        }
    }
}

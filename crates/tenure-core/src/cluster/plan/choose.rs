//! The best node for a daemon: where an operator wants it, else where it is the least loaded.
//!
//! While a deploy goes on (someone came or went of late, and there are several versions), nodes of the version of the one that
//! joined last are taken before others, so that what has to move moves once and not again when the others restart. A node
//! that has twice the mean already is not filled further for that.

use std::cmp::Ordering;

use super::field::{Field, Spot};
use crate::cluster::Daemon;
use crate::id::NodeName;

/// How full, in hundredths of the mean, a node of the newest version may be and still be taken before others.
const CROWDED: u32 = 200;

/// A node for a daemon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) spot: usize,
    why: Why<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Why<'a> {
    /// An operator wants it there.
    Pinned,
    /// It was on its way there already.
    OnItsWay,
    /// The least loaded of so many; of this version, where that counted.
    LeastLoaded { of: usize, version: Option<&'a str> },
}

impl<'a> Field<'a> {
    /// The best node for a daemon, other than `except`.
    pub(super) fn best(&self, daemon: &Daemon, except: Option<&NodeName>) -> Option<Choice<'a>> {
        let allowed = |node: &&NodeName| Some(*node) != except;
        let at = |node: &NodeName| self.takes(daemon, node);
        if let Some(spot) = daemon.pinned_to.as_ref().filter(allowed).and_then(at) {
            return Some(Choice { spot, why: Why::Pinned });
        }
        if let Some(spot) = daemon.next.as_ref().filter(allowed).and_then(at) {
            return Some(Choice { spot, why: Why::OnItsWay });
        }
        let kinds = self.fitting_kinds(daemon);
        let candidates = || {
            let spots = self.spots.iter().enumerate();
            spots.filter(|(_, spot)| {
                let name = &spot.member.node.name;
                kinds[spot.kind] && allowed(&name) && !daemon.avoids(name, self.now)
            })
        };
        let newest = |(_, spot): &(usize, &Spot<'_>)| {
            self.newest.is_some_and(|newest| spot.member.version == newest)
                && !spot.load.is_above(CROWDED, self.mean)
        };
        if self.newest.is_some()
            && let Some(choice) = least_loaded(daemon, candidates().filter(newest), self.newest)
        {
            return Some(choice);
        }
        least_loaded(daemon, candidates(), None)
    }

    /// Why this node, in words.
    pub(super) fn why(&self, daemon: &Daemon, choice: Choice<'_>) -> String {
        let name = &self.spots[choice.spot].member.node.name;
        let (of, version) = match choice.why {
            Why::Pinned => return format!("an operator wants it on {name}"),
            Why::OnItsWay => return format!("it was on its way to {name}"),
            Why::LeastLoaded { of, version } => (of, version),
        };
        let version = version.map_or_else(String::new, |version| format!(" of version {version}"));
        let why = match of {
            1 => format!("the only node{version} that could run it then"),
            _ => format!("the least loaded of {of} nodes{version} that could run it then"),
        };
        match &daemon.pinned_to {
            Some(pinned) => format!("it is wanted on {pinned}, which cannot take it now; {why}"),
            None => why,
        }
    }
}

/// The one that is the least loaded with the daemon; of equals the one with fewer daemons, then the first by name.
fn least_loaded<'s, 'a: 's, 'v>(
    daemon: &Daemon,
    candidates: impl Iterator<Item = (usize, &'s Spot<'a>)>,
    version: Option<&'v str>,
) -> Option<Choice<'v>> {
    let mut of = 0;
    let mut best: Option<(usize, &Spot<'_>)> = None;
    for (index, spot) in candidates {
        of += 1;
        if best.is_none_or(|(_, known)| compare(daemon, spot, known) == Ordering::Less) {
            best = Some((index, spot));
        }
    }
    best.map(|(spot, _)| Choice { spot, why: Why::LeastLoaded { of, version } })
}

/// Which of two nodes is the better one. Spots are in the order of their names, so the first of equals is found first.
fn compare(daemon: &Daemon, a: &Spot<'_>, b: &Spot<'_>) -> Ordering {
    let (load, other) = (a.load.plus(daemon.spec.weight), b.load.plus(daemon.spec.weight));
    match (load.is_below(other), other.is_below(load)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => a.daemons.cmp(&b.daemons),
    }
}

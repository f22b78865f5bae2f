//! Where daemons should run: from nodes, daemons and the store's clock to a list of placements, with a reason for each.
//!
//! A pure function: the same picture gives the same plan. It holds nothing that [`decide()`](super::decide()) would refuse on
//! the same rows, but for one case: a node whose row was deleted counts as gone here, while the store asks its lease. Each
//! daemon occurs at most once.
//!
//! What must be done is done at once, whoever comes or goes: daemons whose node is gone, whose node did not answer in time,
//! those that are nowhere, those of nodes that leave, those that are where they may not be. Only when there is nothing of
//! all this, and nobody came or went for a while, daemons are moved only to spread them.
//!
//! | file | what it holds |
//! |---|---|
//! | `need` | what must be done about a daemon |
//! | `field` | the nodes that may be given daemons, and what each has |
//! | `load` | how full a node is |
//! | `choose` | the best node for a daemon |
//! | `layouts` | which parts of what was divided are still somewhere |
//! | `mend` | what must be done becomes placements |
//! | `spread` | moves that only even the load |
//! | `words` | why a daemon is nowhere |

mod choose;
mod field;
mod layouts;
mod load;
mod mend;
mod need;
mod spread;
mod words;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use self::field::Field;
use self::mend::Mender;
use self::need::Need;
use super::{ClusterSettings, Daemon, DaemonName, Placement, Standing};
use crate::id::NodeName;
use crate::lease::Term;
use crate::time::StoreTime;

/// A cluster at one moment, as its leader sees it.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// The store's clock.
    pub now: StoreTime,
    /// All nodes.
    pub nodes: &'a [Standing],
    /// All daemons.
    pub daemons: &'a BTreeMap<DaemonName, Daemon>,
    /// Nobody came or went for a while: daemons may be moved only to spread them.
    pub quiet: bool,
    /// How many may be moved at once for that, and how uneven it must be.
    pub settings: &'a ClusterSettings,
}

/// What is to be done, the most urgent first; nothing once all is as it should be.
pub fn plan(picture: &Picture<'_>) -> Vec<Placement> {
    let mut field = Field::new(picture);
    let mut needs: Vec<(Need, &Daemon)> = picture
        .daemons
        .values()
        .filter_map(|daemon| need::of(daemon, &field).map(|need| (need, daemon)))
        .collect();
    // The heaviest first: the light ones even out what those leave. Equals stay in the order of their names.
    needs.sort_by_key(|(need, daemon)| (*need, Reverse(daemon.spec.weight)));
    let mut mender = Mender::new(picture, &mut field);
    for (need, daemon) in needs {
        mender.mend(daemon, need);
    }
    let (mut placements, explained) = mender.done();
    if placements.is_empty() && picture.quiet {
        placements = spread::spread(picture, &mut field);
    }
    placements.extend(removed(picture));
    placements.extend(forgotten(picture));
    placements.extend(explained);
    placements
}

/// The rows of daemons that go for good and are nowhere.
fn removed(picture: &Picture<'_>) -> impl Iterator<Item = Placement> {
    let over = picture.daemons.values().filter(|daemon| daemon.retired && daemon.place.is_none());
    over.map(|daemon| Placement::Remove { daemon: daemon.name().clone() })
}

/// The rows of nodes that are over and have nothing any more.
fn forgotten(picture: &Picture<'_>) -> Vec<Placement> {
    let over: Vec<&Standing> = picture.nodes.iter().filter(|node| !node.is_alive(picture.now)).collect();
    if over.is_empty() {
        return Vec::new();
    }
    let places: BTreeSet<(&NodeName, Term)> =
        picture.daemons.values().filter_map(|daemon| daemon.place.as_ref().map(|(n, t)| (n, *t))).collect();
    over.into_iter()
        .map(|standing| (&standing.member.node.name, standing.member.term))
        .filter(|place| !places.contains(place))
        .map(|(node, term)| Placement::Forget { node: node.clone(), term })
        .collect()
}

//! Moves that only even the load: few, not often, and none that would have to be undone.
//!
//! A node gives daemons away when it has more than its share: its load is compared with the mean of itself and of all nodes
//! that are not fuller and that could take one of its daemons. It is uneven when it is above that mean by more than
//! `uneven` hundredths, or when one of the others is below it by as much: a new, empty node among many makes no other much
//! fuller than the mean, and still should get its share. Then, and only then, the surplus goes, so that the next small
//! change does not start it again.
//!
//! Every move makes the fuller of two nodes less full than it was, so moves never go in circles and come to an end.

use super::Picture;
use super::field::Field;
use super::load::Load;
use crate::cluster::{Daemon, DaemonState, Placement};

/// What a move must do to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Afterwards the one that takes is not fuller than the one that gives.
    Halfway,
    /// Afterwards the one that takes is less full than the one that gives was before: what heavy daemons allow.
    Better,
}

/// A node that has more than its share.
#[derive(Debug)]
struct Source<'a> {
    spot: usize,
    /// The kinds of nodes that can run at least one of its daemons.
    reach: Vec<bool>,
    /// What may be moved, those last that were moved last; nothing where one was moved by this plan.
    movable: Vec<Option<&'a Daemon>>,
    /// How many of them were looked at in this round.
    seen: usize,
}

pub(super) fn spread<'a>(picture: &Picture<'a>, field: &mut Field<'a>) -> Vec<Placement> {
    let on_their_way =
        picture.daemons.values().filter(|d| d.state == DaemonState::Revoking && d.next.is_some());
    let budget = (picture.settings.moves_at_once as usize).saturating_sub(on_their_way.count());
    let uneven = picture.settings.uneven;
    let everywhere = Load::sum(field.spots.iter().map(|spot| spot.load));
    if budget == 0 || field.spots.iter().all(|spot| !is_uneven(spot.load, everywhere, uneven)) {
        return Vec::new();
    }
    let mut sources = sources(picture, field);
    let mut moves = Vec::new();
    for step in [Step::Halfway, Step::Better] {
        let mut full: Vec<&mut Source<'a>> =
            sources.iter_mut().filter(|source| source.is_too_full(field, uneven)).collect();
        for source in &mut full {
            source.seen = 0;
        }
        while moves.len() < budget {
            // The fullest that still has something to look at; of equals the first by name.
            let mut fullest: Option<&mut Source<'a>> = None;
            for source in full.iter_mut().filter(|source| source.seen < source.movable.len()) {
                let load = field.spots[source.spot].load;
                if fullest.as_ref().is_none_or(|known| field.spots[known.spot].load.is_below(load)) {
                    fullest = Some(source);
                }
            }
            let Some(source) = fullest else { break };
            moves.extend(source.look_at_next(field, step));
        }
    }
    moves
}

fn is_uneven(load: Load, mean: Load, hundredths: u32) -> bool {
    load.is_above(100_u32.saturating_add(hundredths), mean)
        || load.is_short_of(100_u32.saturating_sub(hundredths), mean)
}

/// All nodes, and what may be moved away from each.
fn sources<'a>(picture: &Picture<'a>, field: &Field<'a>) -> Vec<Source<'a>> {
    let mut sources: Vec<Source<'a>> = (0..field.spots.len())
        .map(|spot| Source { spot, reach: Vec::new(), movable: Vec::new(), seen: 0 })
        .collect();
    for daemon in picture.daemons.values() {
        if daemon.state == DaemonState::Active
            && daemon.is_wanted()
            && daemon.pinned_to.is_none()
            && let Some(spot) = field.counted_at(daemon)
        {
            sources[spot].movable.push(Some(daemon));
        }
    }
    for source in &mut sources {
        source.movable.sort_by_key(|daemon| daemon.map(|daemon| daemon.since));
        for daemon in source.movable.iter().flatten() {
            let kinds = field.fitting_kinds(daemon);
            source.reach.resize(kinds.len(), false);
            source.reach.iter_mut().zip(kinds).for_each(|(reached, fits)| *reached |= fits);
            if source.reach.iter().all(|reached| *reached) {
                break;
            }
        }
    }
    sources
}

impl Source<'_> {
    /// Whether it is to give daemons away.
    fn is_too_full(&self, field: &Field<'_>, hundredths: u32) -> bool {
        let load = field.spots[self.spot].load;
        let others = || {
            let spots = field.spots.iter().enumerate();
            let reached = |kind: usize| self.reach.get(kind).copied().unwrap_or(false);
            let others = spots.filter(move |(spot, other)| *spot != self.spot && reached(other.kind));
            others.map(|(_, other)| other.load).filter(move |other| !load.is_below(*other))
        };
        let mean = Load::sum(others().chain([load]));
        mean.is_below(load)
            && (is_uneven(load, mean, hundredths) || others().any(|other| is_uneven(other, mean, hundredths)))
    }

    /// Looks at the next daemon, and moves it to where it helps most, if it helps anywhere.
    fn look_at_next(&mut self, field: &mut Field<'_>, step: Step) -> Option<Placement> {
        let from = field.spots[self.spot].load;
        let helps_none = |load: Load| !load.plus(1).is_below(from);
        if field.spots.iter().all(|spot| helps_none(spot.load)) {
            self.seen = self.movable.len();
            return None;
        }
        let at = self.seen;
        self.seen += 1;
        let daemon = self.movable.get(at).copied().flatten()?;
        let (target, generation) = (self.target(daemon, field, step)?, daemon.generation?);
        self.movable[at] = None;
        let to = field.spots[target].load;
        let name = &field.spots[self.spot].member.node.name;
        let placement = Placement::Revoke {
            daemon: daemon.name().clone(),
            generation,
            next: Some(field.spots[target].member.node.name.clone()),
            reason: format!("moved from {name} to even the load ({})", against(from, to)),
        };
        field.lift(daemon);
        field.put(daemon, target);
        Some(placement)
    }

    fn target(&self, daemon: &Daemon, field: &Field<'_>, step: Step) -> Option<usize> {
        let weight = daemon.spec.weight;
        let from = field.spots[self.spot].load;
        let kinds = field.fitting_kinds(daemon);
        let mut best: Option<usize> = None;
        for (index, spot) in field.spots.iter().enumerate() {
            let with = spot.load.plus(weight);
            let helps = match step {
                Step::Halfway => !from.minus(weight).is_below(with),
                Step::Better => with.is_below(from),
            };
            let may = index != self.spot
                && kinds[spot.kind]
                && helps
                && !daemon.avoids(&spot.member.node.name, field.now);
            if may && best.is_none_or(|best| with.is_below(field.spots[best].load.plus(weight))) {
                best = Some(index);
            }
        }
        best
    }
}

/// How full the one is beside the other.
fn against(from: Load, to: Load) -> String {
    if from.capacity == to.capacity {
        return format!("{} against {}", from.weight, to.weight);
    }
    format!("{} of {} against {} of {}", from.weight, from.capacity, to.weight, to.capacity)
}

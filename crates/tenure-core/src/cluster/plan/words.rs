//! Why a daemon is nowhere, for someone who is called at night about it.

use std::collections::BTreeMap;

use super::field::Field;
use crate::cluster::decide::{Misfit, misfit};
use crate::cluster::{Avoid, Daemon};

/// What stands between a failure and the moment at which it is forgiven.
const AGAIN: &str = "; tried again there";

/// How many nodes or reasons are named; of the rest only the number is said.
const NAMED_MAX: usize = 3;

/// Why no node can take a daemon now.
pub(super) fn nowhere(daemon: &Daemon, field: &Field<'_>) -> String {
    let failed: Vec<&Avoid> = daemon
        .avoids
        .iter()
        .filter(|avoid| avoid.until > field.now)
        .filter(|avoid| {
            field.spot(&avoid.node).is_some_and(|s| misfit(daemon, field.spots[s].member).is_none())
        })
        .collect();
    if let Some(soonest) = failed.iter().map(|avoid| avoid.until).min() {
        let mut names: Vec<&str> = failed.iter().map(|avoid| avoid.node.as_str()).collect();
        names.sort_unstable();
        // What went wrong last stands in the row, and is worth more than where.
        let known = daemon.reason.split(AGAIN).next().filter(|known| known.starts_with("it failed on "));
        let known = known.filter(|known| known.contains(": ")).map(str::to_owned);
        let known = known.unwrap_or_else(|| format!("it failed on {}", list(&names)));
        return format!("{known}{AGAIN} after {soonest}");
    }
    let mut obstacles: BTreeMap<Obstacle<'_>, usize> = BTreeMap::new();
    let mut nodes = 0;
    for member in field.living() {
        nodes += 1;
        let obstacle = match misfit(daemon, member) {
            Some(misfit) => Obstacle::Misfit(misfit),
            None => Obstacle::Leaving,
        };
        *obstacles.entry(obstacle).or_default() += 1;
    }
    let Some((first, _)) = obstacles.first_key_value() else { return "there is no node".to_owned() };
    if obstacles.len() == 1 {
        return first.of_all();
    }
    let mut counted: Vec<(Obstacle<'_>, usize)> = obstacles.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts: Vec<String> = counted.iter().map(|(obstacle, count)| obstacle.of(*count)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    format!("none of {nodes} nodes can run it: {}", list(&parts))
}

/// What keeps a living node from taking a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle<'d> {
    Misfit(Misfit<'d>),
    Leaving,
}

impl Obstacle<'_> {
    /// When it is the same with all nodes.
    fn of_all(self) -> String {
        match self {
            Self::Misfit(Misfit::NoAgent) => "no node has an agent for it".to_owned(),
            Self::Misfit(Misfit::NoLabel(key, value)) => format!("no node is labelled {key}={value}"),
            Self::Leaving => "every node that can run it is leaving".to_owned(),
        }
    }

    /// When it is so with some.
    fn of(self, count: usize) -> String {
        let (have, are) = if count == 1 { ("has", "is") } else { ("have", "are") };
        match self {
            Self::Misfit(Misfit::NoAgent) => format!("{count} {have} no agent for it"),
            Self::Misfit(Misfit::NoLabel(key, value)) => format!("{count} {are} not labelled {key}={value}"),
            Self::Leaving => format!("{count} {are} leaving"),
        }
    }
}

fn list(names: &[&str]) -> String {
    match names.len().checked_sub(NAMED_MAX) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED_MAX].join(", ")),
    }
}

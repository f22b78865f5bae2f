//! Which parts of what was divided are still somewhere: those of one layout wait until all of another are gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{Daemon, DaemonName};

/// The placed daemons of every group, by layout.
#[derive(Debug, Default)]
pub(super) struct Layouts<'a>(BTreeMap<&'a str, BTreeMap<u32, BTreeSet<&'a DaemonName>>>);

impl<'a> Layouts<'a> {
    pub(super) fn new(daemons: impl Iterator<Item = &'a Daemon>) -> Self {
        let mut layouts = Self::default();
        daemons.filter(|daemon| daemon.place.is_some()).for_each(|daemon| layouts.add(daemon));
        layouts
    }

    pub(super) fn add(&mut self, daemon: &'a Daemon) {
        if let Some(group) = &daemon.spec.group {
            let layouts = self.0.entry(group.name.as_str()).or_default();
            layouts.entry(group.layout).or_default().insert(daemon.name());
        }
    }

    pub(super) fn remove(&mut self, daemon: &'a Daemon) {
        if let Some(group) = &daemon.spec.group
            && let Some(placed) = self.0.get_mut(group.name.as_str()).and_then(|g| g.get_mut(&group.layout))
        {
            placed.remove(daemon.name());
        }
    }

    /// A daemon of another layout of the same group that is not gone yet.
    pub(super) fn other(&self, daemon: &Daemon) -> Option<&'a DaemonName> {
        let group = daemon.spec.group.as_ref()?;
        let others = self.0.get(group.name.as_str())?.iter().filter(|(layout, _)| **layout != group.layout);
        others.filter_map(|(_, placed)| placed.first().copied()).next()
    }
}

//! The settings of entities.

use crate::event::PAGE_MAX;
use crate::lease::SettingsError;

/// How entities are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntitySettings {
    /// How many entities are kept in memory. 1024.
    pub cache: usize,
    /// How often a command is handled anew because another node appended first. 16.
    pub conflicts: u32,
    /// A snapshot is kept after so many events, for entities that have one. 100.
    pub snapshot_every: u32,
    /// How many events are read at once. 1000.
    pub page: u32,
    /// How often an append whose outcome is unknown is repeated, with the same ids. 3.
    pub retries: u32,
}

impl Default for EntitySettings {
    fn default() -> Self {
        Self { cache: 1024, conflicts: 16, snapshot_every: 100, page: 1000, retries: 3 }
    }
}

impl EntitySettings {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let between = |what: &str, value: u64, low: u64, high: u64| {
            SettingsError::unless((low..=high).contains(&value), || {
                format!("{what} {value} is not between {low} and {high}")
            })
        };
        between("cache", self.cache as u64, 0, 10_000_000)?;
        between("conflicts", self.conflicts.into(), 0, 10_000)?;
        between("snapshot_every", self.snapshot_every.into(), 1, 1_000_000)?;
        between("page", self.page.into(), 1, PAGE_MAX.into())?;
        between("retries", self.retries.into(), 0, 1_000)
    }
}

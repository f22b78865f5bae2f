//! What operators did, in one list.

use async_trait::async_trait;

use super::cluster::ClusterTables;
use super::events::CheckpointTables;
use super::outbox::OutboxTables;
use super::store::MemoryStore;
use crate::contract::AuditLog;
use crate::error::StoreError;
use crate::observe::{AuditId, AuditLine, AuditPage, AuditSelection};
use crate::outbox::shorten;
use crate::time::StoreTime;

/// The lines, and how many of each table's own are among them.
#[derive(Debug, Clone, Default)]
pub(super) struct AuditTable {
    lines: Vec<AuditLine>,
    of_outbox: usize,
    of_checkpoints: usize,
    of_cluster: usize,
}

impl AuditTable {
    pub(super) fn add(&mut self, at: StoreTime, actor: &str, action: &str, subject: &str, detail: &str) {
        let id = AuditId(i64::try_from(self.lines.len()).unwrap_or(i64::MAX - 1) + 1);
        let (actor, action) = (actor.to_owned(), action.to_owned());
        let (subject, detail) = (subject.to_owned(), detail.to_owned());
        self.lines.push(AuditLine { id, at, actor, action, subject, detail });
    }

    /// Takes what the tables, which a simulator drives without this store, have written since.
    pub(super) fn gather(
        &mut self,
        outbox: &OutboxTables,
        checkpoints: &CheckpointTables,
        cluster: &ClusterTables,
        now: StoreTime,
    ) {
        for line in outbox.audit().iter().skip(self.of_outbox) {
            self.add(line.at, &line.by, &line.action, &line.subject, &line.detail);
        }
        for line in checkpoints.audit().iter().skip(self.of_checkpoints) {
            self.add(line.at, &line.by, &line.action, &line.subject, &line.detail);
        }
        for (by, action, daemon) in cluster.audit().iter().skip(self.of_cluster) {
            self.add(now, by, action, daemon.as_str(), "");
        }
        self.of_outbox = outbox.audit().len();
        self.of_checkpoints = checkpoints.audit().len();
        self.of_cluster = cluster.audit().len();
    }

    fn page(&self, selection: &AuditSelection) -> AuditPage {
        let below = |line: &&AuditLine| selection.before.is_none_or(|before| line.id < before);
        let looked: Vec<&AuditLine> =
            self.lines.iter().rev().filter(below).take(selection.steps() as usize).collect();
        let fit = looked.iter().filter(|line| selection.fits(line));
        let found = fit.take(selection.limit() as usize + 1).map(|line| (*line).clone()).collect();
        let steps = u32::try_from(looked.len()).unwrap_or(u32::MAX);
        selection.page(found, steps, looked.last().map(|line| line.id))
    }
}

#[async_trait]
impl AuditLog for MemoryStore {
    async fn audit(&self, selection: &AuditSelection) -> Result<AuditPage, StoreError> {
        Ok(self.state().audit.page(selection))
    }

    async fn note(&self, actor: &str, action: &str, subject: &str, detail: &str) -> Result<(), StoreError> {
        let now = self.now();
        let (actor, action) = (shorten(actor), shorten(action));
        self.state().audit.add(now, &actor, &action, &shorten(subject), &shorten(detail));
        Ok(())
    }
}

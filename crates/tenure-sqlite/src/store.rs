//! The handle on a store: cheap to clone, one connection on one thread behind it.

use std::path::Path;
use std::sync::Arc;

use tenure_core::StoreError;

use crate::clock::{Clocks, SystemClocks};
use crate::database::Database;
use crate::error::Fault;
use crate::fence::Fencing;
use crate::files::Files;
use crate::options::SqliteOptions;
use crate::presence::FilePresence;
use crate::statements::Statements;
use crate::worker::Worker;

/// What this store calls itself in rows and in its capabilities.
pub(crate) const BACKEND: &str = "sqlite";

/// Leases in a SQLite file. Clones share one connection.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    label: String,
    worker: Worker<Database>,
    statements: Arc<Statements>,
    clocks: Arc<dyn Clocks>,
    files: Arc<Files>,
    presence: FilePresence,
}

impl SqliteStore {
    /// Opens the database file, and makes sure that it can be written to. Tables are not created: see
    /// [`Schema::migrate`](tenure_core::contract::Schema::migrate).
    pub async fn connect(options: SqliteOptions) -> Result<Self, StoreError> {
        Self::connect_with_clocks(options, Arc::new(SystemClocks::new())).await
    }

    /// Like [`connect`](Self::connect), with clocks of one's own: for tests that set the wall clock.
    pub async fn connect_with_clocks(
        options: SqliteOptions,
        clocks: Arc<dyn Clocks>,
    ) -> Result<Self, StoreError> {
        options.validate()?;
        let label = label(&options.path);
        let statements = Arc::new(Statements::new(&options.naming));
        let open = {
            let (options, label) = (options.clone(), label.clone());
            let (statements, clocks) = (statements.clone(), clocks.clone());
            move || Database::open(&options, &label, statements, clocks)
        };
        let worker = Worker::start("tenure-sqlite", &label, open).await?;
        let files = worker.run(|database| database.files().clone()).await?;
        let presence = FilePresence::new(files.clone(), options.naming.prefix.as_str(), &label);
        Ok(Self { shared: Arc::new(Shared { label, worker, statements, clocks, files, presence }) })
    }

    /// Checks fences on connections and transactions of the user's own.
    pub fn fencing(&self) -> Fencing {
        let Shared { label, statements, clocks, files, .. } = &*self.shared;
        Fencing::new(label.clone(), statements.clone(), clocks.clone(), files.clone())
    }

    /// Runs `job` on the connection's thread, to its end.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Database) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.worker.run(|database| database.run(job)).await?.map_err(|fault| fault.at(self.label()))
    }

    /// The same for what a holder asks: `lost` is the answer when the files are not those that its grant stands in.
    pub(crate) async fn run_or<T: Send + 'static>(
        &self,
        lost: T,
        job: impl FnOnce(&mut Database) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.shared.worker.run(|database| database.run(job)).await? {
            Err(Fault::Replaced) => {
                tracing::error!(store = self.label(), "{}", Fault::Replaced.at(self.label()));
                Ok(lost)
            }
            answer => answer.map_err(|fault| fault.at(self.label())),
        }
    }

    pub(crate) fn label(&self) -> &str {
        &self.shared.label
    }

    pub(crate) fn statements(&self) -> &Statements {
        &self.shared.statements
    }

    pub(crate) fn clocks(&self) -> &dyn Clocks {
        &*self.shared.clocks
    }

    pub(crate) fn file_presence(&self) -> &FilePresence {
        &self.shared.presence
    }
}

/// How messages name the store: by its file, which is no secret.
fn label(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

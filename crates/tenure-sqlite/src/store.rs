//! The handle on a store: cheap to clone, one connection on one thread behind it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::InboxSettings;
use tokio::sync::OnceCell;

use crate::clock::{Clocks, SystemClocks};
use crate::cluster::watch::ClusterBell;
use crate::database::Database;
use crate::error::Fault;
use crate::events::{Checkpoints, Events};
use crate::fence::Fencing;
use crate::files::Files;
use crate::inbox::Inbox;
use crate::options::SqliteOptions;
use crate::outbox::Outbox;
use crate::presence::FilePresence;
use crate::reader::{Reader, ReaderOptions, Snapshot};
use crate::statements::Statements;
use crate::wakeup::{Bells, OwnWrites};
use crate::worker::Worker;

/// What this store calls itself in rows and in its capabilities.
pub(crate) const BACKEND: &str = "sqlite";

/// Leases in a SQLite file. Clones share one connection.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    label: String,
    /// For the relay.
    reader: OnceCell<Worker<Reader>>,
    /// For entities and subscriptions, whose pages may be large.
    events: OnceCell<Worker<Reader>>,
    /// For a node of a cluster, which looks often.
    cluster: OnceCell<Worker<Reader>>,
    /// For people, whose questions may take long.
    browser: OnceCell<Worker<Reader>>,
    /// For who looks again and again; started with the first look.
    sampler: OnceCell<Worker<Reader>>,
    // Behind the readers, for fields are dropped in their order: the last one to close empties the log.
    pub(crate) worker: Worker<Database>,
    statements: Arc<Statements>,
    clocks: Arc<dyn Clocks>,
    pub(crate) files: Arc<Files>,
    pub(crate) own_writes: Arc<OwnWrites>,
    pub(crate) bells: Arc<Bells>,
    /// What wakes the nodes of a cluster.
    pub(crate) cluster_bell: ClusterBell,
    /// Appends that wait for the writing connection.
    pub(crate) appends: crate::events::Line,
    busy_timeout: Duration,
    browse_timeout: Option<Duration>,
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
        let bells = Arc::new(Bells::default());
        let own_writes = Arc::new(OwnWrites::new(bells.clone()));
        let open = {
            let (options, label) = (options.clone(), label.clone());
            let (statements, clocks, own_writes) = (statements.clone(), clocks.clone(), own_writes.clone());
            move || Database::open(&options, &label, statements, clocks, own_writes)
        };
        let worker = Worker::start("tenure-sqlite", &label, open).await?;
        let files = worker.run(|database| database.files().clone()).await?;
        let cluster_bell = ClusterBell::new(files.path(), options.naming.prefix.as_str());
        let presence = FilePresence::new(files.clone(), options.naming.prefix.as_str(), &label);
        let shared = Shared {
            label,
            reader: OnceCell::new(),
            events: OnceCell::new(),
            cluster: OnceCell::new(),
            browser: OnceCell::new(),
            sampler: OnceCell::new(),
            worker,
            statements,
            clocks,
            files,
            own_writes,
            bells,
            cluster_bell,
            appends: crate::events::Line::default(),
            busy_timeout: options.busy_timeout,
            browse_timeout: options.browse_timeout,
            presence,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Checks fences on connections and transactions of the user's own.
    pub fn fencing(&self) -> Fencing {
        let Shared { label, statements, clocks, files, .. } = &*self.shared;
        Fencing::new(label.clone(), statements.clone(), clocks.clone(), files.clone())
    }

    /// Writes messages in transactions of the user's own.
    pub fn outbox(&self) -> Outbox {
        let Shared { label, statements, clocks, .. } = &*self.shared;
        Outbox::new(label.clone(), statements.clone(), clocks.clone())
    }

    /// Makes messages take effect once, in transactions of the user's own. Refuses settings by which a message could come
    /// again after it was forgotten.
    pub fn inbox(&self, settings: InboxSettings) -> Result<Inbox, SettingsError> {
        let Shared { label, statements, clocks, .. } = &*self.shared;
        Inbox::new(label.clone(), statements.clone(), clocks.clone(), settings)
    }

    /// Appends events in transactions of the user's own; with [`Events::with_outbox`], dispatches too.
    pub fn events(&self) -> Events {
        let Shared { label, statements, clocks, .. } = &*self.shared;
        Events::new(label.clone(), statements.clone(), clocks.clone())
    }

    /// Moves checkpoints of subscriptions in transactions of the user's own.
    pub fn checkpoints(&self) -> Checkpoints {
        let Shared { label, statements, clocks, .. } = &*self.shared;
        Checkpoints::new(self.fencing(), label.clone(), statements.clone(), clocks.clone())
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

    /// The same for who may hold an office: `fenced`, where there is one, is the answer when the files are not those that
    /// the office was granted in.
    pub(crate) async fn run_in_office<T: Send + 'static>(
        &self,
        fenced: Option<T>,
        job: impl FnOnce(&mut Database) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        match fenced {
            Some(fenced) => self.run_or(fenced, job).await,
            None => self.run(job).await,
        }
    }

    /// Runs `job` by one snapshot, on the relay's reading connection.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_unless(|_| Ok(None), job).await
    }

    /// The same, unless `glance`, of one statement, has an answer already.
    pub(crate) async fn read_unless<T: Send + 'static>(
        &self,
        glance: impl FnOnce(&Snapshot<'_>) -> Result<Option<T>, Fault> + Send + 'static,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let read = |reader: &mut Reader| reader.read_unless(glance, job);
        self.run_on(&self.shared.reader, "tenure-sqlite-read", None, read).await
    }

    /// The same for those who read events.
    pub(crate) async fn read_events<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_on(&self.shared.events, "tenure-sqlite-events", job).await
    }

    /// The same for a node of a cluster.
    pub(crate) async fn read_cluster<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_on(&self.shared.cluster, "tenure-sqlite-cluster", job).await
    }

    /// One statement of a node's, which needs no transaction around it.
    pub(crate) async fn glance_at_cluster<T: Send + 'static>(
        &self,
        glance: impl Fn(&Snapshot<'_>) -> Result<T, Fault> + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        let job = glance.clone();
        let read = move |reader: &mut Reader| reader.read_unless(|snapshot| glance(snapshot).map(Some), job);
        self.run_on(&self.shared.cluster, "tenure-sqlite-cluster", None, read).await
    }

    /// The same for people, whose questions may take long.
    pub(crate) async fn browse<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let patience = self.shared.browse_timeout;
        let read = |reader: &mut Reader| reader.read(job);
        self.run_on(&self.shared.browser, "tenure-sqlite-list", patience, read).await
    }

    /// The same for who looks again and again, and is not to wait for a person's question.
    pub(crate) async fn sample<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let patience = self.shared.browse_timeout;
        let read = |reader: &mut Reader| reader.read(job);
        self.run_on(&self.shared.sampler, "tenure-sqlite-pulse", patience, read).await
    }

    async fn read_on<T: Send + 'static>(
        &self,
        reader: &OnceCell<Worker<Reader>>,
        thread: &str,
        job: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run_on(reader, thread, None, |reader| reader.read(job)).await
    }

    async fn run_on<T: Send + 'static>(
        &self,
        reader: &OnceCell<Worker<Reader>>,
        thread: &str,
        patience: Option<Duration>,
        read: impl FnOnce(&mut Reader) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Shared { label, statements, clocks, files, busy_timeout, .. } = &*self.shared;
        let start = || {
            let options = ReaderOptions {
                label: label.clone(),
                statements: statements.clone(),
                clocks: clocks.clone(),
                files: files.clone(),
                busy_timeout: *busy_timeout,
                patience,
            };
            Worker::start(thread, label, || Reader::open(options))
        };
        let reader = reader.get_or_try_init(start).await?;
        reader.run(read).await?.map_err(|fault| fault.at(label))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
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

//! Opening the store that the command line names.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::core::contract::LeaseStore;
use tenure::core::naming::{Identifier, Naming};
use tenure::{Database, OpenOptions, Purpose};

use crate::args::Global;
use crate::output::{self, Failure};

/// How often a store that is away is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long a look may take: counting millions takes a while.
const LOOK: Duration = Duration::from_secs(30);
/// How many connections there are at most for looking: one question comes after another.
const LOOKERS: u32 = 3;

/// The URL given by `--db`, or an error that says how to give it.
pub(crate) fn database_url(global: &Global) -> Result<&str, Failure> {
    let missing = || {
        Failure::Usage("no database: give --db URL or set TENURE_DB, for example --db sqlite:app.db".into())
    };
    global.db.as_deref().filter(|url| !url.is_empty()).ok_or_else(missing)
}

/// Refuses a store that ends with the command.
pub(crate) fn refuse_memory(url: &str) -> Result<(), Failure> {
    match url.starts_with("memory:") {
        true => Err(Failure::Usage(
            "what is in memory: ends with this command; use sqlite:, postgres:, mysql: or sqlserver:".into(),
        )),
        false => Ok(()),
    }
}

/// Where the tables live, as the command line says.
pub(crate) fn naming(global: &Global) -> Result<Naming, Failure> {
    let schema = global.schema.as_deref().map(|text| Identifier::new("schema", text)).transpose()?;
    Ok(Naming { schema, prefix: Identifier::new("table prefix", &global.table_prefix)? })
}

/// Opens a store to look at it, which may be one that cannot be written to: what is not there is not made.
pub(crate) async fn open_to_look(global: &Global, url: &str) -> Result<Database, Failure> {
    let purpose = Purpose::Looking { statement_timeout: LOOK, connections: LOOKERS };
    let options = OpenOptions { naming: naming(global)?, create: false, purpose, ..OpenOptions::default() };
    let database = tenure::open(url, options).await?;
    database.schema().verify_schema().await?;
    Ok(database)
}

/// Opens a store to change something in it: what is not there is not made.
pub(crate) async fn open_existing(global: &Global, url: &str) -> Result<Database, Failure> {
    let options = OpenOptions { naming: naming(global)?, create: false, ..OpenOptions::default() };
    let database = tenure::open(url, options).await?;
    database.schema().verify_schema().await?;
    Ok(database)
}

/// Opens a store to work on it: tables are made or upgraded, unless `migrate` is off.
pub(crate) async fn open_to_work(global: &Global, url: &str, migrate: bool) -> Result<Database, Failure> {
    let options = OpenOptions { naming: naming(global)?, create: migrate, ..OpenOptions::default() };
    let database = tenure::open(url, options).await?;
    // Look first: a role that may not create tables must be able to use those that are there.
    match database.schema().verify_schema().await {
        Ok(()) => {}
        Err(tenure::StoreError::SchemaMissing { .. } | tenure::StoreError::SchemaOlder { .. }) if migrate => {
            let migrated = database.schema().migrate().await?;
            tracing::info!(from = migrated.from, to = migrated.to, "schema migrated");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(database)
}

/// A file that is not there will not come by waiting for it.
pub(crate) fn refuse_missing_file(url: &str) -> Result<(), Failure> {
    if !url.starts_with("sqlite:") {
        return Ok(());
    }
    let path = tenure::sqlite::SqliteOptions::from_url(url)?.path;
    match path.exists() {
        true => Ok(()),
        false => Err(Failure::Failed(format!("{} is not there; `tenure migrate` makes it", path.display()))),
    }
}

/// Opens a store to work on it; one that is away is waited for.
pub(crate) async fn open_patiently(
    global: &Global,
    url: &str,
    migrate: bool,
    patience: Duration,
) -> Result<Database, Failure> {
    patiently(patience, || open_to_work(global, url, migrate)).await
}

/// Opens the place that grants leases, which may be a database and may be something else; one that is away is waited for.
pub(crate) async fn open_lease_place(
    global: &Global,
    url: &str,
    migrate: bool,
    patience: Duration,
) -> Result<Arc<dyn LeaseStore>, Failure> {
    if !tenure::grants_leases_only(url) {
        return Ok(open_patiently(global, url, migrate, patience).await?.leases());
    }
    let options = OpenOptions { naming: naming(global)?, ..OpenOptions::default() };
    patiently(patience, || async { Ok(tenure::open_leases(url, options.clone()).await?) }).await
}

/// Whether two URLs name the same store, as far as that can be seen.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let file = |url: &str| {
        let path = tenure::sqlite::SqliteOptions::from_url(url).ok()?.path;
        // A file that is not there yet has a directory.
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
        let path = directory.join(path.file_name()?);
        Some(path.canonicalize().unwrap_or(path))
    };
    let is_file = |url: &str| url.starts_with("sqlite:");
    one == other || is_file(one) && is_file(other) && file(one).is_some_and(|it| file(other) == Some(it))
}

/// Opens something; what is away is waited for.
async fn patiently<T, F: Future<Output = Result<T, Failure>>>(
    patience: Duration,
    open: impl Fn() -> F,
) -> Result<T, Failure> {
    let (began, mut told) = (Instant::now(), false);
    loop {
        match open().await {
            Err(Failure::Away(reason)) if began.elapsed() < patience => {
                if !std::mem::replace(&mut told, true) {
                    output::note(format_args!("{reason}; waiting for it"));
                }
                tokio::time::sleep(ASK_AGAIN.min(patience.saturating_sub(began.elapsed()))).await;
            }
            opened => return opened,
        }
    }
}

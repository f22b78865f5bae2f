//! `tenure migrate`: create or upgrade the tables, or print how.

use std::process::ExitCode;

use tenure::core::naming::Naming;
use tenure::{OpenOptions, Purpose};

use crate::args::{Global, MigrateArgs};
use crate::output::{self, Failure};
use crate::store;

/// What stands before all statements: not every database can be asked within a script what it has.
const ONCE: &str = "-- For a database that has none of these tables. Run it once: where they are there, it ends with an error.
-- What a database lacks is printed by: tenure migrate --print --missing
";

pub(crate) async fn migrate(global: &Global, args: &MigrateArgs) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    let naming = store::naming(global)?;
    if args.print && args.missing {
        return print_missing(global, url, naming).await;
    }
    if args.print {
        let statements = tenure::migrations(url, &naming)?;
        let statements = if statements.is_empty() { statements } else { format!("{ONCE}{statements}") };
        if global.json {
            output::json(&serde_json::json!({ "statements": statements }))?;
        } else {
            output::line(statements.trim_end());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let database = tenure::open(url, OpenOptions { naming, ..OpenOptions::default() }).await?;
    let migrated = database.schema().migrate().await?;
    if global.json {
        output::json(&migrated)?;
    } else if migrated.from == migrated.to {
        output::line(format_args!("schema version {} was there already", migrated.to));
    } else {
        output::line(format_args!("schema migrated from version {} to {}", migrated.from, migrated.to));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what the database lacks. A role that may only look is enough.
async fn print_missing(global: &Global, url: &str, naming: Naming) -> Result<ExitCode, Failure> {
    let options = OpenOptions { naming, create: false, purpose: Purpose::LOOKING, ..OpenOptions::default() };
    let missing = tenure::open(url, options).await?.schema().missing().await?;
    if global.json {
        output::json(&missing)?;
    } else if missing.statements.is_empty() {
        output::line(format_args!("-- Nothing is missing: the schema has version {}.", missing.to));
    } else {
        output::line(format_args!(
            "-- From version {} to {}. Run it once; what is missing then is printed by the same command.",
            missing.from, missing.to
        ));
        output::line(missing.statements.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

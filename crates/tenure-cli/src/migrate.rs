//! `tenure migrate`: create or upgrade the tables, or print how.

use std::process::ExitCode;

use tenure::OpenOptions;

use crate::args::{Global, MigrateArgs};
use crate::output::{self, Failure};
use crate::store;

pub(crate) async fn migrate(global: &Global, args: &MigrateArgs) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    let naming = store::naming(global)?;
    if args.print {
        let statements = tenure::migrations(url, &naming)?;
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

//! Retrying and discarding dead messages.

use std::process::ExitCode;

use tenure::core::contract::OutboxAdmin;
use tenure::core::outbox::{DeadWalk, Filter, RowId, State};
use tenure::core::show::{ChangedShape, DryRunShape};

use super::ID_CHARS;
use super::list::plain;
use crate::args::ChangeArgs;
use crate::output::{self, Failure};
use crate::user;

/// How many messages one transaction changes: an outage's worth of dead letters must not hold locks for long.
const AT_ONCE: u32 = 500;
/// How many dead messages one call looks at.
const STEPS: u32 = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Retry,
    Discard,
}

impl Change {
    const fn done(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Discard => "discarded",
        }
    }
}

/// What is wrong with the command line is told before a database is opened.
pub(super) fn check(args: &ChangeArgs) -> Result<(), Failure> {
    args.filter.to_filter()?;
    match args.state {
        None | Some(State::Dead) => Ok(()),
        Some(_) => Err(Failure::Usage("only dead messages can be retried or discarded".into())),
    }
}

pub(super) async fn change(
    admin: &dyn OutboxAdmin,
    change: Change,
    args: &ChangeArgs,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let filter = Filter { state: Some(State::Dead), ..args.filter.to_filter()? };
    if args.dry_run {
        return dry_run(admin, change, filter, args, as_json).await;
    }
    let by = args.by.clone().unwrap_or_else(user::name);
    let mut changed: Vec<String> = Vec::new();
    let mut walk = begin(filter.clone(), args);
    // Once through all that is dead: what dies again meanwhile is not met twice.
    let next = loop {
        walk.limit = left(args.limit, changed.len() as u64).min(AT_ONCE);
        if walk.limit == 0 {
            break walk.after;
        }
        let acted = match change {
            Change::Retry => admin.retry(&walk, &by).await?,
            Change::Discard => admin.discard(&walk, &by).await?,
        };
        changed.extend(acted.ids);
        walk.after = acted.more_after;
        if walk.after.is_none() {
            break None;
        }
    };
    if changed.is_empty()
        && let Some(id) = &filter.id
    {
        return Err(Failure::Failed(why_not(admin, id).await?));
    }
    let (next, or_more) = (next.map(|row| row.0), next.is_some());
    match as_json {
        true => output::json(&ChangedShape { by, changed: changed.len(), ids: changed, next, or_more })?,
        false => output::line(format_args!("{} {}", changed.len(), change.done())),
    }
    if let Some(next) = next {
        output::note(format_args!(
            "there may be more than --limit {}: go on with the same and --after {next}",
            args.limit
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Goes the same way and changes nothing.
async fn dry_run(
    admin: &dyn OutboxAdmin,
    change: Change,
    filter: Filter,
    args: &ChangeArgs,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let (mut found, limit) = (0, args.limit);
    let mut walk = begin(filter, args);
    loop {
        walk.limit = left(limit, found);
        let counted = admin.count_dead(&walk).await?;
        found += counted.number;
        walk.after = counted.more_after;
        // No more than the limit would be changed, however many there are.
        if walk.after.is_none() || found >= u64::from(limit) {
            break;
        }
    }
    let or_more = walk.after.is_some();
    match as_json {
        true => output::json(&DryRunShape { dry_run: true, or_more, would_change: found })?,
        false => output::line(format_args!("{found} would be {}", change.done())),
    }
    if or_more {
        output::note(format_args!("there are more than --limit {limit}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// From where they are gone through.
fn begin(filter: Filter, args: &ChangeArgs) -> DeadWalk {
    DeadWalk { steps: STEPS, after: args.after.map(RowId), ..DeadWalk::of(filter, 0) }
}

/// How many more may be changed.
fn left(limit: u32, done: u64) -> u32 {
    limit.saturating_sub(u32::try_from(done).unwrap_or(u32::MAX))
}

/// Why the one message that was named did not change.
async fn why_not(admin: &dyn OutboxAdmin, id: &str) -> Result<String, Failure> {
    Ok(match admin.show(id, 0).await? {
        None => super::no_message(id),
        Some(details) => match details.summary.state {
            State::Dead => format!("{} is dead, but does not fit the other options", plain(id, ID_CHARS)),
            state => format!("{} is {}, not dead", plain(id, ID_CHARS), state.as_str()),
        },
    })
}

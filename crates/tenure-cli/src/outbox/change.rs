//! Retrying and discarding dead messages.

use std::process::ExitCode;

use tenure::core::contract::OutboxAdmin;
use tenure::core::outbox::{Filter, State};
use tenure::core::show::{ChangedShape, DryRunShape};

use super::ID_CHARS;
use super::list::plain;
use crate::args::ChangeArgs;
use crate::output::{self, Failure};
use crate::user;

/// How many messages one transaction changes: an outage's worth of dead letters must not hold locks for long.
const AT_ONCE: u32 = 500;

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
    let filter = Filter { state: Some(State::Dead), ..args.filter.to_filter() };
    if args.dry_run {
        let found = admin.count_dead(&filter, args.limit).await?;
        // No more than the limit would be changed, however many there are; a count may also end sooner.
        let at_least = found.or_more && found.number < args.limit.into();
        let count = if at_least { found.to_string() } else { found.number.to_string() };
        match as_json {
            true => {
                output::json(&DryRunShape { dry_run: true, or_more: at_least, would_change: found.number })?
            }
            false => output::line(format_args!("{count} would be {}", change.done())),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let by = args.by.clone().unwrap_or_else(user::name);
    let mut changed: Vec<String> = Vec::new();
    loop {
        let left = args.limit.saturating_sub(u32::try_from(changed.len()).unwrap_or(u32::MAX));
        let at_once = left.min(AT_ONCE);
        if at_once == 0 {
            break;
        }
        let some = match change {
            Change::Retry => admin.retry(&filter, &by, at_once).await?,
            Change::Discard => admin.discard(&filter, &by, at_once).await?,
        };
        let more = some.len() == at_once as usize;
        changed.extend(some);
        if !more {
            break;
        }
    }
    if changed.is_empty()
        && let Some(id) = &filter.id
    {
        return Err(Failure::Failed(why_not(admin, id).await?));
    }
    match as_json {
        true => output::json(&ChangedShape { by, changed: changed.len(), ids: changed })?,
        false => output::line(format_args!("{} {}", changed.len(), change.done())),
    }
    Ok(ExitCode::SUCCESS)
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

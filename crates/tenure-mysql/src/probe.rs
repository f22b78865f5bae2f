//! Finds out whether sessions are real.
//!
//! A proxy that multiplexes (ProxySQL, a router that splits reads from writes) gives each transaction, or each statement,
//! whatever connection to a server is free; some even answer `CONNECTION_ID()` by themselves. It shows in numbers that
//! change or are shared, and above all in locks that do not exclude, or whose owner is nobody we know:
//!
//! ```text
//!   A, B, C at the same time, many times: which session?      any answer twice, or two answers on one → not real
//!   B: BEGIN    C: BEGIN                                       (they hold on to what they have)
//!   A: GET_LOCK → had    B, C: GET_LOCK → refused, its owner is A    A: its owner is A, released    else → not real
//! ```
//!
//! Presence and session locks keep comparing numbers afterwards.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_sql::{Columns as _, Fault, FaultKind, Row};

use crate::connect::{Connector, Flavour};
use crate::names::LockNames;
use crate::session::Link;
use crate::statements::{self, HOLD_ON, LET_GO, SESSION_NUMBER};

/// How often the whole is done before sessions count as real.
const ROUNDS: u32 = 2;
/// How many questions each connection asks in a row.
const QUESTIONS: u32 = 4;
/// How long an answer may take. With two transactions open, a small pool has no connection left for the third question.
const ANSWER: Duration = Duration::from_secs(2);
/// After how much silence the server may end the connections of a probe.
const IDLE: Duration = Duration::from_secs(20);

/// What the probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A connection keeps its session, and locks exclude.
    Real,
    /// Something stands between.
    Pooled,
}

/// Probes with connections of its own.
pub(crate) async fn sessions(
    connector: &Connector,
    flavour: Flavour,
    names: &LockNames,
) -> Result<Found, StoreError> {
    let lock = names.probe(random());
    let mut links = Vec::new();
    for number in 0..3 {
        match connector.open_for_locks("probe", IDLE, flavour).await {
            Ok((link, _)) => links.push(link),
            // A server that is short of connections may refuse the third; two tell enough in most cases.
            Err(_) if number == 2 => {}
            Err(error) => return Err(error),
        }
    }
    for _ in 0..ROUNDS {
        let apart = are_apart(&mut links).await;
        let real = match apart {
            Ok(true) => excludes(&mut links, flavour, &lock).await,
            other => other,
        };
        match real {
            Ok(true) => {}
            Ok(false) => return Ok(Found::Pooled),
            // No answer while others hold on to theirs: there are fewer connections behind than before.
            Err(fault) if fault.kind == FaultKind::Gone => return Ok(Found::Pooled),
            Err(fault) => return Err(fault.into_error(connector.label())),
        }
    }
    for link in links {
        link.close().await;
    }
    Ok(Found::Real)
}

/// Whether each connection is answered by one session, and by no other's.
async fn are_apart(links: &mut [Link]) -> Result<bool, Fault> {
    let count = links.len();
    let asked = futures_util::future::try_join_all(links.iter_mut().map(numbers)).await?;
    let all: BTreeSet<i64> = asked.iter().flatten().copied().collect();
    Ok(asked.iter().all(|its| its.len() == 1) && all.len() == count)
}

async fn numbers(link: &mut Link) -> Result<BTreeSet<i64>, Fault> {
    let mut seen = BTreeSet::new();
    for _ in 0..QUESTIONS {
        seen.extend(number(&link.row(ANSWER, SESSION_NUMBER.into()).await?, "id"));
    }
    Ok(seen)
}

/// Whether a lock of the first excludes the others, who all hold on to what they have.
async fn excludes(links: &mut [Link], flavour: Flavour, lock: &str) -> Result<bool, Fault> {
    let Some((first, others)) = links.split_first_mut() else { return Ok(false) };
    for other in others.iter_mut() {
        other.row(ANSWER, HOLD_ON.into()).await?;
    }
    let had = first.row(ANSWER, statements::get_lock(lock, Duration::ZERO, flavour)).await?;
    let owner = number(&had, "id");
    let mut real = number(&had, "had") == Some(1) && owner.is_some();
    for other in others.iter_mut() {
        let refused = other.row(ANSWER, statements::get_lock(lock, Duration::ZERO, flavour)).await?;
        let seen = other.row(ANSWER, statements::lock_owner(lock)).await?;
        real &= number(&refused, "had") == Some(0) && number(&seen, "owner") == owner;
    }
    let own = first.row(ANSWER, statements::lock_owner(lock)).await?;
    real &= number(&own, "owner") == owner && number(&own, "id") == owner;
    let released = first.row(ANSWER, statements::release_lock(lock)).await?;
    real &= number(&released, "released") == Some(1);
    for other in others.iter_mut() {
        other.texts_within(ANSWER, LET_GO.into()).await?;
    }
    Ok(real)
}

/// A number that no other probe has: each of the standard library's keyed hashes has random keys.
fn random() -> u128 {
    let part = || u128::from(RandomState::new().hash_one(std::process::id()));
    part() << 64 | part()
}

fn number(row: &Row, column: &str) -> Option<i64> {
    row.number(column).ok().flatten()
}

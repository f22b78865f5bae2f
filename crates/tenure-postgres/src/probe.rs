//! Finds out whether sessions are real.
//!
//! A transaction pooler gives each transaction whatever server connection is free. It shows when two connections of ours
//! are answered by one server process, or when one connection is answered by two:
//!
//! ```text
//!   A, B, C at the same time, many times: which process?      any answer twice, or two answers on one → pooled
//!   then, to be sure where nobody else uses the pooler:
//!   B: BEGIN; which process?   C: BEGIN; which process?       A's → pooled
//!   A: which process?                                         another, or no answer → pooled
//! ```
//!
//! A pooler can hide from this only by luck; where the server process is older than our connection to it, which is so
//! behind every pooler, the luck is tried much longer. Presence and session locks keep comparing processes afterwards.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::StoreError;
use tokio::time::timeout;

use crate::connect::{Connector, Link};
use crate::statements::{BEGIN, ROLLBACK};

/// How often the whole is done before sessions count as real.
const ROUNDS: u32 = 2;
/// The same where the server process is older than our connection.
const ROUNDS_IN_DOUBT: u32 = 10;
/// How many questions each connection asks in a row.
const QUESTIONS: u32 = 6;

/// With two transactions open, a small pool has no server connection left for the third question.
const ANSWER: Duration = Duration::from_secs(1);

/// What the probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A connection keeps its session.
    Real,
    /// A transaction pooler stands between.
    Pooled,
}

/// Probes with `a` and two more connections of its own.
pub(crate) async fn sessions(connector: &Connector, a: &Link) -> Result<Found, StoreError> {
    let before = a.server_clock().await?;
    let b = connector.open("probe").await?;
    let rounds = if b.server_start().await? < before { ROUNDS_IN_DOUBT } else { ROUNDS };
    // A server that is short of connections may refuse the third; two tell enough in most cases.
    let c = connector.open("probe").await.ok();
    let others: Vec<&Link> = [Some(&b), c.as_ref()].into_iter().flatten().collect();
    for _ in 0..rounds {
        if !are_apart(a, &others).await? || !stays(a, &others).await? {
            return Ok(Found::Pooled);
        }
    }
    Ok(Found::Real)
}

/// Whether each connection is answered by one process, and by no other's.
async fn are_apart(a: &Link, others: &[&Link]) -> Result<bool, StoreError> {
    let (b, c) = (others.first(), others.get(1));
    let (a, b, c) = tokio::join!(processes(Some(&a)), processes(b), processes(c));
    let (a, b, c) = (a?, b?, c?);
    let all: BTreeSet<i32> = [&a, &b, &c].into_iter().flatten().copied().collect();
    let each_has_one = [&a, &b, &c].iter().all(|its| its.len() <= 1);
    Ok(each_has_one && all.len() == a.len() + b.len() + c.len())
}

async fn processes(link: Option<&&Link>) -> Result<BTreeSet<i32>, StoreError> {
    let mut seen = BTreeSet::new();
    for _ in 0..QUESTIONS {
        if let Some(link) = link {
            seen.insert(link.server_process().await?);
        }
    }
    Ok(seen)
}

/// Whether `a` keeps its process while the others hold theirs.
async fn stays(a: &Link, others: &[&Link]) -> Result<bool, StoreError> {
    let own = a.server_process().await?;
    for link in others {
        // Behind a pooler of one connection this waits for the transaction of the link before it.
        let Ok(process) = timeout(ANSWER, begin(link)).await else { return Ok(false) };
        if process? == own {
            return Ok(false);
        }
    }
    let Ok(process) = timeout(ANSWER, a.server_process()).await else { return Ok(false) };
    for link in others {
        link.run(ROLLBACK).await?;
    }
    Ok(process? == own)
}

async fn begin(link: &Link) -> Result<i32, StoreError> {
    link.run(BEGIN).await?;
    link.server_process().await
}

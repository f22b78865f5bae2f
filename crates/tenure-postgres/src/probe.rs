//! Finds out whether sessions are real.
//!
//! A transaction pooler gives each transaction whatever server connection is free. It shows when two connections of ours
//! are answered by one server process, or when one connection is answered by two:
//!
//! ```text
//!   A: which process?          7001
//!   B: BEGIN; which process?   7001  → pooled        7002 → go on
//!   C: BEGIN; which process?   7001  → pooled        7003 → go on
//!   A: which process?          7004 or no answer → pooled      7001 → perhaps real; again, to be sure
//! ```

use std::time::Duration;

use tenure_core::StoreError;
use tokio::time::timeout;

use crate::connect::{Connector, Link};
use crate::statements::{BEGIN, ROLLBACK};

/// How often it is tried before sessions count as real: others use the pooler too and can hide it once.
const ROUNDS: u32 = 3;

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
    let b = connector.open("probe").await?;
    // A server that is short of connections may refuse the third; two tell enough in most cases.
    let c = connector.open("probe").await.ok();
    let others: Vec<&Link> = [Some(&b), c.as_ref()].into_iter().flatten().collect();
    let mut found = Found::Real;
    for _ in 0..ROUNDS {
        found = round(a, &others).await?;
        if found == Found::Pooled {
            break;
        }
    }
    b.close().await;
    if let Some(c) = c {
        c.close().await;
    }
    Ok(found)
}

async fn round(a: &Link, others: &[&Link]) -> Result<Found, StoreError> {
    let own = a.server_process().await?;
    let mut found = Found::Real;
    for link in others {
        link.run(BEGIN).await?;
        // Behind a pooler of one connection this waits for the transaction of the link before it.
        let same = timeout(ANSWER, link.server_process())
            .await
            .map_or(Ok(true), |process| process.map(|it| it == own));
        if same? {
            found = Found::Pooled;
            break;
        }
    }
    if found == Found::Real {
        let kept = timeout(ANSWER, a.server_process())
            .await
            .map_or(Ok(false), |process| process.map(|it| it == own));
        found = if kept? { Found::Real } else { Found::Pooled };
    }
    if found == Found::Real {
        for link in others {
            link.run(ROLLBACK).await?;
        }
    }
    Ok(found)
}

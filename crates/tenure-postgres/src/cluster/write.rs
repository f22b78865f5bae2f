//! What is written, as lists: one statement for each table, however many rows.

use std::time::SystemTime;

use tenure_core::cluster::{Daemon, JsonColumn as _, Member, Writes};
use tenure_core::id::NodeName;
use tenure_core::lease::{Change, LeaseRecord, Term};
use tenure_sql::trust_millis;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::rows::moment;
use crate::statements::{COMMIT, Statements};
use crate::writing::{Call, Params, batch};

/// Everything that is sent: rows, and COMMIT behind them.
pub(super) fn calls<'a>(client: &'a Client, statements: &'a Statements, writes: &'a Writes) -> Vec<Call<'a>> {
    let cluster = &statements.cluster;
    let mut calls: Vec<Call<'a>> = Vec::new();
    if !writes.nodes.is_empty() {
        calls.push(write_nodes(client, &cluster.nodes_write, &writes.nodes));
    }
    if !writes.departed.is_empty() {
        let names = writes.departed.iter().map(NodeName::as_str).collect();
        calls.push(delete(client, &cluster.nodes_delete, names));
    }
    if !writes.daemons.is_empty() {
        calls.push(write_daemons(client, &cluster.daemons_write, &writes.daemons));
    }
    if !writes.gone.is_empty() {
        let names = writes.gone.iter().map(|name| name.as_str()).collect();
        calls.push(delete(client, &cluster.daemons_delete, names));
    }
    if !writes.leases.is_empty() {
        calls.push(write_leases(client, &cluster.leases_write, &writes.leases));
    }
    if !writes.history.is_empty() {
        calls.push(add_history(client, &cluster.history_add, &writes.history));
    }
    for (by, action, daemon) in &writes.audit {
        calls.push(Box::pin(async move {
            let params: Params<'_> =
                &[(by, Type::TEXT), (action, Type::TEXT), (&daemon.as_str(), Type::TEXT), (&"", Type::TEXT)];
            client.execute_typed(&statements.audit_add, params).await.map(|_| Vec::new())
        }));
    }
    calls.push(Box::pin(client.query_typed(&cluster.wake, &[])));
    calls.push(batch(client, COMMIT));
    calls
}

fn delete<'a>(client: &'a Client, sql: &'a str, names: Vec<&'a str>) -> Call<'a> {
    Box::pin(async move {
        let params: Params<'_> = &[(&names, Type::TEXT_ARRAY)];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

fn write_nodes<'a>(client: &'a Client, sql: &'a str, nodes: &'a [Member]) -> Call<'a> {
    Box::pin(async move {
        let names: Vec<&str> = list(nodes, |n| n.node.name.as_str());
        let incarnations: Vec<String> = list(nodes, |n| n.node.incarnation.to_string());
        let terms: Vec<i64> = list(nodes, |n| n.term.as_column());
        let machines: Vec<String> = list(nodes, |n| plain(&n.node.machine));
        let pids: Vec<i64> = list(nodes, |n| i64::from(n.node.pid));
        let labels: Vec<String> = list(nodes, |n| n.labels.to_column());
        let versions: Vec<&str> = list(nodes, |n| n.version.as_str());
        let capacities: Vec<i64> = list(nodes, |n| i64::from(n.capacity));
        let leads: Vec<bool> = list(nodes, |n| n.leads);
        let agents: Vec<String> = list(nodes, |n| n.agents.to_column());
        let leaving: Vec<bool> = list(nodes, |n| n.leaving);
        let joined: Vec<SystemTime> = list(nodes, |n| moment(n.joined_at));
        let revisions: Vec<i64> = list(nodes, |n| column(n.revision.0));
        let params: Params<'_> = &[
            (&names, Type::TEXT_ARRAY),
            (&incarnations, Type::TEXT_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&machines, Type::TEXT_ARRAY),
            (&pids, Type::INT8_ARRAY),
            (&labels, Type::TEXT_ARRAY),
            (&versions, Type::TEXT_ARRAY),
            (&capacities, Type::INT8_ARRAY),
            (&leads, Type::BOOL_ARRAY),
            (&agents, Type::TEXT_ARRAY),
            (&leaving, Type::BOOL_ARRAY),
            (&joined, Type::TIMESTAMPTZ_ARRAY),
            (&revisions, Type::INT8_ARRAY),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

fn write_daemons<'a>(client: &'a Client, sql: &'a str, daemons: &'a [Daemon]) -> Call<'a> {
    Box::pin(async move {
        let names: Vec<&str> = list(daemons, |d| d.name().as_str());
        let states: Vec<&str> = list(daemons, |d| d.state.as_str());
        let nodes: Vec<Option<&str>> = list(daemons, |d| d.node().map(NodeName::as_str));
        let terms: Vec<Option<i64>> = list(daemons, |d| d.place.as_ref().map(|(_, term)| term.as_column()));
        let generations: Vec<Option<i64>> = list(daemons, |d| d.generation.map(Term::as_column));
        let next: Vec<Option<&str>> = list(daemons, |d| d.next.as_ref().map(NodeName::as_str));
        let deadlines: Vec<Option<SystemTime>> = list(daemons, |d| d.deadline.map(moment));
        let reasons: Vec<String> = list(daemons, |d| plain(&d.reason));
        let since: Vec<SystemTime> = list(daemons, |d| moment(d.since));
        let weights: Vec<i64> = list(daemons, |d| i64::from(d.spec.weight));
        let labels: Vec<String> = list(daemons, |d| d.spec.labels.to_column());
        let groups: Vec<Option<&str>> = list(daemons, |d| d.spec.group.as_ref().map(|g| g.name.as_str()));
        let layouts: Vec<Option<i64>> = list(daemons, |d| d.spec.group.as_ref().map(|g| i64::from(g.layout)));
        let paused: Vec<Option<&str>> = list(daemons, |d| d.paused_by.as_deref());
        let pinned: Vec<Option<&str>> = list(daemons, |d| d.pinned_to.as_ref().map(NodeName::as_str));
        let retired: Vec<bool> = list(daemons, |d| d.retired);
        let failures: Vec<i64> = list(daemons, |d| i64::from(d.failures));
        let avoids: Vec<String> = list(daemons, |d| d.avoids.to_column());
        let moves: Vec<i64> = list(daemons, |d| column(d.moves));
        let revisions: Vec<i64> = list(daemons, |d| column(d.revision.0));
        let params: Params<'_> = &[
            (&names, Type::TEXT_ARRAY),
            (&states, Type::TEXT_ARRAY),
            (&nodes, Type::TEXT_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&generations, Type::INT8_ARRAY),
            (&next, Type::TEXT_ARRAY),
            (&deadlines, Type::TIMESTAMPTZ_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
            (&since, Type::TIMESTAMPTZ_ARRAY),
            (&weights, Type::INT8_ARRAY),
            (&labels, Type::TEXT_ARRAY),
            (&groups, Type::TEXT_ARRAY),
            (&layouts, Type::INT8_ARRAY),
            (&paused, Type::TEXT_ARRAY),
            (&pinned, Type::TEXT_ARRAY),
            (&retired, Type::BOOL_ARRAY),
            (&failures, Type::INT8_ARRAY),
            (&avoids, Type::TEXT_ARRAY),
            (&moves, Type::INT8_ARRAY),
            (&revisions, Type::INT8_ARRAY),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

fn write_leases<'a>(client: &'a Client, sql: &'a str, leases: &'a [LeaseRecord]) -> Call<'a> {
    Box::pin(async move {
        let names: Vec<&str> = list(leases, |l| l.name.as_str());
        let terms: Vec<i64> = list(leases, |l| l.term.as_column());
        let nodes: Vec<&str> = list(leases, |l| l.node.name.as_str());
        let incarnations: Vec<String> = list(leases, |l| l.node.incarnation.to_string());
        let claims: Vec<String> = list(leases, |l| l.claim.to_string());
        let renewals: Vec<i64> = list(leases, |l| column(l.renewals));
        let machines: Vec<String> = list(leases, |l| plain(&l.node.machine));
        let pids: Vec<i64> = list(leases, |l| i64::from(l.node.pid));
        let kinds: Vec<Option<&str>> = list(leases, |l| l.kind.as_deref());
        let backends: Vec<&str> = list(leases, |l| l.backend.as_str());
        let acquired: Vec<SystemTime> = list(leases, |l| moment(l.acquired_at));
        let renewed: Vec<SystemTime> = list(leases, |l| moment(l.renewed_at));
        let expires: Vec<SystemTime> = list(leases, |l| moment(l.expires_at));
        let released: Vec<Option<SystemTime>> = list(leases, |l| l.released_at.map(moment));
        let revoked: Vec<Option<SystemTime>> = list(leases, |l| l.revoked_at.map(moment));
        let presence: Vec<Option<String>> =
            list(leases, |l| l.presence.as_ref().map(|announced| announced.session.to_string()));
        let trust: Vec<Option<i32>> =
            list(leases, |l| l.presence.as_ref().map(|announced| trust_millis(announced.trust)));
        let epochs: Vec<Option<&str>> =
            list(leases, |l| l.origin.as_ref().and_then(|origin| origin.epoch.as_deref()));
        let origins: Vec<Option<i64>> =
            list(leases, |l| l.origin.as_ref().map(|origin| origin.term.as_column()));
        let params: Params<'_> = &[
            (&names, Type::TEXT_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&nodes, Type::TEXT_ARRAY),
            (&incarnations, Type::TEXT_ARRAY),
            (&claims, Type::TEXT_ARRAY),
            (&renewals, Type::INT8_ARRAY),
            (&machines, Type::TEXT_ARRAY),
            (&pids, Type::INT8_ARRAY),
            (&kinds, Type::TEXT_ARRAY),
            (&backends, Type::TEXT_ARRAY),
            (&acquired, Type::TIMESTAMPTZ_ARRAY),
            (&renewed, Type::TIMESTAMPTZ_ARRAY),
            (&expires, Type::TIMESTAMPTZ_ARRAY),
            (&released, Type::TIMESTAMPTZ_ARRAY),
            (&revoked, Type::TIMESTAMPTZ_ARRAY),
            (&presence, Type::TEXT_ARRAY),
            (&trust, Type::INT4_ARRAY),
            (&epochs, Type::TEXT_ARRAY),
            (&origins, Type::INT8_ARRAY),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

fn add_history<'a>(client: &'a Client, sql: &'a str, history: &'a [Change]) -> Call<'a> {
    Box::pin(async move {
        let names: Vec<&str> = list(history, |c| c.name.as_str());
        let terms: Vec<i64> = list(history, |c| c.term.as_column());
        let causes: Vec<&str> = list(history, |c| c.cause.as_str());
        let nodes: Vec<&str> = list(history, |c| c.node.name.as_str());
        let incarnations: Vec<String> = list(history, |c| c.node.incarnation.to_string());
        let machines: Vec<String> = list(history, |c| plain(&c.node.machine));
        let pids: Vec<i64> = list(history, |c| i64::from(c.node.pid));
        let at: Vec<SystemTime> = list(history, |c| moment(c.at));
        let params: Params<'_> = &[
            (&names, Type::TEXT_ARRAY),
            (&terms, Type::INT8_ARRAY),
            (&causes, Type::TEXT_ARRAY),
            (&nodes, Type::TEXT_ARRAY),
            (&incarnations, Type::TEXT_ARRAY),
            (&machines, Type::TEXT_ARRAY),
            (&pids, Type::INT8_ARRAY),
            (&at, Type::TIMESTAMPTZ_ARRAY),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

/// One column of many rows.
fn list<'a, R, T>(rows: &'a [R], column: impl FnMut(&'a R) -> T) -> Vec<T> {
    rows.iter().map(column).collect()
}

fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A text that anyone may have made, without NUL, which the server refuses.
fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

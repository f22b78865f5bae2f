//! What is sent to the server on one connection, and how several requests go out at once.

use std::pin::Pin;
use std::task::Poll;

use tenure_core::lease::{Change, LeaseRecord};
use tenure_sql::trust_millis;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use crate::rows::moment;

/// Values to bind, each with its type: so a statement needs no round trip of its own to be prepared.
pub(crate) type Params<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// What an operator did.
pub(crate) struct Audit<'a> {
    pub(crate) actor: &'a str,
    pub(crate) action: &'static str,
    pub(crate) subject: &'a str,
    pub(crate) detail: String,
}

/// A request that is sent when it is first polled.
pub(crate) type Call<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send + 'a>>;

/// Sends several requests before it waits for the first answer, and then for all of them; the first error counts.
///
/// The driver sends a request when its future is first polled, so the order of polling is the order of sending.
pub(crate) async fn pipeline(mut calls: Vec<Call<'_>>) -> Result<Vec<Vec<Row>>, Error> {
    let mut answers: Vec<Option<Result<Vec<Row>, Error>>> = calls.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (call, answer) in calls.iter_mut().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
            if let Poll::Ready(outcome) = call.as_mut().poll(context) {
                *answer = Some(outcome);
            }
        }
        if answers.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}

pub(crate) fn batch<'a>(client: &'a Client, sql: &'a str) -> Call<'a> {
    Box::pin(async move { client.batch_execute(sql).await.map(|()| Vec::new()) })
}

pub(crate) fn query<'a>(client: &'a Client, sql: &'a str, params: Params<'a>) -> Call<'a> {
    Box::pin(client.query_typed(sql, params))
}

pub(crate) fn write_lease<'a>(client: &'a Client, sql: &'a str, record: &'a LeaseRecord) -> Call<'a> {
    Box::pin(async move {
        let node = &record.node;
        let params: Params<'_> = &[
            (&record.name.as_str(), Type::TEXT),
            (&record.term.as_column(), Type::INT8),
            (&node.name.as_str(), Type::TEXT),
            (&node.incarnation.to_string(), Type::TEXT),
            (&record.claim.to_string(), Type::TEXT),
            (&i64::try_from(record.renewals).unwrap_or(i64::MAX), Type::INT8),
            (&node.machine, Type::TEXT),
            (&i64::from(node.pid), Type::INT8),
            (&record.kind, Type::TEXT),
            (&record.backend, Type::TEXT),
            (&moment(record.acquired_at), Type::TIMESTAMPTZ),
            (&moment(record.renewed_at), Type::TIMESTAMPTZ),
            (&moment(record.expires_at), Type::TIMESTAMPTZ),
            (&record.released_at.map(moment), Type::TIMESTAMPTZ),
            (&record.revoked_at.map(moment), Type::TIMESTAMPTZ),
            (&record.presence.as_ref().map(|presence| presence.session.to_string()), Type::TEXT),
            (&record.presence.as_ref().map(|presence| trust_millis(presence.trust)), Type::INT4),
            (&record.origin.as_ref().and_then(|origin| origin.epoch.as_deref()), Type::TEXT),
            (&record.origin.as_ref().map(|origin| origin.term.as_column()), Type::INT8),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

pub(crate) fn add_history<'a>(client: &'a Client, sql: &'a str, change: &'a Change) -> Call<'a> {
    Box::pin(async move {
        let node = &change.node;
        let params: Params<'_> = &[
            (&change.name.as_str(), Type::TEXT),
            (&change.term.as_column(), Type::INT8),
            (&change.cause.as_str(), Type::TEXT),
            (&node.name.as_str(), Type::TEXT),
            (&node.incarnation.to_string(), Type::TEXT),
            (&node.machine, Type::TEXT),
            (&i64::from(node.pid), Type::INT8),
            (&moment(change.at), Type::TIMESTAMPTZ),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

pub(crate) fn add_audit<'a>(client: &'a Client, sql: &'a str, audit: &'a Audit<'a>) -> Call<'a> {
    Box::pin(async move {
        let params: Params<'_> = &[
            (&audit.actor, Type::TEXT),
            (&audit.action, Type::TEXT),
            (&audit.subject, Type::TEXT),
            (&audit.detail, Type::TEXT),
        ];
        client.execute_typed(sql, params).await.map(|_| Vec::new())
    })
}

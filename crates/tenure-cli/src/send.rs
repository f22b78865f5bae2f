//! `tenure send`: one message, in a transaction of its own.

use std::io::Read;
use std::process::ExitCode;

use serde_json::json;
use tenure::NewMessage;
use tenure::core::contract::EnqueueError;
use tenure::core::outbox::{Body, Limits};

use crate::args::{Global, SendArgs};
use crate::output::{self, Failure};
use crate::store;

pub(crate) async fn send(global: &Global, args: &SendArgs) -> Result<ExitCode, Failure> {
    let url = store::database_url(global)?;
    store::refuse_memory(url)?;
    let limits = Limits { payload: args.payload_limit };
    let message = message(args, &limits)?;
    // What is wrong with it is said before a database is made for it.
    message.check(&limits).map_err(|error| Failure::Usage(error.to_string()))?;
    let database = store::open_to_work(global, url, !args.no_migrate).await?;
    let enqueued = database.outbox().enqueue(std::slice::from_ref(&message), &limits).await?;
    let Some(enqueued) = enqueued.first() else {
        return Err(Failure::Failed("the store did not answer for the message".into()));
    };
    if global.json {
        output::json(&json!({
            "id": enqueued.id, "fresh": enqueued.fresh, "topic": args.topic, "type": args.kind, "source": args.source,
        }))?;
    } else if enqueued.fresh {
        output::line(enqueued.id);
    } else {
        output::line(format_args!("{} (it was there already)", enqueued.id));
    }
    Ok(ExitCode::SUCCESS)
}

fn message(args: &SendArgs, limits: &Limits) -> Result<NewMessage, Failure> {
    let body = if args.payload == "-" { from_stdin(limits)? } else { Body::Text(args.payload.clone()) };
    let mut message = NewMessage::new(&args.topic, &args.kind, body);
    message.content_type = args.content_type.clone();
    message.id = args.id;
    message.source = args.source.clone();
    message.headers = args.headers.iter().cloned().collect();
    message.delay = args.delay.unwrap_or_default();
    Ok(message)
}

/// Text if it can be, else bytes. One byte above the limit is enough to refuse it.
fn from_stdin(limits: &Limits) -> Result<Body, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take((limits.payload as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Body::Text(text),
        Ok(text) => Body::Bytes(text.into_bytes()),
        Err(error) => Body::Bytes(error.into_bytes()),
    })
}

impl From<EnqueueError> for Failure {
    fn from(error: EnqueueError) -> Self {
        match error {
            EnqueueError::Store(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

//! Delivery to a stream of NATS JetStream, as CloudEvents in binary mode.
//!
//! ```text
//!   Message ──▶ event, subject ──▶ connect (one connection, TLS) ──▶ the server, which keeps it in a stream
//!   Verdict ◀── answer  ◀──────────── publish acknowledgement ─────────────┘
//! ```

mod answer;
mod connect;
mod event;
mod subject;
mod target;

use std::collections::HashMap;
use std::fmt;

use async_trait::async_trait;
use futures_util::future::join_all;
use tenure_core::contract::Sink;
use tenure_core::outbox::{Message, Verdict};
use tokio::time::Instant;

use self::connect::Connector;
use self::target::{Login, Target};
use super::shown::Shown;
use super::{EventSource, NatsOptions, SinkError};

/// How many messages are taken at once. Those without a source, and those of different ones, go without waiting for one
/// another.
const BATCH: usize = 256;

/// Publishes each message to a stream of NATS JetStream, as a CloudEvent in binary mode: attributes as `ce-…` headers, the
/// payload as it is.
///
/// The URL is `nats://[user:password@|token@]host[:4222]/SUBJECT[?tls=on|first]`. In the subject, `{topic}` stands for the
/// message's topic: every byte of it but `A`–`Z`, `a`–`z`, `0`–`9`, `_` and `-` is written as `%` and two hexadecimal
/// digits, so that a topic is always a piece of one token, and never a wildcard. The stream is the operator's: none is made.
///
/// # What is published
///
/// The attributes that [`EventSource`] lists, their values percent-encoded as in HTTP; `content-type`; the trace context
/// also as plain `traceparent` and `tracestate`; and `Nats-Msg-Id`, the message's id: what comes a second time within the
/// stream's window of duplicates (2 minutes by default) is acknowledged and not stored. A row whose content type is no
/// header value, or begins with `application/cloudevents`, is poison.
///
/// Messages of one source are published one after another, each when the one before it is acknowledged.
///
/// # What the answer means
///
/// | answer | verdict |
/// |---|---|
/// | an acknowledgement, also of a duplicate | accepted |
/// | larger than the server or the stream takes, headers and all | rejected: the message is dead at once |
/// | no stream takes the subject, or JetStream is off | transient, with what to do |
/// | the stream is full, or has no leader; anything else; none in time | transient |
///
/// A connection that breaks is made again; what was under way on it has failed for this time.
pub struct Nats {
    target: Target,
    source: EventSource,
    options: NatsOptions,
    connector: Connector,
    shown: Shown,
}

impl Nats {
    /// A sink that publishes as `url` says. Connects when the first message is delivered.
    pub fn new(url: &str, source: EventSource, options: NatsOptions) -> Result<Self, SinkError> {
        options.validate()?;
        let target = Target::parse(url)?;
        let connector = Connector::new(&target, &options)?;
        let login = match &target.login {
            Login::Nobody => [None, None],
            Login::Token(token) => [Some(token), None],
            Login::User { name, password } => [Some(name), Some(password)],
        };
        let shown = Shown::without(login.into_iter().flatten().chain(&options.token));
        Ok(Self { target, source, options, connector, shown })
    }

    fn failed(&self, what: impl fmt::Display) -> Verdict {
        let reason = format!("{}: {what}", self.target.name);
        Verdict::transient(self.shown.plain(reason.as_bytes()))
    }

    async fn publish(&self, message: &Message) -> Verdict {
        let event = match event::build(&self.source, message) {
            Ok(event) => event,
            Err(reason) => return Verdict::Poison { reason },
        };
        let link = match self.connector.link().await {
            Ok(link) => link,
            Err(reason) => return self.failed(reason),
        };
        let mut life = link.life.clone();
        let (began, breaks) = (std::time::Instant::now(), life.borrow().breaks);
        let subject = self.target.subject.of(&message.topic);
        let answer = async {
            let sent = link.jetstream.send_publish(subject.clone(), event).await?;
            sent.await
        };
        let answer = tokio::select! {
            answer = answer => answer,
            // What was sent on a connection that broke is not answered on another. Not to wait for it loses nothing: it is
            // published again, and stored once.
            _ = life.wait_for(|life| life.breaks != breaks) => {
                return self.failed("the connection broke before the acknowledgement came");
            }
        };
        let error = match answer {
            Ok(_) => return Verdict::Accepted,
            Err(error) => error,
        };
        if answer::is_end_of_client(&error) {
            self.connector.forget(&link).await;
        }
        let life = life.borrow();
        let complaint = life.complaint.as_ref().filter(|(at, _)| *at >= began).map(|(_, text)| text.as_str());
        match answer::judge(&error, &subject, self.options.timeout, complaint) {
            Verdict::Transient { reason, .. } => self.failed(reason),
            Verdict::Rejected { reason } => Verdict::Rejected { reason: self.shown.plain(reason.as_bytes()) },
            other => other,
        }
    }

    /// Publishes messages one after another, until one is not accepted; the rest of them are left.
    async fn publish_in_order(&self, messages: Vec<(usize, &Message)>) -> Vec<(usize, Verdict)> {
        let began = Instant::now();
        let mut verdicts = Vec::with_capacity(messages.len());
        let mut stopped = false;
        for (at, message) in messages {
            // A slow server must not make a batch so long that all of it counts as failed.
            let verdict = match stopped || began.elapsed() > self.options.timeout {
                true => Verdict::Withheld,
                false => self.publish(message).await,
            };
            stopped |= verdict != Verdict::Accepted;
            verdicts.push((at, verdict));
        }
        verdicts
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats")
            .field("name", &self.target.name)
            .field("source", &self.source)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Sink for Nats {
    fn name(&self) -> &str {
        &self.target.name
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        self.publish(message).await
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    async fn deliver_batch(&self, messages: &[Message]) -> Vec<Verdict> {
        let mut lanes: Vec<Vec<(usize, &Message)>> = Vec::new();
        let mut lane_of: HashMap<&str, usize> = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            let lane = match message.source.as_deref() {
                Some(source) => *lane_of.entry(source).or_insert(lanes.len()),
                None => lanes.len(),
            };
            match lanes.get_mut(lane) {
                Some(lane) => lane.push((at, message)),
                None => lanes.push(vec![(at, message)]),
            }
        }
        let mut verdicts = vec![Verdict::Withheld; messages.len()];
        let landed = join_all(lanes.into_iter().map(|lane| self.publish_in_order(lane))).await;
        for (at, verdict) in landed.into_iter().flatten() {
            verdicts[at] = verdict;
        }
        verdicts
    }
}

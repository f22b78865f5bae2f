//! Delivery as lines: one CloudEvent in its JSON format on each.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::de::IgnoredAny;
use tenure_core::contract::Sink;
use tenure_core::outbox::cloudevents::{attributes, is_json_type};
use tenure_core::outbox::{Body, Message, Verdict};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

use super::EventSource;

/// How many messages are written before a flush.
const BATCH: usize = 256;
/// Lines are handed on when so much has gathered: a batch of large payloads is never in memory a second time as a whole.
const GATHER_BYTES: usize = 256 * 1024;

/// Writes messages to standard output, by a thread that may wait for whoever reads it.
pub type Stdout = Lines<tokio::io::Stdout>;

/// Writes each message as a line: a JSON object as the JSON format of CloudEvents has it (structured mode), with the
/// attributes that [`EventSource`] lists.
///
/// A payload of text is `data`: as it stands when its content type says JSON and it is, as a string otherwise. Bytes are
/// `data_base64`. A message counts as accepted once it was flushed. After a failure the next line begins with an empty one,
/// in case that a part of the failed one is there.
pub struct Lines<W> {
    name: &'static str,
    source: EventSource,
    output: Mutex<Output<W>>,
    /// Whoever read it is gone.
    closed: AtomicBool,
}

struct Output<W> {
    writer: W,
    /// A line may be there in part, since writing failed or was given up; the next one must not be glued to it.
    torn: bool,
}

impl Stdout {
    /// Writes to this process's standard output.
    pub fn new(source: EventSource) -> Self {
        Self::named("stdout", tokio::io::stdout(), source)
    }
}

impl<W> Lines<W> {
    /// Writes to anything.
    pub fn to(writer: W, source: EventSource) -> Self {
        Self::named("lines", writer, source)
    }

    fn named(name: &'static str, writer: W, source: EventSource) -> Self {
        Self {
            name,
            source,
            output: Mutex::new(Output { writer, torn: false }),
            closed: AtomicBool::new(false),
        }
    }
}

impl<W> fmt::Debug for Lines<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("name", &self.name)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<W: AsyncWrite + Unpin + Send> Sink for Lines<W> {
    fn name(&self) -> &str {
        self.name
    }

    async fn deliver(&self, message: &Message) -> Verdict {
        match self.write(std::slice::from_ref(message)).await {
            Ok(()) => Verdict::Accepted,
            Err(error) => self.failed(&error),
        }
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    fn gone(&self) -> Option<String> {
        let closed = self.closed.load(Ordering::Relaxed);
        closed.then(|| format!("{} is a closed pipe: whoever read it is gone", self.name))
    }

    async fn deliver_batch(&self, messages: &[Message]) -> Vec<Verdict> {
        let Err(error) = self.write(messages).await else {
            return vec![Verdict::Accepted; messages.len()];
        };
        // How much of it was read nobody knows. The first of each source is to be tried again, the others after it.
        let mut tried = HashSet::new();
        let verdict = |message: &Message| match &message.source {
            Some(source) if !tried.insert(source.clone()) => Verdict::Withheld,
            _ => self.failed(&error),
        };
        messages.iter().map(verdict).collect()
    }
}

impl<W: AsyncWrite + Unpin> Lines<W> {
    async fn write(&self, messages: &[Message]) -> io::Result<()> {
        let mut output = self.output.lock().await;
        let Output { writer, torn } = &mut *output;
        let mut gathered = Vec::new();
        if std::mem::replace(torn, true) {
            gathered.push(b'\n');
        }
        for message in messages {
            append(&mut gathered, &self.source, message)?;
            if gathered.len() >= GATHER_BYTES {
                writer.write_all(&gathered).await?;
                gathered.clear();
            }
        }
        writer.write_all(&gathered).await?;
        writer.flush().await?;
        *torn = false;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Verdict {
        if error.kind() == io::ErrorKind::BrokenPipe {
            self.closed.store(true, Ordering::Relaxed);
            return Verdict::Withheld;
        }
        Verdict::transient(format!("{} cannot be written: {error}", self.name))
    }
}

/// Appends one line.
fn append(line: &mut Vec<u8>, source: &EventSource, message: &Message) -> io::Result<()> {
    line.push(b'{');
    let mut written = Ok(());
    attributes(source, message, |name, value| {
        if written.is_ok() {
            written = match name {
                // The one that is an integer as CloudEvents has them, of 32 bits; a term has 64, so it is text.
                "tenureattempt" => member(line, name, &message.attempt),
                _ => member(line, name, value.as_ref()),
            };
        }
    });
    written?;
    member(line, "datacontenttype", message.content_type())?;
    match &message.body {
        Body::Text(text) if is_json_type(message.content_type()) && is_json_text(text) => {
            // As it stands: another writer would lose large numbers and the order of keys. A line's end between its
            // tokens means nothing, and inside of its strings JSON has none.
            line.extend_from_slice(b"\"data\":");
            line.extend(text.bytes().map(|b| if b == b'\n' || b == b'\r' { b' ' } else { b }));
            line.push(b',');
        }
        Body::Text(text) => member(line, "data", text)?,
        Body::Bytes(bytes) => member(line, "data_base64", &STANDARD.encode(bytes))?,
    }
    // The last member's comma.
    line.pop();
    line.extend_from_slice(b"}\n");
    Ok(())
}

fn member(line: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    serde_json::to_writer(&mut *line, name)?;
    line.push(b':');
    serde_json::to_writer(&mut *line, value)?;
    line.push(b',');
    Ok(())
}

fn is_json_text(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

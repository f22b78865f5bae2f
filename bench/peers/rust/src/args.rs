//! What the comparison asks for. The drivers in Node take the same words.

use std::time::Duration;

use crate::Result;

/// One step of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Create the contestant's tables.
    Setup,
    /// Enqueue the backlog in bulk.
    Fill,
    /// Work it off.
    Drain,
    /// A business row and a job in one transaction, on many connections.
    Enqueue,
    /// From the commit to the start of the handler.
    Latency,
    /// One event, and one message if there is an outbox, by many writers.
    Append,
}

/// How the contestant is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settings {
    /// As its documentation and source say it is fastest at the step.
    Best,
    /// As it comes.
    Defaults,
}

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) peer: String,
    pub(crate) step: Step,
    pub(crate) url: String,
    pub(crate) settings: Settings,
    pub(crate) jobs: u64,
    /// Whether the database is there for appending: then the contestant is an event store.
    pub(crate) events: bool,
    /// How long enqueueing, appending or the latency's load lasts.
    pub(crate) lasts: Duration,
    /// After this a drain ends, however much is left.
    pub(crate) limit: Duration,
    pub(crate) connections: u32,
    pub(crate) per_second: u32,
    /// The table, with a condition, that has a row for each job that is not finished.
    pub(crate) left: String,
}

impl Args {
    /// Reads `PEER STEP name=value…`.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let peer = words.next().ok_or("which contestant?")?;
        let step = match words.next().as_deref() {
            Some("setup") => Step::Setup,
            Some("fill") => Step::Fill,
            Some("drain") => Step::Drain,
            Some("enqueue") => Step::Enqueue,
            Some("latency") => Step::Latency,
            Some("append") => Step::Append,
            other => return Err(format!("there is no step called {other:?}").into()),
        };
        let mut args = Self {
            peer,
            step,
            url: String::new(),
            settings: Settings::Best,
            jobs: 2_000,
            events: step == Step::Append,
            lasts: Duration::from_secs(2),
            limit: Duration::from_secs(60),
            connections: 8,
            per_second: 200,
            left: String::new(),
        };
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("{word} is not name=value"))?;
            match name {
                "url" => args.url = value.into(),
                "settings" if value == "best" => args.settings = Settings::Best,
                "settings" if value == "defaults" => args.settings = Settings::Defaults,
                "jobs" => args.jobs = value.parse()?,
                "seconds" => args.lasts = Duration::from_secs_f64(value.parse()?),
                "limit" => args.limit = Duration::from_secs_f64(value.parse()?),
                "connections" => args.connections = value.parse()?,
                "rate" => args.per_second = value.parse()?,
                "left" => args.left = value.into(),
                // What the database is set up for: only appending makes a difference to these.
                "for" => args.events = value == "append",
                _ => return Err(format!("there is no {word}").into()),
            }
        }
        Ok(args)
    }

    pub(crate) fn best(&self) -> bool {
        self.settings == Settings::Best
    }
}

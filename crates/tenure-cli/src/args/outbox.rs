//! The commands of the outbox, as clap reads them.

use std::time::Duration;

use clap::builder::{BoolishValueParser, NonEmptyStringValueParser};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use tenure::core::moment;
use tenure::core::outbox::{CauseId, MessageId, Part, State};
use tenure::core::time::StoreTime;

use super::{AccessArgs, HealthArgs, OtlpArgs, duration};

/// Enqueue one message in a transaction of its own
///
/// For scripts and for trying things out. A service enqueues in the transaction of the data that its messages speak of:
/// by the library, or by a plain INSERT into tenure_outbox.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tenure send --db sqlite:app.db --topic orders --type OrderPlaced '{\"order\":7}'\n  \
    tenure send --db sqlite:app.db --topic orders --source order-7 --in 5s - < message.json")]
pub(crate) struct SendArgs {
    /// Where it goes: a word of the receiver's
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: String,
    /// What orders it: messages of one source are delivered one after another
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// What it is
    #[arg(long = "type", value_name = "TYPE", default_value = "message")]
    pub(crate) kind: String,
    /// The id by which the receiver knows it again; sending the same message twice under one id sends it once
    #[arg(long, value_name = "UUID")]
    pub(crate) id: Option<MessageId>,
    /// How long to hold it back
    #[arg(long = "in", value_name = "DURATION", value_parser = duration)]
    pub(crate) delay: Option<Duration>,
    /// A header for the receiver; may be given several times
    #[arg(long = "header", value_name = "KEY=VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// What the payload is written in; by default what it looks like
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The largest payload, in bytes
    #[arg(long, env = "TENURE_PAYLOAD_LIMIT", value_name = "BYTES", default_value = "1048576", value_parser = payload_limit)]
    pub(crate) payload_limit: usize,
    /// Do not create or upgrade Tenure's tables; fail when they are missing
    #[arg(long, env = "TENURE_NO_MIGRATE", value_parser = BoolishValueParser::new())]
    pub(crate) no_migrate: bool,
    /// The payload, or - to read it from standard input
    #[arg(value_name = "PAYLOAD")]
    pub(crate) payload: String,
}

/// Deliver what was committed to the outbox, in order per source, with retries
///
/// Run it on as many machines as you like: with --coordination exclusive, which is the default, one of them works and
/// the others stand by, reading nothing. Messages go by HTTP as CloudEvents in binary mode, or to standard output as
/// lines of JSON. The receiver answers 2xx when it has a message; 408, 425, 429 and 5xx are tried again, any other 4xx
/// makes the message dead. A bearer token is taken from TENURE_HTTP_TOKEN, a secret to sign with from
/// TENURE_HTTP_SECRET.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tenure relay --db postgres://app@db.internal/app --to https://receiver.internal/events\n  \
    tenure relay --db postgres://app@db.internal/app --to https://receiver.internal/events --coordination partitioned:8\n  \
    tenure relay --db postgres://app@db.internal/app --to https://receiver.internal/events --lease etcd://etcd.internal:2379\n  \
    tenure relay --db postgres://app@db.internal/app --to https://receiver.internal/events --listen 127.0.0.1:7070\n  \
    tenure relay --db sqlite:app.db --to stdout: --until-empty")]
pub(crate) struct RelayArgs {
    /// Where messages go: http://…, https://…, kafka://BROKERS/TOPIC, nats://HOST/SUBJECT or stdout:
    #[arg(long, env = "TENURE_TO", value_name = "SINK", hide_env_values = true)]
    pub(crate) to: String,
    /// single: no lease, only one relay may run; exclusive: one of many works; partitioned:N: many work, each on some of N
    /// parts, and the order of each source is kept
    #[arg(long, env = "TENURE_COORDINATION", value_name = "HOW", default_value = "exclusive", value_parser = coordination)]
    pub(crate) coordination: Coordination,
    /// What this node is called in lists and logs; the machine's name by default, with partitioned:N and a number behind it
    /// where that is taken, for there no two may have one name
    #[arg(long, env = "TENURE_NODE", value_name = "NODE")]
    pub(crate) name: Option<String>,
    /// Where the relay's lease comes from, or with partitioned:N the right to lead, if not from the database: etcd://HOSTS,
    /// kubernetes://NAMESPACE, kafka://BROKERS/TOPIC or another database. Its terms are recorded in the database, which goes
    /// on refusing whoever was deposed; give all relays of one outbox the same
    #[arg(long, env = "TENURE_LEASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) lease: Option<String>,
    /// The name of the relay's lease: the same for all relays of one outbox, or several work at once; parts wait while it is held
    #[arg(long, env = "TENURE_RELAY_LEASE", value_name = "NAME", default_value = "outbox")]
    pub(crate) lease_name: String,
    /// How long the relay's lease lasts without renewal
    #[arg(long, env = "TENURE_TTL", value_name = "DURATION", default_value = "6s", value_parser = duration)]
    pub(crate) ttl: Duration,
    /// How many deliveries are under way at once; never two of one source
    #[arg(long, env = "TENURE_CONCURRENCY", value_name = "N", default_value_t = 64)]
    pub(crate) concurrency: usize,
    /// How many rows are held in memory
    #[arg(long, env = "TENURE_READ_AHEAD", value_name = "N", default_value_t = 8192)]
    pub(crate) read_ahead: usize,
    /// How long one delivery may take
    #[arg(long, env = "TENURE_DEADLINE", value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) deadline: Duration,
    /// How many attempts a message has before it is dead; with the defaults it is tried for over an hour, 2.6 h at most
    #[arg(long, env = "TENURE_MAX_ATTEMPTS", value_name = "N", default_value_t = 25)]
    pub(crate) max_attempts: u32,
    /// The longest pause after the first attempt; it doubles with each further one
    #[arg(long, env = "TENURE_RETRY_FIRST", value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub(crate) retry_first: Duration,
    /// The longest pause at all, also when the receiver asks for more
    #[arg(long, env = "TENURE_RETRY_CAP", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub(crate) retry_cap: Duration,
    /// What becomes of a source whose message is dead: skip goes on, halt waits for an operator
    #[arg(long, env = "TENURE_ON_DEAD", value_name = "HOW", default_value = "skip")]
    pub(crate) on_dead: OnDeadArg,
    /// The largest payload, in bytes; a larger one is dead
    #[arg(long, env = "TENURE_PAYLOAD_LIMIT", value_name = "BYTES", default_value = "1048576", value_parser = payload_limit)]
    pub(crate) payload_limit: usize,
    /// How long the relay sleeps at most where the database can wake it
    #[arg(long, env = "TENURE_POLL", value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) poll: Duration,
    /// Do not ask the database to wake the relay; poll only
    #[arg(long, env = "TENURE_NO_WAKEUP", value_parser = BoolishValueParser::new())]
    pub(crate) no_wakeup: bool,
    /// How long what is under way may take to end when the relay is stopped
    #[arg(long, env = "TENURE_DRAIN", value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub(crate) drain: Duration,
    /// How long dispatched and discarded messages are kept
    #[arg(long, env = "TENURE_KEEP", value_name = "DURATION", default_value = "30days", value_parser = duration)]
    pub(crate) keep: Duration,
    /// How long inboxes in this database remember; longer than a message may be tried
    #[arg(long, env = "TENURE_KEEP_INBOX", value_name = "DURATION", default_value = "30days", value_parser = duration)]
    pub(crate) keep_inbox: Duration,
    /// How long the history of leases is kept; that of a lease's last term always is
    #[arg(long, env = "TENURE_KEEP_HISTORY", value_name = "DURATION", default_value = "90days", value_parser = duration)]
    pub(crate) keep_history: Duration,
    /// How long dead messages are kept; for ever by default
    #[arg(long, env = "TENURE_KEEP_DEAD", value_name = "DURATION", value_parser = duration)]
    pub(crate) keep_dead: Option<Duration>,
    /// Serve the dashboard, /health/live, /health/ready and /metrics here, as `tenure dashboard` does
    #[arg(long, env = "TENURE_LISTEN", value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) health: HealthArgs,
    #[command(flatten)]
    pub(crate) telemetry: OtlpArgs,
    /// Do not write down, for others to see, what the loops of this process do
    #[arg(long, env = "TENURE_NO_REPORT", value_parser = BoolishValueParser::new())]
    pub(crate) no_report: bool,
    /// Stop when nothing is left that could be delivered now or is to be tried again; with 1 if messages died meanwhile
    #[arg(long)]
    pub(crate) until_empty: bool,
    /// Do not create or upgrade Tenure's tables; fail when they are missing
    #[arg(long, env = "TENURE_NO_MIGRATE", value_parser = BoolishValueParser::new())]
    pub(crate) no_migrate: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coordination {
    Single,
    Exclusive,
    Partitioned(u32),
}

fn coordination(text: &str) -> Result<Coordination, String> {
    match text {
        "single" => Ok(Coordination::Single),
        "exclusive" => Ok(Coordination::Exclusive),
        _ => {
            let wrong = "it is one of single, exclusive and partitioned:N, for example partitioned:8";
            let count = text.strip_prefix("partitioned:").ok_or(wrong)?;
            let count =
                count.parse::<u32>().map_err(|error| format!("partitioned:{count}: {error}; {wrong}"))?;
            Part::new(0, count).map_err(|error| error.to_string())?;
            Ok(Coordination::Partitioned(count))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDeadArg {
    /// Its source goes on with the next message
    Skip,
    /// Its source stands still until an operator retries or discards it
    Halt,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List messages, the newest first
    #[command(after_help = "Examples:\n  \
        tenure outbox list --state dead --db sqlite:app.db\n  \
        tenure outbox list --from -2h --until -1h --db sqlite:app.db")]
    List {
        #[command(flatten)]
        filter: FilterArgs,
        /// Only messages of this state: pending, dispatched, dead or discarded
        #[arg(long, value_name = "STATE")]
        state: Option<State>,
        /// At most this many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
        /// Only rows with a lower number: the last ROW of the page before
        #[arg(long, value_name = "ROW")]
        before: Option<i64>,
    },
    /// Show all about one message: payload, headers, and every attempt
    #[command(
        after_help = "Example:\n  tenure outbox show 470831a4-832f-5e77-b6eb-b9d970179689 --db sqlite:app.db"
    )]
    Show {
        /// The message's id
        #[arg(value_name = "ID", required_unless_present = "flag_id")]
        message: Option<String>,
        /// The message's id
        #[arg(long = "id", id = "flag_id", value_name = "ID", conflicts_with = "message")]
        flag_id: Option<String>,
        /// Show the payload whole, however large it is
        #[arg(long)]
        full: bool,
    },
    /// Make dead messages pending again, with a full budget of attempts
    #[command(after_help = "Examples:\n  \
        tenure outbox retry --id 470831a4-832f-5e77-b6eb-b9d970179689 --db sqlite:app.db\n  \
        tenure outbox retry --topic orders --dry-run --db sqlite:app.db\n  \
        tenure outbox retry --from -2h --cause 00a1b2c3d4e5f607 --db sqlite:app.db")]
    Retry(ChangeArgs),
    /// Decide that dead messages are not sent; a source that halted behind one goes on
    #[command(after_help = "Example:\n  tenure outbox discard --topic orders --by ada --db sqlite:app.db")]
    Discard(ChangeArgs),
    /// Show the outbox in numbers
    #[command(after_help = "Example:\n  tenure outbox stats --json --db sqlite:app.db")]
    Stats,
}

/// Which messages are meant. Every option that is given must fit.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilterArgs {
    /// Only messages of this topic
    #[arg(long, value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
    /// Only messages of this source
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Only messages of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only the message with this id; a row that another program inserted may have one that is no UUID
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only messages enqueued at this moment or later: 2026-11-15T09:30:00Z, or a span back from now such as -2h
    ///
    /// A span is counted by this machine's clock. A list goes by the numbers of messages, which rise as time does: where another
    /// program has set created_at by hand, list without a time.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true, value_parser = When::read)]
    pub(crate) from: Option<When>,
    /// Only messages enqueued before this moment
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true, value_parser = When::read)]
    pub(crate) until: Option<When>,
    /// Only dead messages of this cause: 16 hexadecimal digits, as the dashboard shows them
    #[arg(long, value_name = "CAUSE")]
    pub(crate) cause: Option<CauseId>,
}

/// A moment, or a span back from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    At(StoreTime),
    Ago(Duration),
}

impl When {
    fn read(text: &str) -> Result<Self, String> {
        // A span is the same whatever the time is; the latest that can be told leaves room for the longest.
        let late = StoreTime::from_micros(i64::MAX);
        let read = moment::read(text, late).ok_or_else(|| format!("it is {}", moment::LOOKS))?;
        Ok(if text.starts_with('-') { Self::Ago(read.until(late)) } else { Self::At(read) })
    }

    /// The moment, at this time.
    pub(crate) fn on(self, now: StoreTime) -> StoreTime {
        match self {
            Self::At(at) => at,
            Self::Ago(span) => {
                let span = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
                StoreTime::from_micros(now.as_micros().saturating_sub(span))
            }
        }
    }
}

/// A change of dead messages.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(["topic", "source", "kind", "id", "from", "until", "cause", "all"]))]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// All dead messages
    #[arg(long)]
    pub(crate) all: bool,
    /// Only dead messages can be changed: accepted so that a filter of `list` can be used as it is
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<State>,
    /// Only say how many it would be
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only rows with a higher number: go on where the change before has ended, as it tells when there may be more
    #[arg(long, value_name = "ROW")]
    pub(crate) after: Option<i64>,
    /// Change at most this many
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,
    /// Who asks, for the audit; the user's name by default
    #[arg(long, env = "TENURE_ACTOR", value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) by: Option<String>,
}

/// Show whether all is well: leases, the relay in office, lag, dead messages
///
/// Leaves with 1 when something is unhealthy.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure status --db postgres://app@db.internal/app || page-someone")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) health: HealthArgs,
}

/// As the library bounds it.
fn payload_limit(text: &str) -> Result<usize, String> {
    let limit = text.parse::<usize>().map_err(|error| error.to_string())?;
    match limit {
        1..=536_870_912 => Ok(limit),
        _ => Err("it is between 1 and 536870912".into()),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

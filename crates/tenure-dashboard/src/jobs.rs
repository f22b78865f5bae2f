//! Bulk changes under way: a loop of bounded calls at a bounded rate, which can be stopped between any two of them.
//!
//! ```text
//!   dry run ─▶ started ─▶ running ── all done, or the limit ─▶ done
//!                            ├── stopped by someone, by the end of the process or of the operator's token ─▶ stopped
//!                            └── the store answers with errors three times in a row ─▶ failed
//! ```
//!
//! Each call is a transaction of the store's with its own lines of audit, so a job that ends half-way leaves nothing half done.
//! Two jobs over the same messages change each of them once. Beginning and end are lines of audit too.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tenure_core::error::StoreError;
use tenure_core::outbox::Filter;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::act::Change;
use crate::asked::{Allowed, Operate};
use crate::auth::moment;
use crate::dashboard::Desk;
use crate::mutation::Rule;
use crate::problem::Problem;

/// The most messages that one job changes.
pub(crate) const LIMIT_MAX: u32 = 1_000_000;
/// The highest rate, in messages a second.
pub(crate) const RATE_MAX: u64 = 1_000;
/// The rate where none is asked for.
pub(crate) const RATE: u64 = 50;
/// The most messages of one call.
const BATCH: u64 = 200;
/// How many jobs are kept, those that run among them.
const KEPT: usize = 100;
/// So many errors in a row end a job.
const ERRORS: u32 = 3;

/// What is to be done.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) change: Change,
    pub(crate) filter: Filter,
    pub(crate) limit: u64,
    /// In messages a second.
    pub(crate) rate: u64,
    /// Who wants it, as the audit table is to say it.
    pub(crate) by: String,
    /// What the operator is called.
    pub(crate) operator: String,
    /// When the right of whoever wants it ends.
    pub(crate) until: Option<SystemTime>,
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stand {
    Running,
    /// Nothing is left, or the limit is reached; in words.
    Done(String),
    /// By whom or what.
    Stopped(String),
    /// Why.
    Failed(String),
}

impl Stand {
    /// In a word.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done(_) => "done",
            Self::Stopped(_) => "stopped",
            Self::Failed(_) => "failed",
        }
    }

    /// Why, where there is something to say.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Running => "",
            Self::Done(why) | Self::Stopped(why) | Self::Failed(why) => why,
        }
    }
}

/// How far a job is.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    pub(crate) changed: u64,
    pub(crate) stand: Stand,
    pub(crate) ended: Option<SystemTime>,
}

/// A job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) order: Order,
    pub(crate) begun: SystemTime,
    progress: Mutex<Progress>,
    /// Who wants it to stop.
    stop: Mutex<Option<String>>,
    told: Notify,
}

impl Job {
    /// How far it is.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it runs.
    pub(crate) fn runs(&self) -> bool {
        self.progress().stand == Stand::Running
    }

    /// As programs see it.
    pub(crate) fn shape(&self) -> Value {
        let Progress { changed, stand, ended } = self.progress();
        json!({
            "action": word(self.order.change), "begun_at": moment::write(self.begun), "by": self.order.by,
            "changed": changed, "ended_at": ended.map(moment::write), "id": self.id, "limit": self.order.limit,
            "rate": self.order.rate, "state": stand.word(), "what": words(&self.order.filter), "why": stand.why(),
        })
    }

    fn stopped_by(&self) -> Option<String> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, changed: u64) -> u64 {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.changed += changed;
        progress.changed
    }

    fn end(&self, stand: Stand, at: SystemTime) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.stand = stand;
        progress.ended = Some(at);
    }
}

/// The bulk changes of this process, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    all: Mutex<VecDeque<Arc<Job>>>,
}

impl Jobs {
    /// Starts one, unless too many run.
    pub(crate) fn start(&self, desk: &Arc<Desk>, order: Order) -> Result<Arc<Job>, Problem> {
        let order = Order {
            limit: order.limit.clamp(1, LIMIT_MAX.into()),
            rate: order.rate.clamp(1, RATE_MAX),
            ..order
        };
        let progress = Progress { changed: 0, stand: Stand::Running, ended: None };
        let job = Arc::new(Job {
            id: new_id(),
            order,
            begun: desk.now(),
            progress: Mutex::new(progress),
            stop: Mutex::default(),
            told: Notify::new(),
        });
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let running = all.iter().filter(|job| job.runs()).count();
        if running >= desk.limits.jobs {
            return Err(Problem::Busy(format!(
                "{running} bulk changes run already; stop one, or wait for its end"
            )));
        }
        all.push_front(Arc::clone(&job));
        // The oldest that has ended goes; there are always more kept than run.
        if all.len() > KEPT
            && let Some(at) = all.iter().rposition(|job| !job.runs())
        {
            all.remove(at);
        }
        drop(all);
        tokio::spawn(run(Arc::clone(desk), Arc::clone(&job)));
        Ok(job)
    }

    /// All that are kept, the newest first.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// One of them.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.list().into_iter().find(|job| job.id == id)
    }

    /// Tells one to stop. It ends after the call that is under way. `None` when there is no such job, false when it has ended.
    fn stop(&self, id: &str, by: &str) -> Option<bool> {
        let job = self.get(id)?;
        *job.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(by.to_owned());
        job.told.notify_one();
        Some(job.runs())
    }
}

/// Tells a job to stop, for whoever may, and writes down who did. `None` when there is no such job in this process.
pub(crate) async fn stop(allowed: &Allowed<Operate>, id: &str) -> Option<Arc<Job>> {
    let desk = &allowed.desk;
    if desk.jobs.stop(id, allowed.name())? {
        note(desk, &allowed.actor(), "job.stop", id, "told to stop").await;
    }
    desk.jobs.get(id)
}

async fn run(desk: Arc<Desk>, job: Arc<Job>) {
    let Order { change, by, limit, rate, .. } = &job.order;
    let word = word(*change);
    let what = words(&job.order.filter);
    let detail = format!("{what}; at most {limit}, {rate} a second");
    note(&desk, by, &format!("job.{word}.begin"), &job.id, &detail).await;
    let stand = changes(&desk, &job).await;
    let changed = job.progress().changed;
    let detail = format!("{}: {changed} changed; {}", stand.word(), stand.why());
    job.end(stand, desk.now());
    note(&desk, by, &format!("job.{word}.end"), &job.id, &detail).await;
}

/// The loop.
async fn changes(desk: &Arc<Desk>, job: &Job) -> Stand {
    let Order { change, filter, limit, rate, by, operator, until } = &job.order;
    let batch = (*rate).min(BATCH);
    let mut stopping = desk.stopping.clone();
    let mut due = Instant::now();
    let mut errors = 0;
    let mut seen: HashSet<String> = HashSet::new();
    loop {
        if let Some(who) = job.stopped_by().filter(|_| !desk.off(Rule::JobStops)) {
            return Stand::Stopped(format!("stopped by {who}"));
        }
        if *stopping.borrow() {
            return Stand::Stopped("this process ends".into());
        }
        if until.is_some_and(|until| until <= desk.now()) && !desk.off(Rule::Expiry) {
            return Stand::Stopped("the token of whoever began it has ended".into());
        }
        if !desk.auth.still_lets_act(operator) && !desk.off(Rule::RevokedEndsSession) {
            return Stand::Stopped("whoever began it has no token any more that may act".into());
        }
        let left = limit - job.progress().changed;
        let number = u32::try_from(batch.min(left)).unwrap_or(1);
        // Nothing drops this call half-way: the job waits for it, whatever it is told meanwhile.
        let answer: Result<Vec<String>, StoreError> = match change {
            Change::Retry => desk.stores.outbox.retry(filter, by, number).await,
            Change::Discard => desk.stores.outbox.discard(filter, by, number).await,
        };
        let mut again = false;
        let changed = match answer {
            Ok(ids) => {
                errors = 0;
                let number = ids.len() as u64;
                // What dies again is dead again, and would be retried for ever.
                again = ids.into_iter().fold(false, |again, id| !seen.insert(id) | again);
                number
            }
            Err(error) => {
                errors += 1;
                if errors >= ERRORS || !error.is_transient() {
                    return Stand::Failed(error.to_string());
                }
                0
            }
        };
        let all = job.add(changed);
        if again {
            return Stand::Stopped(
                "messages that it has retried have died again: what they died of is not mended".into(),
            );
        }
        if all >= *limit {
            return Stand::Done("the limit is reached".into());
        }
        if changed == 0 && errors == 0 {
            return Stand::Done(match all {
                0 => "none is left: someone else has changed them, or there was none".into(),
                _ => "none is left".into(),
            });
        }
        let paid = if errors > 0 { batch } else { changed };
        due = due.max(Instant::now() - Duration::from_millis(500))
            + Duration::from_secs_f64(paid as f64 / *rate as f64);
        if desk.off(Rule::JobRate) {
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            () = job.told.notified() => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }
}

async fn note(desk: &Desk, by: &str, action: &str, subject: &str, detail: &str) {
    if let Err(error) = desk.stores.audit.note(by, action, subject, detail).await {
        tracing::warn!(%error, action, "a line about a bulk change is not in the audit table");
    }
}

/// What a job does, in a word.
pub(crate) const fn word(change: Change) -> &'static str {
    match change {
        Change::Retry => "retry",
        Change::Discard => "discard",
    }
}

/// What a job looks like to programs.
pub(crate) fn schema() -> Value {
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": ["retry", "discard"] }, "begun_at": text, "by": text, "changed": number,
            "ended_at": { "type": ["string", "null"] }, "id": text, "limit": number, "rate": number,
            "state": { "type": "string", "enum": ["running", "done", "stopped", "failed"] }, "what": text, "why": text,
        },
        "required": ["action", "begun_at", "by", "changed", "ended_at", "id", "limit", "rate", "state", "what", "why"],
    })
}

/// Which messages a filter stands for, in words.
pub(crate) fn words(filter: &Filter) -> String {
    let mut text = "dead messages".to_owned();
    let cause = filter.cause.map(|cause| cause.to_string());
    let from = filter.from.map(|at| at.to_string());
    let until = filter.until.map(|at| at.to_string());
    let parts = [
        ("of cause", &cause),
        ("to topic", &filter.topic),
        ("of source", &filter.source),
        ("of type", &filter.kind),
        ("with id", &filter.id),
        ("enqueued from", &from),
        ("enqueued before", &until),
    ];
    let mut any = false;
    for (what, value) in parts {
        if let Some(value) = value {
            let _ = write!(text, " {what} {value}");
            any = true;
        }
    }
    if any { text } else { format!("all {text}") }
}

fn new_id() -> String {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_be_bytes();
    }
    format!("{:016x}", u64::from_be_bytes(bytes))
}

//! Bulk changes under way: a loop of bounded calls at a bounded rate, which can be stopped between any two of them.
//!
//! ```text
//!   dry run ─▶ started ─▶ running ── the end of the dead, or the limit ─▶ done
//!                            ├── stopped by someone, by the end of the process or of the operator's token ─▶ stopped
//!                            ├── the store is away: asked again, ever more slowly, and the job goes on when it is back
//!                            └── it is away for five minutes, or refuses ─▶ failed
//! ```
//!
//! Each call is a transaction of the store's with its own lines of audit, so a job that ends half-way leaves nothing half done.
//! A job goes through the dead once, in the order of their numbers: what it retries and dies again is behind it, so it comes to its end
//! also when nothing is mended. A call whose answer was lost may have been made: it is asked again from the same place, what it may have
//! changed is not counted, and the end of the job says so. Two jobs over the same messages change each of them once. Beginning and end are lines of audit too.
//! While it runs, a job is a runner of this process, so that other nodes see it and who runs it; it is stopped where it runs.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tenure_core::error::StoreError;
use tenure_core::observe::{LocalBeat, RunnerKind, RunnerRow};
use tenure_core::outbox::{Acted, Count, DeadWalk, Filter};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::act::Change;
use crate::asked::{Allowed, Operate};
use crate::auth::moment;
use crate::dashboard::Desk;
use crate::mutation::Rule;
use crate::problem::Problem;
use crate::sampler::Facts;

/// The most messages that one job changes.
pub(crate) const LIMIT_MAX: u32 = 1_000_000;
/// The highest rate, in messages a second.
pub(crate) const RATE_MAX: u64 = 1_000;
/// The rate where none is asked for.
pub(crate) const RATE: u64 = 50;
/// The most messages of one call.
const BATCH: u64 = 200;
/// The most dead messages that one call looks at.
const STEPS: u32 = 20_000;
/// The least pause between two calls: one by a rare topic changes little, and is to leave the database to others.
const PAUSE: Duration = Duration::from_millis(50);
/// Those that have died again are counted so far.
const AGAIN_MAX: u32 = 10_000;
/// How many jobs are kept, those that run among them.
const KEPT: usize = 100;
/// A store that is away for so long ends a job.
const AWAY_MAX: Duration = Duration::from_secs(5 * 60);
/// The pause after the first call without an answer; each further one is twice as long, up to the longest.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(15);
/// So long it is tried to write down that a job has ended.
const END_WITHIN: Duration = Duration::from_secs(30 * 60);
/// How often a job shows that it lives while it waits, for its turn or for the store.
const BEAT: Duration = Duration::from_secs(5);

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

    /// The same, with something more to say.
    fn and(self, more: &str) -> Self {
        match self {
            Self::Running => Self::Running,
            Self::Done(why) => Self::Done(why + more),
            Self::Stopped(why) => Self::Stopped(why + more),
            Self::Failed(why) => Self::Failed(why + more),
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
    /// How many dead messages it has passed.
    pub(crate) looked: u64,
    /// About how many it is for, as they were counted when it began.
    pub(crate) total: Option<Count>,
    /// What the store said last, while it is asked again.
    pub(crate) trouble: Option<String>,
    /// How many calls had no answer: each may have been made all the same.
    pub(crate) unanswered: u64,
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

    /// In a line: its number first, by which others find it.
    pub(crate) fn title(&self) -> String {
        let Order { change, filter, operator, .. } = &self.order;
        format!("{} by {operator}: {} {}", self.id, word(*change), words(filter))
    }

    /// As programs see it.
    pub(crate) fn shape(&self) -> Value {
        let Progress { changed, looked, total, trouble, stand, ended, .. } = self.progress();
        let why = trouble.as_deref().unwrap_or(stand.why());
        json!({
            "action": word(self.order.change), "begun_at": moment::write(self.begun), "by": self.order.by,
            "changed": changed, "ended_at": ended.map(moment::write), "id": self.id, "limit": self.order.limit,
            "looked": looked, "rate": self.order.rate, "state": stand.word(),
            "total": total.map(|total| total.number), "total_or_more": total.is_some_and(|total| total.or_more),
            "what": words(&self.order.filter), "why": why,
        })
    }

    fn stopped_by(&self) -> Option<String> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, acted: &Acted) -> u64 {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.changed += acted.ids.len() as u64;
        progress.looked += u64::from(acted.looked);
        progress.trouble = None;
        progress.changed
    }

    fn counted(&self, total: Count) {
        // No more than the limit is changed, however many there are.
        let number = total.number.min(self.order.limit);
        let or_more = total.or_more && number < self.order.limit;
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).total = Some(Count { number, or_more });
    }

    fn has_trouble(&self, error: &StoreError) {
        let text = format!("it is asked again: {error}");
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.trouble = Some(text);
        progress.unanswered += 1;
    }

    fn end(&self, stand: Stand, at: SystemTime) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.stand = stand;
        progress.trouble = None;
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
        let progress = Progress {
            changed: 0,
            looked: 0,
            total: None,
            trouble: None,
            unanswered: 0,
            stand: Stand::Running,
            ended: None,
        };
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
    let beat = Beat::of(&desk, &job);
    let stand = changes(&desk, &job, &beat).await;
    let Progress { changed, looked, unanswered, .. } = job.progress();
    let stand = match unanswered {
        0 => stand,
        calls => stand.and(&unsure(calls, rate.min(&BATCH))),
    };
    let detail = format!("{}: {changed} changed of {looked} looked at; {}", stand.word(), stand.why());
    // Other nodes see it until its end is written down.
    beat.ends(&stand);
    job.end(stand, desk.now());
    beat.during(note_end(&desk, by, &format!("job.{word}.end"), &job.id, &detail)).await;
}

/// Writes down that a job has ended, also when the store is away just then: other nodes take one without an end for one that runs.
async fn note_end(desk: &Desk, by: &str, action: &str, subject: &str, detail: &str) {
    let (began, mut pause, mut stopping) = (Instant::now(), AGAIN_AFTER, desk.stopping.clone());
    loop {
        let Err(error) = desk.stores.audit.note(by, action, subject, detail).await else { return };
        if began.elapsed() >= END_WITHIN || *stopping.borrow() {
            tracing::warn!(%error, action, subject, detail, "the end of a bulk change is not in the audit table");
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
        pause = (pause * 2).min(AGAIN_AFTER_MAX);
    }
}

/// The loop.
async fn changes(desk: &Arc<Desk>, job: &Job, beat: &Beat) -> Stand {
    let Order { change, filter, limit, rate, by, operator, until } = &job.order;
    let batch = (*rate).min(BATCH);
    let mut stopping = desk.stopping.clone();
    let mut due = Instant::now();
    let mut away: Option<Instant> = None;
    let mut again = AGAIN_AFTER;
    // For whoever looks on; what cannot be counted is done all the same.
    if let Ok(counted) =
        beat.during(desk.stores.outbox.count_dead(&DeadWalk::of(filter.clone(), LIMIT_MAX))).await
    {
        job.counted(counted.count());
    }
    let mut walk = DeadWalk { steps: STEPS, ..DeadWalk::of(filter.clone(), 0) };
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
        walk.limit = u32::try_from(batch.min(left)).unwrap_or(1);
        // Nothing drops this call half-way: the job waits for it, whatever it is told meanwhile.
        let answer = match change {
            Change::Retry => beat.during(desk.stores.outbox.retry(&walk, by)).await,
            Change::Discard => beat.during(desk.stores.outbox.discard(&walk, by)).await,
        };
        beat.heard(&answer);
        let pause = match answer {
            Ok(acted) => {
                (away, again) = (None, AGAIN_AFTER);
                if job.add(&acted) >= *limit {
                    return Stand::Done("the limit is reached".into());
                }
                let Some(more) = acted.more_after else { return Stand::Done(at_the_end(desk, job).await) };
                walk.after = Some(more);
                Duration::from_secs_f64(acted.ids.len() as f64 / *rate as f64).max(PAUSE)
            }
            Err(error) => {
                let since = *away.get_or_insert_with(Instant::now);
                if !error.is_transient() {
                    return Stand::Failed(error.to_string());
                }
                // It is asked again from where it was: what it may have changed is not dead any more, unless it has died again.
                job.has_trouble(&error);
                if since.elapsed() >= AWAY_MAX {
                    return Stand::Failed(error.to_string());
                }
                let pause = again;
                again = (again * 2).min(AGAIN_AFTER_MAX);
                pause.max(Duration::from_secs_f64(batch as f64 / *rate as f64))
            }
        };
        due = due.max(Instant::now() - Duration::from_millis(500)) + pause;
        if desk.off(Rule::JobRate) {
            continue;
        }
        let pause = async {
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                () = job.told.notified() => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
        };
        beat.during(pause).await;
    }
}

/// A job as a runner of this process, where somebody keeps those.
struct Beat(Option<Box<dyn LocalBeat>>);

impl Beat {
    fn of(desk: &Desk, job: &Job) -> Self {
        let name: String = job.title().chars().filter(|c| !c.is_control()).collect();
        let beat = desk.runners.as_ref().map(|runners| runners.add(RunnerKind::Job, name, BEAT));
        if let Some(beat) = &beat {
            beat.state("running");
        }
        Self(beat)
    }

    /// Goes round while it waits.
    async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            if let Some(beat) = &self.0 {
                beat.cycled();
            }
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::time::sleep(BEAT) => {}
            }
        }
    }

    /// It has ended, and only its line is to be written.
    fn ends(&self, stand: &Stand) {
        if let Some(beat) = &self.0 {
            beat.state(stand.word());
            beat.trouble(None);
        }
    }

    /// What the store said.
    fn heard(&self, answer: &Result<Acted, StoreError>) {
        let Some(beat) = &self.0 else { return };
        match answer {
            Ok(acted) => {
                beat.advanced();
                beat.trouble(None);
                beat.count("changed", acted.ids.len() as u64);
            }
            Err(error) => {
                beat.trouble(Some(error.to_string()));
                beat.count("failures", 1);
            }
        }
    }
}

/// The jobs that other processes report, as they said last.
pub(crate) fn elsewhere<'a>(desk: &'a Desk, facts: &'a Facts) -> impl Iterator<Item = &'a RunnerRow> {
    let rows = facts.runners.rows.iter().filter(|row| row.report.kind == RunnerKind::Job);
    rows.filter(|row| desk.jobs.get(id_of(row)).is_none())
}

/// The number of a job that is reported.
pub(crate) fn id_of(row: &RunnerRow) -> &str {
    row.report.name.split(' ').next().unwrap_or_default()
}

/// Where a job runs that is none of this process, in a sentence, if anyone says so.
pub(crate) async fn runs_elsewhere(desk: &Desk, id: &str) -> Option<String> {
    let snapshot = desk.sampler.snapshot(desk.limits.refresh, desk.limits.patience).await;
    let facts = snapshot.facts.as_ref()?;
    let row = elsewhere(desk, facts).find(|row| id_of(row) == id)?;
    let node = &row.node;
    Some(format!(
        "this job runs on node {}, in process {} of {}: it is stopped there, at the dashboard of that process",
        node.name, node.pid, node.machine
    ))
}

/// What there is to say when calls had no answer, so that neither the number nor the limit is exact.
fn unsure(calls: u64, each: &u64) -> String {
    format!(
        ". Calls without an answer: {calls}. Each may have changed up to {each} messages, which are not among those that are counted; the \
         audit table has every one"
    )
}

/// What there is to say when all that are dead were gone through.
async fn at_the_end(desk: &Desk, job: &Job) -> String {
    let Order { change, filter, .. } = &job.order;
    if job.progress().changed == 0 {
        return "none is left: someone else has changed them, or there was none".into();
    }
    let all = "all that are dead were gone through".to_owned();
    if *change == Change::Discard {
        return all;
    }
    match desk.stores.outbox.count_dead(&DeadWalk::of(filter.clone(), AGAIN_MAX)).await {
        Ok(again) if again.number > 0 => format!(
            "{all}; {} of this kind are dead now: they have died again, or died meanwhile. If what they died of is not mended, \
             another retry will not help",
            again.count()
        ),
        // What cannot be counted is seen on the page.
        Ok(_) | Err(_) => all,
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
            "ended_at": { "type": ["string", "null"] }, "id": text, "limit": number, "looked": number, "rate": number,
            "state": { "type": "string", "enum": ["running", "done", "stopped", "failed"] },
            "total": { "type": ["integer", "null"] }, "total_or_more": { "type": "boolean" }, "what": text, "why": text,
        },
        "required": ["action", "begun_at", "by", "changed", "ended_at", "id", "limit", "looked", "rate", "state", "total", "total_or_more", "what", "why"],
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

//! The entities of one kind on one host: the driver around the core's `replay` and `plan`, as the real engine is.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::entity::{Behaviour, Caller, EntitySettings, Planned, Rejection, Replayed, plan, replay};
use tenure_core::event::{Append, AppendAnswer, Appended, Snapshot, StreamName, Version};
use tenure_core::outbox::{Consumer, Verdict};
use uuid::Uuid;

use super::courier::Mail;
use super::message::{Answer, Request};
use super::named;
use crate::oracle::EventFact;

/// What the ids of events that a message causes are made under.
const CAUSED: Uuid = Uuid::from_u128(0x2f5e_6a5c_71a4_4b0f_9c1d_7465_6e75_7265);

/// What a desk does next.
#[derive(Debug)]
pub(crate) enum Next {
    Ask(Request),
    /// What the sender is told.
    Done(Verdict),
}

#[derive(Debug)]
pub(crate) struct Desk<B: Behaviour> {
    consumer: Consumer,
    settings: EntitySettings,
    cache: BTreeMap<StreamName, Replayed<B>>,
    job: Option<Job<B>>,
    pub(crate) facts: Vec<EventFact>,
}

/// One message that is being handled.
#[derive(Debug)]
struct Job<B: Behaviour> {
    stream: StreamName,
    mail: Mail,
    caller: Caller,
    entity: Replayed<B>,
    conflicts: u32,
    tries: u32,
    phase: Phase<B>,
}

enum Phase<B: Behaviour> {
    Loading,
    CatchingUp { after_snapshot: bool },
    Appending { append: Arc<Append>, events: Vec<B::Event>, rejection: Option<Rejection> },
    Keeping(Verdict),
}

impl<B: Behaviour> std::fmt::Debug for Phase<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Loading => "Loading",
            Self::CatchingUp { .. } => "CatchingUp",
            Self::Appending { .. } => "Appending",
            Self::Keeping(_) => "Keeping",
        })
    }
}

impl<B: Behaviour> Desk<B> {
    pub(crate) fn new(settings: EntitySettings) -> Self {
        let consumer = consumer::<B>();
        Self { consumer, settings, cache: BTreeMap::new(), job: None, facts: Vec::new() }
    }

    /// Begins with a message.
    pub(crate) fn begin(&mut self, mail: Mail) -> Next {
        let stream = named(StreamName::of(B::KIND, &mail.to));
        let caller = Caller {
            message_id: Some(mail.id),
            fingerprint: Some(Uuid::new_v5(&CAUSED, mail.payload.as_bytes())),
            ..Caller::default()
        };
        let cached = self.cache.remove(&stream);
        let (found, entity) = (cached.is_some(), cached.unwrap_or_default());
        let mut job = Job { stream, mail, caller, entity, conflicts: 0, tries: 0, phase: Phase::Loading };
        if found {
            self.plan(job)
        } else {
            let ask = Request::LoadSnapshot(job.stream.clone());
            job.phase = Phase::Loading;
            self.ask(job, ask)
        }
    }

    /// Takes an answer; `None` when there was none.
    pub(crate) fn answered(&mut self, answer: Option<Answer>) -> Next {
        let Some(mut job) = self.job.take() else { return Next::Done(Verdict::transient("nothing to do")) };
        match (std::mem::replace(&mut job.phase, Phase::Loading), answer) {
            (Phase::Loading, Some(Answer::Snapshot(snapshot))) => {
                let begun = snapshot.as_ref().and_then(Replayed::<B>::from_snapshot);
                let after_snapshot = begun.is_some();
                job.entity = begun.unwrap_or_default();
                self.catch_up(job, after_snapshot)
            }
            (Phase::CatchingUp { after_snapshot }, Some(Answer::Stream(page))) => {
                self.caught_up(job, after_snapshot, page)
            }
            (Phase::Appending { append, events, rejection }, answer) => {
                self.appended(job, append, events, rejection, answer)
            }
            (Phase::Keeping(verdict), _) => self.done(job, verdict),
            // What is in memory is forgotten, and read anew for the next message.
            _ => Next::Done(Verdict::transient("the store gave no answer")),
        }
    }

    fn ask(&mut self, job: Job<B>, request: Request) -> Next {
        self.job = Some(job);
        Next::Ask(request)
    }

    fn catch_up(&mut self, mut job: Job<B>, after_snapshot: bool) -> Next {
        job.phase = Phase::CatchingUp { after_snapshot };
        let (stream, from) = (job.stream.clone(), job.entity.version.plus(1));
        let limit = self.settings.page;
        self.ask(job, Request::ReadStream { stream, from, limit })
    }

    fn caught_up(
        &mut self,
        mut job: Job<B>,
        after_snapshot: bool,
        page: tenure_core::event::StreamPage,
    ) -> Next {
        let whole = page.events.len() < self.settings.page as usize;
        let ahead = page.version < job.entity.version;
        match replay(std::mem::take(&mut job.entity), &page.events) {
            Ok(entity) if !ahead => {
                job.entity = entity;
                if whole { self.plan(job) } else { self.catch_up(job, after_snapshot) }
            }
            // A snapshot that does not fit the events is no reason to fail.
            _ if after_snapshot => self.catch_up(job, false),
            Ok(_) => self.problem(format!("{} is behind what was known of it", job.stream)),
            Err(error) => self.problem(error.to_string()),
        }
    }

    fn problem(&mut self, problem: String) -> Next {
        self.facts.push(EventFact::Problem(problem.clone()));
        Next::Done(Verdict::transient(problem))
    }

    fn plan(&mut self, mut job: Job<B>) -> Next {
        let Ok(command) = B::commands().decode_text(&job.mail.kind, 1, &job.mail.payload) else {
            return self.problem(format!("the command {} cannot be read", job.mail.kind));
        };
        let seed = Uuid::new_v5(&CAUSED, job.mail.id.as_uuid().as_bytes());
        let planned = plan::<B>(&job.entity, &job.stream, &self.consumer, command, &job.caller, seed);
        let (append, events, rejection) = match planned {
            Err(error) => return self.problem(error.to_string()),
            Ok(Planned::Duplicate | Planned::Nothing) => return self.done(job, Verdict::Accepted),
            Ok(Planned::Refuse { append: None, rejection }) => {
                return self.done(job, Verdict::rejected(rejection.reason()));
            }
            Ok(Planned::Refuse { append: Some(append), rejection }) => (append, Vec::new(), Some(rejection)),
            Ok(Planned::Append { append, events }) => (append, events, None),
        };
        let append = Arc::new(append);
        job.phase = Phase::Appending { append: append.clone(), events, rejection };
        self.ask(job, Request::Append(append))
    }

    fn appended(
        &mut self,
        mut job: Job<B>,
        append: Arc<Append>,
        events: Vec<B::Event>,
        rejection: Option<Rejection>,
        answer: Option<Answer>,
    ) -> Next {
        let answer = match answer {
            Some(Answer::Append(answer)) => answer,
            Some(Answer::Problem(problem)) => return self.problem(problem),
            _ if job.tries < self.settings.retries => {
                job.tries += 1;
                job.phase = Phase::Appending { append: append.clone(), events, rejection };
                return self.ask(job, Request::Append(append));
            }
            _ => return Next::Done(Verdict::transient("nobody knows what came of it")),
        };
        self.facts.push(EventFact::Told { append, answer: answer.clone() });
        match answer {
            AppendAnswer::Appended(appended) => self.take_in(job, &appended, &events, rejection),
            AppendAnswer::Conflict { .. } if job.conflicts < self.settings.conflicts => {
                job.conflicts += 1;
                job.tries = 0;
                self.catch_up(job, false)
            }
            AppendAnswer::Conflict { .. } => Next::Done(Verdict::transient("others were first")),
            AppendAnswer::Duplicate => {
                job.entity.window.add(job.mail.id);
                self.done(job, Verdict::Accepted)
            }
            AppendAnswer::Refused { reason } => self.done(job, Verdict::rejected(reason)),
            AppendAnswer::Differs => self.problem(format!("message {} has another content", job.mail.id)),
        }
    }

    fn take_in(
        &mut self,
        mut job: Job<B>,
        appended: &Appended,
        events: &[B::Event],
        rejection: Option<Rejection>,
    ) -> Next {
        for event in events {
            B::apply(&mut job.entity.state, event);
        }
        let before = job.entity.version;
        if !events.is_empty() {
            job.entity.version = appended.version;
            job.entity.window.add(job.mail.id);
        }
        let verdict = rejection.map_or(Verdict::Accepted, |rejection| Verdict::rejected(rejection.reason()));
        match self.snapshot(&job, before) {
            Some(snapshot) => {
                job.phase = Phase::Keeping(verdict);
                self.ask(job, Request::SaveSnapshot(snapshot))
            }
            None => self.done(job, verdict),
        }
    }

    fn snapshot(&self, job: &Job<B>, before: Version) -> Option<Snapshot> {
        let every = i64::from(self.settings.snapshot_every);
        let due = before.0 / every != job.entity.version.0 / every;
        due.then(|| job.entity.to_snapshot(&job.stream)).flatten()
    }

    /// Keeps the entity in memory, if there is room, and answers.
    fn done(&mut self, job: Job<B>, verdict: Verdict) -> Next {
        while self.cache.len() >= self.settings.cache.max(1) {
            self.cache.pop_first();
        }
        if self.settings.cache > 0 {
            self.cache.insert(job.stream, job.entity);
        }
        let refused = match &verdict {
            Verdict::Rejected { reason } => Some(reason.clone()),
            _ => None,
        };
        self.facts.push(EventFact::Verdict { consumer: self.consumer.clone(), id: job.mail.id, refused });
        Next::Done(verdict)
    }
}

/// Under which name the entities of a kind receive.
pub(crate) fn consumer<B: Behaviour>() -> Consumer {
    named(Consumer::new(format!("entity:{}", B::KIND)))
}

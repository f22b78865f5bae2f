//! One command, from its entity's state to what is committed.

use tenure_core::contract::AppendError;
use tenure_core::entity::{Behaviour, Caller, PlanError, Planned, Rejection, Replayed, plan, replay};
use tenure_core::event::{Append, AppendAnswer, Appended, StreamName, StreamRead, Version};
use tracing::{Instrument as _, field};
use uuid::Uuid;

use super::{Reply, Shared, TellError};

/// What the ids of events are made under that a message has caused.
const CAUSED: Uuid = Uuid::from_u128(0x2f5e_6a5c_71a4_4b0f_9c1d_7465_6e75_7265);

/// The largest snapshot that is kept: 16 MiB.
const SNAPSHOT_MAX_BYTES: usize = 16 * 1024 * 1024;

pub(super) async fn tell<B: Behaviour>(
    shared: &Shared<B>,
    stream: StreamName,
    command: B::Command,
    caller: &Caller,
) -> Result<Reply, TellError> {
    let slot = shared.cache.slot(&stream);
    let mut turn = slot.lock().await;
    // What is in memory may be old: another node may have appended. An append finds that out by its version; before an
    // answer that needs none, it is looked.
    let (mut entity, mut fresh) = match turn.take() {
        Some(entity) => (entity, false),
        None => (load(shared, &stream).await?, true),
    };
    let seed =
        caller.message_id.map_or_else(Uuid::new_v4, |id| Uuid::new_v5(&CAUSED, id.as_uuid().as_bytes()));
    // One more, for the look at what is in memory.
    for _ in 0..=shared.settings.conflicts.saturating_add(1) {
        let planned = decide(shared, &entity, &stream, command.clone(), caller, seed)?;
        let (append, events, rejection) = match planned {
            Planned::Duplicate => return Ok(keep(&mut turn, entity, true)),
            Planned::Nothing | Planned::Refuse { append: None, .. } if !fresh => {
                (entity, fresh) = (catch_up(shared, &stream, entity).await?, true);
                continue;
            }
            Planned::Nothing => return Ok(keep(&mut turn, entity, false)),
            Planned::Refuse { append: None, rejection } => {
                *turn = Some(entity);
                return Ok(Reply::Rejected(rejection));
            }
            Planned::Refuse { append: Some(append), rejection } => (append, Vec::new(), Some(rejection)),
            Planned::Append { append, events } => (append, events, None),
        };
        match append_surely(shared, &append).await? {
            AppendAnswer::Appended(appended) => {
                take_in::<B>(&mut entity, &appended, &events, caller);
                snapshot_if_due(shared, &stream, &entity, events.len()).await;
                let accepted = keep(&mut turn, entity, false);
                return Ok(rejection.map_or(accepted, Reply::Rejected));
            }
            AppendAnswer::Conflict { .. } => {
                (entity, fresh) = (catch_up(shared, &stream, entity).await?, true);
            }
            AppendAnswer::Duplicate => {
                // Another node may have handled it: what is in memory may be old.
                if let Some(id) = caller.message_id {
                    entity.window.add_with(id, caller.fingerprint);
                }
                return Ok(keep(&mut turn, entity, true));
            }
            AppendAnswer::Refused { reason } => {
                *turn = Some(entity);
                return Ok(Reply::Rejected(Rejection::new(reason)));
            }
            AppendAnswer::Differs => {
                *turn = Some(entity);
                return Err(TellError::Differs {
                    id: caller.message_id.unwrap_or_else(|| Uuid::nil().into()),
                });
            }
        }
    }
    Err(TellError::Contended { stream, times: shared.settings.conflicts.saturating_add(1) })
}

pub(super) async fn state<B: Behaviour>(
    shared: &Shared<B>,
    stream: StreamName,
) -> Result<(B::State, Version), TellError> {
    let slot = shared.cache.slot(&stream);
    let mut turn = slot.lock().await;
    let entity = match turn.take() {
        Some(entity) => catch_up(shared, &stream, entity).await?,
        None => load(shared, &stream).await?,
    };
    let answer = (entity.state.clone(), entity.version);
    *turn = Some(entity);
    Ok(answer)
}

/// The user's own code, and what becomes of its answer.
fn decide<B: Behaviour>(
    shared: &Shared<B>,
    entity: &Replayed<B>,
    stream: &StreamName,
    command: B::Command,
    caller: &Caller,
    seed: Uuid,
) -> Result<Planned<B::Event>, PlanError> {
    let span = tracing::debug_span!("tenure.entity.decide", events = field::Empty);
    let planned = span.in_scope(|| plan::<B>(entity, stream, &shared.consumer, command, caller, seed));
    if let Ok(Planned::Append { events, .. }) = &planned {
        span.record("events", events.len());
    }
    planned
}

fn keep<B: Behaviour>(turn: &mut Option<Replayed<B>>, entity: Replayed<B>, duplicate: bool) -> Reply {
    let version = entity.version;
    *turn = Some(entity);
    Reply::Accepted { version, duplicate }
}

/// The events are committed: the state in memory follows.
fn take_in<B: Behaviour>(
    entity: &mut Replayed<B>,
    appended: &Appended,
    events: &[B::Event],
    caller: &Caller,
) {
    for event in events {
        B::apply(&mut entity.state, event);
    }
    entity.version = if events.is_empty() { entity.version } else { appended.version };
    // A refused message is not remembered here: its refusal is in the inbox, with its reason.
    if let Some(id) = caller.message_id
        && !events.is_empty()
    {
        entity.window.add_with(id, caller.fingerprint);
    }
}

/// Appends, and repeats an append that had no answer: the same ids get the first result.
async fn append_surely<B: Behaviour>(shared: &Shared<B>, append: &Append) -> Result<AppendAnswer, TellError> {
    let mut tries = 0;
    loop {
        match shared.events.append(append).await {
            Err(AppendError::Store(error)) if error.is_transient() && tries < shared.settings.retries => {
                tries += 1;
                tracing::debug!(stream = %append.stream, %error, "an append had no answer; it is repeated");
            }
            answer => return Ok(answer?),
        }
    }
}

/// The entity from its snapshot, if there is one that can be read, and the events after it.
async fn load<B: Behaviour>(shared: &Shared<B>, stream: &StreamName) -> Result<Replayed<B>, TellError> {
    let span = tracing::debug_span!("tenure.entity.load", %stream, version = field::Empty);
    let loaded = made(shared, stream).instrument(span.clone()).await;
    if let Ok(entity) = &loaded {
        span.record("version", entity.version.0);
    }
    loaded
}

async fn made<B: Behaviour>(shared: &Shared<B>, stream: &StreamName) -> Result<Replayed<B>, TellError> {
    let snapshot = shared.events.load_snapshot(stream).await.map_err(AppendError::Store)?;
    let begun = snapshot.as_ref().and_then(|snapshot| {
        let begun = Replayed::<B>::from_snapshot(snapshot);
        if begun.is_none() {
            tracing::warn!(%stream, version = %snapshot.version, "the snapshot cannot be read; all events are replayed");
        }
        begun
    });
    let after_snapshot = begun.is_some();
    match catch_up(shared, stream, begun.unwrap_or_default()).await {
        // A snapshot that does not fit the events is no reason to fail.
        Err(TellError::Plan(error)) if after_snapshot => {
            tracing::warn!(%stream, %error, "the snapshot does not fit the stream; all events are replayed");
            catch_up(shared, stream, Replayed::default()).await
        }
        loaded => loaded,
    }
}

/// Takes in what was appended since.
async fn catch_up<B: Behaviour>(
    shared: &Shared<B>,
    stream: &StreamName,
    mut entity: Replayed<B>,
) -> Result<Replayed<B>, TellError> {
    let page = shared.settings.page;
    loop {
        let read = StreamRead::forward(stream.clone(), entity.version.plus(1), page);
        let found = shared.events.read_stream(&read).await.map_err(AppendError::Store)?;
        if found.version < entity.version {
            let (stream, known, actual) = (stream.clone(), entity.version, found.version);
            return Err(PlanError::Ahead { stream, known, actual }.into());
        }
        let before = entity.version;
        entity = replay(entity, &found.events)?;
        if entity.version >= found.version {
            return Ok(entity);
        }
        if entity.version == before {
            return Err(PlanError::Gap { stream: stream.clone(), before, found: found.version }.into());
        }
    }
}

async fn snapshot_if_due<B: Behaviour>(
    shared: &Shared<B>,
    stream: &StreamName,
    entity: &Replayed<B>,
    fresh: usize,
) {
    let every = i64::from(shared.settings.snapshot_every);
    let before = entity.version.0 - fresh as i64;
    if before / every == entity.version.0 / every {
        return;
    }
    let Some(snapshot) = entity.to_snapshot(stream) else { return };
    let bytes = snapshot.body.as_bytes().len();
    if bytes > SNAPSHOT_MAX_BYTES {
        tracing::warn!(%stream, bytes, "a snapshot is too large to be kept; all events are replayed");
        return;
    }
    if let Err(error) = shared.events.save_snapshot(&snapshot).await {
        tracing::warn!(%stream, %error, "a snapshot was not kept; the events are all there");
    }
}

//! Presence: a flag is up as long as its session lives and no longer, and whoever watches it is told.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{PresenceSession, Raise, Watch};
use tenure_core::lease::{Evidence, Flag, Grant, LeaseName, Loss, Release, Renew, Term};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::player::{LONG, Player, announcing, fresh, renewal, unique};
use crate::backend::{Backend, Need};
use crate::suite::skip;

/// For flags that fall: far longer than it takes.
const PATIENT: Duration = Duration::from_secs(30);
/// The silence after which a store may end the sessions of these cases: longer than any case takes.
const SILENCE: Duration = Duration::from_secs(60);
/// For flags that stay up.
const IMPATIENT: Duration = Duration::from_millis(200);
/// A store without a clock leaves patience to its caller; after so much more, the flag counts as still up.
const GRACE: Duration = Duration::from_secs(1);

/// The server ends the session of a holder that sits idle. Its ping tells it, a contender sees it, the next holder has
/// a higher term, and what the old one still does is refused.
pub async fn s02_a_session_killed_by_the_server_costs_the_lease(backend: &dyn Backend) {
    let Some(Scene { ann, bob, name, session, flag, grant }) = scene(backend).await else { return };
    assert_eq!(ann.renews(&grant, &announcing(1, session.id())).await, Renew::Extended);
    let watching = watches(&bob, &flag, PATIENT);
    settle().await;
    if !backend.kill_sessions().await {
        return skip(backend, Need::KillSessions);
    }
    assert_eq!(watching.await.expect("a watch ends"), Watch::Fallen);
    until_ping_fails(&session).await;
    let new = bob.deposes(&name, Evidence { term: grant.term, session: session.id() }).await;
    assert!(new.term > grant.term);
    let taken = Loss::Taken { term: new.term, by: bob.node.name.clone() };
    assert_eq!(ann.renews(&grant, &renewal(2)).await, Renew::Lost(taken));
}

/// A planned hand-over: the one who waits on the flag has the lease within a second, not within a ttl.
pub async fn s25_a_waiting_node_is_told_of_a_release_within_a_second(backend: &dyn Backend) {
    let mut measured = Vec::new();
    // A loaded machine may be late once; three times in a row is the store.
    for _ in 0..3 {
        let Some(Scene { ann, bob, name, session, flag, grant }) = scene(backend).await else { return };
        assert_eq!(ann.renews(&grant, &announcing(1, session.id())).await, Renew::Extended);
        assert_eq!(
            bob.finds_held(&name).await.presence.map(|announced| announced.session),
            Some(session.id())
        );
        let watching = watches(&bob, &flag, PATIENT);
        settle().await;
        let began = Instant::now();
        assert_eq!(ann.releases(&grant).await, Release::Released);
        session.lower(&flag).await.expect("lowered");
        assert_eq!(watching.await.expect("a watch ends"), Watch::Fallen);
        bob.takes(&name, LONG).await;
        measured.push(began.elapsed());
        if began.elapsed() < Duration::from_secs(1) {
            return;
        }
    }
    panic!("the waiting node was told late each time: {measured:?}");
}

/// A holder that does nothing keeps its flag up.
pub async fn a_raised_flag_stays_up(backend: &dyn Backend) {
    let Some(Scene { bob, session, flag, .. }) = scene(backend).await else { return };
    session.ping().await.expect("the session lives");
    assert_eq!(watches(&bob, &flag, IMPATIENT).await.expect("a watch ends"), Watch::StillUp);
    session.ping().await.expect("the session lives");
}

/// A flag that was lowered is down for every watcher; another flag of the same session stays up.
pub async fn a_lowered_flag_falls_for_every_watcher_and_no_other_does(backend: &dyn Backend) {
    let Some(Scene { bob, session, flag, .. }) = scene(backend).await else { return };
    let other = Flag { lease: fresh("other-flag"), ..flag.clone() };
    assert_eq!(session.raise(&other).await.expect("raised"), Raise::Raised);
    let mut watching = Vec::new();
    for watcher in [&bob, &Player::enter(backend, "cay").await, &Player::enter(backend, "dan").await] {
        watching.push(watches(watcher, &flag, PATIENT));
    }
    settle().await;
    session.lower(&flag).await.expect("lowered");
    for watch in watching {
        assert_eq!(watch.await.expect("a watch ends"), Watch::Fallen);
    }
    assert_eq!(watches(&bob, &other, IMPATIENT).await.expect("a watch ends"), Watch::StillUp);
    session.ping().await.expect("the session lives");
}

/// The end of a session is the end of all its flags, and of it alone.
pub async fn a_closed_session_lowers_all_its_flags(backend: &dyn Backend) {
    let Some(Scene { ann, bob, session, flag, .. }) = scene(backend).await else { return };
    let second = Flag { lease: fresh("second-flag"), ..flag.clone() };
    session.raise(&second).await.expect("raised");
    let living = open(&ann).await;
    let elsewhere = Flag { session: living.id(), ..flag.clone() };
    assert_eq!(living.raise(&elsewhere).await.expect("raised"), Raise::Raised, "flags differ by session too");
    let watching = [watches(&bob, &flag, PATIENT), watches(&bob, &second, PATIENT)];
    settle().await;
    session.close().await;
    for watch in watching {
        assert_eq!(watch.await.expect("a watch ends"), Watch::Fallen);
    }
    assert_eq!(watches(&bob, &elsewhere, IMPATIENT).await.expect("a watch ends"), Watch::StillUp);
    assert!(session.ping().await.is_err(), "a closed session does not answer");
    assert!(session.raise(&flag).await.is_err(), "a closed session raises nothing");
    assert_eq!(watches(&bob, &flag, PATIENT).await.expect("a watch ends"), Watch::Fallen);
}

/// A holder that dies without a word: what is left of it is a session that nobody holds any more.
pub async fn a_dropped_session_lowers_its_flags(backend: &dyn Backend) {
    let Some(Scene { bob, session, flag, .. }) = scene(backend).await else { return };
    let watching = watches(&bob, &flag, PATIENT);
    settle().await;
    drop(session);
    assert_eq!(watching.await.expect("a watch ends"), Watch::Fallen);
}

/// A flag that never was up is down: the watcher goes on at once.
pub async fn a_flag_that_was_never_raised_is_down(backend: &dyn Backend) {
    let Some(Scene { bob, session, flag, .. }) = scene(backend).await else { return };
    for never in [
        Flag { lease: fresh("never"), ..flag.clone() },
        Flag { term: flag.term.next().expect("a term"), ..flag.clone() },
        Flag { session: unique(), ..flag.clone() },
    ] {
        assert_eq!(watches(&bob, &never, PATIENT).await.expect("a watch ends"), Watch::Fallen, "{never:?}");
        session.lower(&never).await.expect("lowering what is not up is harmless");
    }
    assert_eq!(watches(&bob, &flag, IMPATIENT).await.expect("a watch ends"), Watch::StillUp);
}

/// Locks of sessions stack on many servers: raising twice must not need lowering twice.
pub async fn s11_a_flag_raised_twice_falls_when_it_is_lowered_once(backend: &dyn Backend) {
    let Some(Scene { bob, session, flag, .. }) = scene(backend).await else { return };
    assert_eq!(session.raise(&flag).await.expect("raised"), Raise::Raised);
    session.lower(&flag).await.expect("lowered");
    assert_eq!(watches(&bob, &flag, PATIENT).await.expect("a watch ends"), Watch::Fallen);
    assert_eq!(session.raise(&flag).await.expect("raised"), Raise::Raised, "it can be raised again");
    assert_eq!(watches(&bob, &flag, IMPATIENT).await.expect("a watch ends"), Watch::StillUp);
}

/// A frozen holder, or one behind a dead link: the store ends its session after the silence that was agreed.
pub async fn a_silent_session_is_ended_by_the_store(backend: &dyn Backend) {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    let Some(presence) = ann.store.presence() else { return skip(backend, Need::Presence) };
    if !ann.store.capabilities().silence {
        return skip(backend, Need::Silence);
    }
    let session = presence.open(unique(), Duration::from_secs(1)).await.expect("a session");
    let flag = Flag { lease: fresh("silent"), term: Term::FIRST, session: session.id() };
    session.raise(&flag).await.expect("raised");
    assert_eq!(watches(&bob, &flag, PATIENT).await.expect("a watch ends"), Watch::Fallen);
    until_ping_fails(&session).await;
}

struct Scene {
    ann: Player,
    bob: Player,
    name: LeaseName,
    /// The session of `ann`, with `flag` up.
    session: Arc<dyn PresenceSession>,
    flag: Flag,
    grant: Grant,
}

async fn scene(backend: &dyn Backend) -> Option<Scene> {
    let (ann, bob) = (Player::enter(backend, "ann").await, Player::enter(backend, "bob").await);
    if ann.store.presence().is_none() {
        skip(backend, Need::Presence);
        return None;
    }
    let name = fresh("presence");
    let grant = ann.takes(&name, LONG).await;
    let session = open(&ann).await;
    let flag = Flag { lease: name.clone(), term: grant.term, session: session.id() };
    assert_eq!(session.raise(&flag).await.expect("raised"), Raise::Raised);
    Some(Scene { ann, bob, name, session, flag, grant })
}

async fn open(player: &Player) -> Arc<dyn PresenceSession> {
    let (id, presence) = (unique(), player.store.presence().expect("presence"));
    let session = presence.open(id, SILENCE).await.expect("a session");
    assert_eq!(session.id(), id);
    session
}

/// Watches a flag in the background; a watch is never cancelled half-way.
fn watches(player: &Player, flag: &Flag, patience: Duration) -> JoinHandle<Watch> {
    let (store, flag) = (Arc::clone(&player.store), flag.clone());
    tokio::spawn(async move {
        let watching = tokio::spawn(async move {
            let presence = store.presence().expect("presence");
            presence.watch(&flag, patience).await.expect("an answer to a watch")
        });
        tokio::select! {
            watched = watching => watched.expect("a watch ends"),
            () = tokio::time::sleep(patience + GRACE) => Watch::StillUp,
        }
    })
}

/// Gives a watch time to begin waiting. What is asserted holds without it, but then nobody has waited.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// The end of a session takes a moment to reach the one who holds it.
async fn until_ping_fails(session: &Arc<dyn PresenceSession>) {
    let began = Instant::now();
    while session.ping().await.is_ok() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "the session was ended, and its ping still answers"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

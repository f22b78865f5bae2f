//! Several processes on one file.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tenure_core::contract::{LeaseStore, Schema, Watch};
use tenure_core::lease::{Acquire, Announced, Evidence, Flag, Release, Renew, Renewal, Term};
use tenure_sqlite::{SqliteOptions, SqliteStore};

use crate::backend::{SqliteFile, claim, lease, unique};
use crate::child::{Child, said, wait_for_go};

const PROCESSES: usize = 5;
const ROUNDS: usize = 20;
const TTL: Duration = Duration::from_secs(60);

/// Catalogue 10, 19 and 39: all start on nothing, migrate at once, and have the same node name.
#[test]
fn c10_c19_c39_of_many_processes_exactly_one_is_granted_each_lease() {
    let file = SqliteFile::nothing_yet();
    let mut children: Vec<_> = (0..PROCESSES).map(|_| Child::start("race", &file.path())).collect();
    for child in &mut children {
        assert_eq!(child.line(), "ready");
    }
    children.iter_mut().for_each(Child::go);
    for round in 0..ROUNDS {
        let answers: Vec<_> = children.iter_mut().map(Child::line).collect();
        let granted = answers.iter().filter(|answer| *answer == "granted").count();
        let held = answers.iter().filter(|answer| *answer == "held").count();
        assert_eq!((granted, held), (1, PROCESSES - 1), "round {round}: {answers:?}");
    }
}

pub(crate) async fn race(path: &Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    store.migrate().await.unwrap();
    said("ready");
    wait_for_go();
    for round in 0..ROUNDS {
        match store.try_acquire(&claim(&format!("round-{round}"), "copied-name", TTL)).await {
            Ok(Acquire::Granted(_)) => said("granted"),
            Ok(Acquire::Held(_)) => said("held"),
            Err(error) => said(&format!("{error}")),
        }
    }
}

/// Catalogue 37: everyone reads and then writes the same row, all the time.
#[tokio::test]
async fn c37_reading_and_then_writing_is_never_told_that_the_store_is_busy() {
    let file = SqliteFile::start().await;
    let mut children: Vec<_> = (0..PROCESSES).map(|_| Child::start("quarrel", &file.path())).collect();
    for child in &mut children {
        assert_eq!(child.line(), "ready");
    }
    children.iter_mut().for_each(Child::go);
    let mut grants = 0_u64;
    for child in &mut children {
        let answer = child.line();
        grants += answer.strip_prefix("done ").unwrap_or_else(|| panic!("{answer}")).parse::<u64>().unwrap();
    }
    // Each grant had a term of its own: none was given twice, none was lost.
    let row = file.connect().await.observe(&lease("quarrel")).await.unwrap().unwrap();
    assert_eq!(row.term.get(), grants);
}

pub(crate) async fn quarrel(path: &Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    said("ready");
    wait_for_go();
    match quarrel_for(&store, Duration::from_secs(1)).await {
        Ok(grants) => said(&format!("done {grants}")),
        Err(error) => said(&format!("{error}")),
    }
}

async fn quarrel_for(store: &SqliteStore, span: Duration) -> Result<u64, tenure_core::StoreError> {
    let end = Instant::now() + span;
    let mut grants = 0;
    while Instant::now() < end {
        if let Acquire::Granted(grant) = store.try_acquire(&claim("quarrel", "node", TTL)).await? {
            grants += 1;
            assert_eq!(store.renew(&grant, &Renewal { number: 1, presence: None }).await?, Renew::Extended);
            assert_eq!(store.release(&grant).await?, Release::Released);
        }
    }
    Ok(grants)
}

/// The flag that a child holds, as its line told.
fn flag_of(line: &str) -> Flag {
    let (term, session) = line.split_once(' ').unwrap();
    let term = Term::new(term.parse().unwrap()).unwrap();
    Flag { lease: lease("held"), term, session: session.parse().unwrap() }
}

pub(crate) async fn hold(path: &Path) {
    let store = SqliteStore::connect(SqliteOptions::new(path)).await.unwrap();
    let Acquire::Granted(grant) = store.try_acquire(&claim("held", "child", TTL)).await.unwrap() else {
        panic!("held")
    };
    let session = store.presence().unwrap().open(unique(), Duration::from_secs(2)).await.unwrap();
    let flag = Flag { lease: grant.name.clone(), term: grant.term, session: session.id() };
    session.raise(&flag).await.unwrap();
    let presence = Some(Announced { session: session.id(), trust: Duration::from_millis(700) });
    store.renew(&grant, &Renewal { number: 1, presence }).await.unwrap();
    // A grandchild that goes on living must not keep the flag up.
    let mut grandchild = std::process::Command::new("sleep").arg("20").spawn().unwrap();
    said(&format!("{} {}", flag.term, flag.session));
    wait_for_go();
    grandchild.kill().unwrap();
    grandchild.wait().unwrap();
}

#[tokio::test]
async fn a_killed_process_is_noticed_at_once_and_its_lease_taken_by_evidence() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let presence = store.presence().unwrap();
    for round in 1..=5 {
        let mut child = Child::start("hold", &file.path());
        let flag = flag_of(&child.line());
        assert_eq!(presence.watch(&flag, Duration::from_millis(30)).await.unwrap(), Watch::StillUp);

        let killed = Instant::now();
        child.signal(Signal::SIGKILL);
        assert_eq!(presence.watch(&flag, Duration::from_secs(10)).await.unwrap(), Watch::Fallen);
        let noticed = killed.elapsed();
        assert!(noticed < Duration::from_millis(200), "{noticed:?}");

        let mut next = claim("held", "next", TTL);
        assert!(matches!(store.try_acquire(&next).await.unwrap(), Acquire::Held(_)));
        next.evidence = Some(Evidence { term: flag.term, session: flag.session });
        let Acquire::Granted(grant) = store.try_acquire(&next).await.unwrap() else { panic!("still held") };
        assert_eq!(grant.term.get(), 2 * round);
        store.release(&grant).await.unwrap();
    }
    assert_eq!(std::fs::read_dir(file.flags()).unwrap().count(), 0, "the dead files were left");
}

#[tokio::test]
async fn a_frozen_process_keeps_its_flag_up() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let presence = store.presence().unwrap();
    let mut child = Child::start("hold", &file.path());
    let flag = flag_of(&child.line());
    child.signal(Signal::SIGSTOP);
    assert_eq!(presence.watch(&flag, Duration::from_millis(300)).await.unwrap(), Watch::StillUp);
    child.signal(Signal::SIGKILL);
    assert_eq!(presence.watch(&flag, Duration::from_secs(10)).await.unwrap(), Watch::Fallen);
}

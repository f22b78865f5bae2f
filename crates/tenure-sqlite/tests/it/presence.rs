//! Flags as locked files.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tenure_core::contract::{LeaseStore, PresenceSession, Raise, Watch};
use tenure_core::lease::{Flag, Term};
use tenure_sqlite::SqliteStore;

use crate::backend::{SqliteFile, lease, unique};

const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(30);

async fn open(store: &SqliteStore) -> Arc<dyn PresenceSession> {
    store.presence().unwrap().open(unique(), LONG).await.unwrap()
}

fn flag(session: &Arc<dyn PresenceSession>, name: &str) -> Flag {
    Flag { lease: lease(name), term: Term::FIRST, session: session.id() }
}

async fn watch(store: &SqliteStore, flag: &Flag, patience: Duration) -> Watch {
    store.presence().unwrap().watch(flag, patience).await.unwrap()
}

fn files(file: &SqliteFile) -> usize {
    std::fs::read_dir(file.flags()).unwrap().count()
}

#[tokio::test]
async fn a_flag_is_up_until_it_is_lowered() {
    let file = SqliteFile::start().await;
    let (holder, other) = (file.connect().await, file.connect().await);
    let session = open(&holder).await;
    let flag = flag(&session, "o'brien; \"../../x\" 東京");
    assert_eq!(watch(&other, &flag, SHORT).await, Watch::Fallen, "it was never up");
    assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised);
    assert_eq!(session.raise(&flag).await.unwrap(), Raise::Raised);
    assert_eq!(watch(&other, &flag, SHORT).await, Watch::StillUp);
    let begun = Instant::now();
    session.lower(&flag).await.unwrap();
    assert_eq!(watch(&other, &flag, LONG).await, Watch::Fallen);
    assert!(begun.elapsed() < Duration::from_millis(200));
    session.ping().await.unwrap();
    assert_eq!(files(&file), 0);
}

#[tokio::test]
async fn closing_and_dropping_a_session_lowers_all_its_flags() {
    let file = SqliteFile::start().await;
    let (holder, other) = (file.connect().await, file.connect().await);
    let (closed, dropped) = (open(&holder).await, open(&holder).await);
    let flags = [flag(&closed, "a"), flag(&closed, "b"), flag(&dropped, "a")];
    for flag in &flags {
        let session = if flag.session == closed.id() { &closed } else { &dropped };
        session.raise(flag).await.unwrap();
        assert_eq!(watch(&other, flag, SHORT).await, Watch::StillUp);
    }
    closed.close().await;
    drop(dropped);
    for flag in &flags {
        assert_eq!(watch(&other, flag, LONG).await, Watch::Fallen);
    }
    assert!(closed.ping().await.is_err());
    assert!(closed.raise(&flags[0]).await.is_err());
}

#[tokio::test]
async fn a_file_removed_by_hand_breaks_the_session_for_good() {
    let file = SqliteFile::start().await;
    let (holder, other) = (file.connect().await, file.connect().await);
    let session = open(&holder).await;
    let flag = flag(&session, "a");
    session.raise(&flag).await.unwrap();
    session.ping().await.unwrap();
    std::fs::remove_dir_all(file.flags()).unwrap();
    assert_eq!(watch(&other, &flag, LONG).await, Watch::Fallen);
    assert!(session.ping().await.is_err());
    // Someone puts a file there again: that does not heal what others have seen fall.
    assert!(session.raise(&flag).await.is_err());
    assert!(session.ping().await.is_err());
}

#[tokio::test]
async fn a_file_replaced_by_hand_breaks_the_session_too() {
    let file = SqliteFile::start().await;
    let session = open(&file.connect().await).await;
    session.raise(&flag(&session, "a")).await.unwrap();
    let path = std::fs::read_dir(file.flags()).unwrap().next().unwrap().unwrap().path();
    let held = File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    File::create(&path).unwrap();
    assert!(session.ping().await.is_err());
    drop(held);
}

#[tokio::test]
async fn a_dropped_watch_breaks_nothing_and_repeated_ones_share_a_thread() {
    let file = SqliteFile::start().await;
    let (holder, other) = (file.connect().await, file.connect().await);
    let session = open(&holder).await;
    let flag = flag(&session, "a");
    session.raise(&flag).await.unwrap();
    watch(&other, &flag, SHORT).await;
    let threads = || {
        std::fs::read_dir("/proc/self/task")
            .unwrap()
            .map(|task| {
                let name = task.unwrap().path().join("comm");
                std::fs::read_to_string(name).unwrap_or_default()
            })
            .filter(|name| name.trim() == "tenure-watch")
            .count()
    };
    let before = threads();
    for _ in 0..200 {
        let watching = other.presence().unwrap().watch(&flag, LONG);
        assert!(tokio::time::timeout(Duration::from_micros(50), watching).await.is_err());
    }
    // Other tests of this binary watch too; two hundred would show.
    assert!(threads() < before + 100);
    session.lower(&flag).await.unwrap();
    let fell = tokio::join!(watch(&other, &flag, LONG), watch(&other, &flag, LONG));
    assert_eq!(fell, (Watch::Fallen, Watch::Fallen));
}

#[tokio::test]
async fn two_sessions_never_share_a_flag() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let (one, two) = (open(&store).await, open(&store).await);
    let wanted = flag(&one, "a");
    assert_eq!(one.raise(&wanted).await.unwrap(), Raise::Raised);
    assert_eq!(two.raise(&wanted).await.unwrap(), Raise::Collided);
    one.close().await;
    assert_eq!(watch(&store, &wanted, LONG).await, Watch::Fallen);
}

#[tokio::test]
async fn files_left_by_crashes_are_removed_and_nothing_else_is() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let living = open(&store).await;
    let up = flag(&living, "a");
    living.raise(&up).await.unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let make = |name: &str, age| {
        let made = File::create(file.flags().join(name)).unwrap();
        made.set_modified(age).unwrap();
    };
    make("dead.flag", old);
    make("young.flag", SystemTime::now());
    make("someone-else's", old);
    let held = std::fs::read_dir(file.flags()).unwrap().map(|entry| entry.unwrap().path());
    for path in held.filter(|path| path.to_string_lossy().contains(&living.id().to_string())) {
        File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    drop(open(&store).await);
    assert!(!file.flags().join("dead.flag").exists());
    assert!(file.flags().join("young.flag").exists());
    assert!(file.flags().join("someone-else's").exists());
    living.ping().await.unwrap();
    assert_eq!(watch(&store, &up, SHORT).await, Watch::StillUp);
}

#[tokio::test]
async fn links_to_one_database_lead_to_the_same_flags() {
    let file = SqliteFile::start().await;
    let link = file.path().with_file_name("link.db");
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    let session = open(&file.connect().await).await;
    let flag = flag(&session, "a");
    session.raise(&flag).await.unwrap();
    let by_link = SqliteStore::connect(tenure_sqlite::SqliteOptions::new(link)).await.unwrap();
    assert_eq!(watch(&by_link, &flag, SHORT).await, Watch::StillUp);
}

//! A renewal is one statement while nobody but its holder touches the row, and sees everything that anyone did to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, Once, OnceLock};
use std::thread;
use std::time::Duration;

use tenure_core::contract::{LeaseAdmin, LeaseStore, Schema};
use tenure_core::id::Unique;
use tenure_core::lease::{Acquire, Announced, Evidence, Grant, Loss, Release, Renew, Renewal};
use tenure_core::naming::{Identifier, Naming};
use tenure_core::time::StoreTime;
use tenure_sqlite::{Clocks, Reading, SqliteOptions, SqliteStore, Steady};
use tracing::field::{Field, Visit};
use tracing::span;

use crate::backend::{SqliteFile, claim, take, unique};

const TTL: Duration = Duration::from_secs(60);

/// Who holds a lease, and has renewed it often enough that its row is remembered.
struct Holder {
    store: SqliteStore,
    prefix: String,
    grant: Grant,
    renewals: u64,
}

impl Holder {
    async fn start(file: &SqliteFile, ttl: Duration, clocks: Option<Arc<dyn Clocks>>) -> Self {
        listen();
        let (store, prefix) = connect(file, clocks, format!("t{:08x}_", fastrand::u32(..))).await;
        store.migrate().await.unwrap();
        let grant = take(&store, "a", ttl).await;
        let mut holder = Self { store, prefix, grant, renewals: 0 };
        for _ in 0..3 {
            assert_eq!(holder.renew(None).await, Renew::Extended);
        }
        holder
    }

    async fn renew(&mut self, session: Option<Unique>) -> Renew {
        self.renewals += 1;
        let presence = session.map(|session| Announced { session, trust: Duration::from_millis(700) });
        self.store.renew(&self.grant, &Renewal { number: self.renewals, presence }).await.unwrap()
    }

    /// Another process on the same tables.
    async fn other(&self, file: &SqliteFile) -> SqliteStore {
        connect(file, None, self.prefix.clone()).await.0
    }

    /// How often the row was written the long way, and how often by one statement, so far.
    fn counts(&self) -> (usize, usize) {
        let told = told().lock().unwrap();
        let of = |words: &str| {
            let begin = format!("{words} \"{}leases\"", self.prefix);
            told.iter().filter(|text| text.starts_with(&begin)).count()
        };
        (of("insert into"), of("update"))
    }
}

async fn connect(
    file: &SqliteFile,
    clocks: Option<Arc<dyn Clocks>>,
    prefix: String,
) -> (SqliteStore, String) {
    let naming = Naming { prefix: Identifier::new("prefix", &prefix).unwrap(), ..Naming::default() };
    let options = SqliteOptions { naming, ..SqliteOptions::new(file.path()) };
    let store = match clocks {
        Some(clocks) => SqliteStore::connect_with_clocks(options, clocks).await,
        None => SqliteStore::connect(options).await,
    };
    (store.unwrap(), prefix)
}

#[tokio::test]
async fn a_renewal_is_one_statement_and_says_all_that_a_long_one_says() {
    let file = SqliteFile::nothing_yet();
    let mut holder = Holder::start(&file, TTL, None).await;
    let session = unique();
    // A hiccup of the machine makes one go the long way. It does not do so ten times in a row.
    for round in 0.. {
        let (long, short) = holder.counts();
        assert_eq!(holder.renew(Some(session)).await, Renew::Extended);
        if holder.counts() == (long, short + 1) {
            break;
        }
        assert!(round < 10, "{:?}", holder.counts());
    }
    let row = holder.store.observe(&holder.grant.name).await.unwrap().unwrap();
    assert_eq!((row.renewals, row.term), (holder.renewals, holder.grant.term));
    assert_eq!(row.presence.map(|announced| announced.session), Some(session));
    assert_eq!(row.renewed_at.until(row.expires_at), TTL);
}

#[tokio::test]
async fn a_renewal_sees_an_operators_wish() {
    for (force, loss) in [(false, Loss::Revoked), (true, Loss::Released)] {
        let file = SqliteFile::nothing_yet();
        let mut holder = Holder::start(&file, TTL, None).await;
        holder.other(&file).await.revoke(&holder.grant.name, "ann", force).await.unwrap();
        assert_eq!(holder.renew(None).await, Renew::Lost(loss));
        // By the store's own connection too, which remembers the row.
        let file = SqliteFile::nothing_yet();
        let mut holder = Holder::start(&file, TTL, None).await;
        holder.store.revoke(&holder.grant.name, "ann", force).await.unwrap();
        assert!(matches!(holder.renew(None).await, Renew::Lost(_)));
    }
}

#[tokio::test]
async fn a_renewal_sees_a_takeover() {
    let file = SqliteFile::nothing_yet();
    let mut holder = Holder::start(&file, TTL, None).await;
    let session = unique();
    assert_eq!(holder.renew(Some(session)).await, Renew::Extended);
    let mut successor = claim("a", "successor", TTL);
    successor.evidence = Some(Evidence { term: holder.grant.term, session });
    let taken = holder.other(&file).await.try_acquire(&successor).await.unwrap();
    let Acquire::Granted(next) = taken else { panic!("{taken:?}") };
    let lost = Renew::Lost(Loss::Taken { term: next.term, by: next.node.name.clone() });
    assert_eq!(holder.renew(Some(session)).await, lost);
    // The row is the successor's, untouched.
    let row = holder.store.observe(&next.name).await.unwrap().unwrap();
    assert_eq!((row.term, row.renewals), (next.term, 0));
}

#[tokio::test]
async fn a_renewal_sees_its_own_release_and_one_that_arrives_late_changes_nothing() {
    let file = SqliteFile::nothing_yet();
    let mut holder = Holder::start(&file, TTL, None).await;
    let late = Renewal { number: holder.renewals, presence: None };
    assert!(holder.store.renew(&holder.grant, &late).await.is_err());
    assert_eq!(holder.store.release(&holder.grant).await.unwrap(), Release::Released);
    assert_eq!(holder.renew(None).await, Renew::Lost(Loss::Released));
}

#[tokio::test]
async fn a_renewal_sees_a_row_that_was_deleted_and_a_file_that_is_locked() {
    let file = SqliteFile::nothing_yet();
    let mut holder = Holder::start(&file, TTL, None).await;
    let other = file.raw();
    other.execute_batch("begin immediate").unwrap();
    let renewal = Renewal { number: holder.renewals + 1, presence: None };
    let renew = holder.store.renew(&holder.grant, &renewal);
    let (renewed, ()) = tokio::join!(renew, async {
        // passes time: the lock is kept for longer than a renewal of one statement waits
        tokio::time::sleep(Duration::from_millis(100)).await;
        other.execute_batch("commit").unwrap();
    });
    assert_eq!(renewed.unwrap(), Renew::Extended);
    holder.renewals += 1;
    other.execute(&format!("delete from \"{}leases\"", holder.prefix), []).unwrap();
    assert_eq!(holder.renew(None).await, Renew::Lost(Loss::Unknown));
}

/// Clocks that stand still until they are moved, and whose reading can be old when it arrives.
#[derive(Debug, Default)]
struct SlowClocks {
    micros: AtomicI64,
    /// The process is frozen for longer than its ttl, right after it has read the clocks.
    freezes: AtomicBool,
}

impl SlowClocks {
    fn pass(&self, span: Duration) {
        self.micros.fetch_add(i64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clocks for SlowClocks {
    fn read(&self) -> Reading {
        let micros = self.micros.load(Ordering::SeqCst);
        if self.freezes.swap(false, Ordering::SeqCst) {
            self.pass(TTL);
            // passes time: what SQLite's own clock sees of the freeze
            thread::sleep(Duration::from_millis(50));
        }
        Reading {
            wall: StoreTime::from_micros(1_800_000_000_000_000 + micros),
            steady: Some(Steady { boot: "boot".into(), micros }),
        }
    }
}

#[tokio::test]
async fn an_expired_lease_is_not_renewed() {
    let (file, clocks) = (SqliteFile::nothing_yet(), Arc::new(SlowClocks::default()));
    let mut holder = Holder::start(&file, TTL, Some(clocks.clone())).await;
    clocks.pass(TTL - Duration::from_micros(1));
    assert_eq!(holder.renew(None).await, Renew::Extended);
    clocks.pass(TTL);
    assert_eq!(holder.renew(None).await, Renew::Lost(Loss::Expired));
}

#[tokio::test]
async fn a_lease_that_expires_after_the_clocks_were_read_is_not_renewed() {
    let (file, clocks) = (SqliteFile::nothing_yet(), Arc::new(SlowClocks::default()));
    let mut holder = Holder::start(&file, TTL, Some(clocks.clone())).await;
    let expires_at = holder.store.observe(&holder.grant.name).await.unwrap().unwrap().expires_at;
    clocks.freezes.store(true, Ordering::SeqCst);
    assert_eq!(holder.renew(None).await, Renew::Lost(Loss::Expired));
    assert!(!clocks.freezes.load(Ordering::SeqCst));
    let row = holder.store.observe(&holder.grant.name).await.unwrap().unwrap();
    assert_eq!(row.expires_at, expires_at);
}

/// What every statement of this process said, in order.
fn told() -> &'static Mutex<Vec<String>> {
    static TOLD: OnceLock<Mutex<Vec<String>>> = OnceLock::new();
    TOLD.get_or_init(Mutex::default)
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
}

/// Hears of statements, and of nothing else.
struct Listener;

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "tenure_sqlite::statement"
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Texts);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Texts;

impl Visit for Texts {
    fn record_str(&mut self, _: &Field, value: &str) {
        assert!(value.chars().count() <= 200, "{value}");
        told().lock().unwrap().push(value.to_owned());
    }
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

//! Catalogue 12: the wall clock steps by hours while a lease is held.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tenure_core::contract::{ClusterStore, LeaseAdmin, LeaseStore};
use tenure_core::lease::{Acquire, FenceError, Loss, Renew, Renewal};
use tenure_core::time::StoreTime;
use tenure_sqlite::{Clocks, Reading, SqliteOptions, SqliteStore, Steady, SystemClocks};

use crate::backend::{SqliteFile, claim, lease, take};
use crate::cluster_bed::{Bed, taken};

const HOUR_US: i64 = 3_600_000_000;
const TTL: Duration = Duration::from_secs(6);

/// A machine whose clocks stand still until they are moved.
#[derive(Debug, Default)]
struct SetClocks {
    wall_us: AtomicI64,
    steady_us: AtomicI64,
    boot: AtomicI64,
}

impl SetClocks {
    fn pass(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap();
        self.wall_us.fetch_add(micros, Ordering::SeqCst);
        self.steady_us.fetch_add(micros, Ordering::SeqCst);
    }

    fn step_wall(&self, micros: i64) {
        self.wall_us.fetch_add(micros, Ordering::SeqCst);
    }

    fn reboot(&self) {
        self.boot.fetch_add(1, Ordering::SeqCst);
        self.steady_us.store(0, Ordering::SeqCst);
    }
}

impl Clocks for SetClocks {
    fn read(&self) -> Reading {
        Reading {
            wall: StoreTime::from_micros(1_800_000_000_000_000 + self.wall_us.load(Ordering::SeqCst)),
            steady: Some(Steady {
                boot: format!("boot {}", self.boot.load(Ordering::SeqCst)).into(),
                micros: self.steady_us.load(Ordering::SeqCst),
            }),
        }
    }
}

/// Whether a node lives is judged as its lease is, and so is a daemon's fence, also by whoever looks or gives orders.
#[tokio::test]
async fn c12_a_step_of_the_wall_clock_neither_ends_nor_revives_a_node() {
    let (file, store, clocks) = start().await;
    let bed = Bed::on(file, store).await;
    let a = bed.node("a", &["f/1"]).await;
    let generation = bed.assign("f/1", &a).await;
    let alive = async || {
        let look = bed.store.look().await.unwrap();
        (look.nodes[0].is_alive(look.now), look.leads().is_some())
    };
    clocks.step_wall(HOUR_US);
    assert_eq!(alive().await, (true, true));
    taken(bed.store.apply(&bed.acknowledge(&a, "f/1", generation)).await.unwrap());
    let fence = bed.daemon("f/1").await.fence().unwrap();
    let mut user = bed.file.raw();
    bed.store.fencing().check(&user.transaction().unwrap(), &fence).unwrap();
    clocks.step_wall(-2 * HOUR_US);
    assert_eq!(alive().await, (true, true));
    bed.store.fencing().check(&user.transaction().unwrap(), &fence).unwrap();
    clocks.pass(crate::cluster_bed::TTL);
    assert_eq!(alive().await, (false, false));
}

async fn start() -> (SqliteFile, SqliteStore, Arc<SetClocks>) {
    let file = SqliteFile::start().await;
    let clocks = Arc::new(SetClocks::default());
    let store =
        SqliteStore::connect_with_clocks(SqliteOptions::new(file.path()), clocks.clone()).await.unwrap();
    (file, store, clocks)
}

#[tokio::test]
async fn c12_a_wall_clock_that_steps_neither_ends_nor_prolongs_a_lease() {
    for step in [5 * HOUR_US, -5 * HOUR_US] {
        let (file, store, clocks) = start().await;
        let grant = take(&store, "a", TTL).await;
        clocks.pass(Duration::from_secs(2));
        clocks.step_wall(step);

        let Acquire::Held(holder) = store.try_acquire(&claim("a", "other", TTL)).await.unwrap() else {
            panic!("taken early after a step of {step}")
        };
        assert_eq!(holder.expires_in, Duration::from_secs(4));
        let mut connection = file.raw();
        let transaction = connection.transaction().unwrap();
        store.fencing().check(&transaction, &grant.fence()).unwrap();
        drop(transaction);

        let (listed, now) = store.list(&tenure_core::lease::LeasePageOf::first(10)).await.unwrap();
        assert_eq!(now.until(listed[0].expires_at), Duration::from_secs(4));

        let extended = store.renew(&grant, &Renewal { number: 1, presence: None }).await.unwrap();
        assert_eq!(extended, Renew::Extended);
        clocks.step_wall(-step);
        clocks.pass(TTL);
        let transaction = connection.transaction().unwrap();
        let refused = store.fencing().check(&transaction, &grant.fence());
        assert!(matches!(refused, Err(FenceError::Fenced(fenced)) if fenced.loss == Loss::Expired));
        drop(transaction);
        assert_eq!(take(&store, "a", TTL).await.term.get(), 2);
    }
}

#[tokio::test]
async fn c12_an_operator_s_question_leaves_the_end_of_a_lease_where_it_was() {
    let (_file, store, clocks) = start().await;
    take(&store, "a", TTL).await;
    clocks.step_wall(-7 * HOUR_US);
    clocks.pass(Duration::from_secs(5));
    store.revoke(&lease("a"), "someone", false).await.unwrap();
    assert!(matches!(store.try_acquire(&claim("a", "b", TTL)).await.unwrap(), Acquire::Held(_)));
    clocks.pass(Duration::from_secs(1));
    assert!(matches!(store.try_acquire(&claim("a", "b", TTL)).await.unwrap(), Acquire::Granted(_)));
}

#[tokio::test]
async fn c16_a_claim_repeated_over_a_step_gets_the_same_grant() {
    let (_file, store, clocks) = start().await;
    let mine = claim("a", "a", TTL);
    let first = store.try_acquire(&mine).await.unwrap();
    clocks.step_wall(3 * HOUR_US);
    assert_eq!(store.try_acquire(&mine).await.unwrap(), first);
}

#[tokio::test]
async fn after_a_restart_of_the_machine_the_wall_clock_decides() {
    let (_file, store, clocks) = start().await;
    take(&store, "a", TTL).await;
    clocks.reboot();
    assert!(matches!(store.try_acquire(&claim("a", "b", TTL)).await.unwrap(), Acquire::Held(_)));
    clocks.pass(TTL);
    assert!(matches!(store.try_acquire(&claim("a", "b", TTL)).await.unwrap(), Acquire::Granted(_)));
}

#[tokio::test]
async fn what_people_read_is_wall_time() {
    let (_file, store, clocks) = start().await;
    let first = take(&store, "a", TTL).await;
    clocks.step_wall(HOUR_US);
    store.release(&first).await.unwrap();
    let second = take(&store, "a", TTL).await;
    assert_eq!(second.acquired_at, clocks.read().wall);
    let row = store.observe(&lease("a")).await.unwrap().unwrap();
    assert_eq!((row.acquired_at, row.renewed_at), (second.acquired_at, second.acquired_at));
    let history = store.history(Some(&lease("a")), None, 10).await.unwrap();
    assert_eq!(history[0].at, clocks.read().wall);
}

#[tokio::test]
async fn a_row_that_nobody_changes_looks_the_same_twice() {
    let file = SqliteFile::start().await;
    let clocks = Arc::new(SystemClocks::new());
    let store = SqliteStore::connect_with_clocks(SqliteOptions::new(file.path()), clocks).await.unwrap();
    take(&store, "a", TTL).await;
    let first = store.observe(&lease("a")).await.unwrap();
    // passes time: so that clocks have moved on
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.observe(&lease("a")).await.unwrap(), first);
}

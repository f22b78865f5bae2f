//! Nodes of one process over one store: joining, leading, daemons that come and go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::core::cluster::{Answer, ClusterLook, Cursor, Daemon, Labels, Order};
use tenure::core::contract::{ClusterStore, LeaseAdmin, LeaseStore};
use tenure::core::memory::MemoryStore;
use tenure::{
    Agent, Cluster, ClusterBuilder, ClusterError, ClusterEvent, ClusterSettings, DaemonFilter, DaemonName,
    DaemonSpec, DaemonState, Duty, OutboxParts, SingletonSettings, SteadyStoreClock, Steering, agent,
    local_node,
};

use crate::parts::{Notebook, fill};

/// Who runs what at the moment, and whether two ever ran one at once.
#[derive(Debug, Default, Clone)]
struct Ledger(Arc<Mutex<Runs>>);

#[derive(Debug, Default)]
struct Runs {
    now: BTreeMap<String, String>,
    starts: BTreeMap<String, u32>,
    doubled: Vec<String>,
}

impl Ledger {
    fn agent(&self) -> impl Agent {
        let ledger = self.clone();
        agent(move |duty: Duty| {
            let ledger = ledger.clone();
            async move {
                ledger.enter(&duty);
                duty.stop.stopped().await;
                ledger.0.lock().unwrap().now.remove(duty.daemon.as_str());
                Ok(())
            }
        })
    }

    fn enter(&self, duty: &Duty) {
        let mut runs = self.0.lock().unwrap();
        let (daemon, node) = (duty.daemon.to_string(), duty.node.to_string());
        *runs.starts.entry(daemon.clone()).or_default() += 1;
        if let Some(other) = runs.now.insert(daemon.clone(), node.clone()) {
            runs.doubled.push(format!("{daemon} on {other} and {node}"));
        }
    }

    fn on(&self, node: &str) -> usize {
        self.0.lock().unwrap().now.values().filter(|at| *at == node).count()
    }

    fn node_of(&self, daemon: &str) -> Option<String> {
        self.0.lock().unwrap().now.get(daemon).cloned()
    }

    fn running(&self) -> usize {
        self.0.lock().unwrap().now.len()
    }

    fn assert_never_doubled(&self) {
        assert!(self.0.lock().unwrap().doubled.is_empty(), "{:?}", self.0.lock().unwrap().doubled);
    }
}

fn store() -> MemoryStore {
    MemoryStore::new(Arc::new(SteadyStoreClock::start()))
}

/// Quick settings: nobody waits for half a minute before daemons are spread.
fn settings() -> ClusterSettings {
    ClusterSettings { settle: Duration::from_millis(300), ..ClusterSettings::default() }
}

fn node(store: &MemoryStore, name: &str) -> ClusterBuilder {
    let node = local_node(Some(name)).unwrap();
    Cluster::builder(Arc::new(store.clone()), Arc::new(store.clone()), node).settings(settings())
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = tokio::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "it did not come to this: {what}");
        // passes time: what is waited for happens in other tasks
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn tenants(count: usize) -> Vec<DaemonSpec> {
    (0..count).map(|i| DaemonSpec::new(DaemonName::new(format!("tenant/{i}")).unwrap())).collect()
}

#[tokio::test]
async fn daemons_are_spread_and_move_when_a_node_leaves() {
    let (store, ledger) = (store(), Ledger::default());
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        nodes.push(node(&store, name).family("tenant", ledger.agent()).unwrap().start().await.unwrap());
    }
    nodes[0].declare(tenants(12)).await.unwrap();
    until("all twelve run, four on each", || ["a", "b", "c"].iter().all(|node| ledger.on(node) == 4)).await;
    let began = tokio::time::Instant::now();
    nodes[1].stop().await;
    assert_eq!(ledger.on("b"), 0, "what it ran has stopped before it is gone");
    until("those of b run elsewhere", || ledger.running() == 12).await;
    assert!(began.elapsed() < Duration::from_secs(2), "nothing waited for a ttl: {:?}", began.elapsed());
    nodes[0].stop().await;
    until("all run on c", || ledger.on("c") == 12).await;
    nodes[2].stop().await;
    assert_eq!(ledger.running(), 0);
    ledger.assert_never_doubled();
}

#[tokio::test]
async fn s24_one_leads_and_another_follows_when_it_leaves() {
    let store = store();
    let (a, b) = (node(&store, "a").start().await.unwrap(), node(&store, "b").start().await.unwrap());
    let mut events = b.follow();
    until("one of them leads", || a.is_leader() || b.is_leader()).await;
    assert!(a.is_leader() != b.is_leader());
    let (first, second) = if a.is_leader() { (a, b) } else { (b, a) };
    let term = first.term().unwrap();
    let token = first.leadership().unwrap().lost;
    assert!(second.term().is_none() && !token.is_stopped());
    first.stop().await;
    assert!(token.is_stopped() && !first.is_leader());
    let elected = tokio::time::timeout(Duration::from_secs(5), second.elected()).await.unwrap().unwrap();
    assert!(elected.fence.term > term);
    second.stop().await;
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        seen.push(event);
    }
    let registered = seen.iter().filter(|event| matches!(event, ClusterEvent::Registered { .. })).count();
    assert!(registered >= 2, "{seen:?}");
}

#[tokio::test]
async fn a_node_that_may_not_lead_does_not() {
    let store = store();
    let meek = node(&store, "meek").never_leads().start().await.unwrap();
    // passes time: an election would be over long before
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!meek.is_leader());
    let other = node(&store, "other").start().await.unwrap();
    until("the other leads", || other.is_leader()).await;
    assert!(other.resign());
    until("it has resigned", || !other.is_leader()).await;
    assert!(!meek.is_leader());
    meek.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn two_nodes_of_one_name_are_refused_while_both_live() {
    let store = store();
    let quick = ClusterSettings {
        heartbeat: Duration::from_millis(400),
        node_ttl: Duration::from_millis(1500),
        margin: Duration::from_millis(100),
        ..settings()
    };
    let first = node(&store, "twin").settings(quick.clone()).start().await.unwrap();
    let refused = node(&store, "twin").settings(quick.clone()).start().await.unwrap_err();
    assert!(matches!(refused, ClusterError::NameTaken { .. }), "{refused}");
    first.stop().await;
    node(&store, "twin").settings(quick).start().await.unwrap().stop().await;
}

#[tokio::test]
async fn one_daemon_has_one_agent() {
    let (store, ledger) = (store(), Ledger::default());
    let twice = node(&store, "a").daemon("d", ledger.agent()).unwrap().daemon("d", ledger.agent());
    assert!(matches!(twice.unwrap_err(), ClusterError::Twice(_)));
    assert!(node(&store, "a").shards("s", 0, ledger.agent()).is_err());
    assert!(node(&store, "a").shards("s", 100_000, ledger.agent()).is_err());
    let slow = ClusterSettings { heartbeat: Duration::from_secs(2), ..settings() };
    let refused = node(&store, "a").settings(slow).start().await.unwrap_err().to_string();
    assert!(refused.contains("node_ttl") && refused.contains("heartbeat"), "{refused}");
}

#[tokio::test]
async fn s70_a_daemon_that_panics_is_moved_and_disturbs_nobody() {
    let (store, ledger) = (store(), Ledger::default());
    let tries = Arc::new(AtomicU32::new(0));
    let quick = ClusterSettings { restart: Duration::from_millis(5), ..settings() };
    let counted = tries.clone();
    let broken = agent(move |_: Duty| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { panic!("no disk") }
    });
    let a = node(&store, "a").settings(quick.clone()).daemon("d", broken).unwrap();
    let a = a.daemon("calm", ledger.agent()).unwrap().start().await.unwrap();
    until("it was tried three times", || tries.load(Ordering::SeqCst) == 3).await;
    until("the other runs", || ledger.node_of("calm").is_some()).await;
    let row = || async { store_daemon(&a, "d").await };
    // passes time: the failure is reported and explained by other tasks
    tokio::time::sleep(Duration::from_millis(300)).await;
    let daemon = row().await;
    assert_eq!(daemon.state, DaemonState::Unassigned);
    assert!(daemon.reason.contains("failed on a"), "{}", daemon.reason);
    let b = node(&store, "b").settings(quick).daemon("d", ledger.agent()).unwrap().start().await.unwrap();
    until("it runs where it can", || ledger.node_of("d").as_deref() == Some("b")).await;
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    a.stop().await;
    b.stop().await;
}

async fn store_daemon(cluster: &Cluster, name: &str) -> tenure::core::cluster::Daemon {
    let rows = cluster.daemons(&DaemonFilter::beginning(name)).await.unwrap();
    rows.into_iter().find(|row| row.name().as_str() == name).unwrap()
}

#[tokio::test]
async fn s69_operators_pause_resume_and_move() {
    let (store, ledger) = (store(), Ledger::default());
    let a = node(&store, "a").daemon("d", ledger.agent()).unwrap().start().await.unwrap();
    let b = node(&store, "b").daemon("d", ledger.agent()).unwrap().start().await.unwrap();
    let name = DaemonName::new("d").unwrap();
    until("it runs", || ledger.running() == 1).await;
    a.steer(name.clone(), Steering::Pause, "ops").await.unwrap();
    until("it has stopped", || ledger.running() == 0).await;
    // A change of leader does not wake it.
    if a.is_leader() {
        a.resign()
    } else {
        b.resign()
    };
    until("someone leads", || a.is_leader() || b.is_leader()).await;
    // passes time: a leader that forgot the pause would have started it
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(ledger.running(), 0);
    assert!(store_daemon(&a, "d").await.reason.contains("paused by ops"));
    a.steer(name.clone(), Steering::Resume, "ops").await.unwrap();
    until("it runs again", || ledger.running() == 1).await;
    let there = ledger.node_of("d").unwrap();
    let to = if there == "a" { "b" } else { "a" };
    let to_node = local_node(Some(to)).unwrap().name;
    a.steer(name.clone(), Steering::Move { to: to_node }, "ops").await.unwrap();
    until("it has moved", || ledger.node_of("d").as_deref() == Some(to)).await;
    let nowhere = local_node(Some("z")).unwrap().name;
    let refused = a.steer(name, Steering::Move { to: nowhere }, "ops").await.unwrap_err();
    assert!(refused.to_string().contains("no node z"), "{refused}");
    a.stop().await;
    b.stop().await;
    ledger.assert_never_doubled();
}

#[tokio::test]
async fn s66_a_daemon_that_no_node_can_run_says_so() {
    let (store, ledger) = (store(), Ledger::default());
    let spec = DaemonSpec::new(DaemonName::new("gpu").unwrap()).on("gpu", "1");
    let a = node(&store, "a").daemon_of(spec.clone(), ledger.agent()).unwrap().start().await.unwrap();
    // passes time: the leader explains it in another task
    tokio::time::sleep(Duration::from_millis(500)).await;
    let row = store_daemon(&a, "gpu").await;
    assert_eq!((row.state, row.moves), (DaemonState::Unassigned, 0));
    assert!(row.reason.contains("gpu=1"), "{}", row.reason);
    let b = node(&store, "b").label("gpu", "1").daemon_of(spec, ledger.agent()).unwrap();
    let b = b.start().await.unwrap();
    until("it runs where the label is", || ledger.node_of("gpu").as_deref() == Some("b")).await;
    assert_eq!(Labels::default().0.len(), 0);
    a.stop().await;
    b.stop().await;
}

#[tokio::test]
async fn shards_tell_where_an_entity_lives_and_another_count_replaces_them() {
    let (store, ledger) = (store(), Ledger::default());
    let a = node(&store, "a").shards("orders", 4, ledger.agent()).unwrap().start().await.unwrap();
    until("four run", || ledger.running() == 4).await;
    let shards = a.shards("orders", 4);
    // passes time: this node's view follows the store's
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(shards.node_of("order-7").await.unwrap().unwrap().as_str(), "a");
    assert_eq!(shards.shard("order-7"), a.shards("orders", 4).shard("order-7"));
    let b = node(&store, "b").shards("orders", 6, ledger.agent()).unwrap().start().await.unwrap();
    until("six run, and none of the four", || {
        let runs = ledger.0.lock().unwrap();
        runs.now.len() == 6 && runs.now.keys().all(|name| name.ends_with("-of-6"))
    })
    .await;
    a.stop().await;
    b.stop().await;
    ledger.assert_never_doubled();
}

#[tokio::test]
async fn s61_a_node_whose_row_vanished_registers_again_and_loses_nothing() {
    let (store, ledger) = (store(), Ledger::default());
    let a = node(&store, "a").daemon("d", ledger.agent()).unwrap().start().await.unwrap();
    until("it runs", || ledger.running() == 1).await;
    store.delete_node(&a.node().name);
    let back = || a.look().is_some_and(|look| look.node(&a.node().name).is_some());
    // passes time: until it has noticed
    tokio::time::sleep(Duration::from_millis(2500)).await;
    until("it is back", back).await;
    assert_eq!(ledger.0.lock().unwrap().starts["d"], 1, "the daemon never stopped");
    a.stop().await;
}

#[tokio::test]
async fn a_singleton_runs_on_one_node_and_moves_when_it_stops() {
    let (store, ledger) = (store(), Ledger::default());
    let (a, b) = (node(&store, "a").start().await.unwrap(), node(&store, "b").start().await.unwrap());
    let first = a.singleton("only", ledger.agent(), SingletonSettings::default()).unwrap();
    until("it runs on a", || ledger.node_of("only").as_deref() == Some("a")).await;
    let second = b.singleton("only", ledger.agent(), SingletonSettings::default()).unwrap();
    assert!(first.fence().is_some() && second.fence().is_none());
    first.stop().await;
    until("it runs on b", || ledger.node_of("only").as_deref() == Some("b")).await;
    b.stop().await;
    until("it has stopped with its node", || ledger.running() == 0).await;
    a.stop().await;
    ledger.assert_never_doubled();
}

/// A node that drains parts of the outbox into a notebook.
async fn relaying(database: &tenure::Database, name: &str, count: u32, book: &Arc<Notebook>) -> Cluster {
    let node = local_node(Some(name)).unwrap();
    let settings = tenure::RelaySettings { wakeup: true, ..tenure::RelaySettings::default() };
    let lease = tenure::LeaseName::new("outbox").unwrap();
    let parts = OutboxParts::new(database.outbox(), book.clone(), node.name.clone(), settings).unwrap();
    let parts = parts.not_beside(database.leases(), database.cluster(), lease);
    let builder = Cluster::builder(database.leases(), database.cluster(), node).settings(super_quick());
    builder.outbox(count, &parts, None).unwrap().start().await.unwrap()
}

fn super_quick() -> ClusterSettings {
    ClusterSettings { settle: Duration::from_millis(200), ..ClusterSettings::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn e7_the_parts_of_an_outbox_move_and_keep_their_order() {
    let (database, book) = (crate::bank::database(), Notebook::new(Duration::from_millis(1)));
    let a = relaying(&database, "a", 4, &book).await;
    let mut expected = fill(&*database.outbox(), 20, 10).await;
    let b = relaying(&database, "b", 4, &book).await;
    for _ in 0..3 {
        // passes time: parts are spread meanwhile
        tokio::time::sleep(Duration::from_millis(300)).await;
        for (source, mut texts) in fill(&*database.outbox(), 20, 10).await {
            expected.entry(source).or_default().append(&mut texts);
        }
    }
    a.stop().await;
    // Another number, while what is left waits.
    let c = relaying(&database, "c", 6, &book).await;
    for (source, mut texts) in fill(&*database.outbox(), 20, 10).await {
        expected.entry(source).or_default().append(&mut texts);
    }
    crate::parts::until_pending(&database, 0).await;
    if let Some(texts) = expected.get_mut(&None) {
        texts.sort_unstable();
    }
    assert_eq!(book.by_source(), expected, "each once, those of a source in their order");
    b.stop().await;
    c.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exclusive_relay_and_parts_wait_for_each_other() {
    let (database, book) = (crate::bank::database(), Notebook::new(Duration::ZERO));
    let parts = relaying(&database, "parts", 2, &book).await;
    let at_work = || async {
        let rows = database.cluster().daemons(&DaemonFilter::beginning("outbox/")).await.unwrap();
        rows.iter()
            .filter(|row| !matches!(row.state, DaemonState::Unassigned | DaemonState::Assigning))
            .count()
    };
    while at_work().await < 2 {
        // passes time: until both parts are at work
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let other = Notebook::new(Duration::ZERO);
    let leases = tenure::Leases::new(database.leases(), local_node(Some("whole")).unwrap());
    let node = local_node(Some("whole")).unwrap().name;
    let whole = tenure::Relay::new(database.outbox(), other.clone(), node, tenure::RelaySettings::default());
    let whole = whole.unwrap().not_beside_parts(database.cluster());
    let alone = whole.clone().run(&tenure::Stop::new()).await.unwrap_err();
    assert!(alone.to_string().contains("outbox/0-of-2"), "{alone}");
    let whole = whole.exclusive(leases.lease("outbox", tenure::LeaseSettings::default()).unwrap());
    let stop = tenure::Stop::new();
    let running = tokio::spawn({
        let (whole, stop) = (whole.clone(), stop.clone());
        async move { whole.run(&stop).await }
    });
    fill(&*database.outbox(), 5, 5).await;
    crate::parts::until_pending(&database, 0).await;
    // passes time: a relay that did not wait would deliver by now
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((book.count(), other.count()), (30, 0), "the parts deliver, the other waits");
    for index in 0..2 {
        let name = DaemonName::new(format!("outbox/{index}-of-2")).unwrap();
        parts.steer(name, Steering::Pause, "ada").await.unwrap();
    }
    while at_work().await > 0 {
        // passes time: until both parts have stopped
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    fill(&*database.outbox(), 5, 5).await;
    // passes time: a relay that did not mind the pause would deliver by now
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!((book.count(), other.count()), (30, 0), "what is paused is sent by nobody");
    for index in 0..2 {
        let name = DaemonName::new(format!("outbox/{index}-of-2")).unwrap();
        parts.steer(name, Steering::Resume, "ada").await.unwrap();
    }
    crate::parts::until_pending(&database, 0).await;
    assert_eq!((book.count(), other.count()), (60, 0));
    parts.stop().await;
    fill(&*database.outbox(), 5, 5).await;
    crate::parts::until_pending(&database, 0).await;
    assert_eq!((book.count(), other.count()), (60, 30), "now it is the other's turn");
    let again = relaying(&database, "parts", 2, &book).await;
    fill(&*database.outbox(), 5, 5).await;
    crate::parts::until_pending(&database, 0).await;
    // passes time: a part that did not wait would deliver by now
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((book.count(), other.count()), (60, 60), "the parts wait for it");
    stop.stop();
    running.await.unwrap().unwrap();
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_and_retention_are_daemons_and_move_with_their_nodes() {
    let database = crate::bank::database();
    let notes = crate::subscription::Notes::failing(0);
    let start = |name: &'static str| {
        let (database, notes) = (database.clone(), notes.clone());
        async move {
            let events = tenure::Events::new(database.events());
            let settings = tenure::SubscriptionSettings { checkpoint_every: 1, ..Default::default() };
            let reader = tenure::Subscription::new(
                "mails",
                events,
                database.checkpoints(),
                tenure::Handling::Each(notes),
                settings,
            )
            .unwrap();
            let relays = tenure::RelaySettings::default();
            let retention = tenure::Retention::default();
            let sweeper = tenure::Sweeper::new(database.outbox(), retention, &relays).unwrap();
            let node = local_node(Some(name)).unwrap();
            let builder =
                Cluster::builder(database.leases(), database.cluster(), node).settings(super_quick());
            builder.subscription(&reader).unwrap().daemon("sweep", sweeper).unwrap().start().await.unwrap()
        }
    };
    let a = start("a").await;
    crate::subscription::append(&database, &["One", "Two"]).await;
    until("both are handled", || notes.seen() == ["One", "Two"]).await;
    let b = start("b").await;
    a.stop().await;
    crate::subscription::append(&database, &["Three"]).await;
    until("the next node goes on where the other stopped", || notes.seen() == ["One", "Two", "Three"]).await;
    let rows = b.daemons(&DaemonFilter::beginning("")).await.unwrap();
    let on_b = rows.iter().filter(|row| row.node().is_some_and(|node| node.as_str() == "b")).count();
    assert_eq!((rows.len(), on_b), (2, 2), "{rows:?}");
    b.stop().await;
}

/// A store whose leases work while nothing of the cluster can be seen.
#[derive(Debug, Clone)]
struct Foggy {
    inner: MemoryStore,
    fog: Arc<std::sync::atomic::AtomicBool>,
}

impl Foggy {
    fn see(&self) -> Result<(), tenure::StoreError> {
        match self.fog.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(tenure::StoreError::Unreachable {
                store: "fog".into(),
                message: "nothing is seen".into(),
            }),
        }
    }
}

#[async_trait::async_trait]
impl ClusterStore for Foggy {
    async fn look(&self) -> Result<ClusterLook, tenure::StoreError> {
        self.see()?;
        self.inner.look().await
    }

    async fn daemons_after(&self, after: &Cursor, limit: u32) -> Result<Vec<Daemon>, tenure::StoreError> {
        self.see()?;
        self.inner.daemons_after(after, limit).await
    }

    async fn daemons(&self, filter: &DaemonFilter) -> Result<Vec<Daemon>, tenure::StoreError> {
        self.see()?;
        self.inner.daemons(filter).await
    }

    async fn apply(&self, order: &Order) -> Result<Answer, tenure::StoreError> {
        self.see()?;
        self.inner.apply(order).await
    }
}

#[tokio::test]
async fn a_node_that_does_not_see_stops_what_it_runs_and_goes_on_when_it_sees() {
    let (inner, ledger, fog) = (store(), Ledger::default(), Arc::default());
    let foggy = Foggy { inner: inner.clone(), fog };
    let soon = Duration::from_millis(200);
    let settings = ClusterSettings {
        look: soon,
        look_without_wakeup: soon,
        drain: Duration::from_secs(2),
        ..settings()
    };
    let node = local_node(Some("a")).unwrap();
    let builder = Cluster::builder(Arc::new(inner), Arc::new(foggy.clone()), node).settings(settings);
    let a = builder.daemon("d", ledger.agent()).unwrap().start().await.unwrap();
    until("it runs", || ledger.running() == 1).await;
    foggy.fog.store(true, Ordering::SeqCst);
    let began = tokio::time::Instant::now();
    until("it has stopped", || ledger.running() == 0).await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(2), "before anyone takes it by force: {took:?}");
    assert!(took > Duration::from_millis(700), "not for a moment's fog: {took:?}");
    foggy.fog.store(false, Ordering::SeqCst);
    until("it runs again", || ledger.running() == 1).await;
    a.stop().await;
    ledger.assert_never_doubled();
}

#[tokio::test]
async fn a_node_of_the_old_number_that_joins_again_does_not_turn_it_back() {
    let (store, ledger) = (store(), Ledger::default());
    let a = node(&store, "a").shards("orders", 2, ledger.agent()).unwrap().start().await.unwrap();
    until("two run", || ledger.running() == 2).await;
    let b = node(&store, "b").shards("orders", 3, ledger.agent()).unwrap().start().await.unwrap();
    let of_three = || {
        let runs = ledger.0.lock().unwrap();
        runs.now.len() == 3 && runs.now.keys().all(|name| name.ends_with("-of-3"))
    };
    until("three run", of_three).await;
    let lease = tenure::core::cluster::node_lease(&a.node().name).unwrap();
    let term = |store: &MemoryStore| {
        let (store, lease) = (store.clone(), lease.clone());
        async move { LeaseStore::observe(&store, &lease).await.unwrap().unwrap().term }
    };
    let before = term(&store).await;
    let _ = LeaseAdmin::revoke(&store, &lease, "ops", true).await.unwrap();
    while term(&store).await == before {
        // passes time: until it has lost its lease and joined again
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // passes time: the old number would be declared by now
    tokio::time::sleep(Duration::from_millis(700)).await;
    until("three run, as before", of_three).await;
    let rows = b.daemons(&DaemonFilter::beginning("orders/")).await.unwrap();
    assert_eq!(rows.len(), 3, "{rows:?}");
    a.stop().await;
    b.stop().await;
}

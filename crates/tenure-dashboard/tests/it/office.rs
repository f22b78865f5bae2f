//! Who is in office, as the pages tell it: by the leases and by what loops say, and never by what a process said before it
//! ended.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{CheckpointStore, EventStore, LeaseStore, RunnerStore};
use tenure_core::event::{Append, AppendAnswer, Expected, NewEvent, Position, StreamName};
use tenure_core::id::{Node, Unique};
use tenure_core::lease::{Claim, LeaseName};
use tenure_core::memory::{ManualClock, MemoryStore};
use tenure_core::observe::{RunnerKind, RunnerReport};
use tenure_core::subscription::{Advance, Step, SubscriptionName};
use tenure_dashboard::{Auth, Hosts};

use crate::house::{self, HOST, House, Who};
use crate::watched::Watched;

struct Scene {
    clock: Arc<ManualClock>,
    house: House,
}

impl Scene {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(1_700_000_000));
        let store = Arc::new(Watched::new(MemoryStore::new(clock.clone())));
        let auth = Auth::tokens(house::tokens());
        let house = House::of(store, auth, Hosts::these([HOST]).unwrap(), None, |dashboard| dashboard);
        Self { clock, house }
    }

    fn store(&self) -> &MemoryStore {
        &self.house.store.inner
    }

    async fn holds(&self, lease: &str, kind: Option<&str>, node: &Node, ttl: u64) {
        let claim = Claim {
            name: LeaseName::new(lease).unwrap(),
            node: node.clone(),
            id: Unique::from_u128(node.incarnation.as_u128() + 100),
            ttl: Duration::from_secs(ttl),
            kind: kind.map(str::to_owned),
            evidence: None,
        };
        self.store().try_acquire(&claim).await.unwrap();
    }

    async fn says(&self, node: &Node, kind: RunnerKind, name: &str, state: &str) {
        let report = RunnerReport {
            kind,
            name: name.to_owned(),
            state: state.to_owned(),
            trouble: None,
            cycled_ago: Some(Duration::from_secs(1)),
            advanced_ago: Some(Duration::from_secs(1)),
            every: Duration::from_secs(1),
            counters: Default::default(),
        };
        self.store().report(node, &[report]).await.unwrap();
    }

    /// A page, without what stands in angles.
    async fn page(&self, path: &str) -> String {
        let told = self.house.get(path).bearer(Who::View).send().await;
        assert_eq!(told.status, 200, "{}", told.body);
        let parts = told.body.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
        parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn process(name: &str, number: u128) -> Node {
    Node { incarnation: Unique::from_u128(number), pid: 100, ..house::node(name) }
}

const NOBODY: &str = "no lease of a relay is held, and none reports";

#[tokio::test(start_paused = true)]
async fn a_relay_is_found_however_its_lease_is_called() {
    let scene = Scene::new();
    let page = scene.page("/").await;
    assert!(page.contains("▲ nobody") && page.contains(NOBODY), "{page}");

    // By the kind of its lease, though it reports nothing.
    let scene = Scene::new();
    scene.holds("demo/relay", Some("outbox"), &process("n1", 1), 60).await;
    let page = scene.page("/").await;
    assert!(page.contains("holds demo/relay") && !page.contains("▲ nobody"), "{page}");

    // By what it says, though nobody told the lease's kind.
    let scene = Scene::new();
    scene.holds("myapp", None, &process("n1", 1), 60).await;
    scene.says(&process("n1", 1), RunnerKind::Relay, "myapp", "leading, term 1").await;
    scene.says(&process("n2", 2), RunnerKind::Relay, "myapp", "standing by").await;
    let page = scene.page("/").await;
    assert!(page.contains("holds myapp") && page.contains("1 stands by"), "{page}");
    assert!(!page.contains("▲ nobody") && page.matches("leading, term 1").count() == 0, "told once: {page}");

    // By parts, which are daemons and have no lease among those of relays.
    let scene = Scene::new();
    scene.says(&process("n1", 1), RunnerKind::Parts, "outbox 0/4", "leading, term 3").await;
    let page = scene.page("/").await;
    assert!(page.contains("parts outbox 0/4") && !page.contains("▲ nobody"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_killed_is_not_shown_as_leading_beside_its_successor() {
    let scene = Scene::new();
    let (killed, next) = (process("p2", 2), process("p1", 1));
    scene.holds("outbox", Some("outbox"), &killed, 10).await;
    scene.says(&killed, RunnerKind::Relay, "outbox", "leading, term 1").await;
    scene.clock.advance(Duration::from_secs(11));
    scene.holds("outbox", Some("outbox"), &next, 600).await;
    scene.says(&next, RunnerKind::Relay, "outbox", "leading, term 2").await;
    let page = scene.page("/cluster").await;
    assert!(page.contains("✓ leading, term 2") && !page.contains("✓ leading, term 1"), "{page}");
    assert!(page.contains("is held by p1 , term 2"), "{page}");
    let first = scene.page("/").await;
    assert!(first.contains("p1 holds outbox") && !first.contains("p2 holds"), "{first}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_silent_is_not_shown_as_well() {
    let scene = Scene::new();
    let (silent, other) = (process("p2", 2), process("p1", 1));
    scene.says(&silent, RunnerKind::Relay, "outbox", "at work").await;
    scene.clock.advance(Duration::from_secs(46));
    scene.says(&other, RunnerKind::Heart, "heart", "beating").await;
    let page = scene.page("/cluster").await;
    assert!(page.contains("▲ not heard of since 46 s ago") && page.contains("✓ beating"), "{page}");
    assert!(!page.contains("✓ at work"), "{page}");
    assert!(scene.page("/").await.contains("▲ nobody"));
}

/// What fails a probe must not be healthy elsewhere.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_stands_still_is_unhealthy_for_the_api_too() {
    let scene = Scene::new();
    let append = |n: u128| {
        let event = NewEvent::json(uuid::Uuid::from_u128(n), "Lent", "{}");
        Append::new(StreamName::new(format!("loan-{n}")).unwrap(), Expected::NONE, vec![event])
    };
    for n in 1..=3 {
        let answer = EventStore::append(scene.store(), &append(n), &Default::default()).await.unwrap();
        assert!(matches!(answer, AppendAnswer::Appended(_)), "{answer:?}");
    }
    let name = SubscriptionName::new("loans").unwrap();
    let step = Step { name, from: Position::START, rewinds: 0, to: Position(1), parked: vec![] };
    assert_eq!(scene.store().advance(None, &step).await.unwrap(), Advance::Advanced);
    let ask = async || scene.house.get("/api/v1/status").bearer(Who::View).send().await.json();
    assert_eq!(
        (ask().await["health"].as_str(), ask().await["exit_code"].as_u64()),
        (Some("healthy"), Some(0))
    );
    scene.clock.advance(Duration::from_secs(600));
    let told = ask().await;
    assert_eq!((told["health"].as_str(), told["exit_code"].as_u64()), (Some("unhealthy"), Some(1)), "{told}");
    assert!(told["reasons"][0].as_str().unwrap().contains("the subscription loans is 2 behind"), "{told}");
    let page = scene.page("/").await;
    assert!(page.contains("The subscription loans is 2 behind") && page.contains("✕"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn who_goes_astray_finds_back() {
    let scene = Scene::new();
    let told = scene.house.get("/nope").bearer(Who::View).send().await;
    assert_eq!(told.status, 404);
    assert!(told.body.contains("<nav") && told.body.contains("href=\"/_tenure/outbox\""), "{}", told.body);
    let stranger = scene.house.get("/nope").send().await;
    assert_eq!((stranger.status, stranger.body.contains("<nav")), (404, false));
    assert_eq!(scene.house.get("/api/v1/nope").bearer(Who::View).send().await.json()["what"], "not_found");
}

//! Where a test takes place: a cluster, and nodes that claim a lease there.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use tenure_core::contract::LeaseStore;
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Grant, LeaseName, Release, Renew, Renewal};
use tenure_kafka::{KafkaLeaseOptions, KafkaLeases};

pub(crate) type Mock = MockCluster<'static, DefaultProducerContext>;

/// A cluster, and what leases there look like.
pub(crate) struct Place {
    pub(crate) options: KafkaLeaseOptions,
    pub(crate) mock: Option<Mock>,
}

pub(crate) fn unique() -> Unique {
    Unique::from_u128(uuid::Uuid::new_v4().as_u128())
}

pub(crate) fn lease(what: &str) -> LeaseName {
    LeaseName::new(format!("{what}-{}", uuid::Uuid::new_v4().simple())).unwrap()
}

impl Place {
    /// A mock with one broker and the topic made.
    pub(crate) fn mock() -> Self {
        let mock = MockCluster::new(1).unwrap();
        let mut options =
            KafkaLeaseOptions::from_url(&format!("kafka://{}", mock.bootstrap_servers())).unwrap();
        mock.create_topic(&options.topic, 1, 1).unwrap();
        options.heartbeat = Duration::from_millis(200);
        // The mock lets a new group wait for three seconds, and puts those out who are silent meanwhile.
        options.session_timeout = Duration::from_secs(5);
        options.join_timeout = Duration::from_secs(20);
        Self { options, mock: Some(mock) }
    }

    /// The real cluster, with a topic of its own; says so where there is none.
    pub(crate) fn real() -> Option<Self> {
        let Ok(url) = std::env::var("TENURE_TEST_KAFKA_URL") else {
            static SAID: std::sync::Once = std::sync::Once::new();
            SAID.call_once(|| {
                let _ = writeln!(
                    std::io::stderr(),
                    "TENURE_TEST_KAFKA_URL names no cluster: the mock alone is tested"
                );
            });
            return None;
        };
        let mut options = KafkaLeaseOptions::from_url(&url).unwrap();
        options.topic = format!("tenure-test-{}", uuid::Uuid::new_v4().simple());
        Some(Self { options, mock: None })
    }

    /// The real cluster with times as short as it allows; the brokers' `group.min.session.timeout.ms` must be lowered.
    pub(crate) fn quick() -> Option<Self> {
        let mut place = Self::real()?;
        place.options.heartbeat = Duration::from_millis(300);
        place.options.session_timeout = Duration::from_secs(3);
        Some(place)
    }

    /// Another node.
    pub(crate) fn enter(&self, name: &str) -> Player {
        // RUST_LOG=debug shows what happens; a test that is told twice says nothing more.
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
        Player::new(self.options.clone(), name)
    }
}

/// A node with a store of its own.
#[derive(Clone)]
pub(crate) struct Player {
    pub(crate) store: Arc<KafkaLeases>,
    pub(crate) node: Node,
}

impl Player {
    pub(crate) fn new(options: KafkaLeaseOptions, name: &str) -> Self {
        let node = Node {
            name: NodeName::new(name).unwrap(),
            incarnation: unique(),
            machine: "test".into(),
            pid: std::process::id(),
        };
        Self { store: Arc::new(KafkaLeases::new(options).unwrap()), node }
    }

    pub(crate) fn claim(&self, name: &LeaseName, ttl: Duration) -> Claim {
        Claim { name: name.clone(), node: self.node.clone(), id: unique(), ttl, kind: None, evidence: None }
    }

    pub(crate) async fn takes(&self, name: &LeaseName, ttl: Duration) -> Grant {
        let claim = self.claim(name, ttl);
        self.gets(&claim, Duration::from_secs(30)).await
    }

    /// Claims again and again, as one who waits does: by the store's hints.
    pub(crate) async fn gets(&self, claim: &Claim, limit: Duration) -> Grant {
        let until = Instant::now() + limit;
        loop {
            match self.store.try_acquire(claim).await.unwrap() {
                Acquire::Granted(grant) => return grant,
                Acquire::Held(holder) => {
                    assert!(Instant::now() < until, "{} still finds {holder:?}", self.node);
                    let vacancy = self.store.vacancy().unwrap();
                    vacancy.watch(&claim.name, holder.term, Duration::from_secs(2)).await.unwrap();
                }
            }
        }
    }

    pub(crate) async fn finds_held(&self, name: &LeaseName, ttl: Duration) -> tenure_core::lease::Holder {
        match self.store.try_acquire(&self.claim(name, ttl)).await.unwrap() {
            Acquire::Held(holder) => holder,
            Acquire::Granted(grant) => panic!("{} must not get {grant:?}", self.node),
        }
    }

    pub(crate) async fn renews(&self, grant: &Grant, number: u64) -> Renew {
        self.store.renew(grant, &Renewal { number, presence: None }).await.unwrap()
    }

    pub(crate) async fn releases(&self, grant: &Grant) -> Release {
        self.store.release(grant).await.unwrap()
    }
}

/// Makes a test of a story on each cluster there is, or on the real one alone.
macro_rules! on_both {
    ($($where:ident: $story:ident)*) => {
        mod mock {
            $( crate::place::on_mock!($where $story); )*
        }
        mod real {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $story() {
                    if let Some(place) = crate::place::Place::quick() {
                        super::$story(place).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use on_both;

macro_rules! on_mock {
    (both $story:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $story() {
            super::$story(crate::place::Place::mock()).await;
        }
    };
    (real $story:ident) => {};
}
pub(crate) use on_mock;

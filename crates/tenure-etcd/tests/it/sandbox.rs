//! Keys of its own for each test, and the means to look behind the store's back.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Mutex;

use etcd_client::{Client, DeleteOptions, KeyValue};
use tenure_etcd::{EtcdOptions, EtcdStore};

/// Keys of one test below a prefix of their own; they are deleted with it.
pub(crate) struct Sandbox {
    pub(crate) url: String,
    pub(crate) prefix: String,
}

impl Sandbox {
    /// On the server that the environment names; `None`, said aloud, where there is none.
    pub(crate) fn new() -> Option<Self> {
        given("TENURE_TEST_ETCD_URL").map(Self::on)
    }

    /// On this server.
    pub(crate) fn on(url: String) -> Self {
        Self { url, prefix: format!("tenure-test/{:016x}/", fastrand::u64(..)) }
    }

    pub(crate) fn options(&self) -> EtcdOptions {
        let mut options = EtcdOptions::from_url(&self.url).expect("a test URL");
        options.prefix = self.prefix.clone();
        options
    }

    pub(crate) async fn store(&self) -> EtcdStore {
        EtcdStore::connect(self.options()).await.expect("a store")
    }

    /// `host:port` of the server.
    pub(crate) fn address(&self) -> String {
        address(&self.url)
    }

    /// A user's own connection.
    pub(crate) async fn client(&self) -> Client {
        Client::connect([self.address()], None).await.expect("a client")
    }

    /// The key that is there while the lease is held.
    pub(crate) async fn held(&self, name: &str) -> Option<KeyValue> {
        let found = self.client().await.kv_client().get(format!("{}held/{name}", self.prefix), None).await;
        found.expect("an answer").take_kvs().pop()
    }

    /// Deletes keys behind the store's back.
    pub(crate) async fn delete(&self, kinds: &[&str], name: &str) {
        for kind in kinds {
            let key = format!("{}{kind}/{name}", self.prefix);
            self.client().await.kv_client().delete(key, None).await.expect("deleted");
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let (address, prefix) = (self.address(), self.prefix.clone());
        // A test's own runtime may be on its way out: another thread has one of its own.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            // Of a server that is gone, or that lets nobody in, nothing is left to clean up.
            let _ = runtime.block_on(tokio::time::timeout(std::time::Duration::from_secs(2), async {
                let Ok(client) = Client::connect([address], None).await else { return };
                let all = DeleteOptions::new().with_prefix();
                let _ = client.kv_client().delete(prefix, Some(all)).await;
            }));
        });
        let _ = dropping.join();
    }
}

fn address(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default().split(',').next().unwrap_or_default().to_owned()
}

fn given(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        assert!(!in_ci(), "{variable} is not set, and with CI=true that is a failure");
        say(&format!("{variable} IS NOT SET: tests on etcd pass without having been run"));
    }
    url
}

pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

/// Writes past the test harness, which shows nothing of a test that passes; once for each line.
pub(crate) fn say(line: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap().insert(line.to_owned()) {
        let _ = writeln!(std::io::stderr(), "tenure-etcd: {line}");
    }
}

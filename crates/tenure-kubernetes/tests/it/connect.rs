//! Where a cluster is found, and what is said when it is not.

use std::path::Path;
use std::time::{Duration, Instant};

use tenure_core::StoreError;
use tenure_core::contract::LeaseStore;
use tenure_kubernetes::{KubernetesOptions, KubernetesStore};

use crate::api::Fault;
use crate::bed::{Bed, LONG, Player, lease};

const TOKEN: &str = "c4nary-token";

fn kubeconfig(folder: &Path, server: &str) -> String {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: one\n\
         clusters:\n- name: here\n  cluster:\n    server: {server}\n\
         users:\n- name: me\n  user:\n    token: {TOKEN}\n\
         contexts:\n\
         - name: one\n  context: {{cluster: here, user: me, namespace: first}}\n\
         - name: two\n  context: {{cluster: here, user: me, namespace: second}}\n"
    );
    let path = folder.join("config");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

async fn open(url: &str) -> Result<KubernetesStore, StoreError> {
    KubernetesStore::connect(KubernetesOptions::from_url(url)?).await
}

#[tokio::test]
async fn a_kubeconfig_gives_the_address_and_the_namespace() {
    let bed = Bed::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = kubeconfig(folder.path(), &bed.api.url());
    let name = lease("relay");
    for (url, namespace) in [
        (format!("kubernetes://?kubeconfig={path}"), "first"),
        (format!("kubernetes://?kubeconfig={path}&context=two"), "second"),
        (format!("kubernetes://third?kubeconfig={path}&context=two"), "third"),
    ] {
        let store = open(&url).await.expect("a store");
        assert!(!format!("{store:?}").contains(TOKEN));
        Player::new(store, "ann").takes(&name, LONG).await;
        assert!(bed.api.object(namespace, "relay").is_some(), "{url} is in namespace {namespace}");
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kubeconfig(folder.path(), "http://127.0.0.1:1");
    let none = open("kubernetes://a?kubeconfig=/no/such/file").await.expect_err("no file");
    assert!(
        matches!(none, StoreError::Refused { .. }) && none.to_string().contains("/no/such/file"),
        "{none}"
    );
    let other =
        open(&format!("kubernetes://a?kubeconfig={path}&context=three")).await.expect_err("no context");
    assert!(other.to_string().contains("three") && !other.to_string().contains(TOKEN), "{other}");
}

/// Nobody listens, over plain text and over TLS: an error that may pass, in good time.
#[tokio::test]
async fn a_cluster_that_cannot_be_reached_is_an_error_that_may_pass() {
    for server in ["http://127.0.0.1:1", "https://127.0.0.1:1"] {
        let store = open(&format!("kubernetes://a?server={server}")).await.expect("a store");
        let error = store.reach().await.expect_err("nobody listens");
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
        let before = Instant::now();
        let error = store.observe(&lease("relay")).await.expect_err("nobody listens");
        assert!(matches!(error, StoreError::Unreachable { .. }) && error.is_transient(), "{error:?}");
        assert!(before.elapsed() < Duration::from_secs(6));
    }
}

/// A role that is for some names alone forbids all others: the API is there all the same.
#[tokio::test]
async fn a_cluster_that_answers_is_reached_and_one_that_does_not_know_us_is_told_from_it() {
    let bed = Bed::start().await;
    let store = open(&format!("kubernetes://a?server={}", bed.api.url())).await.expect("a store");
    store.reach().await.expect("not found is an answer");
    bed.api.fault("get", [Fault::Fail(403), Fault::Fail(401)]);
    store.reach().await.expect("not allowed is an answer");
    let error = store.reach().await.expect_err("nobody knows us");
    assert!(matches!(error, StoreError::Refused { .. }) && error.to_string().contains("401"), "{error}");
}

/// A store whose runtime has ended says so, and does not hang.
#[test]
fn a_store_outlives_its_runtime_with_an_error() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let (first, second) = (runtime().expect("a runtime"), runtime().expect("a runtime"));
    let store = first.block_on(open("kubernetes://a?server=http://127.0.0.1:1")).expect("a store");
    drop(first);
    let error = second.block_on(store.observe(&lease("relay"))).expect_err("its runtime has ended");
    assert!(error.to_string().contains("runtime"), "{error}");
}

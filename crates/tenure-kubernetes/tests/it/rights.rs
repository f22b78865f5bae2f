//! What a store says when it lacks a right.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore, Vacancy};

use crate::api::Fault;
use crate::bed::{Bed, LONG, lease};

#[tokio::test]
async fn a_missing_right_names_the_verb_and_the_rule() {
    let bed = Bed::start().await;
    let (ann, name) = (bed.node("ann").await, lease("rights"));
    let mut errors = Vec::new();
    for verb in ["get", "create"] {
        bed.api.fault(verb, [Fault::Fail(403)]);
        errors.push((verb, ann.tries(&ann.claim(&name, LONG)).await.expect_err("forbidden")));
    }
    let grant = ann.takes(&name, LONG).await;
    bed.api.fault("update", [Fault::Fail(403); 2]);
    errors.push(("update", ann.tries_to_renew(&grant, 1).await.expect_err("forbidden")));
    errors.push(("update", ann.store.release(&grant).await.expect_err("forbidden")));
    bed.api.fault("watch", [Fault::Fail(403)]);
    let watched = ann.store.watch(&name, grant.term, Duration::from_secs(1)).await;
    errors.push(("watch", watched.expect_err("forbidden")));
    for (verb, error) in errors {
        let said = error.to_string();
        assert!(matches!(error, StoreError::Refused { .. }) && !error.is_transient(), "{said}");
        for part in
            [&format!("`{verb}`"), "403", "namespace shop", "coordination.k8s.io", "leases", "rbac.yaml"]
        {
            assert!(said.contains(part), "{part:?} is missing in: {said}");
        }
    }
}

#[tokio::test]
async fn an_unknown_caller_is_told_to_renew_its_credentials() {
    let bed = Bed::start().await;
    let ann = bed.node("ann").await;
    bed.api.fault("get", [Fault::Fail(401)]);
    let error = ann.store.observe(&lease("who")).await.expect_err("unauthorised");
    assert!(
        matches!(error, StoreError::Refused { .. }) && error.to_string().contains("kubeconfig"),
        "{error}"
    );
}

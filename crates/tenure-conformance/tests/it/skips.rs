//! What is not run is said, and is not taken for passed where someone relies on it.

use std::panic::catch_unwind;
use std::sync::Arc;

use async_trait::async_trait;
use tenure_conformance::{Backend, Need, suite};
use tenure_core::contract::LeaseStore;

use crate::memory::MemoryBackend;

/// A backend with nothing but a store, and what it promises.
struct Bare(&'static [Need]);

#[async_trait]
impl Backend for Bare {
    async fn store(&self) -> Arc<dyn LeaseStore> {
        MemoryBackend::start().store().await
    }

    fn promises(&self) -> &'static [Need] {
        self.0
    }
}

const CASE: &str = "a01_a_session_lock_excludes_others";

#[test]
fn a_case_is_skipped_where_the_backend_lacks_what_it_needs() {
    suite::run(CASE, async { Bare(&[]) });
}

#[test]
fn a_case_is_not_skipped_where_the_backend_promised_what_it_needs() {
    assert!(catch_unwind(|| suite::run(CASE, async { Bare(&[Need::Locks]) })).is_err());
}

#[test]
fn a_server_that_is_not_to_be_had_passes_here_and_fails_in_ci() {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let missing = catch_unwind(|| suite::run(CASE, async { None::<Bare> }));
    assert_eq!(missing.is_err(), in_ci);
}

#[test]
fn a_backend_may_be_shared() {
    let shared: Arc<dyn Backend> = Arc::new(MemoryBackend::start());
    suite::run(CASE, async { Arc::clone(&shared) });
    suite::run(CASE, async { Some(shared) });
}

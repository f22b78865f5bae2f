//! Names that a careless server takes for one, and an error within a transaction: on a real server.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{LeaseStore as _, SessionLocks as _};
use tenure_core::id::{Node, NodeName, Unique};
use tenure_core::lease::{Acquire, Claim, Fence, LeaseName};

use crate::sandbox::{Sandbox, fresh};

fn claim(name: &str) -> Claim {
    let node = Node {
        name: NodeName::new("node").unwrap(),
        incarnation: Unique::from_u128(fresh()),
        machine: "here ".into(),
        pid: 1,
    };
    Claim {
        name: LeaseName::new(name).unwrap(),
        node,
        id: Unique::from_u128(fresh()),
        ttl: Duration::from_secs(30),
        kind: None,
        evidence: None,
    }
}

mod sqlserver {
    use super::*;

    #[tokio::test]
    async fn names_that_differ_by_a_space_a_case_or_an_accent_are_several() {
        let Some(sandbox) = Sandbox::new().await else { return };
        let store = sandbox.sql().await;
        for name in ["a", "a ", "a  ", "A", "ä", "a\u{308}", "\u{1f980}", "'; --"] {
            let answer = store.try_acquire(&claim(name)).await.unwrap();
            let Acquire::Granted(grant) = answer else { panic!("{name:?}: {answer:?}") };
            assert_eq!(grant.name.as_str(), name);
            assert_eq!(store.observe(&grant.name).await.unwrap().unwrap().node.machine, "here ");
        }
    }

    #[tokio::test]
    async fn a_fence_that_was_checked_holds_up_a_takeover_and_no_renewal() {
        let Some(sandbox) = Sandbox::new().await else { return };
        let store = sandbox.store().await;
        let Acquire::Granted(grant) = store.sql().try_acquire(&claim("x")).await.unwrap() else { panic!() };
        let mut user = sandbox.user().await;
        user.begin_transaction().await.unwrap();
        let fence = Fence { lease: grant.name.clone(), term: grant.term };
        store.fencing().check(&mut user, &fence).await.unwrap();
        let renewal = tenure_core::lease::Renewal { number: 1, presence: None };
        store.sql().renew(&grant, &renewal).await.unwrap();
        let held_up = store.sql().release(&grant).await;
        assert!(matches!(held_up, Err(tenure_core::StoreError::Busy { .. })), "{held_up:?}");
        user.commit_transaction().await.unwrap();
        store.sql().release(&grant).await.unwrap();
    }

    #[tokio::test]
    async fn a_session_lock_is_had_by_one_and_goes_with_its_session() {
        let Some(sandbox) = Sandbox::new().await else { return };
        let (one, two) = (sandbox.store().await.session_locks(), sandbox.store().await.session_locks());
        let name = LeaseName::new("l").unwrap();
        let held: Arc<_> = one.try_lock(&name).await.unwrap().expect("the lock");
        assert!(two.try_lock(&name).await.unwrap().is_none());
        drop(held);
        assert!(two.lock(&name, Duration::from_secs(5)).await.unwrap().is_some());
    }
}

//! A server that lets only users in, and a user who may do no more than needed.

use etcd_client::{Client, Permission};
use tenure_core::StoreError;
use tenure_core::contract::LeaseStore as _;
use tenure_core::lease::{Release, Renew};
use tenure_etcd::{EtcdOptions, EtcdStore};

use crate::node::{LONG, claim, is_held, renewal, takes};
use crate::private::{Private, connect};

/// What must not be seen anywhere.
const SECRET: &str = "tenure-test-secret";

/// A server with root, a user who may read and write below `tenure/leases/`, and one who may do nothing.
async fn locked() -> Option<Private> {
    let server = Private::start()?;
    drop(server.store().await);
    let client = Client::connect([format!("127.0.0.1:{}", server.port)], None).await.unwrap();
    let mut auth = client.auth_client();
    auth.role_add("leases").await.unwrap();
    let permission = Permission::read_write("tenure/leases/").with_prefix();
    auth.role_grant_permission("leases", permission).await.unwrap();
    for (user, role) in [("root", Some("root")), ("app", Some("leases")), ("nobody", None)] {
        auth.user_add(user, SECRET, None).await.unwrap();
        if let Some(role) = role {
            if role == "root" {
                auth.role_add("root").await.unwrap();
            }
            auth.user_grant_role(user, role).await.unwrap();
        }
    }
    auth.auth_enable().await.unwrap();
    Some(server)
}

fn options(server: &Private, credentials: &str) -> EtcdOptions {
    EtcdOptions::from_url(&format!("etcd://{credentials}127.0.0.1:{}", server.port)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_let_in_is_told_so_without_the_password() {
    let Some(server) = locked().await else { return };
    let wrong = format!("app:not-{SECRET}@");
    for credentials in ["", wrong.as_str(), &format!("stranger:{SECRET}@"), &format!("nobody:{SECRET}@")] {
        let error = EtcdStore::connect(options(&server, credentials)).await.expect_err(credentials);
        assert!(matches!(error, StoreError::Refused { .. }), "{credentials}: {error:?}");
        assert!(!error.is_transient());
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    }
}

/// The rights that the documentation names are enough for everything, also after the server forgot its tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_rights_on_the_prefix_alone_can_do_everything() {
    let Some(mut server) = locked().await else { return };
    let url = format!("etcd://app:{SECRET}@127.0.0.1:{}", server.port);
    let (ann, bob) = (connect(&url).await, connect(&url).await);
    assert!(!format!("{ann:?}").contains(SECRET));
    let grant = takes(&ann, &claim("ann", "job", LONG)).await;
    assert!(is_held(&bob, "job").await);
    server.kill();
    server.run();
    let mut number = 1;
    let began = std::time::Instant::now();
    while ann.renew(&grant, &renewal(number)).await.ok() != Some(Renew::Extended) {
        number += 1;
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "a new token is asked for");
    }
    assert_eq!(ann.release(&grant).await.unwrap(), Release::Released);
    takes(&bob, &claim("bob", "job", LONG)).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let error =
        EtcdStore::connect(EtcdOptions::from_url(&format!("etcd://app:{SECRET}@127.0.0.1:1")).unwrap())
            .await
            .expect_err("nobody is there");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("127.0.0.1:1") && said.contains("refused") && !said.contains(SECRET), "{said}");
}

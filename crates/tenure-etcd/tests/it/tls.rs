//! Encrypted connections.

use tenure_core::StoreError;
use tenure_etcd::{EtcdOptions, EtcdStore};

use crate::node::{LONG, claim, is_held, takes};
use crate::private::{Private, connect};

/// A server that speaks only TLS, known to clients by a certificate of its own for `localhost`.
fn encrypted() -> Option<(Private, String)> {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (directory.path().join("server.crt"), directory.path().join("server.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let authority = certificate.display().to_string();
    let more = vec![format!("--cert-file={authority}"), format!("--key-file={}", key.display())];
    Some((Private::with(directory, more)?, authority))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_is_vouched_for_is_enough() {
    let Some((server, authority)) = encrypted() else { return };
    let store = connect(&format!("etcds://localhost:{}/?ca={authority}", server.port)).await;
    takes(&store, &claim("ann", "job", LONG)).await;
    assert!(is_held(&store, "job").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_nobody_vouches_for_gets_no_password() {
    let Some((server, authority)) = encrypted() else { return };
    drop(connect(&format!("etcds://localhost:{}/?ca={authority}", server.port)).await);
    let (port, brief) = (server.port, "connect_timeout=2&request_timeout=1");
    for url in [
        format!("etcds://app:secret@localhost:{port}/?{brief}"),
        format!("etcds://app:secret@127.0.0.1:{port}/?ca={authority}&{brief}"),
        format!("etcd://app:secret@localhost:{port}/?{brief}"),
    ] {
        let error = EtcdStore::connect(EtcdOptions::from_url(&url).unwrap()).await.expect_err(&url);
        assert!(matches!(error, StoreError::Unreachable { .. }), "{url}: {error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

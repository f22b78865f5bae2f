//! A server for Leases that other programs' tests can start: `lease_api [PORT]`.
//!
//! It prints its address on a line of its own, `http://127.0.0.1:PORT`, and serves until its standard input ends: give it a pipe,
//! and it ends with whoever started it.
//! A store connects with `kubernetes://NAMESPACE?server=http://127.0.0.1:PORT`. It keeps everything in memory and
//! asks for no credentials: it is for tests.
//!
//! Faults can be ordered over HTTP: `POST /_fault?verb=update&fail=503&times=3`, or `slow=MS`, `late=MS`, `lose=1`; the verbs
//! are `get`, `create`, `update`, `watch`.

#![allow(clippy::print_stdout, clippy::expect_used, unreachable_pub, missing_docs, dead_code)]

#[path = "../tests/it/api.rs"]
mod api;

use tokio::io::AsyncReadExt;

#[tokio::main]
async fn main() {
    let port = std::env::args().nth(1).map_or(0, |text| text.parse().expect("the first argument is a port"));
    let server = api::Api::start(port).await;
    println!("{}", server.url());
    let mut rest = Vec::new();
    let _ = tokio::io::stdin().read_to_end(&mut rest).await;
}

//! Secrets are in no answer and in no log, whatever goes wrong.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tenure_dashboard::{Permissions, Tokens, routes};

use crate::checks::base64_of;
use crate::house::{House, Told, Who};
use crate::samples;

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn silent(told: &Told, what: &str) {
    assert!(!told.body.contains("CANARY"), "{what}: {}", told.body);
    assert!(!format!("{:?}", told.headers).contains("CANARY"), "{what}: {:?}", told.headers);
}

#[tokio::test(start_paused = true)]
async fn no_token_is_ever_told_or_logged() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone());
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let house = House::new(None).await;
    for away in [false, true] {
        house.store.go_away(away);
        for route in routes().filter(|route| route.path != "/live") {
            for who in Who::ALL {
                let path = format!("{}{}", route.path, samples::query(route.path, "something"));
                let token = who.token().unwrap_or("CANARY");
                silent(&house.ask(route.method, &path).bearer(who).send().await, &path);
                let basic = base64_of(&format!("{}:{token}", who.name()));
                silent(
                    &house
                        .ask(route.method, &path)
                        .header("authorization", &format!("Basic {basic}"))
                        .send()
                        .await,
                    &path,
                );
                silent(&house.ask(route.method, &path).header("authorization", token).send().await, &path);
                let cookie = format!("tenure_session={token}");
                silent(&house.ask(route.method, &path).header("cookie", &cookie).send().await, &path);
                let field = format!("{path}{}token={token}", if path.contains('?') { '&' } else { '?' });
                silent(&house.ask(route.method, &field).send().await, &field);
                let body = format!("password={token}");
                silent(&house.ask("POST", route.path).ours().form(&body).send().await, route.path);
            }
        }
    }
    let basic = base64_of("mallory\n:CANARY-wrong");
    house.get("/").header("authorization", &format!("Basic {basic}")).send().await;
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("a token was refused"), "{logged}");
    assert!(!logged.contains("CANARY"), "a secret was logged");
    // The name that was tried is told, and cannot begin a line of its own.
    assert!(logged.contains("mallory\\\\n"), "{logged}");
}

#[test]
fn nothing_shows_a_token() {
    let tokens = Tokens::in_clear("ada", Permissions::ALL, "CANARY-0123456789abcdef").unwrap();
    let shown = format!("{tokens:?}") + &format!("{:?}", tenure_dashboard::Auth::tokens(tokens));
    assert!(
        !shown.contains("CANARY") && !shown.contains(&crate::house::sha256("CANARY-0123456789abcdef")[..8]),
        "{shown}"
    );
}

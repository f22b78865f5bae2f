//! A panic in code of a user's own, or of ours, ends one request.

use std::sync::Arc;

use tenure_dashboard::{Auth, Authenticator, Hosts, Operator, Redact, Refused, SigningKey};

use crate::house::{DEAD_ID, HOST, House, Who, filled, operator};

struct Broken;

impl Redact for Broken {
    fn payload(&self, _topic: &str, _kind: &str, _payload: &mut Vec<u8>) {
        panic!("CANARY");
    }
    fn header(&self, _name: &str, _value: &mut String) {}
}

#[async_trait::async_trait]
impl Authenticator for Broken {
    async fn operator(&self, head: &axum::http::request::Parts) -> Result<Operator, Refused> {
        assert!(!head.headers.contains_key("x-break"), "CANARY");
        Ok(operator("ada"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_answers_without_details_and_ends_one_request_only() {
    let house = House::with(None, |dashboard| dashboard.redact(Arc::new(Broken)), "something").await;
    let told =
        house.get(&format!("/api/v1/outbox/message?id={DEAD_ID}")).bearer(Who::ViewPayloads).send().await;
    assert_eq!((told.status, told.json()["what"].as_str()), (500, Some("broken")));
    assert!(!told.body.contains("CANARY"), "{}", told.body);
    assert_eq!(told.headers["x-content-type-options"], "nosniff");
    assert_eq!(house.get("/api/v1/outbox/stats").bearer(Who::View).send().await.status, 200);

    let auth = Auth::by(Arc::new(Broken), SigningKey::new([1; 32]).unwrap());
    let hosts = Hosts::these([HOST]).unwrap();
    let house = House::of(filled("something").await, auth, hosts, None, |dashboard| dashboard);
    let told = house.get("/").header("x-break", "1").send().await;
    assert_eq!(told.status, 500);
    assert!(!told.body.contains("CANARY"), "{}", told.body);
    assert_eq!(house.get("/").send().await.status, 200);
}

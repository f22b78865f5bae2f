//! Hosts, as requests name them.

use tenure_dashboard::mutation::Rule;

use crate::checks::{Found, demand};
use crate::house::{House, SECRET, Who};

/// A page of somebody else's that has its name stand for our address names its own host.
pub(crate) async fn a_host_that_is_not_ours_is_refused(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    for host in [
        "evil.test",
        "ops.example.com.evil.test",
        "ops.example.com.",
        "localhost",
        "127.0.0.1:7070",
        "[::1]:7070",
        "ops.example.com:x",
    ] {
        for path in ["/", "/login", "/api/v1/outbox/messages", "/none"] {
            let told = house
                .get(path)
                .without("host")
                .header("host", host)
                .bearer(Who::OperatePayloads)
                .send()
                .await;
            demand(told.status == 421, || format!("{host} {path}: {}", told.status))?;
            demand(told.header("content-type").starts_with("text/plain"), || told.body.clone())?;
            demand(!told.body.contains(SECRET) && !told.body.contains("something"), || told.body.clone())?;
        }
    }
    let twice = house.get("/").header("host", crate::house::HOST).bearer(Who::View).send().await;
    demand(twice.status == 421, || format!("two hosts: {}", twice.status))?;
    let none = house.get("/").without("host").bearer(Who::View).send().await;
    demand(none.status == 421, || format!("no host: {}", none.status))?;
    for host in ["ops.example.com", "OPS.example.com", "ops.example.com:8443"] {
        let told = house.get("/").without("host").header("host", host).bearer(Who::View).send().await;
        demand(told.status == 200, || format!("{host}: {}", told.status))?;
    }
    let ours = House::loopback(rule).await;
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:7070", "[::1]:7070"] {
        let told = ours.get("/").without("host").header("host", host).from(Some("127.0.0.1:5")).send().await;
        demand(told.status == 200, || format!("{host}: {}", told.status))?;
    }
    for host in ["localhost.evil.test", "127.0.0.1.nip.io", "localhost.", "ops.example.com"] {
        let told = ours.get("/").without("host").header("host", host).from(Some("127.0.0.1:5")).send().await;
        demand(told.status == 421, || format!("{host}: {}", told.status))?;
    }
    Ok(())
}

//! A dashboard without tokens.

use tenure_dashboard::mutation::Rule;
use tenure_dashboard::routes;

use crate::checks::{Found, demand};
use crate::house::{Ask, House, csrf, page_with_a_form};
use crate::samples;

fn here(ask: Ask<'_>) -> Ask<'_> {
    ask.without("host").header("host", "localhost:7070").from(Some("127.0.0.1:5"))
}

/// Whoever is on this machine may look, and nobody may act.
pub(crate) async fn nobody_acts_without_tokens(rule: Option<Rule>) -> Found {
    let house = House::loopback(rule).await;
    let before = house.state().await;
    let page = here(house.get(&page_with_a_form())).send().await;
    demand(page.status == 200, || format!("{}", page.status))?;
    let csrf = csrf(&page).unwrap_or_default();
    for route in routes().filter(|route| route.method == "POST" && route.action.is_some()) {
        let fields = samples::change(route.path).map(|(fields, _)| fields).unwrap_or_default();
        let body: String = fields.iter().map(|(name, value)| format!("{name}={value}&")).collect();
        let ask = here(house.ask("POST", route.path)).header("sec-fetch-site", "same-origin");
        let told = ask.form(&format!("{body}csrf={csrf}")).send().await;
        demand(told.status == 403, || format!("{}: {} {}", route.path, told.status, told.body))?;
    }
    let after = house.state().await;
    demand(before == after, || "someone has acted".to_owned())
}

/// A proxy on this machine would turn everyone into this machine.
pub(crate) async fn what_came_through_a_proxy_is_refused(rule: Option<Rule>) -> Found {
    let house = House::loopback(rule).await;
    for header in
        ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]
    {
        let told = here(house.get("/api/v1/outbox/messages")).header(header, "127.0.0.1").send().await;
        demand(told.status == 403, || format!("{header}: {}", told.status))?;
        demand(!told.body.contains("something"), || told.body.clone())?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn only_this_machine_looks_without_tokens() {
    let house = House::loopback(None).await;
    for (peer, status) in [
        (Some("127.0.0.1:5"), 200),
        (Some("[::1]:5"), 200),
        (Some("192.168.1.7:5"), 403),
        (Some("10.0.0.1:5"), 403),
        (None, 403),
    ] {
        let told = house.get("/").without("host").header("host", "127.0.0.1:7070").from(peer).send().await;
        assert_eq!(told.status, status, "{peer:?}: {}", told.body);
    }
    let told = here(house.get("/login")).send().await;
    assert_eq!((told.status, told.header("location")), (303, "/_tenure"), "there is no login");
    let told = here(house.ask("POST", "/login"))
        .header("sec-fetch-site", "same-origin")
        .form("password=x")
        .send()
        .await;
    assert_eq!(told.status, 404);
}

//! Each safety rule as a check that holds, and that fails when the rule is switched off.
//!
//! A check answers what it found wrong. The tests of this folder run each check as it stands; the last test here switches each
//! rule off and demands that its check fails then. A rule that no check misses is a rule nobody can rely on.

use std::pin::Pin;

use tenure_dashboard::mutation::Rule;

use crate::house::{DEAD_ID, House, SECRET, Who, in_2027};
use crate::{hostile, hosts, loopback, slow};

/// What went wrong.
pub(crate) type Found = Result<(), String>;

/// Demands something of a check.
pub(crate) fn demand(holds: bool, what: impl FnOnce() -> String) -> Found {
    if holds { Ok(()) } else { Err(what()) }
}

type Check = fn(Option<Rule>) -> Pin<Box<dyn Future<Output = Found>>>;

const CHECKS: &[(Rule, Check)] = &[
    (Rule::HostChecked, |rule| Box::pin(hosts::a_host_that_is_not_ours_is_refused(rule))),
    (Rule::SameOrigin, |rule| Box::pin(a_change_from_another_site_is_refused(rule))),
    (Rule::CsrfToken, |rule| Box::pin(a_change_without_the_token_of_a_form_is_refused(rule))),
    (Rule::CsrfNamesOperator, |rule| Box::pin(a_change_with_the_token_of_another_is_refused(rule))),
    (Rule::PermissionInHandler, |rule| Box::pin(who_may_only_look_changes_nothing(rule))),
    (Rule::PayloadHidden, |rule| Box::pin(who_may_not_see_payloads_sees_none(rule))),
    (Rule::Expiry, |rule| Box::pin(what_has_ended_lets_nobody_in(rule))),
    (Rule::RevokedEndsSession, |rule| Box::pin(a_session_ends_with_its_token(rule))),
    (Rule::LoopbackReadOnly, |rule| Box::pin(loopback::nobody_acts_without_tokens(rule))),
    (Rule::LoopbackRefusesProxy, |rule| Box::pin(loopback::what_came_through_a_proxy_is_refused(rule))),
    (Rule::Escape, |rule| Box::pin(hostile::texts_stay_texts(rule))),
    (Rule::CutPayload, |rule| Box::pin(hostile::a_large_payload_is_cut(rule))),
    (Rule::BoundedParams, |rule| Box::pin(hostile::parameters_are_bounded(rule))),
    (Rule::AskBounded, |rule| Box::pin(slow::a_hanging_store_holds_a_few_questions_and_no_more(rule))),
    (Rule::AskNotDropped, |rule| Box::pin(slow::no_question_is_dropped(rule))),
    (Rule::AuditEveryAction, |rule| Box::pin(every_change_is_in_the_audit_with_its_operator(rule))),
    (Rule::GetChangesNothing, |rule| Box::pin(crate::walk::looking_changes_nothing(rule))),
];

#[tokio::test(start_paused = true)]
async fn every_rule_holds() {
    for (rule, check) in CHECKS {
        assert_eq!(check(None).await, Ok(()), "{rule:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_rule_that_is_switched_off_is_missed_by_its_check() {
    for (rule, check) in CHECKS {
        assert!(check(Some(*rule)).await.is_err(), "{rule:?} is off, and its check does not notice");
    }
}

const RETRY: &str = "/api/v1/outbox/retry";

fn retry() -> String {
    format!("{{\"id\": \"{DEAD_ID}\"}}")
}

/// As it was before, whatever was answered.
async fn unchanged(house: &House, before: &str, what: &str) -> Found {
    let after = house.state().await;
    demand(after == before, || format!("{what} changed the store"))
}

async fn a_change_from_another_site_is_refused(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let session = house.log_in(Who::Operate).await;
    let before = house.state().await;
    let says: [&[(&'static str, &str)]; 8] = [
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.test")],
        &[("sec-fetch-site", "same-site"), ("origin", "https://other.example.com")],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "cross-site"), ("origin", "https://ops.example.com")],
        &[("origin", "https://evil.test")],
        &[("origin", "https://ops.example.com.evil.test")],
        &[("origin", "null")],
        &[],
    ];
    for said in says {
        let mut ask = house.ask("POST", RETRY).json(&retry()).header("cookie", &session.cookie);
        ask = ask.header("x-tenure-csrf", &session.csrf);
        for (name, value) in said {
            ask = ask.header(name, value);
        }
        let told = ask.send().await;
        demand(told.status == 403, || format!("{said:?}: {}", told.status))?;
    }
    // A secret that no browser adds by itself does not help a page that was made to send it.
    for who in [Who::Operate, Who::OperatePayloads] {
        let told = house
            .ask("POST", RETRY)
            .json(&retry())
            .bearer(who)
            .header("sec-fetch-site", "cross-site")
            .send()
            .await;
        demand(told.status == 403, || format!("bearer: {}", told.status))?;
    }
    let told =
        house.ask("POST", "/login").form(&format!("password={}", Who::Operate.token().unwrap_or_default()));
    let told = told.header("origin", "https://evil.test").send().await;
    demand(told.status == 403, || format!("login: {}", told.status))?;
    unchanged(&house, &before, "a request from elsewhere").await
}

async fn a_change_without_the_token_of_a_form_is_refused(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let session = house.log_in(Who::Operate).await;
    let before = house.state().await;
    for token in ["", "x", "1.AAAA"] {
        let ask = house.ask("POST", RETRY).json(&retry()).header("cookie", &session.cookie).ours();
        let ask = if token.is_empty() { ask } else { ask.header("x-tenure-csrf", token) };
        let told = ask.send().await;
        demand(told.status == 403, || format!("{token:?}: {}", told.status))?;
    }
    let basic = base64_of(&format!("otto:{}", Who::Operate.token().unwrap_or_default()));
    let told = house
        .ask("POST", RETRY)
        .json(&retry())
        .header("authorization", &format!("Basic {basic}"))
        .ours()
        .send()
        .await;
    demand(told.status == 403, || format!("basic: {}", told.status))?;
    let told = house.ask("POST", "/logout").form("").header("cookie", &session.cookie).ours().send().await;
    demand(told.status == 403, || format!("logout: {}", told.status))?;
    unchanged(&house, &before, "a request without a token").await
}

async fn a_change_with_the_token_of_another_is_refused(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let (otto, ada) = (house.log_in(Who::Operate).await, house.log_in(Who::OperatePayloads).await);
    let before = house.state().await;
    let told = house
        .ask("POST", RETRY)
        .json(&retry())
        .header("cookie", &otto.cookie)
        .header("x-tenure-csrf", &ada.csrf);
    let told = told.ours().send().await;
    demand(told.status == 403, || format!("{}", told.status))?;
    unchanged(&house, &before, "another's token").await?;
    let told = house
        .ask("POST", RETRY)
        .json(&retry())
        .header("cookie", &otto.cookie)
        .header("x-tenure-csrf", &otto.csrf);
    let told = told.ours().send().await;
    demand(told.status == 200, || format!("his own: {} {}", told.status, told.body))
}

async fn who_may_only_look_changes_nothing(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let before = house.state().await;
    for who in [Who::View, Who::ViewPayloads] {
        let told = house.ask("POST", RETRY).json(&retry()).bearer(who).send().await;
        demand(told.status == 403, || format!("{who:?}: {}", told.status))?;
    }
    unchanged(&house, &before, "one who may only look").await
}

async fn who_may_not_see_payloads_sees_none(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    for who in [Who::View, Who::Operate] {
        for route in tenure_dashboard::routes().filter(|route| route.method == "GET") {
            if route.path == "/live" {
                continue;
            }
            let path = format!("{}{}", route.path, crate::samples::query(route.path, "something"));
            let told = house.get(&path).bearer(who).send().await;
            demand(!told.body.contains(SECRET), || format!("{who:?} sees a payload at {path}"))?;
        }
    }
    let told =
        house.get(&format!("/api/v1/outbox/message?id={DEAD_ID}")).bearer(Who::ViewPayloads).send().await;
    demand(told.body.contains(SECRET), || format!("one who may see it does not: {}", told.body))
}

async fn what_has_ended_lets_nobody_in(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let told = house.get("/api/v1/outbox/stats").bearer(Who::Expired).send().await;
    demand(told.status == 401, || format!("an ended token: {}", told.status))?;
    demand(told.body.contains("ended on 2020-01-01"), || told.body.clone())?;
    let told = house
        .ask("POST", "/login")
        .ours()
        .form(&format!("password={}", Who::Expired.token().unwrap_or_default()));
    let told = told.send().await;
    demand(told.status == 401 && !told.headers.contains_key("set-cookie"), || {
        format!("its login: {}", told.status)
    })?;
    // A session that is older than twelve hours.
    let session = house.log_in(Who::View).await;
    let later = House::with(rule, |dashboard| dashboard.clock(in_2027), "something").await;
    let told = later.get("/").header("cookie", &session.cookie).send().await;
    demand(told.is_login(), || format!("an old session: {}", told.status))
}

/// A file of tokens in which a line is taken out. The file is looked at once in five seconds, by a clock that tests do not move.
async fn a_session_ends_with_its_token(rule: Option<Rule>) -> Found {
    use std::os::unix::fs::PermissionsExt;
    use tenure_dashboard::{Auth, Hosts, SigningKey, Tokens};
    let store = crate::house::filled("something").await;
    let both = |lines: &str| {
        let key = SigningKey::new([9; 32]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, lines).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let auth = Auth::tokens(Tokens::file(&path).unwrap()).signed_with(key);
        House::of(
            std::sync::Arc::clone(&store),
            auth,
            Hosts::these([crate::house::HOST]).unwrap(),
            rule,
            |dashboard| dashboard,
        )
    };
    let line =
        |who: Who| format!("{} view sha256:{}\n", who.name(), crate::house::sha256(who.token().unwrap()));
    // Two nodes with the same key: the second has read the file after the line was taken out.
    let before = both(&format!("{}{}", line(Who::View), line(Who::Operate)));
    let session = before.log_in(Who::View).await;
    let after = both(&line(Who::Operate));
    let told = after.get("/").header("cookie", &session.cookie).send().await;
    demand(told.is_login(), || format!("taken out: {}", told.status))?;
    let changed = both(
        &line(Who::View)
            .replace(&crate::house::sha256(Who::View.token().unwrap()), &crate::house::sha256("another")),
    );
    let told = changed.get("/").header("cookie", &session.cookie).send().await;
    demand(told.is_login(), || format!("changed: {}", told.status))
}

async fn every_change_is_in_the_audit_with_its_operator(rule: Option<Rule>) -> Found {
    for route in tenure_dashboard::routes().filter(|route| route.method == "POST") {
        let Some((fields, lines)) = crate::samples::change(route.path) else {
            return Err(format!("there is no sample for {}", route.path));
        };
        if matches!(route.path, "/login" | "/logout") {
            continue;
        }
        let house = House::new(rule).await;
        let before = house.audit().await.len();
        let told = crate::walk::post(&house, &route, Who::OperatePayloads, &fields).await;
        demand(told.status < 500, || format!("{}: {} {}", route.path, told.status, told.body))?;
        let audit = house.audit().await;
        demand(audit.len() - before == lines, || {
            format!("{} wrote {} lines: {} {}", route.path, audit.len() - before, told.status, told.body)
        })?;
        let request = told.header("x-request-id").to_owned();
        for line in audit.iter().take(lines) {
            let whole =
                line.actor.starts_with("ada (") && line.actor.ends_with(&format!(", request {request})"));
            demand(whole, || format!("{} was done by {:?}", route.path, line.actor))?;
        }
    }
    Ok(())
}

pub(crate) fn base64_of(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

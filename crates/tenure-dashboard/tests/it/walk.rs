//! Every route as everyone, by every method.

use std::fmt::Write as _;

use tenure_core::outbox::State;
use tenure_dashboard::mutation::Rule;
use tenure_dashboard::{Permission, RouteFacts, routes};

use crate::checks::{Found, demand};
use crate::house::{DEAD_ID, House, Told, Who, csrf, page_with_a_form};
use crate::samples;

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];

/// Asks a route as someone with a token, and with everything else as it should be.
pub(crate) async fn post(house: &House, route: &RouteFacts, who: Who, fields: &[(&str, &str)]) -> Told {
    let ask = house.ask("POST", route.path).bearer(who);
    if route.is_api {
        let object: serde_json::Map<String, serde_json::Value> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        return ask.json(&serde_json::Value::Object(object).to_string()).send().await;
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in fields {
        form.append_pair(name, value);
    }
    ask.ours().form(&form.finish()).send().await
}

/// What became of a request: refused by the gate, or answered by the handler.
fn class(told: &Told) -> &'static str {
    match told.status {
        _ if told.is_login() => "login",
        401 => "401",
        403 => "403",
        405 => "405",
        415 => "415",
        429 => "429",
        500 => "500",
        _ => "in",
    }
}

/// What the row alone says.
fn expected(
    methods: &[&'static str],
    permission: Option<Permission>,
    is_page: bool,
    who: Who,
    method: &str,
) -> &'static str {
    let asked = if method == "HEAD" { "GET" } else { method };
    if !methods.contains(&asked) {
        return "405";
    }
    match permission {
        None => "in",
        Some(permission) if who.may().has(permission) => "in",
        Some(_) if who.may().has(Permission::View) => "403",
        Some(_) if is_page => "login",
        Some(_) => "401",
    }
}

#[tokio::test(start_paused = true)]
async fn every_route_is_open_to_those_its_row_names_and_to_nobody_else() {
    let (house, loopback) = (House::new(None).await, House::loopback(None).await);
    let mut written = String::from(
        "# Who gets in where. Written by the test `walk` with TENURE_WRITE_SNAPSHOTS=1; look at every change.\n",
    );
    let all: Vec<RouteFacts> = routes().collect();
    for route in &all {
        let methods: Vec<&str> =
            all.iter().filter(|other| other.path == route.path).map(|other| other.method).collect();
        let _ = write!(written, "{:<4} {:<34}", route.method, route.path);
        for who in Who::ALL {
            for method in METHODS {
                // The other method of the path has a row of its own.
                let asked = if method == "HEAD" { "GET" } else { method };
                if methods.contains(&asked) && asked != route.method {
                    continue;
                }
                let told = knock(&house, route, who, method).await;
                let is_page = !route.is_api && !told.header("content-type").starts_with("text/plain");
                let should = expected(&methods, route.permission, is_page, who, method);
                assert_eq!(
                    class(&told),
                    should,
                    "{method} {} as {who:?}: {} {}",
                    route.path,
                    told.status,
                    told.body
                );
                assert_eq!(told.headers["x-content-type-options"], "nosniff");
                assert!(told.headers.contains_key("content-security-policy"), "{}", route.path);
                if asked == route.method && method != "HEAD" {
                    let _ = write!(written, " {}={}", format!("{who:?}").to_lowercase(), class(&told));
                }
                if method == "HEAD" {
                    assert_eq!(told.body, "", "{}", route.path);
                }
            }
        }
        let told = without_tokens(&loopback, route).await;
        let looks = route.method == "GET" && route.permission != Some(Permission::SeePayload);
        let should = if looks || route.permission.is_none() { "in" } else { "403" };
        assert_eq!(class(&told), should, "{} {} without tokens: {}", route.method, route.path, told.body);
        let _ = writeln!(written, " loopback={}", class(&told));
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/walk.txt");
    if std::env::var_os("TENURE_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(golden, &written).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(golden).unwrap_or_default(),
        written,
        "run with TENURE_WRITE_SNAPSHOTS=1 and look at the difference"
    );
}

/// Asks a dashboard that has no tokens, from its own machine and from a page of ours, with the token of its form.
async fn without_tokens(house: &House, route: &RouteFacts) -> Told {
    let from = |method: &str, path: &str| {
        house.ask(method, path).without("host").header("host", "localhost:7070").from(Some("127.0.0.1:5"))
    };
    if route.method == "GET" {
        let path =
            format!("{}{}", route.path.replace('*', "none/none"), samples::query(route.path, "something"));
        let method = if route.path == "/live" { "HEAD" } else { "GET" };
        return from(method, &path).send().await;
    }
    let page = from("GET", &page_with_a_form()).send().await;
    let csrf = csrf(&page);
    let fields = samples::change(route.path).map(|(fields, _)| fields).unwrap_or_default();
    let body: String = fields.iter().map(|(name, value)| format!("{name}={value}&")).collect();
    let ask = from("POST", route.path).header("sec-fetch-site", "same-origin");
    ask.form(&format!("{body}csrf={}", csrf.unwrap_or_default())).send().await
}

async fn knock(house: &House, route: &RouteFacts, who: Who, method: &str) -> Told {
    let path = route.path.replace('*', "none/none");
    match method {
        "POST" => {
            let fields = samples::change(route.path).map(|(fields, _)| fields).unwrap_or_default();
            if route.path == "/login" {
                return house.ask("POST", "/login").ours().bearer(who).form("").send().await;
            }
            post(house, route, who, &fields).await
        }
        // A stream goes on for ever; whether it begins is all that counts here.
        _ if route.path == "/live" && method == "GET" => {
            let answer = tokio::time::timeout(
                std::time::Duration::from_secs(1),
                house.get("/live").bearer(who).send(),
            )
            .await;
            match answer {
                Ok(told) => told,
                Err(_) => house.ask("HEAD", "/live").bearer(who).send().await,
            }
        }
        _ => {
            house
                .ask(method, &format!("{path}{}", samples::query(route.path, "something")))
                .bearer(who)
                .send()
                .await
        }
    }
}

#[tokio::test(start_paused = true)]
async fn routes_answer_what_their_samples_ask_for() {
    let house = House::new(None).await;
    for route in
        routes().filter(|route| route.method == "GET" && !route.path.contains('*') && route.path != "/live")
    {
        let path = format!("{}{}", route.path, samples::query(route.path, "something"));
        let told = house.get(&path).bearer(Who::OperatePayloads).send().await;
        let nothing_yet = route.path.ends_with("/job");
        assert!(
            told.status < 400 || (nothing_yet && told.status == 404),
            "{path}: {} {}",
            told.status,
            told.body
        );
        if route.is_api {
            assert_eq!(told.header("content-type"), "application/json", "{path}");
            told.json();
        }
        assert_eq!(told.header("cache-control"), "no-store", "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_change_changes_nothing() {
    for route in routes().filter(|route| route.method == "POST" && route.action.is_some()) {
        let house = House::new(None).await;
        let session = house.log_in(Who::OperatePayloads).await;
        let before = house.state().await;
        let (fields, _) =
            samples::change(route.path).unwrap_or_else(|| panic!("there is no sample for {}", route.path));
        for who in [Who::Nobody, Who::WrongToken, Who::Expired, Who::View, Who::ViewPayloads] {
            post(&house, &route, who, &fields).await;
        }
        let body: String = fields.iter().map(|(name, value)| format!("{name}={value}&")).collect();
        let plain = house
            .ask("POST", route.path)
            .header("cookie", &session.cookie)
            .ours()
            .header("content-type", "text/plain");
        assert_eq!(plain.send().await.status, 415, "{}", route.path);
        let multipart = house.ask("POST", route.path).header("cookie", &session.cookie).ours();
        assert_eq!(
            multipart.header("content-type", "multipart/form-data; boundary=x").send().await.status,
            415,
            "{}",
            route.path
        );
        let unknown = format!("{body}csrf={}&unknown=1", session.csrf);
        let told = house
            .ask("POST", route.path)
            .header("cookie", &session.cookie)
            .ours()
            .form(&unknown)
            .send()
            .await;
        assert_eq!(told.status, 400, "{}: {}", route.path, told.body);
        let long = format!("{body}csrf={}&{}", session.csrf, "x".repeat(65 * 1024));
        let told =
            house.ask("POST", route.path).header("cookie", &session.cookie).ours().form(&long).send().await;
        assert_eq!(told.status, 413, "{}", route.path);
        assert_eq!(house.state().await, before, "{}", route.path);
        assert_eq!(house.store.writes(), 0, "{}", route.path);
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_that_is_thirteen_hours_old_changes_nothing() {
    static HOURS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    fn clock() -> std::time::SystemTime {
        crate::house::in_2027()
            + std::time::Duration::from_secs(3_600 * HOURS.load(std::sync::atomic::Ordering::SeqCst))
    }
    let house = House::with(None, |dashboard| dashboard.clock(clock), "something").await;
    // Basic has no session that would end first; the token of its page is good for any hour of the same day.
    let basic =
        format!("Basic {}", crate::checks::base64_of(&format!("otto:{}", Who::Operate.token().unwrap())));
    let page = house.get(&page_with_a_form()).header("authorization", &basic).send().await;
    let csrf = csrf(&page).unwrap();
    let send = || {
        let ask = house.ask("POST", "/api/v1/outbox/retry").ours().header("authorization", &basic);
        ask.header("x-tenure-csrf", &csrf).json(&format!("{{\"id\": \"{DEAD_ID}\", \"dry_run\": true}}"))
    };
    HOURS.store(12, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(send().send().await.status, 200);
    HOURS.store(13, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(send().send().await.status, 403);
}

/// Looks at everything as one who may do everything, and watches the store.
pub(crate) async fn looking_changes_nothing(rule: Option<Rule>) -> Found {
    let house = House::new(rule).await;
    let before = house.state().await;
    for route in routes().filter(|route| route.method == "GET" && route.path != "/live") {
        let path = format!("{}{}", route.path, samples::query(route.path, "something"));
        for method in ["GET", "HEAD"] {
            house.ask(method, &path).bearer(Who::OperatePayloads).send().await;
        }
        demand(house.store.writes() == 0, || format!("{path} changes something"))?;
    }
    let after = house.state().await;
    demand(before == after, || "looking has changed something".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_change_does_what_it_says() {
    let house = House::new(None).await;
    let dry = format!("{{\"filter\": {{\"id\": \"{DEAD_ID}\"}}, \"dry_run\": true}}");
    let told = house.ask("POST", "/api/v1/outbox/discard").bearer(Who::Operate).json(&dry).send().await;
    assert_eq!(told.json(), serde_json::json!({ "dry_run": true, "or_more": false, "would_change": 1 }));
    let session = house.log_in(Who::Operate).await;
    let ask = house.ask("POST", "/api/v1/outbox/retry").header("cookie", &session.cookie).ours();
    let told =
        ask.header("x-tenure-csrf", &session.csrf).json(&format!("{{\"id\": \"{DEAD_ID}\"}}")).send().await;
    assert_eq!(told.json()["ids"], serde_json::json!([DEAD_ID]), "{}", told.body);
    let told = house.get(&format!("/api/v1/outbox/message?id={DEAD_ID}")).bearer(Who::View).send().await;
    assert_eq!(told.json()["state"], serde_json::json!(State::Pending));
    assert_eq!(told.json()["payload_hidden"], true);
    let told = house.ask("POST", "/api/v1/outbox/retry").bearer(Who::Operate).json("{}").send().await;
    assert_eq!(told.status, 400, "a change of everything has to be said");
    let told = house.get("/api/v1/audit?actor=otto").bearer(Who::View).send().await;
    assert_eq!(told.json()["items"].as_array().unwrap().len(), 1, "{}", told.body);
}

#[tokio::test(start_paused = true)]
async fn force_is_asked_for_twice() {
    let house = House::new(None).await;
    let before = house.state().await;
    for body in [r#"{"name": "outbox", "force": true}"#, r#"{"name": "outbox", "force": true, "sure": "x"}"#]
    {
        let told = house.ask("POST", "/api/v1/leases/release").bearer(Who::Operate).json(body).send().await;
        assert_eq!(told.status, 400, "{}", told.body);
    }
    assert_eq!(house.state().await, before);
    let sure = r#"{"name": "outbox", "force": true, "sure": "outbox"}"#;
    let told = house.ask("POST", "/api/v1/leases/release").bearer(Who::Operate).json(sure).send().await;
    assert_eq!(told.status, 200, "{}", told.body);
    let daemon = r#"{"name": "tenure/daemon/work/one"}"#;
    let told = house.ask("POST", "/api/v1/leases/release").bearer(Who::Operate).json(daemon).send().await;
    assert_eq!(told.status, 409, "{}", told.body);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_kept_by_a_cookie_that_scripts_and_other_sites_do_not_get() {
    let house = House::new(None).await;
    let login = house
        .ask("POST", "/login")
        .ours()
        .form(&format!("password={}&to=/", Who::View.token().unwrap()))
        .send()
        .await;
    let cookie = login.header("set-cookie");
    for part in ["; Path=/_tenure;", "HttpOnly", "SameSite=Strict", "Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(login.header("location"), "/_tenure");
    let session = house.log_in(Who::View).await;
    let twice = format!("{0}; {0}", session.cookie);
    assert!(house.get("/").header("cookie", &twice).send().await.is_login(), "two cookies of that name");
    let out = house
        .ask("POST", "/logout")
        .header("cookie", &session.cookie)
        .ours()
        .form(&format!("csrf={}", session.csrf))
        .send()
        .await;
    assert_eq!(out.status, 303);
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    for to in ["https://evil.test", "//evil.test", "/\\evil.test"] {
        let body = format!("password={}&to={to}", Who::View.token().unwrap());
        let login = house.ask("POST", "/login").ours().form(&body).send().await;
        assert_eq!(login.header("location"), "/_tenure", "{to}");
    }
    let body = format!("password={}&to=/%0d%0aset-cookie:x=1", Who::View.token().unwrap());
    assert_eq!(house.ask("POST", "/login").ours().form(&body).send().await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn wrong_tokens_are_heard_ten_times_a_minute_and_noted_without_their_text() {
    let house = House::new(None).await;
    let send = |token: &str| {
        house
            .get("/api/v1/outbox/stats")
            .from(Some("10.9.9.9:1"))
            .header("authorization", &format!("Bearer {token}"))
    };
    for _ in 0..10 {
        assert_eq!(send("CANARY-wrong").send().await.status, 401);
    }
    let told = send("CANARY-wrong").send().await;
    assert_eq!((told.status, told.header("retry-after")), (429, "60"));
    let right = send(Who::View.token().unwrap()).send().await;
    assert_eq!(right.status, 200, "the right one is let in from the same address");
    let other = house.get("/api/v1/outbox/stats").bearer(Who::View).send().await;
    assert_eq!(other.status, 200, "others are heard");
    tokio::task::yield_now().await;
    let lines = house.get("/api/v1/audit?action=dashboard.refused").bearer(Who::View).send().await;
    assert_eq!(lines.json()["items"].as_array().unwrap().len(), 1, "one line a minute: {}", lines.body);
    assert!(!lines.body.contains("CANARY"));
}

#[tokio::test(start_paused = true)]
async fn a_token_in_an_address_is_refused_and_not_used() {
    let house = House::new(None).await;
    for name in ["token", "access_token"] {
        let told =
            house.get(&format!("/api/v1/outbox/stats?{name}={}", Who::View.token().unwrap())).send().await;
        assert_eq!(told.status, 400);
        assert!(!told.body.contains("CANARY"), "{}", told.body);
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_is_denied_he_cannot_do() {
    use std::sync::Arc;
    use tenure_dashboard::{Action, Auth, Authenticator, Hosts, Operator, Refused, SigningKey};
    struct App;
    #[async_trait::async_trait]
    impl Authenticator for App {
        async fn operator(&self, head: &axum::http::request::Parts) -> Result<Operator, Refused> {
            match head.headers.get("x-user").and_then(|user| user.to_str().ok()) {
                Some("careful") => Ok(crate::house::operator("careful").but_not(Action::DiscardMessages)),
                Some(user) => Ok(crate::house::operator(user)),
                None => Err(Refused::Unknown),
            }
        }
    }
    let auth = Auth::by(Arc::new(App), SigningKey::new([1; 32]).unwrap());
    let hosts = Hosts::these([crate::house::HOST]).unwrap();
    let house = House::of(crate::house::filled("something").await, auth, hosts, None, |dashboard| dashboard);
    assert_eq!(house.get("/").send().await.status, 401, "an application has its own login");
    let page = house.get(&page_with_a_form()).header("x-user", "careful").send().await;
    let csrf = csrf(&page).unwrap();
    let body = format!("{{\"id\": \"{DEAD_ID}\"}}");
    let send = |path: &str| {
        house.ask("POST", path).ours().header("x-user", "careful").header("x-tenure-csrf", &csrf).json(&body)
    };
    assert_eq!(send("/api/v1/outbox/discard").send().await.status, 403);
    assert_eq!(send("/api/v1/outbox/retry").send().await.status, 200);
    for name in ["", &"x".repeat(101)] {
        assert_eq!(
            house.get("/").header("x-user", name).send().await.status,
            401,
            "a name that cannot be in the audit"
        );
    }
    // What the application's code lets in may be a cookie: the token of a form is needed as for ours.
    assert_eq!(
        house
            .ask("POST", "/api/v1/outbox/retry")
            .ours()
            .header("x-user", "otto")
            .json(&body)
            .send()
            .await
            .status,
        403
    );
}

#[tokio::test(start_paused = true)]
async fn where_nobody_may_act_a_token_does_not_help() {
    let house = House::with(None, tenure_dashboard::Dashboard::only_looking, "something").await;
    let told = house
        .ask("POST", "/api/v1/outbox/retry")
        .bearer(Who::OperatePayloads)
        .json(&format!("{{\"id\": \"{DEAD_ID}\"}}"))
        .send()
        .await;
    assert_eq!(told.status, 403);
    assert_eq!(house.store.writes(), 0);
}

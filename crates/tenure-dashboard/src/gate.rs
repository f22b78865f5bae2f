//! The one way in. Every request goes through these rules in this order:
//!
//! ```text
//! number ─▶ host ─▶ this machine? ─▶ path, method ─▶ sizes ─▶ who ─▶ may he ─▶ from a page of ours, with its token ─▶ handler
//!   └──────────────────────────────── headers on every answer, also on a refusal ────────────────────────────────────┘
//! ```

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tenure_core::observe::METER;
use tracing::Instrument;

use crate::asked::{self, Asked};
use crate::auth::csrf::Origin;
use crate::auth::who::{By, Known, Stranger};
use crate::auth::{Permission, Way, csrf, loopback, who};
use crate::dashboard::Desk;
use crate::limits::{BODY_MAX_BYTES, BODY_WITHIN, QUERY_MAX_BYTES};
use crate::mutation::Rule;
use crate::params::Params;
use crate::problem::{Problem, Trouble};
use crate::routes::{Answer, Kind, Route, Verb};
use crate::{headers, hosts, pages, routes};

/// Names of parameters by which tokens are sent elsewhere. A query stands in logs and histories.
const TOKEN_NAMES: [&str; 4] = ["token", "access_token", "api_key", "authorization"];

/// Answers a request.
pub(crate) async fn pass(desk: Arc<Desk>, request: Request) -> Response {
    let (id, began) = (request_id(), Instant::now());
    let is_head = request.method() == Method::HEAD;
    let route =
        find(desk.below_mount(request.uri().path()), request.method()).map_or("none", |route| route.path);
    let span = tracing::debug_span!("tenure.dashboard.request", route, request = id);
    // What panics answers without details, and the process lives.
    let mut response =
        match AssertUnwindSafe(answer(&desk, &id, request)).catch_unwind().instrument(span).await {
            Ok(response) => response,
            Err(_) => {
                tracing::error!(request = id, "a request to the dashboard panicked");
                bare(&Problem::Broken)
            }
        };
    headers::set(response.headers_mut(), &id);
    if is_head {
        *response.body_mut() = Body::empty();
    }
    let class = usize::from(response.status().as_u16() / 100).clamp(2, 5) - 2;
    METER.dashboard_requests.of(route).add(class, 1);
    METER.dashboard_duration.observe(0, began.elapsed());
    response
}

/// The slot of those who were refused because there are too many, in the table of metrics.
pub(crate) const CROWDED: usize = 5;

/// Counts a refusal by its reason.
fn count(problem: &Problem) {
    // In the order of the table of metrics: host, proxy, credentials, permission, origin, crowded.
    let slot = match problem {
        Problem::Host => 0,
        Problem::Outside(_) => 1,
        Problem::Unauthenticated(_) | Problem::TooManyAttempts => 2,
        Problem::Forbidden(_) => 3,
        Problem::Foreign(_) => 4,
        Problem::Busy(_) | Problem::Store(Trouble::Crowded { .. }) => CROWDED,
        _ => return,
    };
    METER.dashboard_refused.add(slot, 1);
}

async fn answer(desk: &Arc<Desk>, id: &str, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let host = match host(desk, &head) {
        Ok(host) => host,
        Err(problem) => {
            count(&problem);
            return bare(&problem);
        }
    };
    let path = desk.below_mount(head.uri.path()).to_owned();
    let found = find(&path, &head.method);
    let kind = found.as_ref().map_or_else(|_| kind_of(&path), |route| route.kind);
    let mut asked = Asked {
        desk: Arc::clone(desk),
        id: id.to_owned(),
        path,
        query: Params::default(),
        body: Params::default(),
        host,
        peer: loopback::peer(&head.extensions).map(|peer| peer.ip()),
        by_api: kind == Kind::Api,
        known: None,
    };
    let route = match found {
        Ok(route) => route,
        Err(problem) => {
            // Who is known gets a page from which he finds back; a stranger a line.
            if kind == Kind::Page && head.method == Method::GET {
                asked.known = who(&asked, &head).await.ok().and_then(Result::ok);
            }
            return refuse(desk, Some(&asked), kind, &problem);
        }
    };
    match through(&mut asked, route, &head, body).await {
        Ok(()) => {}
        Err(problem) => return refuse(desk, Some(&asked), route.kind, &problem),
    }
    match handle(route, asked.clone()).await {
        Ok(response) => response,
        Err(problem) => refuse(desk, Some(&asked), route.kind, &problem),
    }
}

/// The rules before the handler, which may change the request to hold what they found.
async fn through(asked: &mut Asked, route: &Route, head: &Parts, body: Body) -> Result<(), Problem> {
    asked.query = query(&asked.desk, head)?;
    // Programs misspell, and would take everything for what they asked for. A change takes its fields from the body alone.
    let known = if route.verb == Verb::Get { route.params } else { &[] };
    if route.kind == Kind::Api && asked.query.unknown(known, &[]) {
        return Err(Problem::Malformed(
            "the address has a parameter that is not known here; openapi.json has all of them, and a change takes \
             its fields from the body",
        ));
    }
    let content = content(route, &head.headers)?;
    // A route for everyone does not ask who it is, but knows him if he is known.
    asked.known = match (who(asked, head).await?, route.handler.permission()) {
        (Ok(known), _) => Some(known),
        (Err(_), None) => None,
        (Err(stranger), Some(_)) => return Err(Problem::Unauthenticated(stranger)),
    };
    if let Some(permission) = route.handler.permission() {
        asked::check(asked, permission)?;
    }
    if let Some(action) = route.action
        && asked.operator().is_some_and(|operator| operator.denied.contains(&action))
    {
        return Err(Problem::Forbidden(format!("you may not do this here ({})", action.as_str())));
    }
    if route.verb == Verb::Post {
        from_a_page_of_ours(asked, route, &head.headers, content)?;
        let bytes = read(body).await?;
        asked.body = match content {
            Content::Form => Params::form(&bytes)?,
            Content::Json => Params::json(&bytes)?,
        }
        .unbounded(asked.desk.off(Rule::BoundedParams));
        with_its_token(asked, &head.headers)?;
        if asked.body.unknown(route.params, &[csrf::FIELD]) {
            return Err(Problem::Malformed(
                "the request has a field that is not known here; nothing was changed",
            ));
        }
        if route.kind == Kind::Api && !asked.desk.off(Rule::BoundedParams) {
            asked.body.exact(route.params)?;
        }
    }
    Ok(())
}

/// Rules 2 and 3: the host, and where there are no tokens, that the request comes from this machine.
fn host(desk: &Desk, head: &Parts) -> Result<String, Problem> {
    let named = match desk.off(Rule::HostChecked) {
        true => hosts::named(&head.uri, &head.headers),
        false => hosts::check(&desk.hosts, &head.uri, &head.headers),
    };
    let named = named.ok_or(Problem::Host)?;
    if let Way::Loopback { .. } = desk.auth.way {
        if !hosts::is_loopback(&named) && !desk.off(Rule::HostChecked) {
            return Err(Problem::Host);
        }
        let proxies = desk.off(Rule::LoopbackRefusesProxy);
        loopback::check((head.version, &head.extensions, &head.headers), proxies)
            .map_err(|outside| Problem::Outside(outside.why()))?;
    }
    Ok(named)
}

/// Whether whoever sent a request may look, for what is told beside the dashboard, and if not, why. Wrong tokens count here
/// too.
pub(crate) async fn may_look(desk: &Arc<Desk>, request: Request) -> Result<(), Problem> {
    let (head, _) = request.into_parts();
    let host = host(desk, &head)?;
    let asked = Asked {
        desk: Arc::clone(desk),
        id: request_id(),
        path: String::new(),
        query: Params::default(),
        body: Params::default(),
        host,
        peer: loopback::peer(&head.extensions).map(|peer| peer.ip()),
        by_api: true,
        known: None,
    };
    let known = who(&asked, &head).await?.map_err(Problem::Unauthenticated)?;
    match known.operator.permissions.has(Permission::View) {
        true => Ok(()),
        false => Err(Problem::Forbidden("this needs the permission `view`".to_owned())),
    }
}

/// The row of the table.
fn find(path: &str, method: &Method) -> Result<&'static Route, Problem> {
    let verb = match *method {
        Method::GET | Method::HEAD => Some(Verb::Get),
        Method::POST => Some(Verb::Post),
        _ => None,
    };
    let verbs: Vec<Verb> = routes::at(path).map(|route| route.verb).collect();
    let allow = match (verbs.contains(&Verb::Get), verbs.contains(&Verb::Post)) {
        (false, false) => return Err(Problem::NotFound("there is no such page".into())),
        (true, false) => "GET, HEAD",
        (false, true) => "POST",
        (true, true) => "GET, HEAD, POST",
    };
    routes::at(path).find(|route| Some(route.verb) == verb).ok_or(Problem::Method { allow })
}

fn query(desk: &Desk, head: &Parts) -> Result<Params, Problem> {
    let text = head.uri.query().unwrap_or_default();
    if text.len() > QUERY_MAX_BYTES {
        return Err(Problem::TooLong { what: "query", limit: QUERY_MAX_BYTES });
    }
    let query = Params::form(text.as_bytes())?;
    if TOKEN_NAMES.iter().any(|name| query.has(name)) {
        return Err(Problem::Malformed(
            "a token must not stand in an address, where logs and histories keep it: take it out of use, and send \
             another as `Authorization: Bearer`",
        ));
    }
    Ok(query.unbounded(desk.off(Rule::BoundedParams)))
}

/// What the body of a change is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Form,
    Json,
}

fn content(route: &Route, headers: &HeaderMap) -> Result<Content, Problem> {
    if route.verb == Verb::Get {
        return Ok(Content::Form);
    }
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let value = values.next().and_then(|value| value.to_str().ok()).ok_or(Problem::ContentType)?;
    let (kind, rest) = value.split_once(';').unwrap_or((value, ""));
    let plain = rest.trim().is_empty() || rest.trim().eq_ignore_ascii_case("charset=utf-8");
    match kind.trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" if plain && values.next().is_none() => Ok(Content::Form),
        "application/json" if plain && values.next().is_none() => Ok(Content::Json),
        _ => Err(Problem::ContentType),
    }
}

/// Rule 5: who asks, or why nobody is known.
async fn who(asked: &Asked, head: &Parts) -> Result<Result<Known, Stranger>, Problem> {
    let desk = &asked.desk;
    let offers = who::offers_secret(&head.headers);
    let heard = !offers || desk.attempts.heard(asked.peer);
    // What an application asks elsewhere is not asked for a flood. Tokens are compared in any case: whoever has the right one
    // is not locked out by others who come from the same proxy.
    if !heard && matches!(desk.auth.way, Way::By(_)) {
        return Err(Problem::TooManyAttempts);
    }
    let found = who::find(&desk.auth, head, desk.now(), &desk.rules).await;
    match (offers, &found) {
        (true, Err(_)) if !heard => return Err(Problem::TooManyAttempts),
        (true, Err(stranger)) => wrong_token(asked, stranger),
        _ => {}
    }
    Ok(found.map(|known| desk.only_looking(known)))
}

/// Counts a wrong token, and says so in the log, and once a minute in the audit table. Never what was sent.
pub(crate) fn wrong_token(asked: &Asked, stranger: &Stranger) {
    let tried = match stranger {
        Stranger::Wrong(Some(name)) => name.chars().take(50).flat_map(char::escape_debug).collect(),
        _ => String::new(),
    };
    let peer = asked.peer.map(|peer| peer.to_string()).unwrap_or_default();
    tracing::warn!(request = asked.id, peer, tried, why = stranger.why(), "a token was refused");
    if asked.desk.attempts.refused(asked.peer) {
        asked.desk.note_refusal(&asked.id, &peer);
    }
}

/// Rule 7, first half: the browser says that the request comes from a page of ours. What is no browser says nothing, and is
/// heard only with a secret that no browser adds by itself, or adds only after asking, and with JSON, which no form sends.
fn from_a_page_of_ours(
    asked: &Asked,
    route: &Route,
    headers: &HeaderMap,
    content: Content,
) -> Result<(), Problem> {
    if asked.desk.off(Rule::SameOrigin) {
        return Ok(());
    }
    let by_secret = matches!(asked.known.as_ref().map(|known| known.by), Some(By::Bearer | By::Basic));
    let programs = by_secret && content == Content::Json && route.kind == Kind::Api;
    match csrf::origin(headers, &asked.host) {
        Origin::Ours => Ok(()),
        Origin::Unsaid if programs => Ok(()),
        Origin::Unsaid => Err(Problem::Foreign(
            "the request does not say which page it comes from; programs send JSON and `Authorization: Bearer`",
        )),
        Origin::Foreign => Err(Problem::Foreign("the request comes from a page of another site")),
    }
}

/// Rule 7, second half: the token of a form, wherever a browser may have added by itself what the operator is known by.
fn with_its_token(asked: &Asked, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(known) = asked.known.as_ref().filter(|known| known.by != By::Bearer) else { return Ok(()) };
    // The login begins a session, and needs none.
    if asked.desk.off(Rule::CsrfToken) || asked.path == crate::auth::login::PATH {
        return Ok(());
    }
    let header = headers.get(csrf::HEADER).and_then(|value| value.to_str().ok());
    let token = header.or(asked.body.raw(csrf::FIELD)?).unwrap_or_default();
    let (key, now) = (asked.desk.auth.key(), asked.desk.now());
    let names = asked.desk.off(Rule::CsrfNamesOperator);
    let good =
        csrf::good(&key, &known.operator.name, known.session_end, now, token) || (names && !token.is_empty());
    match good {
        true => Ok(()),
        false => Err(Problem::Foreign("this page is too old, or not yours: open it again and repeat")),
    }
}

async fn read(body: Body) -> Result<Bytes, Problem> {
    let all = tokio::time::timeout(BODY_WITHIN, Limited::new(body, BODY_MAX_BYTES).collect()).await;
    match all.map_err(|_| Problem::Malformed("the body took too long"))? {
        Ok(all) => Ok(all.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Problem::TooLong { what: "body", limit: BODY_MAX_BYTES })
        }
        Err(_) => Err(Problem::Malformed("the body broke off")),
    }
}

/// Calls the handler. One that panics answers with a page without details.
async fn handle(route: &'static Route, asked: Asked) -> Answer {
    let (id, path) = (asked.id.clone(), route.path);
    if route.verb == Verb::Get && asked.desk.off(Rule::GetChangesNothing) {
        let _ = asked.desk.note("someone", "looked", path, "").await;
    }
    let call = AssertUnwindSafe(async { route.handler.call(asked).await });
    call.catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(request = id, path, "a handler of the dashboard panicked");
        Err(Problem::Broken)
    })
}

/// What was asked for, of a path that is in no row.
fn kind_of(path: &str) -> Kind {
    if path.starts_with("/api/") { Kind::Api } else { Kind::Page }
}

/// A refusal, as the one who asked can read it.
fn refuse(desk: &Arc<Desk>, asked: Option<&Asked>, kind: Kind, problem: &Problem) -> Response {
    count(problem);
    let mut response = match (kind, problem) {
        (Kind::Page, Problem::Unauthenticated(_)) if desk.has_login() => return to_login(desk, asked),
        (Kind::Page, _) => match asked.filter(|asked| asked.known.is_some()) {
            Some(asked) => pages::trouble::page(asked, problem),
            None => bare(problem),
        },
        (Kind::Api, _) => crate::api::error::response(problem),
        (Kind::File, _) => bare(problem),
    };
    *response.status_mut() = problem.status();
    if let Problem::Unauthenticated(_) = problem {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    tell(response, problem)
}

fn tell(mut response: Response, problem: &Problem) -> Response {
    if let Problem::Method { allow } = problem {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    }
    if let Some(seconds) = problem.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(seconds));
    }
    response
}

/// A line of text, without anything of ours in it.
fn bare(problem: &Problem) -> Response {
    let mut response = Response::new(Body::from(format!("{problem}\n")));
    *response.status_mut() = problem.status();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    tell(response, problem)
}

/// To the login, and from there back to the page: its path only, which is one of the table, without what the query held.
fn to_login(desk: &Desk, asked: Option<&Asked>) -> Response {
    let to = asked.map_or("/", |asked| asked.path.as_str());
    let query: String = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
    redirect(&format!("{}?{query}", desk.link(crate::auth::login::PATH)))
}

/// Answers with `303 See Other`. `to` is a path of ours, made by [`Desk::link`].
pub(crate) fn redirect(to: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    // Line ends and the like cannot stand in a header; such a path leads nowhere.
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, to);
    response
}

/// Eight random bytes. Where there are none a counter has to do: the number secures nothing.
pub(crate) fn request_id() -> String {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_be_bytes();
    }
    format!("{:016x}", u64::from_be_bytes(bytes))
}

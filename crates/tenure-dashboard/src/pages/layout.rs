//! What every page has around it: how it goes, where one can go, and who one is.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};
use tenure_core::outbox::Count;
use tenure_core::time::StoreTime;

use super::{assets, sentence};
use crate::asked::Asked;
use crate::auth::moment;
use crate::auth::{Permission, csrf};
use crate::sampler::Snapshot;
use crate::view::number;
use crate::view::pager::{href, query};
use crate::view::state::{Tone, pill};
use crate::view::text::{beginning, cell};
use crate::view::time::span;

/// Where in the dashboard a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Overview,
    Outbox,
    Dead,
    Jobs,
    Cluster,
    Streams,
    Subscriptions,
    Audit,
    Nowhere,
}

const PLACES: [(Place, &str, &str); 8] = [
    (Place::Overview, "Overview", "/"),
    (Place::Outbox, "Outbox", "/outbox"),
    (Place::Dead, "Dead", "/dead"),
    (Place::Jobs, "Jobs", "/jobs"),
    (Place::Cluster, "Cluster", "/cluster"),
    (Place::Streams, "Streams", "/streams"),
    (Place::Subscriptions, "Subscriptions", "/subscriptions"),
    (Place::Audit, "Audit", "/audit"),
];

/// A page: where it stands, what it is called, and which of its parts are kept fresh by the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'a> {
    pub(crate) place: Place,
    pub(crate) title: &'a str,
    /// The name of a part of the newest snapshot, for a live view.
    pub(crate) part: Option<&'static str>,
    /// After how many seconds a browser without a script loads the page again.
    pub(crate) reload: Option<u32>,
}

impl<'a> Page<'a> {
    pub(crate) const fn new(place: Place, title: &'a str) -> Self {
        Self { place, title, part: None, reload: None }
    }

    pub(crate) const fn live(self, part: &'static str) -> Self {
        Self { part: Some(part), ..self }
    }

    pub(crate) const fn reloading(self, seconds: u32) -> Self {
        Self { reload: Some(seconds), ..self }
    }
}

/// The page with its content.
pub(crate) fn page(asked: &Asked, page: Page<'_>, main: &Markup) -> Response {
    let snapshot = asked.desk.sampler.newest();
    let known = asked.operator().is_some();
    let live = known
        .then(|| format!("{}?{}", asked.link("/live"), query(&[("parts", page.part.unwrap_or("none"))])));
    let (title, _) = beginning(page.title, 100);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) " · Tenure" }
                link rel="icon" href=(assets::link(asked, "icon.svg"));
                link rel="stylesheet" href=(assets::link(asked, "tenure.css"));
                @if let Some(seconds) = page.reload { noscript { meta http-equiv="refresh" content=(seconds); } }
                script defer src=(assets::link(asked, "tenure.js")) {}
            }
            body data-live=[live] {
                a class="skip" href="#main" { "To the content" }
                header class="top" {
                    div class="bar" {
                        a class="brand" href=(asked.link("/")) { img src=(assets::link(asked, "icon.svg")) alt=""; "Tenure" }
                        @if known { (top(asked, &snapshot)) }
                    }
                    @if known { (places(asked, page.place, &snapshot)) }
                }
                main id="main" {
                    @if known { div id="part-banner" data-part="" { (banner(&snapshot)) } }
                    (main)
                }
                (footer(asked))
                (keys())
            }
        }
    };
    respond(&markup)
}

/// HTML as a response.
pub(crate) fn respond(markup: &Markup) -> Response {
    let mut response = Response::new(Body::from(markup.0.clone()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

fn top(asked: &Asked, snapshot: &Snapshot) -> Markup {
    html! {
        span id="part-state" data-part="" { (state(asked, snapshot)) }
        div class="where" {
            @if let Some(node) = &asked.desk.this_node { span { "this node: " b { (cell(node.name.as_str())) } } }
            span { (cell(&asked.desk.stores.capabilities.store)) }
            span id="live" class="live" data-state="still" role="status" aria-live="polite" { "not live" }
        }
    }
}

fn places(asked: &Asked, place: Place, snapshot: &Snapshot) -> Markup {
    html! {
        nav class="places" aria-label="Pages" {
            @for (its, name, path) in PLACES {
                a href=(asked.link(path)) aria-current=[(its == place).then_some("page")] {
                    (name)
                    @if its == Place::Dead { span id="part-dead" data-part="" { (dead_badge(snapshot)) } }
                }
            }
        }
    }
}

/// How things stand, in a word.
pub(crate) fn state(asked: &Asked, snapshot: &Snapshot) -> Markup {
    let verdict = sentence::of(snapshot, &asked.desk);
    pill(verdict.tone, verdict.word)
}

/// How many messages are dead, beside the name of their page.
pub(crate) fn dead_badge(snapshot: &Snapshot) -> Markup {
    let dead = snapshot.facts.as_ref().map(|facts| facts.pulse.dead).filter(|dead| dead.number > 0);
    html! { @if let Some(dead) = dead { span class="badge" { (number::count(dead)) } } }
}

/// What is said above everything while the store gives no answer.
pub(crate) fn banner(snapshot: &Snapshot) -> Markup {
    let age = snapshot.age();
    let old = age.filter(|_| snapshot.is_old());
    html! {
        @if let Some((since, text)) = &snapshot.away {
            div class="banner bad" role="alert" {
                b { "The database gives no answer since " (moment::write(*since)) "." } " " (cell(text))
                @match age {
                    Some(age) => { " What you see is from " (span(age)) " ago." }
                    None => { " Nothing is known so far." }
                }
            }
        } @else if let Some(age) = old {
            div class="banner warn" role="alert" {
                @if age <= snapshot.rests {
                    "The database answers slowly, and is asked less often: what you see is from " (span(age)) " ago."
                } @else {
                    "The database has not answered for a while: what you see is from " (span(age)) " ago."
                }
            }
        } @else if let Some(facts) = snapshot.facts.as_ref().filter(|facts| !facts.gaps.is_empty()) {
            div class="banner warn" role="alert" {
                "Not everything is known: " @for gap in facts.gaps.iter().take(3) { (cell(gap)) " " }
            }
        }
    }
}

fn footer(asked: &Asked) -> Markup {
    let operator = asked.operator();
    html! {
        footer {
            span { "Tenure " (env!("CARGO_PKG_VERSION")) }
            @if let Some(operator) = operator {
                span {
                    "You are " b { (cell(&operator.name)) } " (" (operator.permissions.to_string()) ")"
                    @if let Some(end) = operator.expires_at { ", until " (moment::write(end)) }
                    @if !asked.may(Permission::Operate) { ": you can look, not act" }
                }
            }
            span { "request " code { (asked.id) } }
            @if operator.is_some() { span { "keys: " kbd { "?" } } }
            @if operator.is_some() && asked.desk.has_login() {
                form method="post" action=(asked.link("/logout")) {
                    input type="hidden" name=(csrf::FIELD) value=(asked.form_token());
                    button class="quiet" { "Log out" }
                }
            }
        }
    }
}

fn keys() -> Markup {
    html! {
        dialog id="keys" aria-label="Keys" {
            p { kbd { "/" } " to the search field" }
            p { kbd { "j" } " " kbd { "k" } " to the next and the last row, " kbd { "Enter" } " opens it" }
            p { kbd { "Esc" } " closes this" }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// The title of a page that is not the overview, and a line beside it.
pub(crate) fn head(title: &Markup, beside: &Markup) -> Markup {
    html! { div class="head" { h1 { (title) } span class="soft" { (beside) } } }
}

/// A box in place of what the store did not answer.
pub(crate) fn missing(asked: &Asked, trouble: &crate::problem::Trouble) -> Markup {
    let waiting = asked.desk.asks.waiting();
    let age = asked.desk.sampler.newest().age();
    html! {
        div class="notice bad" role="alert" {
            b { "This part is missing: " } (cell(&trouble.to_string()))
            @if waiting > 0 { " " (number::of(Count::exactly(waiting as u64), "question waits", "questions wait")) "." }
            @if let Some(age) = age { " The numbers in the head are from " (span(age)) " ago." }
        }
    }
}

/// A notice about what was just done; only words of ours.
pub(crate) fn notice(tone: Tone, text: &str) -> Markup {
    html! { div class={ "notice " (tone.class()) } role="status" { (text) } }
}

/// The store's time as far as it is known, for saying how long ago something was.
pub(crate) fn now(asked: &Asked) -> StoreTime {
    let snapshot = asked.desk.sampler.newest();
    match (&snapshot.facts, snapshot.age()) {
        (Some(facts), Some(age)) => facts.pulse.now.after(age),
        _ => StoreTime::from_micros(
            i64::try_from(moment::seconds(asked.desk.now())).unwrap_or_default() * 1_000_000,
        ),
    }
}

/// A link to a message.
pub(crate) fn message_link(asked: &Asked, id: &str) -> Markup {
    html! { a href=(href(asked, "/message", &[("id", id)])) { code { (cell(id)) } } }
}

/// The same in a table, where a whole id would take the room of what is more important: it is had by pointing at it.
pub(crate) fn message_link_short(asked: &Asked, id: &str) -> Markup {
    let chars: Vec<char> = id.chars().collect();
    if chars.len() <= 16 {
        return message_link(asked, id);
    }
    let short = format!(
        "{}…{}",
        chars[..8].iter().collect::<String>(),
        chars[chars.len() - 4..].iter().collect::<String>()
    );
    let (title, _) = beginning(id, 200);
    html! { a href=(href(asked, "/message", &[("id", id)])) title=(title) { code { (cell(&short)) } } }
}

/// A link to a lease.
pub(crate) fn lease_link(asked: &Asked, name: &str) -> Markup {
    html! { a href=(href(asked, "/lease", &[("name", name)])) { (cell(name)) } }
}

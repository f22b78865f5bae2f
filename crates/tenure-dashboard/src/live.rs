//! Live views: parts of pages, sent when a new snapshot is there.
//!
//! A view is a reader of the newest snapshot and has no queue: one that reads slowly gets the newest, and never what it missed.
//! A view ends after ten minutes, with the right of its operator, when the tokens change, and with the dashboard; browsers
//! come again by themselves, and are asked anew who they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::stream;
use maud::Markup;
use serde_json::{Map, Value};
use tenure_core::observe::METER;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::asked::{Allowed, Asked, View};
use crate::auth::Way;
use crate::limits::{Limits, VIEW_LASTS};
use crate::pages::{cluster, layout, outbox, overview};
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::Answer;
use crate::sampler::Snapshot;

/// After so long without a new snapshot a line is sent that says nothing, so that both ends see that the other is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often it is told that what is shown is old.
const STALE_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked whether the view's operator is still one.
const CHECK: Duration = Duration::from_secs(2);

/// The parts that can be asked for.
pub(crate) const PARTS: Param =
    Param::word("parts", &["none", "overview", "numbers", "cluster"], "which part of a page");

/// How many views there are, by operator.
#[derive(Debug, Default)]
pub(crate) struct Viewers(Mutex<HashMap<String, usize>>);

/// One of them; counted while it is there.
struct Place {
    viewers: Arc<Viewers>,
    of: String,
}

impl Place {
    /// A place, or why there is none.
    fn take(viewers: &Arc<Viewers>, of: &str, limits: &Limits) -> Result<Self, Problem> {
        let mut all = viewers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.values().sum::<usize>() >= limits.viewers {
            return Err(Problem::Busy(
                "too many live views are open; the page loads itself anew instead".into(),
            ));
        }
        let own = all.entry(of.to_owned()).or_default();
        if *own >= limits.viewers_each {
            return Err(Problem::Busy(
                "you have too many live views open; the page loads itself anew instead".into(),
            ));
        }
        *own += 1;
        METER.dashboard_live.change(0, 1);
        Ok(Self { viewers: Arc::clone(viewers), of: of.to_owned() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.viewers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get_mut(&self.of) {
            *own -= 1;
            if *own == 0 {
                all.remove(&self.of);
            }
        }
        METER.dashboard_live.change(0, -1);
    }
}

/// A live view.
pub(crate) async fn stream(allowed: Allowed<View>) -> Answer {
    let part = allowed.query.word(&PARTS)?.unwrap_or("none");
    let place = Place::take(&allowed.desk.sampler.viewers, allowed.name(), &allowed.desk.limits)?;
    let asked: Asked = (*allowed).clone();
    let watch = asked.desk.sampler.watch();
    let view = Live {
        part,
        tokens: tokens(&asked),
        ends: Instant::now() + VIEW_LASTS,
        sent: 0,
        spoken: Instant::now(),
        stopping: asked.desk.stopping.clone(),
        watch,
        asked,
        _place: place,
    };
    let body = stream::unfold(Some(view), |view| async move {
        let mut view = view?;
        let text = view.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), Some(view)))
    });
    let mut response = Response::new(Body::from_stream(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    Ok(response)
}

struct Live {
    asked: Asked,
    part: &'static str,
    watch: watch::Receiver<Arc<Snapshot>>,
    stopping: watch::Receiver<bool>,
    /// What the tokens were when it began.
    tokens: Option<[u8; 32]>,
    ends: Instant,
    /// The number of the snapshot that was sent last.
    sent: u64,
    spoken: Instant,
    _place: Place,
}

impl Live {
    /// The next text to send; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            self.asked.desk.sampler.wanted();
            if self.is_over() {
                return None;
            }
            let snapshot = self.watch.borrow_and_update().clone();
            if snapshot.number > self.sent {
                self.sent = snapshot.number;
                self.spoken = Instant::now();
                return Some(event(&snapshot, &parts(&self.asked, self.part, &snapshot)));
            }
            // Nothing new because the store is silent: that is news too, and the page must not look as if all were well.
            if snapshot.is_old() && self.spoken.elapsed() >= STALE_EVERY {
                self.spoken = Instant::now();
                return Some(event(&snapshot, &parts(&self.asked, self.part, &snapshot)));
            }
            if self.spoken.elapsed() >= HEARTBEAT {
                self.spoken = Instant::now();
                return Some(": still here\n\n".into());
            }
            tokio::select! {
                changed = self.watch.changed() => changed.ok()?,
                () = tokio::time::sleep(CHECK) => {}
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
            }
        }
    }

    fn is_over(&self) -> bool {
        let desk = &self.asked.desk;
        let ended = self
            .asked
            .operator()
            .and_then(|operator| operator.expires_at)
            .is_some_and(|end| end <= desk.now());
        ended || Instant::now() >= self.ends || *self.stopping.borrow() || tokens(&self.asked) != self.tokens
    }
}

/// Something that changes with any line of the tokens; nothing where there are none.
fn tokens(asked: &Asked) -> Option<[u8; 32]> {
    match &asked.desk.auth.way {
        Way::Tokens(tokens) => Some(tokens.mark()),
        _ => None,
    }
}

/// The parts of a page by their ids.
fn parts(asked: &Asked, part: &str, snapshot: &Snapshot) -> Vec<(&'static str, Markup)> {
    let mut parts = vec![
        ("part-state", layout::state(asked, snapshot)),
        ("part-banner", layout::banner(snapshot)),
        ("part-dead", layout::dead_badge(snapshot)),
    ];
    match part {
        "overview" => parts.push(("part-overview", overview::part(asked, snapshot))),
        "numbers" => parts.push(("part-numbers", outbox::numbers(asked, snapshot))),
        "cluster" => parts.push(("part-cluster", cluster::part(asked, snapshot))),
        _ => {}
    }
    parts
}

/// As it goes over the wire. JSON has no line ends of its own, so the data is one line.
fn event(snapshot: &Snapshot, parts: &[(&'static str, Markup)]) -> String {
    let all: Map<String, Value> =
        parts.iter().map(|(id, html)| ((*id).to_owned(), Value::String(html.0.clone()))).collect();
    format!("retry: 2000\nid: {}\nevent: snapshot\ndata: {}\n\n", snapshot.number, Value::Object(all))
}

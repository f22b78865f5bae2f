//! Who a request comes from.

use std::time::SystemTime;

use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;
use tenure_core::observe::{Actor, Via};

use super::moment::seconds;
use super::session::Session;
use super::tokens::Line;
use super::{Auth, Operator, Permissions, Refused, Tokens, Way, moment, session};
use crate::mutation::{Rule, Switches};

/// By what an operator is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// `Authorization: Bearer`: no browser sends it by itself.
    Bearer,
    /// `Authorization: Basic`: browsers repeat it by themselves.
    Basic,
    /// The session's cookie.
    Session,
    /// The application's own code; it may be a cookie.
    App,
    /// Being on this machine.
    Loopback,
}

/// An operator who is known.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) operator: Operator,
    pub(crate) by: By,
    /// When the session ends, in seconds since 1970; zero where there is none.
    pub(crate) session_end: u64,
}

/// Why nobody is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stranger {
    /// The request says nothing, or has a session that has ended.
    Nobody,
    /// What it says is wrong; counted. The name that was tried, if any.
    Wrong(Option<String>),
    /// It was right once.
    Ended(SystemTime),
    /// The application says no, and why.
    Refused(String),
}

/// Whether the request holds a secret that could be guessed: those are counted when they are wrong.
pub(crate) fn offers_secret(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION)
}

/// Who asks.
pub(crate) async fn find(
    auth: &Auth,
    head: &Parts,
    now: SystemTime,
    rules: &Switches,
) -> Result<Known, Stranger> {
    match &auth.way {
        Way::Tokens(tokens) => by_tokens(auth, tokens, &head.headers, now, rules),
        Way::By(code) => match code.operator(head).await {
            Ok(operator) => not_ended(operator, now, rules, By::App, 0),
            Err(Refused::Unknown) => Err(Stranger::Nobody),
            Err(Refused::Wrong(why)) => Err(Stranger::Refused(why)),
        },
        Way::Loopback { payloads } => {
            let mut permissions = if *payloads { Permissions::PAYLOADS } else { Permissions::VIEW };
            if rules.off(Rule::LoopbackReadOnly) {
                permissions = permissions.and(Permissions::OPERATE);
            }
            let operator = Operator::new("anyone on this machine", permissions);
            Ok(Known { operator, by: By::Loopback, session_end: 0 })
        }
    }
}

fn by_tokens(
    auth: &Auth,
    tokens: &Tokens,
    headers: &HeaderMap,
    now: SystemTime,
    rules: &Switches,
) -> Result<Known, Stranger> {
    if headers.contains_key(AUTHORIZATION) {
        let value = only(headers, AUTHORIZATION).ok_or(Stranger::Wrong(None))?;
        let (scheme, rest) = value.split_once(' ').ok_or(Stranger::Wrong(None))?;
        return if scheme.eq_ignore_ascii_case("bearer") {
            let line = tokens.look_up(rest.trim()).ok_or(Stranger::Wrong(None))?;
            not_ended(operator(line), now, rules, By::Bearer, 0)
        } else if scheme.eq_ignore_ascii_case("basic") {
            basic(tokens, rest.trim(), now, rules)
        } else {
            Err(Stranger::Wrong(None))
        };
    }
    let value = cookie(headers).ok_or(Stranger::Nobody)?;
    let session = Session::read(value, &auth.key()).ok_or(Stranger::Nobody)?;
    if session.end <= seconds(now) && !rules.off(Rule::Expiry) {
        return Err(Stranger::Nobody);
    }
    let line = match tokens.by_fingerprint(&session.name, &session.fingerprint) {
        Some(line) => line,
        None if rules.off(Rule::RevokedEndsSession) => {
            let permissions = Permissions::VIEW;
            Line { name: session.name.clone(), permissions, hash: [0; 32], until: None }
        }
        None => return Err(Stranger::Nobody),
    };
    not_ended(operator(line), now, rules, By::Session, session.end)
}

/// A name and a token. The name has to be that of the token's line.
fn basic(tokens: &Tokens, encoded: &str, now: SystemTime, rules: &Switches) -> Result<Known, Stranger> {
    let bytes = STANDARD.decode(encoded).map_err(|_| Stranger::Wrong(None))?;
    let text = String::from_utf8(bytes).map_err(|_| Stranger::Wrong(None))?;
    let (name, token) = text.split_once(':').ok_or(Stranger::Wrong(None))?;
    let wrong = || Stranger::Wrong(Some(name.to_owned()));
    let line = tokens.look_up(token).ok_or_else(wrong)?;
    if !bool::from(line.name.as_bytes().ct_eq(name.as_bytes())) {
        return Err(wrong());
    }
    not_ended(operator(line), now, rules, By::Basic, 0)
}

/// Begins a session with a token: the value of its cookie.
pub(crate) fn log_in(
    auth: &Auth,
    token: &str,
    now: SystemTime,
    rules: &Switches,
) -> Result<(Operator, String), Stranger> {
    let Way::Tokens(tokens) = &auth.way else { return Err(Stranger::Nobody) };
    let line = tokens.look_up(token).ok_or(Stranger::Wrong(None))?;
    let cookie = Session::begin(&line, now).write(&auth.key());
    Ok((not_ended(operator(line), now, rules, By::Session, 0)?.operator, cookie))
}

fn operator(line: Line) -> Operator {
    let operator = Operator::new(line.name, line.permissions);
    match line.until {
        Some(until) => operator.until(until),
        None => operator,
    }
}

fn not_ended(
    mut operator: Operator,
    now: SystemTime,
    rules: &Switches,
    by: By,
    session_end: u64,
) -> Result<Known, Stranger> {
    if let Some(end) = operator.expires_at.filter(|end| *end <= now)
        && !rules.off(Rule::Expiry)
    {
        return Err(Stranger::Ended(end));
    }
    if session_end > 0 {
        let end = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(session_end);
        operator.expires_at = Some(operator.expires_at.map_or(end, |earlier| earlier.min(end)));
    }
    // A name from the application's code goes into lines of audit and into pages.
    if Actor::new(operator.name.as_str(), Via::Dashboard).is_err() {
        return Err(Stranger::Refused("the application gave a name that cannot be an operator's".into()));
    }
    Ok(Known { operator, by, session_end })
}

/// The value of a header that stands there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Our cookie; none when there are two of that name, for then someone else has set one.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs =
        headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
    let mut ours = pairs.filter_map(|pair| pair.trim().strip_prefix(session::COOKIE)?.strip_prefix('='));
    let value = ours.next()?;
    ours.next().is_none().then_some(value)
}

impl Stranger {
    /// What is told to the one who asked.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Nobody => "log in first, or send a token as `Authorization: Bearer`".into(),
            Self::Wrong(_) => "this token is not known here".into(),
            Self::Ended(end) => format!("this token ended on {}", moment::write(*end)),
            Self::Refused(why) => why.clone(),
        }
    }
}

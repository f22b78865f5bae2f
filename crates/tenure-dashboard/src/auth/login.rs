//! Beginning and ending a session.

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;

use crate::asked::{Allowed, Asked, View};
use crate::auth::who::{self, Stranger};
use crate::auth::{Way, session};
use crate::gate::{redirect, wrong_token};
use crate::hosts;
use crate::pages;
use crate::params::Param;
use crate::problem::Problem;
use crate::routes::{Answer, Anyone, Route, Verb, With, all};

/// Where the login is.
pub(crate) const PATH: &str = "/login";

const TOKEN: Param = Param::text("password", 512, "the token");
const TO: Param = Param::text("to", 100, "the page to go on to");

/// The rows of the table.
pub(crate) const ROUTES: &[Route] = &[
    Route::page(PATH, "the form for the token", &Anyone(form)).params(&[TO]),
    Route::form(PATH, "begins a session with a token", &Anyone(log_in)).params(&[TOKEN, TO]),
    Route::form("/logout", "ends the session", &With(View, log_out)),
];

async fn form(asked: Asked) -> Answer {
    let to = onward(asked.query.text(&TO)?);
    if asked.known.is_some() || !asked.desk.has_login() {
        return Ok(redirect(&asked.link(to)));
    }
    Ok(pages::login::page(&asked, to, None))
}

async fn log_in(asked: Asked) -> Answer {
    let to = onward(asked.body.text(&TO)?);
    if !asked.desk.has_login() {
        return Err(Problem::NotFound("there is no login here".into()));
    }
    let Some(token) = asked.body.text(&TOKEN)? else {
        return Ok(pages::login::page(&asked, to, Some("Give the token.")));
    };
    match who::log_in(&asked.desk.auth, token.trim(), asked.desk.now(), &asked.desk.rules) {
        Ok((operator, cookie)) => {
            tracing::info!(request = asked.id, operator = operator.name, "a session began");
            Ok(with_cookie(&asked, Some(&cookie), to))
        }
        Err(_) if !asked.desk.attempts.heard(asked.peer) => Err(Problem::TooManyAttempts),
        Err(stranger) => {
            wrong_token(&asked, &stranger);
            let mut page = pages::login::page(&asked, to, Some(&sentence(&stranger)));
            *page.status_mut() = axum::http::StatusCode::UNAUTHORIZED;
            Ok(page)
        }
    }
}

async fn log_out(allowed: Allowed<View>) -> Answer {
    let to = if matches!(allowed.desk.auth.way, Way::Tokens(_)) { PATH } else { "/" };
    Ok(with_cookie(&allowed, None, to))
}

/// Sets the cookie and goes on. It is sent back over TLS only, except to this machine.
fn with_cookie(asked: &Asked, value: Option<&str>, to: &str) -> axum::response::Response {
    let mut response = redirect(&asked.link(to));
    let line = session::set_cookie(value, &asked.desk.mount, !hosts::is_loopback(&asked.host));
    if let Ok(line) = HeaderValue::from_str(&line) {
        response.headers_mut().insert(SET_COOKIE, line);
    }
    response
}

/// A page of the table, never an address from elsewhere.
fn onward(to: Option<String>) -> &'static str {
    let page = |path: &str| all().find(|route| route.verb == Verb::Get && route.path == path && path != PATH);
    to.and_then(|to| page(&to)).map_or("/", |route| route.path)
}

fn sentence(stranger: &Stranger) -> String {
    let why = stranger.why();
    let mut letters = why.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect::<String>() + ".")
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_leads_to_pages_of_ours_only() {
        assert_eq!(onward(None), "/");
        assert_eq!(onward(Some("/".into())), "/");
        for foreign in [
            "https://evil.test",
            "//evil.test",
            "/\\evil.test",
            "/login",
            "/logout",
            "/assets/*",
            "/?x",
            "javascript:1",
        ] {
            assert!(onward(Some(foreign.into())).starts_with('/'), "{foreign}");
            assert!(!onward(Some(foreign.into())).contains("evil"), "{foreign}");
        }
    }
}

//! What every page has around it.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use maud::{DOCTYPE, Markup, html};

use crate::asked::Asked;

/// A page.
pub(crate) fn page(asked: &Asked, title: &str, main: &Markup) -> Response {
    let who = asked.operator().map(|operator| operator.name.as_str()).unwrap_or_default();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (title) " · Tenure" } }
            body {
                main { h1 { (title) } (main) }
                footer { "request " (asked.id) " " (who) }
            }
        }
    };
    let mut response = Response::new(Body::from(markup.into_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

//! The form for the token.

use axum::response::Response;
use maud::html;

use super::layout;
use crate::asked::Asked;

/// The form; `to` is the page to go on to.
pub(crate) fn page(asked: &Asked, to: &str, trouble: Option<&str>) -> Response {
    let main = html! {
        @if let Some(trouble) = trouble { p role="alert" { (trouble) } }
        form method="post" action=(asked.link("/login")) {
            input type="hidden" name="to" value=(to);
            label for="password" { "Token" }
            input id="password" type="password" name="password" autocomplete="current-password" required;
            button { "Log in" }
        }
    };
    layout::page(asked, "Log in", &main)
}

//! The form for the token.

use axum::response::Response;
use maud::html;

use super::layout::{self, Page, Place};
use crate::asked::Asked;

/// The form; `to` is the page to go on to.
pub(crate) fn page(asked: &Asked, to: &str, trouble: Option<&str>) -> Response {
    let main = html! {
        div class="login" {
            div class="card" {
                h1 { "Log in" }
                p class="soft" { "With the token that " code { "tenure dashboard token" } " made for you." }
                @if let Some(trouble) = trouble { div class="notice bad" role="alert" { (trouble) } }
                form method="post" action=(asked.link("/login")) {
                    input type="hidden" name="to" value=(to);
                    label for="password" { "Token" }
                    input id="password" type="password" name="password" autocomplete="current-password" required autofocus;
                    button class="main" { "Log in" }
                }
            }
        }
    };
    layout::page(asked, Page::new(Place::Nowhere, "Log in"), &main)
}

//! What is shown instead of a page.

use axum::response::Response;
use maud::html;

use super::layout::{self, Page, Place};
use crate::asked::Asked;
use crate::problem::Problem;

/// The page; its status is the caller's business.
pub(crate) fn page(asked: &Asked, problem: &Problem) -> Response {
    let title = match problem {
        Problem::Invalid { .. } | Problem::Malformed(_) | Problem::TooLong { .. } | Problem::ContentType => {
            "This cannot be read"
        }
        Problem::NotFound(_) => "Not found",
        Problem::Forbidden(_) => "Not allowed",
        Problem::Conflict(_) => "Not now",
        Problem::Store(_) | Problem::Busy(_) => "No answer in time",
        _ => "This did not work",
    };
    let main = html! {
        (layout::head(&html! { (title) }, &html! {}))
        div class="notice bad" role="alert" { (problem.to_string()) }
        @if let Problem::Store(trouble) = problem { (layout::missing(asked, trouble)) }
        p {
            a href=(asked.link("/")) { "Overview" }
            @if problem.retry_after().is_some() { " · try again in a moment by loading this page anew" }
        }
    };
    layout::page(asked, Page::new(Place::Nowhere, title), &main)
}

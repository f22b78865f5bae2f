//! What is shown instead of a page.

use axum::response::Response;
use maud::html;

use super::layout;
use crate::asked::Asked;
use crate::problem::Problem;

/// The page; its status is the caller's business.
pub(crate) fn page(asked: &Asked, problem: &Problem) -> Response {
    layout::page(asked, "Trouble", &html! { p role="alert" { (problem.to_string()) } })
}

//! Trouble, for programs.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use serde_json::json;

use crate::problem::Problem;

/// `{"error": "…", "what": "…"}`; the status is the caller's business.
pub(crate) fn response(problem: &Problem) -> Response {
    let body = json!({ "error": problem.to_string(), "what": problem.what() });
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

//! Seeing and steering Tenure: pages for people, and the same by JSON for programs.
//!
//! ```text
//! browser ── cookie, Basic ──┐                               ┌─ snapshot, taken every two seconds for all who look
//! curl ───── Bearer ─────────┼─▶ gate ─▶ Allowed ─▶ handler ─┼─ ask: a few questions at once, none dropped half-way
//! probe ──── /health/* ──────┘                               └─ jobs: bulk changes, bounded in rate and number
//! ```
//!
//! What is shown was written by others: every text is escaped, no page holds a script or a style, and payloads are for those
//! who may see them. What changes something is a `POST` that comes from a page of ours with its token, by an operator who may;
//! it is written to the audit table with his name. A dashboard sees a store through the contracts of `tenure-core` only.

mod act;
mod api;
mod ask;
mod asked;
mod auth;
mod dashboard;
mod fields;
mod gate;
mod headers;
mod hosts;
mod jobs;
mod limits;
mod live;
#[doc(hidden)]
pub mod mutation;
mod pages;
mod params;
mod problem;
mod rates;
mod redact;
mod routes;
mod sampler;
mod series;
mod serve;
mod shown;
mod view;

pub use auth::{
    Action, Auth, Authenticator, KEY_MIN_BYTES, Operator, Permission, Permissions, Refused, SigningKey,
    TOKEN_MIN_CHARS, TOKENS_MAX, Tokens, TokensError,
};
pub use dashboard::{Dashboard, DashboardError, LocalRunners, MOUNT};
pub use hosts::{HostError, Hosts};
pub use limits::Limits;
pub use redact::Redact;
pub use routes::{RouteFacts, routes};
pub use serve::{Extra, HealthAnswer, HealthSource, MetricsFor, serve};
pub use tenure_core::contract::OperatorStores;

/// The API as a document of OpenAPI 3.1, where `mount` is where the dashboard is.
pub fn openapi(mount: &str) -> serde_json::Value {
    api::openapi::write(mount)
}

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
//!
//! Mounted into an application of axum (with `tenure`, `database.for_operators()` gives the stores; give the dashboard a handle
//! of its own, opened for looking):
//!
//! ```
//! # use std::sync::Arc;
//! # use tenure_core::{contract::Capabilities, memory::{ManualClock, MemoryStore}};
//! use tenure_dashboard::{Auth, Dashboard, Hosts, OperatorStores, Permissions, Tokens};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let store = Arc::new(MemoryStore::new(Arc::new(ManualClock::default())));
//! # let stores = OperatorStores::of(store, Capabilities::default());
//! let (_token, line) = Tokens::make("ada", Permissions::OPERATE, None)?;
//! let dashboard = Dashboard::new(stores, Auth::tokens(Tokens::parse(&line)?), Hosts::these(["ops.example.com"])?);
//! let stop = std::future::pending();
//! let app: axum::Router = axum::Router::new().nest("/_tenure", dashboard.router(stop));
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! Serve the application with `into_make_service_with_connect_info::<SocketAddr>()`, so that wrong tokens are counted by
//! where they come from. Behind a proxy keep the `Host` of the browser, and give that name to [`Hosts`].

mod act;
mod api;
mod ask;
mod asked;
mod auth;
mod dashboard;
mod door;
mod fields;
mod gate;
mod headers;
mod hosts;
mod jobs;
mod limits;
mod live;
#[doc(hidden)]
pub mod mutation;
mod pace;
mod pages;
mod params;
mod problem;
mod rates;
mod redact;
mod routes;
mod sampler;
mod sent;
mod series;
mod serve;
mod shown;
mod view;
mod waiting;

pub use auth::{
    Action, Auth, Authenticator, KEY_MIN_BYTES, Operator, Permission, Permissions, Refused, SigningKey,
    TOKEN_MIN_CHARS, TOKENS_MAX, Tokens, TokensError,
};
pub use dashboard::{Dashboard, DashboardError, MOUNT};
pub use hosts::{HostError, Hosts};
pub use limits::{Limits, Most, bounds};
pub use redact::Redact;
pub use routes::{RouteFacts, routes};
pub use serve::{Extra, HealthAnswer, HealthSource, MetricsFor, serve};
pub use tenure_core::contract::OperatorStores;
pub use waiting::{WaitsFor, waiting};

/// The API as a document of OpenAPI 3.1, where `mount` is where the dashboard is.
pub fn openapi(mount: &str) -> serde_json::Value {
    api::openapi::write(mount)
}

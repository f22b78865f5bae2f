//! The dashboard as an operator meets it: a real browser, the real binary, real databases.
//!
//! Needs Debian's `chromium` and `chromium-driver`, whose versions are one. Where they are missing a test says so aloud and
//! passes; with `CI=true` that is a failure.

mod chrome;
mod failover;
mod group;
mod hostile;
mod operator;
mod pictures;
mod proxied;
mod refused;
mod slow;
mod stage;

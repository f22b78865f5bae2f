//! What the core's own tests may not look at: how long something takes.

// Helpers of tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod plan_speed;

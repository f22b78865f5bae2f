//! The dashboard as operators, strangers and attackers meet it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod canary;
mod checks;
mod hostile;
mod hosts;
mod house;
mod jobs;
mod live;
mod loopback;
mod page;
mod panics;
mod samples;
mod server;
mod slow;
mod walk;
mod watched;

//! The dashboard as operators, strangers and attackers meet it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod canary;
mod checks;
mod crowd;
mod fuzz;
mod hostile;
mod hosts;
mod house;
mod jobs;
mod live;
mod loopback;
mod mistakes;
mod office;
mod page;
mod panics;
mod samples;
mod server;
mod slow;
mod story;
mod walk;
mod watched;

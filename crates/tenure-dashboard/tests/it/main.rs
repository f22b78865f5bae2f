//! The dashboard as operators, strangers and attackers meet it.

mod canary;
mod checks;
mod hostile;
mod hosts;
mod house;
mod loopback;
mod page;
mod panics;
mod samples;
mod server;
mod slow;
mod walk;
mod watched;

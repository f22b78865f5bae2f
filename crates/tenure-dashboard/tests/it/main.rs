//! The dashboard as operators, strangers and attackers meet it.

mod checks;
mod hostile;
mod hosts;
mod house;
mod loopback;
mod page;
mod samples;
mod server;
mod slow;
mod walk;
mod watched;

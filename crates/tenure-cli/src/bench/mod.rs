//! `tenure bench`: figures measured on the user's own machine and database, with real processes.

mod actor;
pub(crate) mod cluster;
mod contestant;
#[cfg(feature = "dashboard")]
pub(crate) mod dashboard;
#[cfg(not(feature = "dashboard"))]
#[path = "no_dashboard.rs"]
pub(crate) mod dashboard;
pub(crate) mod events;
pub(crate) mod failover;
pub(crate) mod idle;
#[cfg(feature = "kafka")]
pub(crate) mod kafka;
#[cfg(not(feature = "kafka"))]
#[path = "no_kafka.rs"]
pub(crate) mod kafka;
mod meter;
pub(crate) mod outbox;
mod proxy;
mod stats;
mod wire;

use std::process::ExitCode;

/// Does the work of the processes that `bench` starts from this same binary.
pub(crate) fn inner_process() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    (args.next()? == actor::COMMAND).then(|| actor::main(args.next()))
}

//! `tenure bench drain|enqueue|latency|parked`: the outbox, measured against the plainest loop that does the same.
//!
//! Everything happens in a schema (Postgres), a database (MySQL) or a file (SQLite) of its own, made for the run and removed afterwards, with
//! the database's own settings of durability.

pub(crate) mod drain;
pub(crate) mod enqueue;
pub(crate) mod latency;
pub(in crate::bench) mod measure;
mod mysql;
pub(crate) mod parked;
mod postgres;
pub(in crate::bench) mod receiver;
pub(in crate::bench) mod rig;
mod sqlite;
pub(in crate::bench) mod statements;

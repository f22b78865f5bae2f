//! The suite on the in-memory store and on the example of the docs, and the proof that it bites.

// Tests fail by panicking, and so do the parts they are made of.
#![allow(clippy::expect_used, clippy::panic)]

mod bites;
mod bites_cluster;
mod bites_events;
mod bites_outbox;
mod broken;
mod broken_cluster;
mod broken_events;
mod broken_locks;
mod broken_outbox;
mod broken_presence;
mod broken_registry;
mod docs;
mod locks;
mod memory;
mod memory_cluster;
mod memory_events;
mod memory_outbox;
mod own_backend;
mod skips;

//! The suite on the in-memory store.

mod memory;

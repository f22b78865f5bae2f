//! The in-memory backend: for tests, for single processes, and the plainest reading of the contracts.

mod presence;
mod store;

pub use store::{ManualClock, MemoryStore, StoreClock};

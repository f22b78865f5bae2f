//! The words, contracts and decisions of Tenure.
//!
//! Nothing in this crate does I/O: there is no clock, no randomness and no socket here. Time and chance are inputs,
//! decisions are plain functions from state and input to state and effects. That is what lets the same code run in
//! production, in the deterministic simulator and in the conformance suite.
//!
//! **What a lease does not promise.** A lease is a hint about who should work. Between asking "do I hold it?" and the
//! arrival of a write, a process can be paused for any length of time. What makes a protected write safe is its
//! [`Fence`](lease::Fence), checked by the store in the same transaction as the write.
//!
//! | module | what it holds |
//! |---|---|
//! | [`id`], [`time`], [`moment`] | nodes and their incarnations; the two kinds of time; moments as people write them |
//! | [`lease`] | names, terms, the pure decisions of a store, a holder and a contender |
//! | [`contract`] | what a backend implements: [`LeaseStore`](contract::LeaseStore) and friends |
//! | [`hash`] | numbers for locks that have no names |
//! | [`outbox`] | messages, what becomes of them, and the pure decisions of a relay and of an inbox |
//! | [`event`] | streams and what is appended to them, and the registry of types |
//! | [`entity`] | aggregates and processes: what they decide, and what becomes of it |
//! | [`subscription`] | reading all events in order: where a reader stands, what it does about failures |
//! | [`cluster`] | nodes, election, daemons: the pure decisions of a store, a leader and a node |
//! | [`show`] | what programs see: the shapes of JSON, with their schemas |
//! | [`observe`] | what the loops of a process say of themselves; numbers, traces, who did what |
//! | [`health`] | whether all is well, judged from facts |
//! | [`registry`] | what kind of work a lock's name stands for |
//! | [`memory`] | the in-memory backend, for tests and single processes |

pub mod cluster;
pub mod contract;
pub mod entity;
pub mod error;
pub mod event;
pub mod hash;
pub mod health;
pub mod id;
pub mod lease;
pub mod memory;
pub mod moment;
pub mod mutation;
pub mod naming;
pub mod observe;
pub mod outbox;
pub mod registry;
pub mod show;
pub mod subscription;
pub mod time;

pub use error::StoreError;

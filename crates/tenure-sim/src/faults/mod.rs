//! What goes wrong: messages that the weather of a link spoils, and blows to nodes, sessions and the store.
//!
//! Each seed enables some faults and leaves others out ("swarm testing"): a world in which everything fails all the time
//! never gets as far as the rare sequences that need long stretches of health.

mod blow;
mod temper;
mod weather;

pub(crate) use blow::{Blow, Trouble};
pub(crate) use temper::{Mood, Temper};
pub(crate) use weather::{Climate, Fate, LATEST, Weather};

//! Bounded numbers.

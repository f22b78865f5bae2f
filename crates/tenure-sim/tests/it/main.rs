//! The tests of the simulator: that chaos holds, that it is the same twice, and that every missing rule is noticed.

mod chaos;
mod mutations;
mod scenarios;

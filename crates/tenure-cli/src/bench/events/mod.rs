//! `tenure bench append|subscribe|load`: events, measured against the same inserts by hand.

pub(crate) mod append;
pub(crate) mod load;
pub(crate) mod subscribe;

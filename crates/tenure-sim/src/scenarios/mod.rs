//! Stories that a world lives through: the random one, and one for each failure of the catalogue that leases must pass.

pub mod chaos;

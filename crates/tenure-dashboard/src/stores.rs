//! All that a dashboard needs of a store.

pub use tenure_core::contract::OperatorStores;

//! What the loops of each process say of themselves.

//! The topic: made, shared, refused.

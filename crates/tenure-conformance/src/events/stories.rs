//! Streams by name, and events by what they share.

//! Dead messages by what they have in common.

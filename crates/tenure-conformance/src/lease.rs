//! The lease part.

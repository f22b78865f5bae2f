//! The same by JSON, for programs.

pub(crate) mod error;

use crate::routes::Route;

/// The rows of the table.
pub(crate) const ROUTES: &[Route] = &[];

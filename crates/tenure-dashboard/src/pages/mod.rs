//! Pages for people.

pub(crate) mod layout;
pub(crate) mod login;
pub(crate) mod overview;
pub(crate) mod trouble;

use crate::asked::View;
use crate::routes::{Route, With};

/// The rows of the table.
pub(crate) const ROUTES: &[Route] = &[Route::page("/", "how things stand", &With(View, overview::page))];

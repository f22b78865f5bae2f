//! How things stand, on one screen.

use maud::html;

use super::layout;
use crate::asked::{Allowed, View};
use crate::routes::Answer;

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    Ok(layout::page(&allowed, "Overview", &html! { p { "Nothing is shown here yet." } }))
}

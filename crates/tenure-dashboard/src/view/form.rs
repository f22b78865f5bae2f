//! Forms that change something.

use maud::{Markup, html};

use crate::asked::Asked;
use crate::auth::csrf;

/// The beginning of a form: where it goes, and its token. `question` is asked before it is sent.
pub(crate) fn form(asked: &Asked, path: &str, question: Option<&str>, fields: &Markup) -> Markup {
    html! {
        form class="inline" method="post" action=(asked.link(path)) data-confirm=[question] {
            input type="hidden" name=(csrf::FIELD) value=(asked.form_token());
            (fields)
        }
    }
}

/// A field that is not seen; none where there is nothing to say.
pub(crate) fn hidden(name: &str, value: &str) -> Markup {
    html! { @if !value.is_empty() { input type="hidden" name=(name) value=(value); } }
}

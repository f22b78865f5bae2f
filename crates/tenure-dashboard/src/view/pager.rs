//! Addresses with parameters, and the way to the next page.

use maud::{Markup, html};

use crate::asked::Asked;

/// A path of ours with parameters; those that are empty are left out.
pub(crate) fn href(asked: &Asked, path: &str, parameters: &[(&str, &str)]) -> String {
    let path = asked.link(path);
    let query = query(parameters);
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

/// Parameters as they stand in an address.
pub(crate) fn query(parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
}

/// The way to the next page, and to the first one from any other. Pages go one way only: that costs the same however many
/// there are.
pub(crate) fn pager(
    asked: &Asked,
    path: &str,
    parameters: &[(&str, &str)],
    cursor: &str,
    next: Option<&str>,
) -> Markup {
    let is_first = !asked.query.has(cursor);
    let of = |value: &str| {
        let mut all: Vec<(&str, &str)> =
            parameters.iter().copied().filter(|(name, _)| *name != cursor).collect();
        all.push((cursor, value));
        href(asked, path, &all)
    };
    html! {
        @if next.is_some() || !is_first {
            div class="pager" {
                @if !is_first { a class="button" href=(of("")) { "First page" } }
                @if let Some(next) = next { a class="button" rel="next" href=(of(next)) { "Next page" } }
                @else { span { "This is the last page." } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_cannot_leave_their_place() {
        assert_eq!(
            query(&[("a", "b&c=d"), ("e", ""), ("f", "\"><x> /é\r\n")]),
            "a=b%26c%3Dd&f=%22%3E%3Cx%3E+%2F%C3%A9%0D%0A"
        );
    }
}

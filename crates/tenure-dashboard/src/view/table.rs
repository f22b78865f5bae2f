//! Tables, which are lists of cards on a narrow screen: so every cell knows the name of its column.

use maud::{Markup, html};

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    name: &'static str,
    class: &'static str,
}

impl Column {
    /// Text, which is broken where it is long.
    pub(crate) const fn text(name: &'static str) -> Self {
        Self { name, class: "text" }
    }

    /// A name, which needs some room.
    pub(crate) const fn name(name: &'static str) -> Self {
        Self { name, class: "name" }
    }

    /// A text for whose sake people look at the table: it has the most room.
    pub(crate) const fn wide(name: &'static str) -> Self {
        Self { name, class: "wide" }
    }

    /// A number.
    pub(crate) const fn number(name: &'static str) -> Self {
        Self { name, class: "number" }
    }

    /// Something short, which is not broken.
    pub(crate) const fn short(name: &'static str) -> Self {
        Self { name, class: "nowrap" }
    }
}

/// A table, or what is said where there is nothing to list.
pub(crate) fn table(what: &str, columns: &[Column], rows: &[Vec<Markup>], none: &str) -> Markup {
    if rows.is_empty() {
        return html! { p class="none" { (none) } };
    }
    html! {
        div class="table" {
            table class="cards" {
                caption class="unseen" { (what) }
                thead { tr { @for column in columns { th scope="col" class=(column.class) { (column.name) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (column, cell) in columns.iter().zip(row) {
                                @let empty = if cell.0.is_empty() { " empty" } else { "" };
                                td class={ (column.class) (empty) } data-label=(column.name) { div class="cell" { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Facts: a name and what it is. Those that are empty are left out.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl class="facts" {
            @for (name, value) in facts.iter().filter(|(_, value)| !value.0.is_empty()) {
                dt { (name) }
                dd { (value) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_knows_its_column_and_nothing_is_said_in_words() {
        let columns = [Column::text("Name"), Column::number("Count")];
        let text = table("things", &columns, &[vec![html! { "<a>" }, html! { "7" }]], "none").into_string();
        assert!(text.contains("<td class=\"number\" data-label=\"Count\"><div class=\"cell\">7"), "{text}");
        assert!(text.contains("&lt;a&gt;") && text.contains("scope=\"col\""));
        assert_eq!(
            table("things", &columns, &[], "There is none.").into_string(),
            "<p class=\"none\">There is none.</p>"
        );
    }
}

//! Names of tables: the only text that is ever spliced into SQL, and therefore a closed type.

use std::fmt;

use crate::id::NameError;

/// The longest identifier; leaves room for our suffixes below the 63 bytes that Postgres keeps.
pub const IDENTIFIER_MAX_CHARS: usize = 40;

/// A prefix or schema that may stand in SQL: `[a-z_][a-z0-9_]*`, at most 40 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identifier(String);

impl Identifier {
    /// Accepts `[a-z_][a-z0-9_]*` with at most 40 characters.
    pub fn new(what: &'static str, text: &str) -> Result<Self, NameError> {
        let starts = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        let goes_on = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if starts && goes_on && text.len() <= IDENTIFIER_MAX_CHARS {
            return Ok(Self(text.to_owned()));
        }
        let text = text.chars().take(60).flat_map(char::escape_default).collect();
        Err(NameError::NotAnIdentifier { what, text, limit: IDENTIFIER_MAX_CHARS })
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where Tenure's tables live in a database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Naming {
    /// The schema, where the database has such a thing; `None` takes the connection's own.
    pub schema: Option<Identifier>,
    /// What every table's name begins with.
    pub prefix: Identifier,
}

impl Default for Naming {
    fn default() -> Self {
        Self { schema: None, prefix: Identifier("tenure_".to_owned()) }
    }
}

impl Naming {
    /// Fills the placeholders of a statement: `{leases}` becomes the quoted name of that table.
    ///
    /// Placeholders are a closed list, so that a brace in a statement is never mistaken for one.
    pub fn fill(&self, template: &str) -> String {
        self.fill_quoted(template, DOUBLE_QUOTES)
    }

    /// The same for a database that quotes names by other characters: the one before a name and the one behind it.
    pub fn fill_quoted(&self, template: &str, quotes: (char, char)) -> String {
        let mut sql = template.to_owned();
        for name in TABLES.into_iter().chain(ROUTINES) {
            let mark = format!("{{{name}}}");
            if sql.contains(&mark) {
                sql = sql.replace(&mark, &self.table_quoted(name, quotes));
            }
        }
        sql.replace("{prefix}", self.prefix.as_str())
    }

    /// The quoted name of one table, with its schema where one was given.
    pub fn table(&self, table: &str) -> String {
        self.table_quoted(table, DOUBLE_QUOTES)
    }

    /// The same, quoted by other characters.
    pub fn table_quoted(&self, table: &str, (open, close): (char, char)) -> String {
        let name = format!("{open}{}{table}{close}", self.prefix);
        self.schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{open}{schema}{close}.{name}"))
    }
}

/// How the standard quotes names.
const DOUBLE_QUOTES: (char, char) = ('"', '"');

/// What else a statement may name by such a name: a routine that the database keeps. Few have any.
const ROUTINES: [&str; 1] = ["outbox_enqueue"];

/// Every table a statement may name. Not every database has all of them.
pub const TABLES: [&str; 21] = [
    "leases",
    "fences",
    "append_slots",
    "lease_history",
    "cluster",
    "nodes",
    "assignments",
    "audit",
    "schema",
    "outbox",
    "outbox_pending",
    "outbox_arrivals",
    "outbox_attempts",
    "outbox_dead",
    "inbox",
    "streams",
    "events",
    "snapshots",
    "checkpoints",
    "parked",
    "runners",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_identifiers_may_enter_sql() {
        for good in ["tenure_", "_x9", "a"] {
            assert!(Identifier::new("prefix", good).is_ok(), "{good}");
        }
        let long = "a".repeat(41);
        for bad in ["", "9a", "A", "a-b", "a\"b", "a;b", "ä", "a\0", long.as_str()] {
            assert!(Identifier::new("prefix", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn placeholders_become_quoted_names() {
        let naming = Naming { schema: Identifier::new("schema", "app").ok(), ..Naming::default() };
        let filled = naming.fill("select 1 from {leases}, {lease_history}");
        assert_eq!(filled, "select 1 from \"app\".\"tenure_leases\", \"app\".\"tenure_lease_history\"");
        assert_eq!(Naming::default().fill_quoted("{events}", ('[', ']')), "[tenure_events]");
    }
}

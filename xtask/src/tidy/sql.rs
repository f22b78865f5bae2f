//! Where SQL may stand.
//!
//! Statements are static text, or are put together in a file called `statements.rs`, where every name that goes into
//! them has been validated. So one file per backend has to be read to know that no input becomes SQL.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::files::File;

/// Words that open a statement, as SQL is written here: in capitals or not.
const STATEMENTS: &[&str] =
    &["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE ", "ALTER TABLE "];
/// Files that may build SQL.
const BUILDERS: &[&str] = &["statements.rs"];
/// Files that may vouch for SQL that they did not write as a literal.
const VOUCHERS: &[&str] = &["statements.rs", "fence.rs"];
/// How far into a `format!` to look for SQL.
const REACH: usize = 240;

/// SQL is put together only in `statements.rs`, and vouched for only there and in `fence.rs`.
pub(crate) fn only_in_statements(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_crate_source()) {
        let program: usize = file.lines_before_tests().map(|(_, line)| line.len() + 1).sum();
        let text = file.text.get(..program).unwrap_or(&file.text);
        if !BUILDERS.contains(&file.name()) {
            for at in text.match_indices("format!(").map(|(at, _)| at).filter(|at| opens_statement(text, *at))
            {
                findings.push(Finding::error(
                    &file.path,
                    line_of(text, at),
                    "SQL is put together in `statements.rs`",
                ));
            }
        }
        if !VOUCHERS.contains(&file.name()) {
            for (at, _) in text.match_indices("AssertSqlSafe") {
                let what = "only `statements.rs` and `fence.rs` vouch for SQL";
                findings.push(Finding::error(&file.path, line_of(text, at), what));
            }
        }
    }
    findings
}

/// Backends whose databases can do the same: a statement that one of them lacks was forgotten.
const TWINS: [&str; 2] = ["tenure-mysql", "tenure-sqlserver"];

/// Backends name their SQL files alike, so that two can be read side by side: those that stand on `tenure-sql` all of them,
/// and it is an error if one is missing; the others as far as both need them, which is only said.
pub(crate) fn same_names(files: &[File]) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        if let Some((package, name)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/sql/"))
        {
            // What a driver says for itself is its own business.
            if !name.starts_with("driver/") {
                folders.entry(package).or_default().insert(name);
            }
        }
    }
    let mut findings = Vec::new();
    for (package, names) in &folders {
        let are_twins = TWINS.contains(package);
        let others =
            folders.iter().filter(|(other, _)| *other != package && TWINS.contains(other) == are_twins);
        let theirs: BTreeSet<&str> = others.flat_map(|(_, names)| names).copied().collect();
        for name in theirs.difference(names) {
            let path = format!("crates/{package}/sql/{name}");
            findings.push(if are_twins {
                Finding::error(&path, 0, "the other backend of this kind has a file of this name")
            } else {
                Finding::warning(&path, 0, "the other backend of this kind has a file of this name")
            });
        }
    }
    findings
}

/// Whether the first string of the call that starts at `at` opens a statement.
fn opens_statement(text: &str, at: usize) -> bool {
    let reach: String = text.get(at..).unwrap_or_default().chars().take(REACH).collect();
    let Some((_, literal)) = reach.split_once('"') else { return false };
    let literal = literal.trim_start_matches(['\\', '\n', ' ', '(']).to_uppercase();
    STATEMENTS.iter().any(|word| literal.starts_with(word) || literal.contains(&format!("({word}")))
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::Weight;
    use super::super::samples::{check, lines};
    use super::*;

    const SOURCE: &str = "crates/tenure-postgres/src/store.rs";

    #[test]
    fn sql_put_together_elsewhere_is_found() {
        let text = "fn f() {\n    let q = format!(\n        \"SELECT * FROM {table}\"\n    );\n}\n";
        assert_eq!(lines(only_in_statements, SOURCE, text), [2]);
        assert_eq!(lines(only_in_statements, SOURCE, "format!(\"update {t} set x = 1\")\n"), [1]);
        assert_eq!(lines(only_in_statements, SOURCE, "format!(r#\"DELETE FROM {t}\"#)\n"), [1]);
        assert!(check(only_in_statements, "crates/tenure-postgres/src/statements.rs", text).is_empty());
    }

    #[test]
    fn static_sql_plain_sentences_and_tests_are_fine() {
        assert!(check(only_in_statements, SOURCE, "query(\"SELECT 1\");\n").is_empty());
        assert!(check(only_in_statements, SOURCE, "format!(\"could not update {name}\")\n").is_empty());
        assert!(check(only_in_statements, SOURCE, "#[cfg(test)]\nformat!(\"SELECT {x}\")\n").is_empty());
    }

    #[test]
    fn vouching_for_sql_elsewhere_is_found() {
        assert_eq!(lines(only_in_statements, SOURCE, "query(AssertSqlSafe(text))\n"), [1]);
        assert!(
            check(only_in_statements, "crates/tenure-sqlite/src/fence.rs", "AssertSqlSafe(text)\n")
                .is_empty()
        );
    }

    #[test]
    fn a_name_that_one_backend_lacks_is_said() {
        let file = |path| File::new(path, "");
        let files = [
            file("crates/tenure-sqlite/sql/lease/claim.sql"),
            file("crates/tenure-sqlite/sql/lease/renew.sql"),
            file("crates/tenure-postgres/sql/lease/claim.sql"),
        ];
        let paths: Vec<_> = same_names(&files).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/tenure-postgres/sql/lease/renew.sql"]);
        assert!(same_names(&files[..2]).is_empty(), "a backend alone has nothing to be like");
    }

    #[test]
    fn a_name_that_a_twin_lacks_is_an_error() {
        let file = |path| File::new(path, "");
        let files = [
            file("crates/tenure-postgres/sql/lease/notify.sql"),
            file("crates/tenure-mysql/sql/lease/claim.sql"),
            file("crates/tenure-mysql/sql/lease/renew.sql"),
            file("crates/tenure-sqlserver/sql/lease/claim.sql"),
            file("crates/tenure-sqlserver/sql/outbox/take.sql"),
        ];
        let errors = |files: &[File]| {
            let found = same_names(files).into_iter().filter(|finding| finding.weight == Weight::Error);
            found.map(|finding| finding.path).collect::<Vec<_>>()
        };
        let expected =
            ["crates/tenure-mysql/sql/outbox/take.sql", "crates/tenure-sqlserver/sql/lease/renew.sql"];
        assert_eq!(errors(&files), expected);
        assert!(errors(&files[..3]).is_empty(), "a twin that does not exist yet lacks nothing");
    }
}

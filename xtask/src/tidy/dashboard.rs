//! Rules about the dashboard: what keeps it safe must not depend on anyone remembering it.

use super::Finding;
use super::files::{File, code};

const SOURCE: &str = "crates/tenure-dashboard/src/";

/// How a router of axum is given a path. The dashboard's has none: it looks into its table of routes.
const ROUTING: &[&str] = &[".route(", ".route_service(", ".nest(", ".nest_service("];

/// The files that may write HTML as it stands, and why: a test switches escaping off there, to prove that it is missed.
const UNESCAPED: &[&str] = &["crates/tenure-dashboard/src/view/payload.rs"];

/// Nothing can be reached that is not in the table of routes, where it has a permission and is walked by a test.
pub(crate) fn all_in_the_table(files: &[File]) -> Vec<Finding> {
    find(
        files,
        |text| ROUTING.iter().copied().find(|call| text.contains(*call)),
        |call| format!("`{call}` goes past the table of routes; add a row to it"),
    )
}

/// What others wrote is escaped.
pub(crate) fn everything_escaped(files: &[File]) -> Vec<Finding> {
    let outside: Vec<File> = files
        .iter()
        .filter(|file| !UNESCAPED.contains(&file.path.as_str()))
        .map(|file| File::new(&file.path, &file.text))
        .collect();
    find(
        &outside,
        |text| text.contains("PreEscaped").then_some("PreEscaped"),
        |name| format!("`{name}` writes a text into a page as it stands"),
    )
}

fn find<'a>(
    files: &[File],
    wrong: impl Fn(&str) -> Option<&'a str>,
    say: impl Fn(&str) -> String,
) -> Vec<Finding> {
    let ours = files.iter().filter(|file| file.path.starts_with(SOURCE) && file.is_rust());
    let mut findings = Vec::new();
    for file in ours {
        for (line, text) in file.lines_before_tests() {
            if let Some(name) = wrong(code(text)) {
                findings.push(Finding::error(&file.path, line, say(name)));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, lines};
    use super::*;

    #[test]
    fn a_path_past_the_table_is_found() {
        let bad = "//! x\nRouter::new().route(\"/x\", get(x))\n// .route( in a comment\n";
        assert_eq!(lines(all_in_the_table, "crates/tenure-dashboard/src/dashboard.rs", bad), [2]);
        assert!(check(all_in_the_table, "crates/tenure-cli/src/main.rs", bad).is_empty());
    }

    #[test]
    fn a_text_that_is_not_escaped_is_found() {
        let bad = "//! x\n(PreEscaped(text))\n";
        assert_eq!(lines(everything_escaped, "crates/tenure-dashboard/src/pages/outbox.rs", bad), [2]);
        assert!(check(everything_escaped, UNESCAPED[0], bad).is_empty());
    }
}

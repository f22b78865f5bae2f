//! `cargo xtask tidy`: the rules of the house that neither the compiler nor clippy knows.
//!
//! Each rule is a function from the files of the repository to what it found, with tests beside it that show it biting
//! on a bad sample. A rule that nobody checks is a rule that nobody keeps.

pub(crate) mod files;

mod dashboard;
mod dependencies;
mod documents;
mod links;
mod machine;
mod manifest;
mod sleeps;
mod source;
mod sql;

use files::File;

use crate::Result;
use crate::cargo::root;

/// Something against a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    /// Counted from one; zero means the file as a whole.
    line: usize,
    what: String,
    weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Fails the run.
    Error,
    /// Is only said.
    Warning,
}

impl Finding {
    fn error(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), weight: Weight::Error }
    }

    fn warning(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), weight: Weight::Warning }
    }
}

/// A rule: all files in, what is wrong out.
type Rule = fn(&[File]) -> Vec<Finding>;

const RULES: &[Rule] = &[
    dashboard::all_in_the_table,
    dashboard::everything_escaped,
    dependencies::direction,
    dependencies::pure_core,
    dependencies::workspace_lints,
    source::opens_with_a_comment,
    source::nothing_unfinished,
    source::core_does_no_io,
    source::long_files,
    sql::only_in_statements,
    sql::same_names,
    sleeps::say_why,
    machine::no_paths,
    machine::no_registry_hosts,
    documents::present,
    documents::changelog_lines,
    links::every_page_is_listed,
    links::lead_somewhere,
    links::no_orphan_pictures,
];

/// Checks the whole repository.
pub(crate) fn run() -> Result<()> {
    let files = files::load(&root())?;
    let findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&files)).collect();
    let mut errors = 0_usize;
    for finding in &findings {
        let word = match finding.weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
        };
        errors += usize::from(finding.weight == Weight::Error);
        println!("{word}: {}:{}: {}", finding.path, finding.line, finding.what);
    }
    println!(
        "{} files, {} rules, {errors} errors, {} warnings",
        files.len(),
        RULES.len(),
        findings.len() - errors
    );
    if errors == 0 { Ok(()) } else { Err(format!("{errors} findings against the rules of the house")) }
}

#[cfg(test)]
mod samples {
    use super::{File, Finding, Rule};

    /// What a rule finds in one file.
    pub(super) fn check(rule: Rule, path: &str, text: &str) -> Vec<Finding> {
        rule(&[File::new(path, text)])
    }

    /// The lines on which a rule bites.
    pub(super) fn lines(rule: Rule, path: &str, text: &str) -> Vec<usize> {
        check(rule, path, text).iter().map(|finding| finding.line).collect()
    }
}

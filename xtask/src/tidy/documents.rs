//! The documents that a user looks for, and the form of the changelog.

use super::Finding;
use super::files::File;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];
/// How a line of the changelog opens.
const KINDS: &[&str] = &["**added**", "**changed**", "**fixed**", "**breaking**"];

/// Every document is there.
pub(crate) fn present(files: &[File]) -> Vec<Finding> {
    let missing = DOCUMENTS.iter().filter(|name| files.iter().all(|file| file.path != **name));
    missing.map(|name| Finding::error(name, 0, "the document is missing")).collect()
}

/// Each entry of the changelog says first what kind of change it is.
pub(crate) fn changelog_lines(files: &[File]) -> Vec<Finding> {
    let Some(changelog) = files.iter().find(|file| file.path == "CHANGELOG.md") else { return Vec::new() };
    let entries = changelog.lines().filter_map(|(line, text)| Some((line, text.strip_prefix("- ")?)));
    entries
        .filter(|(_, entry)| !KINDS.iter().any(|kind| entry.starts_with(kind)))
        .map(|(line, _)| {
            Finding::error("CHANGELOG.md", line, format!("an entry starts with one of {}", KINDS.join(", ")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::lines;
    use super::*;

    #[test]
    fn a_missing_document_is_found() {
        let all: Vec<File> = DOCUMENTS.iter().map(|name| File::new(name, "text")).collect();
        assert!(present(&all).is_empty());
        let paths: Vec<_> = present(&all[1..]).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, [DOCUMENTS[0]]);
    }

    #[test]
    fn a_changelog_entry_without_its_kind_is_found() {
        let text = "# Changelog\n\n- **added** leases\n- leases are faster\n  and more\n- **fixed** it\n";
        assert_eq!(lines(changelog_lines, "CHANGELOG.md", text), [4]);
    }
}

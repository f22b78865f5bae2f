//! The files of the repository, as git knows them: tracked, or new and not ignored.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::server::output;

/// A text file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The lines with their numbers, counted from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    /// The lines of the program itself: without its unit tests, which stand at the end of a file.
    pub(crate) fn lines_before_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().take_while(|(_, line)| line.trim() != "#[cfg(test)]")
    }

    /// Rust source under `crates/*/src`.
    pub(crate) fn is_crate_source(&self) -> bool {
        self.is_rust() && self.under_crate("src")
    }

    /// Rust source under `crates/*/tests`.
    pub(crate) fn is_crate_test(&self) -> bool {
        self.is_rust() && self.under_crate("tests")
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    fn under_crate(&self, folder: &str) -> bool {
        let mut parts = self.path.split('/');
        parts.next() == Some("crates") && parts.nth(1) == Some(folder)
    }
}

/// A line without its comment. A `//` within a string cuts the line short, which only makes a rule see less.
pub(crate) fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// The paths of all files, sorted.
pub(crate) fn list(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    // A clone may belong to another user than the one who checks it.
    git.current_dir(root).args(["-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"]);
    let listed = output(git).map_err(|reason| format!("the rules need a git work tree: {reason}"))?;
    let mut paths: Vec<String> =
        listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Every file; one that is no text has an empty one. One that was deleted but is still tracked is passed over.
pub(crate) fn load(root: &Path) -> Result<Vec<File>> {
    let texts = list(root)?.into_iter().filter_map(|path| {
        let bytes = fs::read(root.join(&path)).ok()?;
        Some(File::new(&path, std::str::from_utf8(&bytes).unwrap_or_default()))
    });
    Ok(texts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_knows_its_place() {
        assert!(File::new("crates/tenure/src/lease/mod.rs", "").is_crate_source());
        assert!(File::new("crates/tenure/tests/it/main.rs", "").is_crate_test());
        assert!(!File::new("xtask/src/main.rs", "").is_crate_source());
        assert!(!File::new("crates/tenure/src/readme.md", "").is_crate_source());
    }

    #[test]
    fn unit_tests_are_cut_off() {
        let file = File::new("a.rs", "one\n#[cfg(test)]\nmod tests {}\n");
        assert_eq!(file.lines_before_tests().collect::<Vec<_>>(), [(1, "one")]);
    }
}

//! A file of tokens that is read again when it changes.
//!
//! After the start nothing about the file is an error that ends the dashboard: a line that cannot be read is left out, and while
//! the file is away or open to others nobody is let in. Each is said in the log.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use super::TokensError;
use super::tokens::{LOOK_EVERY, Line, TOKENS_MAX, locked, read_lines};

/// The largest file of tokens that is read.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// Where the tokens are, and what was read there last.
pub(super) struct TokenFile {
    path: PathBuf,
    /// Lines that do not come from the file.
    beside: Vec<Line>,
    seen: Mutex<Seen>,
}

struct Seen {
    looked: Instant,
    stamp: Option<Stamp>,
}

/// What changes when a file is written, replaced or opened to others.
type Stamp = (u64, u64, i64, i64, i64, i64, u32);

impl TokenFile {
    /// Reads a file for the first time; whatever is wrong with it is an error then.
    pub(super) fn open(path: &Path) -> Result<(Self, String), TokensError> {
        let (stamp, text) = read(path)?;
        let seen = Mutex::new(Seen { looked: Instant::now(), stamp: Some(stamp) });
        Ok((Self { path: path.to_owned(), beside: Vec::new(), seen }, text))
    }

    /// With lines that stay whatever the file says.
    pub(super) fn beside(mut self, lines: Vec<Line>) -> Self {
        self.beside.extend(lines);
        self
    }

    /// The lines, if the file has changed since it was looked at; it is looked at once in a few seconds.
    pub(super) fn changed(&self) -> Option<Vec<Line>> {
        let mut seen = locked(&self.seen);
        if seen.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        seen.looked = Instant::now();
        self.look(&mut seen)
    }

    fn look(&self, seen: &mut Seen) -> Option<Vec<Line>> {
        let found = stamp(&self.path).ok();
        if found.is_some() && found == seen.stamp {
            return None;
        }
        let mut lines = self.beside.clone();
        match read(&self.path) {
            Ok((stamp, text)) => {
                seen.stamp = Some(stamp);
                for line in read_lines(&text).take(TOKENS_MAX) {
                    match line {
                        Ok(line) => lines.push(line),
                        Err(error) => tracing::error!(%error, "a line of the tokens is left out"),
                    }
                }
                tracing::info!(tokens = lines.len(), "the tokens were read again");
            }
            Err(error) => {
                // Said once, and then only when it changes.
                if seen.stamp.take().is_some() {
                    tracing::error!(%error, "nobody is let in by the file of tokens until it can be read");
                }
            }
        }
        Some(lines)
    }

    /// Looks at once, for tests.
    #[cfg(test)]
    fn look_now(&self) -> Option<Vec<Line>> {
        self.look(&mut locked(&self.seen))
    }
}

fn read(path: &Path) -> Result<(Stamp, String), TokensError> {
    let shown = path.display().to_string();
    let failed =
        |error: std::io::Error| TokensError::File { path: shown.clone(), message: error.to_string() };
    let stamp = stamp(path).map_err(failed)?;
    if stamp.6 & 0o077 != 0 {
        return Err(TokensError::ReadByOthers { path: shown, mode: stamp.6 & 0o777 });
    }
    if stamp.1 > FILE_MAX_BYTES {
        return Err(TokensError::TooMany);
    }
    Ok((stamp, std::fs::read_to_string(path).map_err(failed)?))
}

fn stamp(path: &Path) -> std::io::Result<Stamp> {
    let it = std::fs::metadata(path)?;
    Ok((it.ino(), it.len(), it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec(), it.mode()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::Tokens;
    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn line(name: &str) -> String {
        Tokens::make(name, super::super::Permissions::VIEW, None).unwrap().1
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        for mode in [0o640, 0o604, 0o644, 0o620] {
            write(&path, &line("ada"), mode);
            let error = Tokens::file(&path).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        write(&path, &line("ada"), 0o600);
        assert!(Tokens::file(&path).is_ok());
        assert!(Tokens::file(folder.path().join("none")).is_err());
    }

    #[test]
    fn a_changed_file_is_read_again_and_what_is_wrong_in_it_lets_nobody_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let (ada, bob) = (line("ada"), line("bob"));
        write(&path, &format!("{ada}\n{bob}"), 0o600);
        let (file, _) = TokenFile::open(&path).unwrap();
        let names = |lines: Option<Vec<Line>>| {
            lines.map(|lines| lines.into_iter().map(|line| line.name).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(file.look_now()), None);
        write(&path, &bob, 0o600);
        assert_eq!(names(file.look_now()).unwrap(), "bob");
        write(&path, &format!("{ada}\nnonsense\n{bob}"), 0o600);
        assert_eq!(names(file.look_now()).unwrap(), "ada bob");
        write(&path, &ada, 0o644);
        assert_eq!(names(file.look_now()).unwrap(), "");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(names(file.look_now()).unwrap(), "");
        write(&path, &ada, 0o600);
        assert_eq!(names(file.look_now()).unwrap(), "ada");
        write(&path, "", 0o600);
        assert_eq!(names(file.look_now()).unwrap(), "");
    }
}

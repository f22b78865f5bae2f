//! How the file is opened: to write, or where that cannot be, only to look.
//!
//! Who reads a write-ahead log takes part in its locks, which stand in a file beside it (`-shm`). Where that one is neither there
//! nor can be made, SQLite reads only what it is promised that nobody changes. That promise is given for a file without a log,
//! and kept an eye on: what was read while the file changed does not count, and what changed since is opened anew.
//!
//! ```text
//!   Write ── cannot be written to ──▶ Read ── no lock to be had, and there is no log ──▶ Still
//!                                      ▲                                                   │
//!                                      └──────────────── the file has changed ─────────────┘
//! ```

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};

use crate::error::Fault;

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything.
    Write,
    /// Reading, behind the locks of a write-ahead log.
    Read,
    /// Reading what nobody changes.
    Still,
}

impl Access {
    /// Opens the file.
    pub(crate) fn open(self, path: &Path, create: bool) -> rusqlite::Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        match self {
            Self::Write => {
                flags |= OpenFlags::SQLITE_OPEN_READ_WRITE;
                flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
            }
            Self::Read => flags |= OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::Still => {
                flags |= OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                return Connection::open_with_flags(still_uri(path), flags);
            }
        }
        Connection::open_with_flags(path, flags)
    }
}

/// A path as SQLite's own kind of URL, with nothing in it that could be read as another part of one.
fn still_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte))
            }
            other => {
                let _ = write!(uri, "%{other:02x}");
            }
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// The file's log.
fn log_of(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Whether there is a log with something in it.
fn has_log(path: &Path) -> bool {
    fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0)
}

/// What a connection rests on.
#[derive(Debug)]
pub(crate) struct Footing {
    access: Access,
    /// What the file looked like before anything was read of it, where nobody should change it.
    still: Option<Stamp>,
}

impl Footing {
    /// That of a connection that writes.
    pub(crate) const WRITE: Self = Self { access: Access::Write, still: None };

    /// Opens the file to look: behind the locks of its log, or where there are none and no log either, as one that nobody
    /// changes. `open` opens a connection and proves that it can read.
    pub(crate) fn to_look(
        path: &Path,
        open: impl Fn(Access) -> Result<Connection, Fault>,
    ) -> Result<(Connection, Self), Fault> {
        let fault = match open(Access::Read) {
            Ok(connection) => return Ok((connection, Self { access: Access::Read, still: None })),
            Err(fault) if fault.is_about_rights() => fault,
            Err(fault) => return Err(fault),
        };
        // Before the first page is read: what is written from then on shows.
        match Stamp::of(path).filter(|stamp| !stamp.has_log) {
            Some(stamp) => {
                let connection = open(Access::Still)?;
                Ok((connection, Self { access: Access::Still, still: Some(stamp) }))
            }
            None => Err(fault),
        }
    }

    /// How the file was opened.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Whether it was written to a file that nobody should have changed: what the connection remembers of it is old.
    pub(crate) fn has_moved(&self, path: &Path) -> bool {
        self.check(path).is_err()
    }

    /// Refuses what was read from a file that nobody should have changed, if somebody has.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Fault> {
        self.still.as_ref().map_or(Ok(()), |stamp| stamp.check(path))
    }
}

/// What a file looked like that nobody should change.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    changed_at: Option<SystemTime>,
    has_log: bool,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self { bytes: found.len(), changed_at: found.modified().ok(), has_log: has_log(path) })
    }

    /// Refuses what was read if the file does not look as it did.
    fn check(&self, path: &Path) -> Result<(), Fault> {
        match Self::of(path) {
            Some(now) if now == *self => Ok(()),
            _ => Err(Fault::Unreachable(
                "it was written to while it was looked at, and without the right to write there is no way to wait for \
                 that; ask again"
                    .into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_file_is_another_part_of_the_url() {
        assert_eq!(
            still_uri(Path::new("/a b/c?d#e%f&g=ü.db")),
            "file:/a%20b/c%3fd%23e%25f%26g%3d%c3%bc.db?immutable=1"
        );
    }
}

//! The files that SQLite has open: whether those that stand at their paths are still the same ones.
//!
//! What is written to a file that was removed or replaced, nobody else ever reads: whoever opens the path anew starts
//! with other leases, and may be granted the same term. The same goes for the log (`-wal`) and its index (`-shm`): while
//! we have the database open, nobody legitimate removes them, since SQLite does so only for the last connection.
//!
//! It is found out by the files' numbers alone. They are never opened here (see [`database`](crate::database)).

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::access::Access;
use crate::error::Fault;

/// The database file, its log and its log's index, as they were when first seen.
#[derive(Debug)]
pub(crate) struct Files {
    database: Seen,
    /// Made by SQLite at the first look into the database.
    beside: [Seen; 2],
    /// No connection of ours has a part in the log: SQLite may make or remove it, and rightly so.
    closed: AtomicBool,
    /// Never taken back: a file that returns has missed what happened meanwhile.
    replaced: AtomicBool,
    /// They were opened only to be looked at.
    looking: bool,
}

impl Files {
    /// Those of the database at this real path.
    pub(crate) fn of(path: &Path, access: Access) -> Self {
        let closed = access == Access::Still;
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            if closed { Seen::not_yet(name.into()) } else { Seen::now(name.into()) }
        };
        Self {
            database: Seen::now(path.to_owned()),
            beside: [beside("-wal"), beside("-shm")],
            closed: AtomicBool::new(closed),
            replaced: AtomicBool::new(false),
            looking: access != Access::Write,
        }
    }

    /// Whether they were opened only to be looked at.
    pub(crate) fn looking(&self) -> bool {
        self.looking
    }

    /// Another connection of ours was opened so. One that takes part in the log keeps others from removing it.
    pub(crate) fn opened(&self, access: Access) {
        if access != Access::Still {
            self.closed.store(false, Ordering::SeqCst);
        }
    }

    /// The database's real path.
    pub(crate) fn path(&self) -> &Path {
        &self.database.path
    }

    /// [`Fault::Replaced`], from the first time on, when a file is not the one that was opened.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.replaced.load(Ordering::SeqCst) || !self.stand()? {
            self.replaced.store(true, Ordering::SeqCst);
            return Err(Fault::Replaced);
        }
        Ok(())
    }

    /// From now on only the database file counts. To be said before the connection is closed.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    fn stand(&self) -> Result<bool, Fault> {
        if !self.database.stands()? {
            return Ok(false);
        }
        if self.closed.load(Ordering::SeqCst) {
            return Ok(true);
        }
        for file in &self.beside {
            // Whether we are closed is asked after the look: it is said before the file goes.
            if !file.stands()? && !self.closed.load(Ordering::SeqCst) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A path, and the file that was first seen there.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    first: OnceLock<FileId>,
}

impl Seen {
    fn now(path: PathBuf) -> Self {
        let first = FileId::of(&path).map(OnceLock::from).unwrap_or_default();
        Self { path, first }
    }

    /// One that counts from the next look on.
    fn not_yet(path: PathBuf) -> Self {
        Self { path, first: OnceLock::new() }
    }

    /// Whether it is still there. One that was never there yet is not missed.
    fn stands(&self) -> Result<bool, Fault> {
        match FileId::of(&self.path) {
            Ok(there) => Ok(*self.first.get_or_init(|| there) == there),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(self.first.get().is_none())
            }
            // That it cannot be looked at does not say that it is gone.
            Err(error) => Err(Fault::Unreachable(format!("its files cannot be looked at: {error}"))),
        }
    }
}

/// What tells one file from another that has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    /// The file that stands at `path` now.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|found| Self::from_metadata(&found))
    }

    /// The file that this was asked of.
    #[cfg(unix)]
    pub(crate) fn from_metadata(found: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(found.dev(), found.ino())
    }
}

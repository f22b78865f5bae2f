//! A directory of our own under the system's temporary one, gone when it is dropped.
//!
//! A process that is killed drops nothing. So each directory holds a locked file; the lock ends with its process, and
//! the next start removes directories whose lock is free.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Result;

const PREFIX: &str = "tenure-xtask-";
const LOCK: &str = "lock";
/// Younger directories are left alone: their owner may be about to lock them.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// A temporary directory, readable by others because a server may run as another user.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// Held as long as the directory is in use.
    _lock: File,
}

impl Scratch {
    /// Makes a directory, after removing those that nobody uses any more.
    pub(crate) fn create() -> Result<Self> {
        Self::create_in(&std::env::temp_dir())
    }

    fn create_in(parent: &Path) -> Result<Self> {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let path = parent.join(format!("{PREFIX}{}-{nanos:09}", std::process::id()));
        let make = || -> std::io::Result<Self> {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
            let lock = File::create(path.join(LOCK))?;
            lock.lock()?;
            Ok(Self { path: path.clone(), _lock: lock })
        };
        let made = make().map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        made.sweep(parent, STALE_AFTER);
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what killed processes of the same user left behind. What cannot be removed is left to the next time.
    fn sweep(&self, parent: &Path, older_than: Duration) {
        let Ok(mine) = fs::metadata(&self.path) else { return };
        let Ok(entries) = fs::read_dir(parent) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let ours = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let old = meta.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= older_than));
            if !(ours && meta.is_dir() && meta.uid() == mine.uid() && old) {
                continue;
            }
            // A directory without a lock file was not made by this code.
            let Ok(lock) = File::open(path.join(LOCK)) else { continue };
            if lock.try_lock().is_ok() {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("xtask: {} could not be removed: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_directory_is_gone() {
        let outer = Scratch::create().unwrap();
        let inner = Scratch::create_in(outer.path()).unwrap();
        let path = inner.path().to_owned();
        assert!(path.is_dir());
        drop(inner);
        assert!(!path.exists());
    }

    #[test]
    fn a_sweep_removes_what_nobody_holds_and_nothing_else() {
        let outer = Scratch::create().unwrap();
        let held = Scratch::create_in(outer.path()).unwrap();
        let left = outer.path().join(format!("{PREFIX}left"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let foreign = outer.path().join("something-else");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(LOCK), "").unwrap();
        let unmarked = outer.path().join(format!("{PREFIX}unmarked"));
        fs::create_dir(&unmarked).unwrap();

        held.sweep(outer.path(), STALE_AFTER);
        assert!(left.exists(), "too young to be called stale");
        held.sweep(outer.path(), Duration::ZERO);
        assert!(!left.exists());
        assert!(held.path().exists() && foreign.exists() && unmarked.exists());
    }
}

//! Flags as locked files in a directory beside the database.
//!
//! A flag is up while its file stands and some process has it locked. The kernel drops the lock the moment the process
//! ends, however it ends; files are opened close-on-exec, so a child does not inherit it. The name of a file is made of
//! numbers that are never used twice, so nobody creates a file again that another has just found dead and removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::files::FileId;

/// What a flag's file name ends with; nothing else in the directory is touched.
const SUFFIX: &str = ".flag";
/// Someone who looks whether a file is dead has it locked for an instant: try this often before giving up.
const RAISE_TRIES: u32 = 20;
const RAISE_AGAIN_AFTER: Duration = Duration::from_millis(2);
/// Files younger than this are left alone by a sweep: one may be created and not yet locked.
const SWEEP_AGE: Duration = Duration::from_secs(60);
/// The most files that one sweep looks at.
const SWEEP_FILES: usize = 10_000;

/// The directory of one database's flags.
#[derive(Debug)]
pub(crate) struct FlagDirectory {
    path: PathBuf,
    database: PathBuf,
}

impl FlagDirectory {
    /// `app.db-tenure` for `app.db`.
    pub(crate) fn beside(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-tenure");
        Self { path: path.into(), database: database.to_owned() }
    }

    /// Creates and locks the file `name`; `None` when someone else has it locked.
    pub(crate) fn raise(&self, name: &str) -> io::Result<Option<FlagFile>> {
        let path = self.file(name);
        for _ in 0..RAISE_TRIES {
            self.create()?;
            let file =
                match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    opened => opened?,
                };
            like_database(&self.database, &path, 0o600);
            match file.try_lock() {
                Ok(()) => {
                    let flag = FlagFile { path: path.clone(), file };
                    // Between creating and locking it, someone may have found it unlocked, dead, and removed it.
                    if flag.stands() {
                        return Ok(Some(flag));
                    }
                }
                Err(TryLockError::WouldBlock) => thread::sleep(RAISE_AGAIN_AFTER),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Blocks until the file `name` is gone or nobody has it locked any more, and removes what a crash left.
    pub(crate) fn wait_for_fall(&self, name: &str) -> io::Result<()> {
        let path = self.file(name);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        // Shared, so that all who watch one holder wake together.
        while let Err(error) = file.lock_shared() {
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
        remove_if(&path, &file);
        Ok(())
    }

    /// Removes the files of flags that fell long ago with nobody watching, and returns how many.
    pub(crate) fn sweep(&self) -> usize {
        let Ok(files) = fs::read_dir(&self.path) else { return 0 };
        let names = files.take(SWEEP_FILES).filter_map(|file| Some(file.ok()?.path()));
        names.filter(|path| path.to_string_lossy().ends_with(SUFFIX) && removed_as_dead(path)).count()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{SUFFIX}"))
    }

    /// A file beside the flags, of which nobody minds what it holds: that it is written to is the news.
    pub(crate) fn bell(&self, name: &str) -> io::Result<PathBuf> {
        self.create()?;
        let path = self.path.join(format!("{name}.bell"));
        if !path.exists() {
            OpenOptions::new().append(true).create(true).open(&path)?;
            like_database(&self.database, &path, 0o600);
        }
        Ok(path)
    }

    fn create(&self) -> io::Result<()> {
        match fs::create_dir(&self.path) {
            Ok(()) => {
                like_database(&self.database, &self.path, 0o700);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A flag that this process has up. Dropping it lowers it.
#[derive(Debug)]
pub(crate) struct FlagFile {
    path: PathBuf,
    file: File,
}

impl FlagFile {
    /// Whether the file that we have locked is still the one that others find.
    pub(crate) fn stands(&self) -> bool {
        is_at(&self.path, &self.file)
    }
}

impl Drop for FlagFile {
    fn drop(&mut self) {
        // Removed before it is unlocked: who wakes by the unlocking finds nothing left to remove.
        remove_if(&self.path, &self.file);
        // By itself the lock would last until a child that was just forked has replaced itself.
        let _ = self.file.unlock();
    }
}

fn is_at(path: &Path, file: &File) -> bool {
    file.metadata()
        .is_ok_and(|ours| FileId::of(path).is_ok_and(|there| there == FileId::from_metadata(&ours)))
}

/// Best effort: a file that stays costs nothing but a look.
fn remove_if(path: &Path, file: &File) {
    if is_at(path, file) {
        let _ = fs::remove_file(path);
    }
}

fn removed_as_dead(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let age = file.metadata().and_then(|found| found.modified()).ok().and_then(|since| since.elapsed().ok());
    let dead = age.is_some_and(|age| age >= SWEEP_AGE) && file.try_lock().is_ok();
    if dead {
        remove_if(path, &file);
    }
    dead
}

/// Whoever may use the database may see and raise flags: gives `path` the database's owner, as SQLite does with its own
/// files, and its permissions, of which `least` is always there. Best effort; on failure the creator's own stay.
#[cfg(unix)]
fn like_database(database: &Path, path: &Path, least: u32) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let (Ok(like), Ok(own)) = (fs::metadata(database), fs::metadata(path)) else { return };
    let open = like.mode() & 0o666;
    // A directory needs its search bit wherever it can be read.
    let mode = least | if own.is_dir() { open | (open & 0o444) >> 2 } else { open };
    if own.mode() & 0o777 != mode {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    }
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        let _ = chown(path, Some(like.uid()), Some(like.gid()));
    }
}

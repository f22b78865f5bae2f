//! What is fetched once and kept between runs, unlike the scratch directory.
//!
//! Not in cargo's target directory: `cargo clean` would throw it away, and every clone would fetch its own. As root not
//! in root's home either: that is closed to the ordinary users that servers run as.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::server::is_root;

const NAME: &str = "tenure";
const FOR_ROOT: &str = "/var/cache";

/// The folder of this user, made if need be.
pub(crate) fn folder() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = place(is_root(), variable("XDG_CACHE_HOME"), variable("HOME"))
        .ok_or("neither HOME nor XDG_CACHE_HOME says where to keep what is fetched")?;
    open_dir(&folder)?;
    Ok(folder)
}

/// The folder `name` in `parent`, which `make` fills if it is not there yet.
///
/// It gets its name only when it is complete, so what was left half-finished is made anew. One process makes it while
/// others wait.
pub(crate) fn kept(parent: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let path = parent.join(name);
    let lock = File::create(parent.join(format!("{name}.lock")))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| format!("cannot lock {}: {error}", parent.display()))?;
    if path.is_dir() {
        return Ok(path);
    }
    let half = parent.join(format!("{name}.half"));
    remove(&half)?;
    open_dir(&half)?;
    let made = make(&half).and_then(|()| {
        fs::rename(&half, &path).map_err(|error| format!("cannot name {}: {error}", path.display()))
    });
    if made.is_err() {
        remove(&half).unwrap_or_else(|reason| eprintln!("xtask: {reason}"));
    }
    drop(lock);
    made.map(|()| path)
}

fn place(root: bool, cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let parent = if root {
        Some(PathBuf::from(FOR_ROOT))
    } else {
        cache.filter(|path| path.is_absolute()).or_else(|| home.map(|home| home.join(".cache")))
    };
    parent.map(|parent| parent.join(NAME))
}

/// Makes a directory that other users may read, whatever the umask.
fn open_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o755)))
        .map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if path.exists() => Err(format!("cannot remove {}: {error}", path.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn root_keeps_nothing_in_its_closed_home() {
        let (cache, home) = (Some(PathBuf::from("/c")), Some(PathBuf::from("/h")));
        assert_eq!(place(true, cache.clone(), home.clone()), Some(PathBuf::from("/var/cache/tenure")));
        assert_eq!(place(false, cache, home.clone()), Some(PathBuf::from("/c/tenure")));
        assert_eq!(place(false, Some(PathBuf::from("c")), home), Some(PathBuf::from("/h/.cache/tenure")));
        assert_eq!(place(false, None, None), None);
    }

    #[test]
    fn a_folder_is_made_once() {
        let scratch = Scratch::create().unwrap();
        let made =
            kept(scratch.path(), "x", |half| fs::write(half.join("a"), "1").map_err(|e| e.to_string()));
        assert_eq!(fs::read_to_string(made.unwrap().join("a")).unwrap(), "1");
        kept(scratch.path(), "x", |_| Err("made again".to_owned())).unwrap();
    }

    #[test]
    fn what_was_left_half_finished_is_made_anew() {
        let scratch = Scratch::create().unwrap();
        let half = scratch.path().join("x.half");
        fs::create_dir(&half).unwrap();
        fs::write(half.join("old"), "").unwrap();
        let failed = kept(scratch.path(), "x", |half| {
            assert!(!half.join("old").exists(), "nothing of the last attempt is used");
            fs::write(half.join("torn"), "").unwrap();
            Err("the network is gone".to_owned())
        });
        assert_eq!(failed, Err("the network is gone".to_owned()));
        assert!(!half.exists() && !scratch.path().join("x").exists());
        assert!(!kept(scratch.path(), "x", |_| Ok(())).unwrap().join("torn").exists());
    }
}

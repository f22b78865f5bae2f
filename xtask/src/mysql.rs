//! A private MySQL, Oracle's own, from packages that are unpacked and not installed.
//!
//! ```text
//!   CACHE/mysql/root      the packages, with the C library that the server was built for
//!   CACHE/mysql/template  an initialised data directory: making one takes two seconds, copying it a tenth of that
//! ```
//!
//! The version is what Debian has on the day of the fetch. Remove the folder to fetch a newer one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::innodb::{Innodb, Kit};
use crate::server::{Account, Durability, output};
use crate::{Result, cache, sid};

const PACKAGES: [&str; 2] = ["mysql-server-core", "mysql-client-core"];

/// Starts a server under `dir`, after fetching it if it was not fetched yet.
pub(crate) fn start(dir: &Path, account: Account, durability: Durability) -> Result<Innodb> {
    let cache = cache::folder()?;
    let kept = cache::kept(&cache, "mysql", |half| make(half, account))?;
    let anew = |reason| format!("{reason} (remove {} to fetch MySQL anew)", kept.display());
    let prefix = Prefix::at(kept.join("root")).map_err(anew)?;
    let folder = dir.join("mysql");
    account.make_dir(&folder)?;
    let data = folder.join("data");
    copy(&kept.join("template"), &data, account)?;
    let kit = Kit {
        name: "mysql",
        server: prefix.program("usr/sbin/mysqld"),
        client: &|| prefix.program("usr/bin/mysql"),
        data: &data,
        // Its second protocol would want a second port.
        options: prefix.options().into_iter().chain(["--mysqlx=OFF".to_owned()]).collect(),
    };
    Innodb::start(&kit, &folder, account, durability).map_err(anew)
}

/// What vouches for the server under `dir`: an authority that it made for itself. Its certificate names no host.
pub(crate) fn authority(dir: &Path) -> PathBuf {
    dir.join("mysql/data/ca.pem")
}

/// Where the packages are unpacked. Their programs need their own C library, so its loader starts them.
#[derive(Debug)]
struct Prefix {
    root: PathBuf,
    loader: PathBuf,
    libraries: PathBuf,
}

impl Prefix {
    fn at(root: PathBuf) -> Result<Self> {
        let entries =
            |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let starts = |path: &Path, start: &str| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(start))
        };
        // Debian has a folder of libraries for each architecture; there is one here.
        let found = entries(&root.join("usr/lib")).find_map(|libraries| {
            let loader = entries(&libraries).find(|path| starts(path, "ld-linux"))?;
            Some((loader, libraries))
        });
        let (loader, libraries) = found.ok_or_else(|| format!("no C library under {}", root.display()))?;
        Ok(Self { root, loader, libraries })
    }

    fn program(&self, path: &str) -> Command {
        let mut command = Command::new(&self.loader);
        command.arg("--library-path").arg(&self.libraries).arg(self.root.join(path));
        command
    }

    /// Where the server finds what it was told to find elsewhere when it was built.
    fn options(&self) -> Vec<String> {
        let option = |name: &str, path: &str| format!("--{name}={}", self.root.join(path).display());
        vec![
            option("basedir", "usr"),
            option("lc-messages-dir", "usr/share/mysql"),
            option("character-sets-dir", "usr/share/mysql/charsets"),
            option("plugin-dir", "usr/lib/mysql/plugin"),
            "--secure-file-priv=NULL".to_owned(),
        ]
    }
}

/// Fetches the server and initialises a template with it, which also shows that it runs here.
fn make(folder: &Path, account: Account) -> Result<()> {
    eprintln!("xtask: fetching MySQL from Debian sid, to keep it in {}", folder.with_extension("").display());
    let (root, template) = (folder.join("root"), folder.join("template"));
    sid::unpack(&PACKAGES, &folder.join("apt"), &root)?;
    let prefix = Prefix::at(root)?;
    account.make_dir(&template)?;
    let server = prefix.program("usr/sbin/mysqld");
    let mut initialize = account.command(Path::new(server.get_program()));
    initialize
        .args(server.get_args())
        .args(["--no-defaults", "--initialize-insecure"])
        .args(prefix.options())
        .arg(format!("--datadir={}", template.display()))
        .current_dir(&template);
    output(initialize)?;
    // The name by which servers know each other: every copy makes its own.
    fs::remove_file(template.join("auto.cnf")).map_err(|error| format!("cannot finish the template: {error}"))
}

/// Copies a data directory, without the space that its files only reserve.
fn copy(template: &Path, data: &Path, account: Account) -> Result<()> {
    let mut cp = Command::new("cp");
    cp.args(["-R", "--sparse=always"]).arg(template).arg(data);
    output(cp)?;
    account.own(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn programs_start_with_the_library_they_were_built_for() {
        let scratch = Scratch::create().unwrap();
        let root = scratch.path().to_owned();
        assert!(Prefix::at(root.clone()).is_err());
        let libraries = root.join("usr/lib/some-linux-gnu");
        fs::create_dir_all(&libraries).unwrap();
        fs::create_dir_all(root.join("usr/lib/mysql")).unwrap();
        fs::write(libraries.join("ld-linux-some.so.1"), "").unwrap();
        let prefix = Prefix::at(root.clone()).unwrap();
        let command = prefix.program("usr/sbin/mysqld");
        assert_eq!(command.get_program(), libraries.join("ld-linux-some.so.1"));
        let args: Vec<_> = command.get_args().map(PathBuf::from).collect();
        assert_eq!(args, [PathBuf::from("--library-path"), libraries, root.join("usr/sbin/mysqld")]);
        for option in prefix.options().iter().filter(|option| option.contains("dir=")) {
            assert!(option.contains(&root.display().to_string()), "{option}");
        }
    }

    #[test]
    fn a_copy_has_what_the_template_has() {
        let scratch = Scratch::create().unwrap();
        let template = scratch.path().join("template");
        fs::create_dir_all(template.join("deep")).unwrap();
        fs::write(template.join("deep/file"), "rows").unwrap();
        let data = scratch.path().join("data");
        copy(&template, &data, Account::ourselves()).unwrap();
        assert_eq!(fs::read_to_string(data.join("deep/file")).unwrap(), "rows");
    }
}

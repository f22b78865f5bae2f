//! Where the password comes from when the URL has none: `PGPASSWORD`, or a password file, as with libpq.
//!
//! ```text
//!   host:port:database:user:password        `*` stands for anything; `\:` and `\\` for the character itself
//! ```
//!
//! The first line that fits decides. A file that others may read is passed over, with a warning. Nothing here ever
//! prints a password or a line of the file.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A password file is small; a path that leads elsewhere shall not fill the memory.
const FILE_MAX_BYTES: u64 = 1024 * 1024;
/// Where libpq looks for a socket by itself; such a connection is called `localhost` in the file.
const SOCKET_DIRECTORIES: [&str; 2] = ["/tmp", "/var/run/postgresql"];

/// The password for this server from the environment of the process.
pub(crate) fn find(server: &Config) -> Option<Vec<u8>> {
    find_in(server, |variable| env::var_os(variable).filter(|value| !value.is_empty()))
}

fn find_in(server: &Config, variable: impl Fn(&str) -> Option<OsString>) -> Option<Vec<u8>> {
    if let Some(password) = variable("PGPASSWORD") {
        return Some(password.into_encoded_bytes());
    }
    let file = match variable("PGPASSFILE") {
        Some(path) => PathBuf::from(path),
        None => Path::new(&variable("HOME")?).join(".pgpass"),
    };
    let user = variable("USER").map(|user| user.to_string_lossy().into_owned());
    Target::of(server, user)?.password_in(&read(&file)?)
}

/// The text of the file, if there is one that only its owner can read.
fn read(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let passed_over = if !found.is_file() {
        "it is no plain file"
    } else if is_open_to_others(&found) {
        "others may read it; its permissions have to be 0600 or less"
    } else if found.len() > FILE_MAX_BYTES {
        "it is too long for a password file"
    } else {
        match fs::read_to_string(path) {
            Ok(text) => return Some(text),
            Err(_) => "it cannot be read as text",
        }
    };
    tracing::warn!(file = %path.display(), "the password file is passed over: {passed_over}");
    None
}

#[cfg(unix)]
fn is_open_to_others(found: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Metadata) -> bool {
    false
}

/// What a line of the file has to fit: host, port, database and user.
struct Target([String; 4]);

impl Target {
    /// `login` is who the driver connects as when the URL names nobody.
    fn of(server: &Config, login: Option<String>) -> Option<Self> {
        let host = match server.get_hosts().first()? {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) if SOCKET_DIRECTORIES.iter().any(|known| path == Path::new(known)) => {
                "localhost".to_owned()
            }
            #[cfg(unix)]
            Host::Unix(path) => path.to_string_lossy().into_owned(),
        };
        let port = server.get_ports().first().copied().unwrap_or(5432).to_string();
        let user = server.get_user().map(str::to_owned).or(login)?;
        let database = server.get_dbname().unwrap_or(&user).to_owned();
        Some(Self([host, port, database, user]))
    }

    fn password_in(&self, file: &str) -> Option<Vec<u8>> {
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let password = lines.filter_map(|line| self.password_of(line)).next()?;
        (!password.is_empty()).then(|| password.into_bytes())
    }

    /// The password on this line, if the line fits.
    fn password_of(&self, line: &str) -> Option<String> {
        let mut rest = line;
        for wanted in &self.0 {
            let (field, behind) = split_field(rest)?;
            if field != "*" && unescape(field) != *wanted {
                return None;
            }
            rest = behind;
        }
        // What follows a further colon is no part of it, so a colon in a password is escaped too.
        Some(unescape(split_field(rest).map_or(rest, |(password, _)| password)))
    }
}

/// The text up to the next colon that is not escaped, and the text behind it.
fn split_field(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            ':' if !escaped => return Some((&text[..at], &text[at + 1..])),
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    None
}

fn unescape(field: &str) -> String {
    let mut letters = field.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        // A backslash at the very end stands for itself.
        text.push(if letter == '\\' { letters.next().unwrap_or('\\') } else { letter });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Config {
        url.parse().unwrap()
    }

    fn found(url: &str, file: &str) -> Option<String> {
        let target = Target::of(&server(url), Some("login".into())).unwrap();
        target.password_in(file).map(|password| String::from_utf8(password).unwrap())
    }

    #[test]
    fn the_first_line_that_fits_decides() {
        let file = "# a comment\n\nbroken\nh:5432:d:other:no\nh:6000:d:u:six\n*:*:d:u:any\nh:5432:d:u:late\n";
        assert_eq!(found("postgres://u@h/d", file).as_deref(), Some("any"));
        assert_eq!(found("postgres://u@h:6000/d", file).as_deref(), Some("six"));
        assert_eq!(found("postgres://u@h/e", file), None);
        assert_eq!(found("postgres://u@h/d", "h:5432:d:u:\nh:5432:d:u:x"), None, "an empty one is none");
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        let file = "\\:\\:1:5432:d\\\\b:u:p\\:w\\\\x\\y\n";
        assert_eq!(found("postgres://u@[::1]/d%5Cb", file).as_deref(), Some("p:w\\xy"));
        assert_eq!(found("postgres://u@h/d", "h:5432:d:u:a:b").as_deref(), Some("a"));
        assert_eq!(found("postgres://u@h/d", "h:5432:d:u:a\\").as_deref(), Some("a\\"));
        assert_eq!(found("postgres://u@h/d", "\\*:5432:d:u:a"), None, "an escaped star is a star");
    }

    #[test]
    fn what_the_url_leaves_out_is_what_the_driver_takes() {
        assert_eq!(found("postgres://h", "h:5432:login:login:x").as_deref(), Some("x"));
        assert_eq!(found("postgres://u@h", "h:5432:u:u:x").as_deref(), Some("x"));
        let socket = "postgres://u@%2Fvar%2Frun%2Fpostgresql/d";
        assert_eq!(found(socket, "localhost:5432:d:u:x").as_deref(), Some("x"));
        assert_eq!(found("postgres://u@%2Frun%2Fpg/d", "/run/pg:5432:d:u:x").as_deref(), Some("x"));
    }

    #[cfg(unix)]
    #[test]
    fn the_environment_comes_before_the_file_and_an_open_file_is_passed_over() {
        use std::os::unix::fs::PermissionsExt;

        let home = env::temp_dir().join(format!("tenure-pgpass-{}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let (own, other) = (home.join(".pgpass"), home.join("other"));
        fs::write(&own, "*:*:*:*:own").unwrap();
        fs::write(&other, "*:*:*:*:other").unwrap();
        let mode = |mode| fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o400)).unwrap();
        let look = |variables: &[(&str, &Path)]| {
            let named = |name: &str| variables.iter().find(|(key, _)| *key == name);
            let password = find_in(&server("postgres://u@h/d"), |name| Some(named(name)?.1.into()));
            password.map(|password| String::from_utf8(password).unwrap())
        };
        let (home_is, file_is) = (("HOME", home.as_path()), ("PGPASSFILE", other.as_path()));
        mode(0o600);
        assert_eq!(look(&[home_is]).as_deref(), Some("own"));
        assert_eq!(look(&[home_is, file_is]).as_deref(), Some("other"));
        assert_eq!(look(&[home_is, file_is, ("PGPASSWORD", Path::new("set"))]).as_deref(), Some("set"));
        for open in [0o640, 0o604, 0o620] {
            mode(open);
            assert_eq!(look(&[home_is]), None, "{open:o}");
        }
        assert_eq!(look(&[("PGPASSFILE", home.as_path())]), None, "a directory");
        assert_eq!(look(&[]), None);
        fs::remove_dir_all(&home).unwrap();
    }
}

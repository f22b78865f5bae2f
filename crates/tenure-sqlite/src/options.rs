//! Where the database is, and how to treat it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::naming::Naming;

/// How a SQLite store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The database file.
    pub path: PathBuf,
    /// What the tables are called. SQLite has no schemas: `naming.schema` must stay `None`.
    pub naming: Naming,
    /// How long a call waits for another process's write to end before it answers that the store is busy. 5 s.
    pub busy_timeout: Duration,
    /// Whether to create the file when it is not there. True.
    pub create: bool,
    /// How long a question that only a person asks may take (lists, counts, audit) before it is given up. No limit.
    pub browse_timeout: Option<Duration>,
    /// Whether it is opened to be looked at: then a file that cannot be written to is opened too. False.
    pub looking: bool,
}

/// The longest wait for a lock: SQLite counts it in milliseconds, as a C `int`.
const BUSY_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl SqliteOptions {
    /// The defaults, for this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            naming: Naming::default(),
            busy_timeout: Duration::from_secs(5),
            create: true,
            browse_timeout: None,
            looking: false,
        }
    }

    /// Reads `sqlite:path`, `sqlite://path` or `sqlite:///absolute/path`, with `?mode=rw` to refuse to create the file.
    /// `%` and two hexadecimal digits stand for a byte, so a question mark in a file's name is `%3F`.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let rest =
            url.strip_prefix("sqlite:").ok_or_else(|| refused("the URL does not begin with `sqlite:`"))?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        if rest.contains('#') {
            return Err(refused("the URL has a fragment; write `%23` for a `#` in a file's name"));
        }
        let path = match rest.strip_prefix("//") {
            // `sqlite://user:password@host/…` is a slip. It must neither become a file nor stand in a message.
            Some(path) if path.split('/').next().is_some_and(|first| first.contains('@')) => {
                return Err(refused(
                    "the URL names a user; a SQLite URL has only a path, as in `sqlite:app.db`",
                ));
            }
            Some(path) => path,
            None => rest,
        };
        let mut options = Self::new(decode(path)?);
        query.map_or(Ok(()), |query| options.read_query(query))?;
        options.validate()?;
        Ok(options)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), StoreError> {
        if self.path.as_os_str().is_empty() {
            return Err(refused("no path was given; write `sqlite:app.db`"));
        }
        if self.path == Path::new(":memory:") {
            return Err(refused(
                "a database in memory is seen by no other process; use `memory:` for leases in memory",
            ));
        }
        if self.path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(refused("the path holds a NUL byte"));
        }
        if let Some(schema) = &self.naming.schema {
            return Err(refused(&format!(
                "SQLite has no schemas; remove the schema `{schema}` or use a prefix"
            )));
        }
        if self.busy_timeout > BUSY_TIMEOUT_MAX {
            return Err(refused(&format!("busy_timeout {:?} is above 24h", self.busy_timeout)));
        }
        Ok(())
    }

    fn read_query(&mut self, query: &str) -> Result<(), StoreError> {
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("mode", "rwc") => self.create = true,
                ("mode", "rw") => self.create = false,
                ("mode", "ro") => {
                    let message = "the URL says mode=ro".into();
                    return Err(StoreError::ReadOnly { store: "sqlite".into(), message });
                }
                ("mode", "memory") => {
                    return Err(refused("mode=memory is seen by no other process; use `memory:`"));
                }
                ("mode", _) => return Err(refused("the URL's mode is none of rwc and rw")),
                // The key too may be a slip that holds a secret, so it is not repeated.
                _ => return Err(refused("the URL has a parameter other than mode")),
            }
        }
        Ok(())
    }
}

fn refused(message: &str) -> StoreError {
    StoreError::Refused { store: "sqlite".into(), message: message.into() }
}

/// Resolves percent signs. A file's name need not be UTF-8.
fn decode(text: &str) -> Result<PathBuf, StoreError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(
            value.ok_or_else(|| refused("the URL has a `%` without two hexadecimal digits; write `%25`"))?,
        );
    }
    from_bytes(bytes)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> Result<PathBuf, StoreError> {
    use std::os::unix::ffi::OsStringExt;
    Ok(OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Result<PathBuf, StoreError> {
    let text = String::from_utf8(bytes).map_err(|_| refused("the path is not UTF-8"))?;
    Ok(OsString::from(text).into())
}

#[cfg(test)]
mod tests {
    use tenure_core::naming::Identifier;

    use super::*;

    fn path(url: &str) -> PathBuf {
        SqliteOptions::from_url(url).unwrap().path
    }

    fn refusal(url: &str) -> String {
        SqliteOptions::from_url(url).unwrap_err().to_string()
    }

    #[test]
    fn urls_are_paths() {
        assert_eq!(path("sqlite:app.db"), Path::new("app.db"));
        assert_eq!(path("sqlite://data/app.db"), Path::new("data/app.db"));
        assert_eq!(path("sqlite:///var/app.db"), Path::new("/var/app.db"));
        assert_eq!(path("sqlite:/var/app.db"), Path::new("/var/app.db"));
        assert_eq!(path("sqlite:a%20b%3Fc%25.db"), Path::new("a b?c%.db"));
        assert_eq!(path("sqlite:file:x.db"), Path::new("file:x.db"));
        assert!(!SqliteOptions::from_url("sqlite:a.db?mode=rw").unwrap().create);
        assert!(SqliteOptions::from_url("sqlite:a.db?mode=rwc").unwrap().create);
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_way_out() {
        assert!(refusal("sqlite::memory:").contains("use `memory:`"));
        assert!(refusal("sqlite:x?mode=memory").contains("use `memory:`"));
        assert!(refusal("sqlite:x?mode=ro").contains("read-only"));
        assert!(refusal("sqlite:").contains("no path"));
        assert!(refusal("sqlite:a%2").contains("%25"));
        assert!(refusal("sqlite:a%00b").contains("NUL"));
        assert!(refusal("postgres:x").contains("sqlite:"));
        let mut options = SqliteOptions::new("a.db");
        options.naming.schema = Identifier::new("schema", "app").ok();
        assert!(options.validate().unwrap_err().to_string().contains("schema `app`"));
    }

    #[test]
    fn canary_a_url_with_a_secret_in_the_wrong_place_is_not_repeated() {
        for url in [
            "sqlite://user:CANARY@host/app.db",
            "sqlite:app.db?password=CANARY",
            "sqlite:app.db?CANARY",
            "sqlite:app.db?mode=CANARY",
            "sqlite:app.db#CANARY",
            "CANARY:app.db",
        ] {
            let error = SqliteOptions::from_url(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("CANARY"), "{url}");
        }
    }
}

//! How the statements of a contestant are counted: on the wire to a server, or in its log where there is no wire.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure::sqlite::SqliteOptions;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{ChildStderr, Command};

use super::proxy::{Proxy, Upstream};
use crate::output::Failure;

/// What a contestant's log tells each statement by.
const TARGET: &str = "tenure_sqlite::statement";

/// Where contestants work, so that their statements can be counted.
pub(super) enum Place {
    /// A server, by this URL.
    Server { url: String, upstream: Upstream },
    /// A file of its own, beside the one that was named.
    File(OwnFile),
    /// A file that someone else looks after, by this URL.
    Given(String),
}

impl Place {
    /// The place for what the command line names.
    pub(super) fn beside(url: &str) -> Result<Self, Failure> {
        if url.starts_with("sqlite:") {
            return OwnFile::beside(url).map(Self::File);
        }
        Self::given(url)
    }

    /// Just what is named.
    pub(super) fn given(url: &str) -> Result<Self, Failure> {
        if url.starts_with("sqlite:") {
            return Ok(Self::Given(url.to_owned()));
        }
        let unseen = || {
            let how = "give a sqlite: URL, or a postgres:// or mysql:// URL with a host";
            Failure::Usage(format!("statements are counted in the log, or on the wire; {how}"))
        };
        Ok(Self::Server { url: url.to_owned(), upstream: Upstream::of(url).ok_or_else(unseen)? })
    }

    pub(super) fn url(&self) -> &str {
        match self {
            Self::Server { url, .. } => url,
            Self::File(file) => &file.url,
            Self::Given(url) => url,
        }
    }

    /// A meter for one contestant.
    pub(super) async fn meter(&self) -> Result<Meter, Failure> {
        match self {
            Self::Server { url, upstream } => {
                let proxy = Proxy::start(upstream.clone()).await?;
                Ok(Meter { url: proxy.plain_url(url)?, count: Count::Wire(proxy) })
            }
            Self::File(_) | Self::Given(_) => {
                Ok(Meter { url: self.url().to_owned(), count: Count::Log(Arc::default()) })
            }
        }
    }
}

/// Counts the statements of one contestant.
pub(super) struct Meter {
    url: String,
    count: Count,
}

enum Count {
    Wire(Proxy),
    Log(Arc<AtomicU64>),
}

impl Meter {
    /// The URL by which its contestant is to work.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Statements other than pings, and pings, since the start.
    pub(super) fn counts(&self) -> (u64, u64) {
        match &self.count {
            Count::Wire(proxy) => proxy.counts(),
            // Presence is a locked file here, of which nobody asks the database.
            Count::Log(statements) => (statements.load(Ordering::SeqCst), 0),
        }
    }

    /// Has the contestant's log tell of its statements, where they are counted there.
    pub(super) fn prepare(&self, command: &mut Command) -> bool {
        let counts_log = matches!(self.count, Count::Log(_));
        if counts_log {
            command.env("TENURE_LOG", format!("{TARGET}=trace")).env("TENURE_LOG_FORMAT", "json");
        }
        counts_log
    }

    /// Counts what the contestant's log tells from now on.
    pub(super) fn read(&self, log: ChildStderr) {
        let Count::Log(statements) = &self.count else { return };
        let statements = statements.clone();
        tokio::spawn(async move {
            let told = format!("\"target\":\"{TARGET}\"");
            let mut lines = BufReader::new(log).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line.contains(&told) {
                    statements.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
    }
}

/// A SQLite file that is removed with this value.
pub(super) struct OwnFile {
    path: PathBuf,
    url: String,
}

impl OwnFile {
    fn beside(url: &str) -> Result<Self, Failure> {
        let named = SqliteOptions::from_url(url)?.path;
        let path = named.with_file_name(format!("tenure-bench-{:08x}.db", fastrand::u32(..)));
        Ok(Self { url: format!("sqlite:{}", path.display()), path })
    }
}

/// Best effort: what is left over is told by its name.
impl Drop for OwnFile {
    fn drop(&mut self) {
        let beside = |suffix: &str| format!("{}{suffix}", self.path.display());
        let _ = std::fs::remove_dir_all(beside("-tenure"));
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(suffix));
        }
    }
}

//! The command that a benchmark runs under its lease: it acts as often as it can, and writes down when.
//!
//! Each act is one line, `TERM MICROS` by the machine's steady clock, appended to a file that all contestants share.
//! Whoever acts under two terms at once is found by reading that file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tenure::SteadyClock;
use tenure::core::time::Clock;

/// The first argument by which this binary knows that it is the actor.
pub(super) const COMMAND: &str = "__act";
/// The pause between two acts.
const EVERY: Duration = Duration::from_millis(2);

pub(super) fn main(path: Option<OsString>) -> ExitCode {
    let term = std::env::var("TENURE_TERM").unwrap_or_default();
    let Some(mut file) = path.and_then(|path| OpenOptions::new().append(true).open(path).ok()) else {
        return ExitCode::from(1);
    };
    loop {
        let line = format!("{term} {}\n", micros_now());
        if file.write_all(line.as_bytes()).is_err() {
            return ExitCode::from(1);
        }
        std::thread::sleep(EVERY);
    }
}

/// The machine's steady clock, as acts are stamped with.
pub(super) fn micros_now() -> u64 {
    u64::try_from(SteadyClock.now().since_origin().as_micros()).unwrap_or(u64::MAX)
}

/// The first and last act under one term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acts {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// Reads the file of acts as it grows.
#[derive(Debug)]
pub(super) struct ActLog {
    path: PathBuf,
    read: u64,
    terms: BTreeMap<u64, Acts>,
}

impl ActLog {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Self { path: path.to_owned(), read: 0, terms: BTreeMap::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in what was written since the last look.
    pub(super) fn look(&mut self) -> io::Result<&BTreeMap<u64, Acts>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line.ends_with('\n') {
            self.read += line.len() as u64;
            if let Some((term, at)) = line.trim_end().split_once(' ')
                && let (Ok(term), Ok(at)) = (term.parse(), at.parse())
            {
                let acts = self.terms.entry(term).or_insert(Acts { first: at, last: at });
                acts.last = acts.last.max(at);
            }
            line.clear();
        }
        Ok(&self.terms)
    }

    /// How often somebody still acted under a term when the next one had begun to act.
    pub(super) fn overlaps(&mut self) -> io::Result<usize> {
        let terms: Vec<Acts> = self.look()?.values().copied().collect();
        Ok(terms.windows(2).filter(|pair| pair[0].last >= pair[1].first).count())
    }
}

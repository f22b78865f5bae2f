//! Every bound of the dashboard in one place.

use std::time::Duration;

use crate::jobs::{LIMIT_MAX, RATE_MAX};

/// The longest query of a request, in bytes.
pub(crate) const QUERY_MAX_BYTES: usize = 4 * 1024;
/// The longest body of a request, in bytes.
pub(crate) const BODY_MAX_BYTES: usize = 64 * 1024;
/// The longest head of a request, in bytes, where the dashboard has a server of its own.
pub(crate) const HEAD_MAX_BYTES: usize = 16 * 1024;
/// The most bytes of a payload that the API shows.
pub(crate) const API_PAYLOAD_MAX_BYTES: usize = 64 * 1024;
/// The largest payload that can be downloaded.
pub(crate) const DOWNLOAD_MAX_BYTES: usize = 16 * 1024 * 1024;
/// The most rows of one page or answer.
pub(crate) const PAGE_MAX: u32 = 200;
/// The most messages that one request changes; more is a job.
pub(crate) const CHANGE_MAX: u32 = 500;
/// The most connections at once to a server of its own. What comes beyond is told so, and probes are answered.
pub(crate) const CONNECTIONS_MAX: usize = 512;
/// Of those, from one address: half, for behind a proxy all come from one.
pub(crate) const CONNECTIONS_EACH_MAX: usize = 256;
/// Connections beyond those, for probes.
pub(crate) const RESERVE: usize = 64;
/// How long a client has to send the head of a request, from its connection or from the answer before: so also how long an
/// idle connection is kept.
pub(crate) const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// The same for a connection of the reserve.
pub(crate) const RESERVE_HEAD_WITHIN: Duration = Duration::from_secs(2);
/// How long a client has to send a body.
pub(crate) const BODY_WITHIN: Duration = Duration::from_secs(10);
/// For how long in all a client may take nothing of its answer.
pub(crate) const TAKE_WITHIN: Duration = Duration::from_secs(15);
/// The least rate at which an answer is to be read, in bytes a second, once the network holds no more of it.
pub(crate) const READ_RATE_MIN: usize = 1024;
/// How long requests have to end when a server of its own stops.
pub(crate) const END_WITHIN: Duration = Duration::from_secs(3);
/// How long one live view lasts; a browser then asks for the next.
pub(crate) const VIEW_LASTS: Duration = Duration::from_secs(600);
/// So many connections are answered at once while the database is away.
pub(crate) const WAITING_MAX: usize = 64;
/// How long each of those has to ask, and to take its answer.
pub(crate) const WAITING_WITHIN: Duration = Duration::from_secs(5);

/// How far a fixed bound goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Most {
    /// So many of something.
    Count(usize),
    /// So many bytes.
    Bytes(usize),
    /// So long.
    Lasts(Duration),
}

/// The bounds that cannot be set, in words, for the documentation.
pub fn bounds() -> impl Iterator<Item = (&'static str, Most)> {
    use Most::{Bytes, Count, Lasts};
    [
        ("connections to a server of its own at once", Count(CONNECTIONS_MAX)),
        ("of those, from one address (IPv6: from one network of 64 bits)", Count(CONNECTIONS_EACH_MAX)),
        ("connections beyond those, on which only probes are answered", Count(RESERVE)),
        ("time to send the head of a request; an idle connection is kept for so long", Lasts(HEAD_WITHIN)),
        ("the same, on a connection for probes", Lasts(RESERVE_HEAD_WITHIN)),
        ("time to send the body of a request", Lasts(BODY_WITHIN)),
        ("time in which a client takes nothing of its answer, before it is cut", Lasts(TAKE_WITHIN)),
        ("of an answer, bytes whose taking pays for a second of that", Bytes(READ_RATE_MIN)),
        ("time for requests to end when the server stops", Lasts(END_WITHIN)),
        ("time that one live view lasts; a browser then opens the next", Lasts(VIEW_LASTS)),
        ("connections at once while the database has never answered yet", Count(WAITING_MAX)),
        ("time for each of those", Lasts(WAITING_WITHIN)),
        ("head of a request to a server of its own", Bytes(HEAD_MAX_BYTES)),
        ("query of a request", Bytes(QUERY_MAX_BYTES)),
        ("body of a request", Bytes(BODY_MAX_BYTES)),
        ("payload that the API shows", Bytes(API_PAYLOAD_MAX_BYTES)),
        ("payload that can be downloaded", Bytes(DOWNLOAD_MAX_BYTES)),
        ("rows of one page or answer", Count(PAGE_MAX as usize)),
        ("messages that one request changes; more is a job", Count(CHANGE_MAX as usize)),
        ("messages that one job changes", Count(LIMIT_MAX as usize)),
        ("messages that one job changes in a second", Count(RATE_MAX as usize)),
    ]
    .into_iter()
}

/// Bounds that can be set. The rest are constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many rows a page shows; 1 to 200.
    pub page: u32,
    /// How many bytes of a payload a page shows; 1 to 65,536.
    pub payload_bytes: usize,
    /// How many questions to the store are under way at once; 1 to 64.
    pub questions: usize,
    /// How long a request waits for the store; 100 ms to 30 s. Give the store's handle a statement timeout below it.
    pub patience: Duration,
    /// How often the store is asked for what pages show live; 1 s to 60 s.
    pub refresh: Duration,
    /// How many live views there are at once; 1 to 1,000.
    pub viewers: usize,
    /// How many of those one operator has; 1 to 1,000. Those who are not told apart, on this machine without tokens, are one.
    pub viewers_each: usize,
    /// How many bulk changes run at once; 1 to 16.
    pub jobs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page: 50,
            payload_bytes: 4 * 1024,
            questions: 8,
            patience: Duration::from_millis(2_500),
            refresh: Duration::from_secs(2),
            viewers: 100,
            viewers_each: 30,
            jobs: 4,
        }
    }
}

impl Limits {
    /// Whether each is within its bounds; says which one is not.
    pub fn validate(&self) -> Result<(), String> {
        let seconds = |from: f64, to: f64, is: Duration| (from..=to).contains(&is.as_secs_f64());
        let checks = [
            ((1..=PAGE_MAX).contains(&self.page), "page is from 1 to 200"),
            ((1..=API_PAYLOAD_MAX_BYTES).contains(&self.payload_bytes), "payload_bytes is from 1 to 65,536"),
            ((1..=64).contains(&self.questions), "questions is from 1 to 64"),
            (seconds(0.1, 30.0, self.patience), "patience is from 100 ms to 30 s"),
            (seconds(1.0, 60.0, self.refresh), "refresh is from 1 s to 60 s"),
            ((1..=1_000).contains(&self.viewers), "viewers is from 1 to 1,000"),
            ((1..=1_000).contains(&self.viewers_each), "viewers_each is from 1 to 1,000"),
            ((1..=16).contains(&self.jobs), "jobs is from 1 to 16"),
        ];
        match checks.iter().find(|(good, _)| !good) {
            Some((_, why)) => Err((*why).to_owned()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_checked() {
        assert_eq!(Limits::default().validate(), Ok(()));
        let broken = [
            Limits { page: 0, ..Limits::default() },
            Limits { page: 201, ..Limits::default() },
            Limits { payload_bytes: 65_537, ..Limits::default() },
            Limits { questions: 0, ..Limits::default() },
            Limits { patience: Duration::from_millis(99), ..Limits::default() },
            Limits { refresh: Duration::from_millis(999), ..Limits::default() },
            Limits { viewers: 1_001, ..Limits::default() },
            Limits { viewers_each: 0, ..Limits::default() },
            Limits { jobs: 17, ..Limits::default() },
        ];
        for limits in broken {
            assert!(limits.validate().is_err(), "{limits:?}");
        }
    }
}

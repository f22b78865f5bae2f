//! Every bound of the dashboard in one place.

use std::time::Duration;

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
            Limits { jobs: 17, ..Limits::default() },
        ];
        for limits in broken {
            assert!(limits.validate().is_err(), "{limits:?}");
        }
    }
}

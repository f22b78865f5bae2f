//! Moments as RFC 3339 writes them, in UTC, by the clock of this process.

use std::time::{Duration, SystemTime};

use tenure_core::moment::{LAST_SECOND, micros};
use tenure_core::time::StoreTime;

/// Reads `2027-01-31T00:00:00Z`, with a fraction of a second or an offset if need be; from 1970 to 9999.
pub(crate) fn read(text: &str) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros(text)?))
}

/// Writes a moment with seconds.
pub(crate) fn write(moment: SystemTime) -> String {
    let seconds = seconds(moment);
    let text = StoreTime::from_micros(i64::try_from(seconds).unwrap_or(0) * 1_000_000).to_string();
    text.replace(".000Z", "Z")
}

/// Seconds since 1970; zero for what was before.
pub(crate) fn seconds(moment: SystemTime) -> u64 {
    moment.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs().min(LAST_SECOND)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        assert_eq!(write(read("2027-01-31T08:00:00Z").unwrap()), "2027-01-31T08:00:00Z");
        assert_eq!(read("2027-02-30T08:00:00Z"), None);
    }
}

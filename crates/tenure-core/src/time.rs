//! Two kinds of time that must never be mixed, hence two types.
//!
//! [`StoreTime`] is read from the store and decides about expiry; [`Monotonic`] is read from a node's own steady clock
//! and may only make that node stop *earlier*. There is no conversion between them: a duration is all that crosses.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment on the store's clock, in microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreTime(i64);

impl StoreTime {
    /// The moment that lies `micros` microseconds after 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01 UTC.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment plus `span`, saturating at the end of time.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long it is from this moment until `later`; zero when `later` is not later.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_micros(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// ISO 8601 in UTC with milliseconds: `2026-11-15T09:30:00.123Z`.
impl fmt::Display for StoreTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.div_euclid(1000);
        let (days, in_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
        let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// Days since 1970-01-01 to a date of the proleptic Gregorian calendar.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years are counted from March, so that the leap day is the last day of a year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// A reading of one node's steady clock, counted from an origin that means nothing elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Monotonic(Duration);

impl Monotonic {
    /// The reading `span` after the clock's origin.
    pub const fn from_origin(span: Duration) -> Self {
        Self(span)
    }

    /// The span since the clock's origin.
    pub const fn since_origin(self) -> Duration {
        self.0
    }

    /// This reading plus `span`.
    #[must_use]
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// This reading minus `span`, not before the origin.
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }

    /// How long it is from this reading until `later`; zero when `later` is not later.
    pub const fn until(self, later: Self) -> Duration {
        later.0.saturating_sub(self.0)
    }
}

/// A node's steady clock. It must keep counting while the machine sleeps, where the system has such a clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The reading now; never smaller than an earlier reading.
    fn now(&self) -> Monotonic;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc_with_milliseconds() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_709_210_096_789_000, "2024-02-29T12:34:56.789Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_102_444_799_999_999, "2099-12-31T23:59:59.999Z"),
        ];
        for (micros, text) in cases {
            assert_eq!(StoreTime::from_micros(micros).to_string(), text);
        }
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(StoreTime::from_micros(i64::MAX).after(Duration::MAX).as_micros(), i64::MAX);
        assert_eq!(StoreTime::from_micros(5).until(StoreTime::from_micros(1)), Duration::ZERO);
        assert_eq!(Monotonic::from_origin(Duration::MAX).after(Duration::MAX).since_origin(), Duration::MAX);
    }
}

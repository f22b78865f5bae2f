//! Moments as RFC 3339 writes them, in UTC.

use std::time::{Duration, SystemTime};

use tenure_core::time::StoreTime;

/// The last second of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// Reads `2027-01-31T00:00:00Z`, with a fraction of a second or an offset if need be; from 1970 to 9999.
pub(crate) fn read(text: &str) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros(text)?))
}

/// Reads a moment as microseconds since 1970.
pub(crate) fn micros(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 20 || bytes.len() > 40 {
        return None;
    }
    let digits = |from: usize, to: usize| -> Option<u64> {
        let part = text.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let stands = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    if !(stands(4, b"-") && stands(7, b"-") && stands(10, b"Tt ") && stands(13, b":") && stands(16, b":")) {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    if year < 1970 || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if day == 0 || day > days_of(year, month) {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut fraction = 0;
    if let Some(after) = rest.strip_prefix('.') {
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        let six = after.get(..length.min(6)).filter(|six| !six.is_empty())?;
        fraction = format!("{six:0<6}").parse().ok()?;
        rest = after.get(length..)?;
    }
    let offset: i64 = if rest.eq_ignore_ascii_case("z") { 0 } else { offset_of(rest)? };
    let days = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum::<u64>()
        + (1..month).map(|month| days_of(year, month)).sum::<u64>()
        + (day - 1);
    let seconds = (days * 86_400 + hour * 3_600 + minute * 60 + second).checked_add_signed(-offset)?;
    (seconds <= LAST_SECOND).then_some(seconds * 1_000_000 + fraction)
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

fn offset_of(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let part = |text: &str, most: i64| -> Option<i64> {
        let fits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok())?.filter(|number| *number <= most)
    };
    Some(sign * (part(hours, 23)? * 3_600 + part(minutes, 59)? * 60))
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(is_leap(year)),
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        for (text, micros_of) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T12:34:56.789Z", 1_709_210_096_789_000),
            ("2024-02-29T12:34:56.7890009Z", 1_709_210_096_789_000),
            ("2024-02-29 13:34:56.789+01:00", 1_709_210_096_789_000),
            ("9999-12-31T23:59:59Z", LAST_SECOND * 1_000_000),
        ] {
            assert_eq!(micros(text), Some(micros_of), "{text}");
        }
        assert_eq!(write(read("2027-01-31T08:00:00Z").unwrap()), "2027-01-31T08:00:00Z");
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "now",
            "2024-02-30T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00+1:00",
            "2024-01-01T00:00:00+99:00",
            "1970-01-01T00:00:00+00:01",
            "2024-01-01T00:00:00é",
            "+024-01-01T00:00:00Z",
            "9999-12-31T23:59:59-00:01",
            "2024-01-01T00:00:00ZZ",
        ] {
            assert_eq!(micros(text), None, "{text}");
        }
    }
}

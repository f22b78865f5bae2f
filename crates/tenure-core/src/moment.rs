//! Moments as people write them: as RFC 3339 has it, or as a span back from now.

use crate::time::StoreTime;

/// The last second of the year 9999.
pub const LAST_SECOND: u64 = 253_402_300_799;

/// What a moment looks like, for whoever wrote something else.
pub const LOOKS: &str = "a moment such as 2026-11-15T09:30:00Z, 2026-11-15 09:30 or 2026-11-15 (UTC where no zone is told), or a span \
                         back from now such as -15m, -2h or -7d";

/// Reads `2026-11-15T09:30:00Z`, with a fraction of a second or an offset if need be, or `-15m`: so long before now. Seconds, the zone
/// and the time of day may be left out: they stand for none, UTC and the beginning of the day.
pub fn read(text: &str, now: StoreTime) -> Option<StoreTime> {
    let micros = match text.strip_prefix('-') {
        Some(span) => span_of(span).and_then(|span| u64::try_from(now.as_micros()).ok()?.checked_sub(span)),
        None => micros(text).or_else(|| micros(&whole(text)?)),
    };
    micros.and_then(|micros| i64::try_from(micros).ok()).map(StoreTime::from_micros)
}

/// What somebody wrote with what he left out: `2026-11-15`, `2026-11-15 09:30`, `2026-11-15T09:30+01:00`, `2026-11-15T09:30:00`.
fn whole(text: &str) -> Option<String> {
    let (day, rest) = text.split_at_checked(10)?;
    if rest.is_empty() {
        return Some(format!("{day}T00:00:00Z"));
    }
    let (minute, rest) = rest.split_at_checked(6)?;
    // What follows is seconds, a zone, both or nothing.
    let (second, zone) = match rest.strip_prefix(':') {
        Some(after) => {
            let length = after.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
            rest.split_at_checked(length + 1)?
        }
        None => (":00", rest),
    };
    Some(format!("{day}{minute}{second}{}", if zone.is_empty() { "Z" } else { zone }))
}

/// Writes a moment to the microsecond, so that it is read as the very same.
pub fn exact(moment: StoreTime) -> String {
    let text = moment.to_string();
    let micros = moment.as_micros().rem_euclid(1_000);
    format!("{}{micros:03}Z", text.strip_suffix('Z').unwrap_or(&text))
}

/// Reads a moment of RFC 3339 from 1970 to 9999, as microseconds since 1970.
pub fn micros(text: &str) -> Option<u64> {
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

/// `15m`, `2h`, `90s`, `7d`, in microseconds; at most a hundred years.
fn span_of(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > 10 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let span = digits.parse::<u64>().ok()?.checked_mul(seconds)?;
    (span <= 36_525 * 86_400).then(|| span * 1_000_000)
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
        let moment = StoreTime::from_micros(1_709_210_096_789_012);
        assert_eq!(exact(moment), "2024-02-29T12:34:56.789012Z");
        assert_eq!(read(&exact(moment), StoreTime::from_micros(0)), Some(moment));
    }

    #[test]
    fn what_is_left_out_of_a_moment_is_nought_and_utc() {
        let now = StoreTime::from_micros(0);
        let same = |short: &str, long: &str| {
            let long = micros(long).and_then(|micros| i64::try_from(micros).ok()).map(StoreTime::from_micros);
            assert!(long.is_some() && read(short, now) == long, "{short}");
        };
        same("2026-11-16", "2026-11-16T00:00:00Z");
        for short in ["2026-11-16 08:10", "2026-11-16T08:10", "2026-11-16T08:10:00", "2026-11-16 08:10Z"] {
            same(short, "2026-11-16T08:10:00Z");
        }
        same("2026-11-16T08:10:00.5", "2026-11-16T08:10:00.500Z");
        same("2026-11-16 09:10+01:00", "2026-11-16T08:10:00Z");
        for wrong in [
            "2026-11",
            "2026-11-1",
            "2026-11-16T",
            "2026-11-16T08",
            "2026-11-16 08:1",
            "2026-11-16 08:10:",
            "2026-02-30",
            "16.11.2026",
            "2026-11-16 08:10 CET",
            "2026-11-16é08:10",
        ] {
            assert_eq!(read(wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn a_span_is_counted_back_from_now() {
        let now = StoreTime::from_micros(10_000_000_000_000);
        let back = |text: &str| read(text, now).map(|at| at.until(now).as_secs());
        for (text, seconds) in [("-90s", 90), ("-15m", 900), ("-2h", 7_200), ("-7d", 604_800), ("-0s", 0)] {
            assert_eq!(back(text), Some(seconds), "{text}");
        }
        for text in
            ["-", "-h", "-2", "-2w", "--2h", "-1.5h", "-2 h", "2h", "-99999999999s", "-9999999d", "-é"]
        {
            assert_eq!(back(text), None, "{text}");
        }
        assert_eq!(read("-1s", StoreTime::from_micros(-5)), None);
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

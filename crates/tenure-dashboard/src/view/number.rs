//! Numbers as people read them.

use tenure_core::outbox::Count;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number that was counted up to a bound: `17`, or `10,000+`.
pub(crate) fn count(count: Count) -> String {
    format!("{}{}", grouped(count.number), if count.or_more { "+" } else { "" })
}

/// `1 message`, `2 messages`, `10,000+ messages`.
pub(crate) fn of(number: Count, one: &str, many: &str) -> String {
    let word = if number == Count::exactly(1) { one } else { many };
    format!("{} {word}", count(number))
}

/// How often in a second.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate <= 0.0 || !rate.is_finite() => "0/s".into(),
        rate if rate < 0.05 => "less than 0.1/s".into(),
        rate if rate < 9.95 => format!("{rate:.1}/s"),
        rate => format!("{}/s", grouped(rate.round() as u64)),
    }
}

/// A size.
pub(crate) fn bytes(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        1 => "1 byte".into(),
        0..KIB => format!("{bytes} bytes"),
        KIB..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_kept_apart() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn what_was_not_counted_further_says_so() {
        assert_eq!(of(Count::exactly(1), "message", "messages"), "1 message");
        assert_eq!(of(Count::up_to(1, 2), "message", "messages"), "1+ messages");
        assert_eq!(of(Count::up_to(10_000, 10_001), "message", "messages"), "10,000+ messages");
    }

    #[test]
    fn rates_and_sizes_have_few_digits() {
        for (per_second, text) in [
            (0.0, "0/s"),
            (-1.0, "0/s"),
            (f64::NAN, "0/s"),
            (0.01, "less than 0.1/s"),
            (0.44, "0.4/s"),
            (9.96, "10/s"),
            (2_123.4, "2,123/s"),
        ] {
            assert_eq!(rate(per_second), text);
        }
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1_023), "1023 bytes");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(10 * 1_048_576), "10.0 MiB");
    }
}

//! Times and spans, as people read them.

use std::time::Duration;

use maud::{Markup, html};
use tenure_core::time::StoreTime;

/// A span in its two largest units: `0.3 s`, `12 s`, `6 min`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: u64, unit: &str, small: u64, other: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {other}"),
    };
    match seconds {
        0 if span < Duration::from_millis(1) => "less than 1 ms".into(),
        0 if span < Duration::from_millis(100) => format!("{} ms", span.as_millis()),
        0..10 => format!("{:.1} s", (span.as_millis() / 100) as f64 / 10.0),
        10..60 => format!("{seconds} s"),
        60..600 => two(minutes, "min", seconds % 60, "s"),
        600..3_600 => format!("{minutes} min"),
        3_600..86_400 => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

/// How long ago something was, with the moment itself behind it.
pub(crate) fn ago(at: StoreTime, now: StoreTime) -> Markup {
    let text = match at.until(now) {
        since if since < Duration::from_secs(1) => "just now".to_owned(),
        since => format!("{} ago", span(whole(since))),
    };
    moment(at, &text)
}

/// How long until something is, with the moment itself behind it; or how long ago it was.
pub(crate) fn distance(at: StoreTime, now: StoreTime) -> Markup {
    if at <= now {
        return ago(at, now);
    }
    moment(at, &format!("in {}", span(whole(now.until(at)))))
}

/// How long something has lasted, with the moment of its beginning behind it.
pub(crate) fn since(at: StoreTime, now: StoreTime) -> Markup {
    moment(at, &format!("for {}", span(whole(at.until(now)))))
}

/// The moment itself, to the second.
pub(crate) fn clock(at: StoreTime) -> Markup {
    let text = at.to_string();
    let day = text.get(..10).unwrap_or_default();
    let time = text.get(11..19).unwrap_or_default();
    moment(at, &format!("{day} {time} UTC"))
}

/// Seconds alone: nobody reads tenths of what is long ago.
const fn whole(span: Duration) -> Duration {
    if span.as_secs() >= 10 { Duration::from_secs(span.as_secs()) } else { span }
}

fn moment(at: StoreTime, text: &str) -> Markup {
    let exact = at.to_string();
    html! { time datetime=(exact) title=(exact) { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_its_largest_units() {
        for (millis, text) in [
            (0, "less than 1 ms"),
            (42, "42 ms"),
            (340, "0.3 s"),
            (9_990, "9.9 s"),
            (12_400, "12 s"),
            (60_000, "1 min"),
            (90_000, "1 min 30 s"),
            (6 * 60_000, "6 min"),
            (59 * 60_000 + 59_000, "59 min"),
            (7_500_000, "2 h 5 min"),
            (86_400_000 * 3 + 4 * 3_600_000, "3 d 4 h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn a_moment_says_how_long_ago_and_exactly_when() {
        let at = StoreTime::from_micros(1_763_250_000_000_000);
        let text = ago(at, at.after(Duration::from_secs(125))).into_string();
        assert!(
            text.contains(">2 min 5 s ago<") && text.contains("datetime=\"2025-11-15T23:40:00.000Z\""),
            "{text}"
        );
        assert!(ago(at, at).into_string().contains("just now"));
        let later = distance(at.after(Duration::from_secs(90)), at).into_string();
        assert!(later.contains("in 1 min 30 s"), "{later}");
        assert!(clock(at).into_string().contains("2025-11-15 23:40:00 UTC"));
    }
}

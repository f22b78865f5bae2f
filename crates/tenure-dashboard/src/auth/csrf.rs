//! The token of a form, and whether a change was asked for by a page of ours.
//!
//! Two rules that each suffice against a page of somebody else's that makes an operator's browser act: the browser says where
//! a request comes from, and a form of ours holds a signed text that no other page can read. Neither depends on the memory of
//! one node.

use std::time::SystemTime;

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::SigningKey;
use super::moment::seconds;

/// The field of a form that holds the token.
pub(crate) const FIELD: &str = "csrf";
/// The header that holds it where the body is no form.
pub(crate) const HEADER: &str = "x-tenure-csrf";
/// For how many hours beside the present one a token is good.
const HOURS: u64 = 12;

/// The token for the forms of an operator, in this session and hour.
pub(crate) fn token(key: &SigningKey, name: &str, session_end: u64, now: SystemTime) -> String {
    let hour = seconds(now) / 3_600;
    format!("{hour}.{}", URL_SAFE_NO_PAD.encode(signature(key, name, session_end, hour)))
}

/// Whether a token was made for this operator and session, in this or the last hours.
pub(crate) fn good(key: &SigningKey, name: &str, session_end: u64, now: SystemTime, token: &str) -> bool {
    let read = || -> Option<bool> {
        let (hour, signed) = token.split_once('.').filter(|_| token.len() <= 100)?;
        let hour: u64 = hour.parse().ok()?;
        let now = seconds(now) / 3_600;
        let signed = URL_SAFE_NO_PAD.decode(signed).ok()?;
        let same = bool::from(signature(key, name, session_end, hour).ct_eq(signed.as_slice()));
        Some(same && hour <= now && now - hour <= HOURS)
    };
    read().unwrap_or(false)
}

fn signature(key: &SigningKey, name: &str, session_end: u64, hour: u64) -> [u8; 32] {
    key.sign("csrf", &[name.as_bytes(), &session_end.to_be_bytes(), &hour.to_be_bytes()])
}

/// Where a request says that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From a page of ours.
    Ours,
    /// From elsewhere.
    Foreign,
    /// It says nothing: no browser of these years sent it.
    Unsaid,
}

/// Where a request comes from, by what browsers say of it. `host` is what the request named and was found to be ours.
pub(crate) fn origin(headers: &HeaderMap, host: &str) -> Origin {
    let texts = |name: &str| -> Vec<&str> {
        headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
    };
    let same = |origin: &str| {
        let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
    };
    match (texts("sec-fetch-site").as_slice(), texts("origin").as_slice()) {
        ([], []) => Origin::Unsaid,
        ([], [origin]) if same(origin) => Origin::Ours,
        (["same-origin"], []) => Origin::Ours,
        (["same-origin"], [origin]) if same(origin) => Origin::Ours,
        _ => Origin::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::new([3; 32]).unwrap()
    }

    fn at(hours: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(hours * 3_600 + 1_800)
    }

    #[test]
    fn a_token_is_good_for_its_operator_and_session_for_twelve_hours() {
        let made = token(&key(), "ada", 7, at(1_000));
        for hour in 1_000..=1_012 {
            assert!(good(&key(), "ada", 7, at(hour), &made), "{hour}");
        }
        assert!(!good(&key(), "ada", 7, at(1_013), &made), "too old");
        assert!(!good(&key(), "ada", 7, at(999), &made), "from the future");
        assert!(!good(&key(), "bob", 7, at(1_000), &made), "another operator");
        assert!(!good(&key(), "ada", 8, at(1_000), &made), "another session");
        assert!(!good(&SigningKey::new([4; 32]).unwrap(), "ada", 7, at(1_000), &made), "another key");
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for wrong in
            ["", ".", "1000.", "1000.AAAA", "x.y", "99999999999999999999999.AAAA", &"1".repeat(10_000)]
        {
            assert!(!good(&key(), "ada", 7, at(1_000), wrong), "{wrong}");
        }
        let made = token(&key(), "ada", 7, at(1_000));
        assert!(!good(&key(), "ada", 7, at(1_001), &made.replacen("1000", "1001", 1)));
    }

    #[test]
    fn only_a_page_of_ours_is_ours() {
        let says = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            origin(&headers, "ops.example.com:8443")
        };
        let ours = "https://ops.example.com:8443";
        assert_eq!(says(&[]), Origin::Unsaid);
        assert_eq!(says(&[("origin", ours)]), Origin::Ours);
        assert_eq!(says(&[("sec-fetch-site", "same-origin")]), Origin::Ours);
        assert_eq!(says(&[("sec-fetch-site", "same-origin"), ("origin", ours)]), Origin::Ours);
        for foreign in [
            &[("origin", "https://ops.example.com")][..],
            &[("origin", "https://ops.example.com:8443.evil.test")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("origin", ours), ("origin", ours)],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "cross-site"), ("origin", ours)],
            &[("sec-fetch-site", "same-origin"), ("origin", "https://evil.test")],
            &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(says(foreign), Origin::Foreign, "{foreign:?}");
        }
    }
}

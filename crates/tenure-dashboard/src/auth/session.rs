//! The session: a signed cookie, so that no node has to remember it.
//!
//! `v1.{name}.{end}.{fingerprint}.{signature}`. The fingerprint is the beginning of the hash of the token that the session began
//! with: a token that is taken away or changed takes its sessions with it.

use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::SigningKey;
use super::moment::seconds;
use super::tokens::Line;

/// The name of the cookie.
pub(crate) const COOKIE: &str = "tenure_session";
/// How long a session lasts at most.
pub(crate) const LIFETIME: Duration = Duration::from_secs(12 * 3_600);
/// The longest cookie that is looked at.
const COOKIE_MAX_BYTES: usize = 1_024;

/// What a cookie says, once its signature has been found to be ours.
#[derive(PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) name: String,
    /// When it ends, in seconds since 1970.
    pub(crate) end: u64,
    pub(super) fingerprint: [u8; 8],
}

impl Session {
    /// A session that begins now; it ends no later than its token.
    pub(super) fn begin(line: &Line, now: SystemTime) -> Self {
        let end = seconds(now + LIFETIME).min(line.until.map_or(u64::MAX, seconds));
        Self { name: line.name.clone(), end, fingerprint: line.fingerprint() }
    }

    /// The value of the cookie.
    pub(super) fn write(&self, key: &SigningKey) -> String {
        let (name, mark) = (URL_SAFE_NO_PAD.encode(&self.name), URL_SAFE_NO_PAD.encode(self.fingerprint));
        format!("v1.{name}.{}.{mark}.{}", self.end, URL_SAFE_NO_PAD.encode(self.signature(key)))
    }

    /// Reads a cookie whose signature is ours. Whether it has ended is the caller's question.
    pub(super) fn read(value: &str, key: &SigningKey) -> Option<Self> {
        if value.len() > COOKIE_MAX_BYTES {
            return None;
        }
        let parts: Vec<&str> = value.split('.').collect();
        let ["v1", name, end, fingerprint, signature] = parts.as_slice() else { return None };
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let session = Self {
            name: String::from_utf8(bytes(name)?).ok()?,
            end: end.parse().ok()?,
            fingerprint: bytes(fingerprint)?.try_into().ok()?,
        };
        let good = session.signature(key).ct_eq(bytes(signature)?.as_slice());
        bool::from(good).then_some(session)
    }

    fn signature(&self, key: &SigningKey) -> [u8; 32] {
        key.sign("session", &[self.name.as_bytes(), &self.end.to_be_bytes(), &self.fingerprint])
    }
}

/// The line of the response that sets the cookie, or ends it when there is no value.
pub(crate) fn set_cookie(value: Option<&str>, mount: &str, secure: bool) -> String {
    let path = if mount.is_empty() { "/" } else { mount };
    let secure = if secure { "; Secure" } else { "" };
    let life = match value {
        Some(_) => LIFETIME.as_secs(),
        None => 0,
    };
    format!(
        "{COOKIE}={}; Path={path}; Max-Age={life}; HttpOnly; SameSite=Strict{secure}",
        value.unwrap_or_default()
    )
}

/// Whose session, and nothing that would let one be made.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?} until {})", self.name, self.end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::new([3; 32]).unwrap()
    }

    fn session() -> Session {
        Session { name: "ada".into(), end: 1_900_000_000, fingerprint: *b"12345678" }
    }

    #[test]
    fn a_cookie_is_read_as_it_was_written_and_by_no_other_key() {
        let text = session().write(&key());
        assert_eq!(Session::read(&text, &key()), Some(session()));
        assert_eq!(Session::read(&text, &SigningKey::new([4; 32]).unwrap()), None);
    }

    #[test]
    fn a_cookie_that_was_changed_anywhere_is_none() {
        let text = session().write(&key());
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last digit of base64 holds bits that stand for nothing; the decoder refuses those that are set.
            assert_ne!(Session::read(&changed, &key()).as_ref(), Some(&session()), "{changed}");
        }
        for wrong in ["", "v1", "v1....", "v2.YWRh.1.1.1", &format!("{text}.x"), &"v1.".repeat(1_000)] {
            assert_eq!(Session::read(wrong, &key()), None);
        }
    }

    #[test]
    fn a_session_ends_no_later_than_its_token() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let mut line = Line {
            name: "ada".into(),
            permissions: super::super::Permissions::VIEW,
            hash: [1; 32],
            until: Some(now + Duration::from_secs(60)),
        };
        assert_eq!(Session::begin(&line, now).end, 1_000_060);
        line.until = None;
        assert_eq!(Session::begin(&line, now).end, 1_000_000 + LIFETIME.as_secs());
    }

    #[test]
    fn the_cookie_is_kept_from_scripts_and_other_sites() {
        let line = set_cookie(Some("v"), "/_tenure", true);
        assert_eq!(line, "tenure_session=v; Path=/_tenure; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
        assert!(set_cookie(None, "", false).starts_with("tenure_session=; Path=/; Max-Age=0;"));
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_a_cookie_fail_otherwise(text in ".{0,200}") {
            prop_assert_eq!(Session::read(&text, &key()), None);
        }
    }
}

//! The key that signs sessions and forms.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::TokensError;

/// The fewest bytes of a key that is given.
pub const KEY_MIN_BYTES: usize = 32;

/// A secret that signs session cookies and the tokens of forms. Where several nodes serve one dashboard behind one name they
/// need the same one: a session that began on one node goes on at the next.
#[derive(Clone)]
pub struct SigningKey(Vec<u8>);

impl SigningKey {
    /// A key of one's own: at least [`KEY_MIN_BYTES`] random bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, TokensError> {
        let bytes = bytes.into();
        if bytes.len() < KEY_MIN_BYTES {
            return Err(TokensError::ShortKey { bytes: bytes.len() });
        }
        Ok(Self(bytes))
    }

    /// A key that nobody else has: sessions that it signed end with the process. It does not follow from the lines of the
    /// tokens, for whoever had read those could then sign a session, and would need no token.
    pub fn random() -> Result<Self, TokensError> {
        let mut bytes = vec![0; KEY_MIN_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| TokensError::NoRandomness)?;
        Ok(Self(bytes))
    }

    /// What signs where nobody acts.
    pub(super) fn of_nobody() -> Self {
        Self(vec![0; KEY_MIN_BYTES])
    }

    /// Signs `parts` for one purpose. Each part is preceded by its length, so that no two lists of parts are one text.
    pub(crate) fn sign(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        sign(&self.0, purpose, parts)
    }
}

fn sign(key: &[u8], purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    // A key of HMAC may have any length, so this never fails; if it did, the signature would fit nothing.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Never the key.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lists_of_parts_are_signed_alike() {
        let key = SigningKey::new([7; 32]).unwrap();
        assert_ne!(key.sign("a", &[b"b", b"c"]), key.sign("a", &[b"bc", b""]));
        assert_ne!(key.sign("a", &[b"b"]), key.sign("ab", &[]));
        assert_ne!(key.sign("session", &[b"x"]), key.sign("csrf", &[b"x"]));
        assert_eq!(key.sign("a", &[b"b"]), key.sign("a", &[b"b"]));
    }

    #[test]
    fn no_two_processes_have_the_same_key_unless_it_is_given() {
        let (one, two) = (SigningKey::random().unwrap(), SigningKey::random().unwrap());
        assert_ne!(one.sign("a", &[]), two.sign("a", &[]));
    }

    #[test]
    fn a_short_key_is_refused_and_no_key_is_shown() {
        assert!(SigningKey::new([1; 31]).is_err());
        assert_eq!(format!("{:?}", SigningKey::new([65; 32]).unwrap()), "SigningKey(…)");
    }
}

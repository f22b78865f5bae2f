//! Signatures by which a receiver knows that a request comes from whoever shares its secret.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::hmac;

use crate::sink::Secret;

/// The header that holds the signature.
pub const SIGNATURE_HEADER: &str = "x-tenure-signature";

/// The most signatures of one header that are tried.
const SIGNATURES_MAX: usize = 4;

/// The header's value for a request at `at`.
pub(super) fn sign(secret: &Secret, at: SystemTime, id: &str, body: &[u8]) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut value = format!("t={seconds},v1=");
    for byte in hmac::sign(&key(secret), &signed(seconds, id, body)).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(value, "{byte:02x}");
    }
    value
}

/// Whether a request was signed with `secret`, not longer than `tolerance` ago.
///
/// `header` is the value of `x-tenure-signature`, `id` that of `ce-id`, `body` the body's bytes as they came. The header has
/// the form `t=<seconds since 1970>,v1=<hex>`; what is signed, with HMAC-SHA256 and the secret's bytes as key, is
/// `<t>.<ce-id>.<body>`. The other attributes are not: TLS protects them on their way.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use tenure::sink::verify_signature;
///
/// let header = "t=1700000000,v1=6cc486582df90fe95081c8b05dd6689d4c2e231afdca4493957a011d7c3c111e";
/// let id = "6f1c2f9e-6a0b-4c7e-9a54-0d2d7b1c8e11";
/// let now = UNIX_EPOCH + Duration::from_secs(1_700_000_010);
/// let verify = |body: &[u8]| {
///     verify_signature(&"s3cret".into(), header, id, body, now, Duration::from_secs(300))
/// };
/// assert!(verify(br#"{"order":7}"#));
/// assert!(!verify(br#"{"order":8}"#));
/// ```
///
/// The same in another language: take `t` and `v1` apart, compute the HMAC over `t + "." + id + "." + body`, compare with a
/// function that takes the same time wherever they differ (`hmac.compare_digest` in Python, `crypto.timingSafeEqual` in
/// Node), and refuse a `t` that is too far from now. By shell:
///
/// ```sh
/// printf '%s' '1700000000.6f1c2f9e-6a0b-4c7e-9a54-0d2d7b1c8e11.{"order":7}' | openssl dgst -sha256 -hmac s3cret
/// ```
///
/// Answer a `t` that is too old with 503 and not with 401: a clock that is off is put right, while a message that was
/// rejected is dead. Every attempt is signed anew.
pub fn verify_signature(
    secret: &Secret,
    header: &str,
    id: &str,
    body: &[u8],
    now: SystemTime,
    tolerance: Duration,
) -> bool {
    let (mut seconds, mut signatures) = (None, Vec::new());
    for (name, value) in header.split(',').filter_map(|part| part.trim().split_once('=')) {
        match name {
            "t" => seconds = decimal(value),
            "v1" if signatures.len() < SIGNATURES_MAX => signatures.extend(from_hex(value)),
            _ => {}
        }
    }
    let Some(seconds) = seconds else { return false };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if now.abs_diff(seconds) > tolerance.as_secs() {
        return false;
    }
    let (key, signed) = (key(secret), signed(seconds, id, body));
    // Compares in constant time.
    signatures.iter().any(|signature| hmac::verify(&key, &signed, signature).is_ok())
}

fn key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes())
}

/// Neither the number nor the id holds a dot, so nothing else has the same bytes.
fn signed(seconds: u64, id: &str, body: &[u8]) -> Vec<u8> {
    [seconds.to_string().as_bytes(), b".", id.as_bytes(), b".", body].concat()
}

fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    (text.len() == 64).then(|| text.as_bytes().chunks(2).map(pair).collect())?
}

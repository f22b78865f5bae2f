//! What the object of a lease is called.
//!
//! The name of a lease is any text up to 200 bytes; the name of an object is lower-case letters, digits, `-` and `.`. A
//! lease whose name is such a text already has it for its object. Any other gets what can be read of its name and a hash of
//! all of it:
//!
//! ```text
//!   nightly-report      nightly-report
//!   Nightly/Report      nightly-report--5f0c…   (32 digits)
//! ```
//!
//! A name that looks like one with a hash is hashed too, so that nobody can choose another's object. The object says in an
//! annotation which lease it is, and the store refuses an object that is another lease's.

use ring::digest::{SHA256, digest};
use tenure_core::lease::LeaseName;

/// The longest name of an object.
const OBJECT_MAX: usize = 253;
/// Stands between what can be read and the hash.
const MARK: &str = "--";
/// Digits of the hash: 128 bits.
const DIGITS: usize = 32;
/// The longest prefix: one label.
pub(crate) const PREFIX_MAX: usize = 63;

/// The name of the object of `lease` under `prefix`, which is empty or one label.
pub(crate) fn object_name(prefix: &str, lease: &LeaseName) -> String {
    let dot = if prefix.is_empty() { "" } else { "." };
    let plain = format!("{prefix}{dot}{}", lease.as_str());
    if is_subdomain(&plain) && !looks_hashed(&plain) {
        return plain;
    }
    let room = OBJECT_MAX - MARK.len() - DIGITS - prefix.len() - dot.len();
    let readable = readable(lease.as_str(), room);
    format!("{prefix}{dot}{readable}{MARK}{}", hash(prefix, lease.as_str()))
}

/// Lower-case letters and digits as they are, everything else as one `-`; never empty, no `-` at either end.
fn readable(name: &str, room: usize) -> String {
    let mut text = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        if text.len() < room && !(c == '-' && (text.is_empty() || text.ends_with('-'))) {
            text.push(c);
        }
    }
    let text = text.trim_end_matches('-');
    if text.is_empty() { "lease".to_owned() } else { text.to_owned() }
}

fn hash(prefix: &str, name: &str) -> String {
    let all = digest(&SHA256, format!("{prefix}\0{name}").as_bytes());
    all.as_ref().iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

fn looks_hashed(name: &str) -> bool {
    let Some(at) = name.len().checked_sub(DIGITS) else { return false };
    let (head, tail) = name.split_at(at);
    head.ends_with(MARK) && tail.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether Kubernetes takes this as the name of a namespace, or of a part of an object's name.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty()
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.len() <= PREFIX_MAX
}

fn is_subdomain(text: &str) -> bool {
    // Labels within the name of an object may be longer than those of a host: only the whole is limited.
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= OBJECT_MAX && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn object(prefix: &str, lease: &str) -> String {
        object_name(prefix, &LeaseName::new(lease).unwrap())
    }

    #[test]
    fn a_name_that_kubernetes_takes_is_kept() {
        assert_eq!(object("", "nightly-report"), "nightly-report");
        assert_eq!(object("", "a.b-c.0"), "a.b-c.0");
        assert_eq!(object("shop", "relay"), "shop.relay");
        let longest = "x".repeat(200);
        assert_eq!(object("", &longest), longest);
    }

    #[test]
    fn what_can_be_read_of_a_name_stays_readable() {
        let name = object("shop", "Orders/Relay Nr. 7");
        assert!(name.starts_with("shop.orders-relay-nr-7--") && is_subdomain(&name), "{name}");
        assert!(object("", "東京").starts_with("lease--"), "{}", object("", "東京"));
    }

    #[test]
    fn every_name_becomes_one_that_kubernetes_takes_and_no_two_the_same() {
        let tricky = [
            "a",
            "A",
            "ä",
            "a ",
            " a",
            "a.",
            ".a",
            "a..b",
            "a.b",
            "a/b",
            "a-b",
            "a_b",
            "-a",
            "a-",
            "--",
            "é",
            "e\u{301}",
            "東京",
            "👩‍🚀",
            "'; drop",
            "a--b",
            "%61",
        ];
        let long: Vec<String> = ["x", "X", "é", "🚀"].iter().map(|c| c.repeat(200 / c.len())).collect();
        // A name that is another's object, hash and all.
        let forged = object("", "A");
        let all = tricky.iter().map(|name| (*name).to_owned()).chain(long).chain([forged]);
        let mut objects = BTreeSet::new();
        for name in all {
            for prefix in ["", "p", &"q".repeat(PREFIX_MAX)] {
                let object = object(prefix, &name);
                assert!(is_subdomain(&object), "{name:?} became {object:?} of {} bytes", object.len());
                assert!(objects.insert(object.clone()), "{name:?} under {prefix:?} shares {object:?}");
            }
        }
    }

    #[test]
    fn the_same_name_is_the_same_object_in_every_process() {
        // Written down: another version of the program must come to the same.
        assert_eq!(object("", "A"), format!("a--{}", hash("", "A")));
        assert_eq!(hash("", "A"), "c00b4d3c929cb5cc316691ed4636f634".to_owned());
    }
}

//! The subject of a message: the pattern of the URL with the message's topic in it.
//!
//! In NATS a dot parts a subject into tokens, `*` and `>` stand for any, and streams and permissions go by them. A topic is
//! what a row says. So that no row chooses where it goes, a topic becomes a piece of one token: every byte but `A`–`Z`,
//! `a`–`z`, `0`–`9`, `_` and `-` is written as `%` and two hexadecimal digits. Two topics never become the same.

use tenure_core::outbox::cloudevents::encode_all_but;

/// The longest pattern, in bytes: with a topic that is encoded as a whole, it is far from what a server takes in a line.
const PATTERN_MAX_BYTES: usize = 500;
const TOPIC: &str = "{topic}";

/// Where messages go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pattern: String,
}

impl Subject {
    /// Takes a subject of NATS that may hold `{topic}`; otherwise says what is wrong, without repeating it.
    pub(super) fn parse(pattern: &str) -> Result<Self, &'static str> {
        let rest = pattern.replace(TOPIC, "t");
        let plain = |b: u8| b.is_ascii_graphic() && !b"*>{}".contains(&b);
        match () {
            () if pattern.is_empty() => Err("it names no subject; write nats://host:4222/SUBJECT"),
            () if pattern.len() > PATTERN_MAX_BYTES => Err("its subject is longer than 500 bytes"),
            () if rest.contains(['*', '>']) => {
                Err("its subject holds a wildcard (* or >); messages go to one subject")
            }
            () if rest.contains(['{', '}']) => {
                Err("its subject holds braces that are not {topic}; nothing else is filled in")
            }
            () if !rest.bytes().all(plain) => Err("its subject holds what is no visible ASCII character"),
            () if rest.split('.').any(str::is_empty) => {
                Err("its subject has an empty token: a dot at an end, or two together")
            }
            () if rest.starts_with('$') || rest.starts_with("_INBOX.") => {
                Err("its subject belongs to NATS itself ($… and _INBOX.…)")
            }
            () => Ok(Self { pattern: pattern.into() }),
        }
    }

    /// The subject of a message with this topic.
    pub(super) fn of(&self, topic: &str) -> String {
        if !self.pattern.contains(TOPIC) {
            return self.pattern.clone();
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        self.pattern.replace(TOPIC, &encode_all_but(topic, plain))
    }

    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_a_piece_of_one_token_whatever_it_says() {
        let subject = Subject::parse("shop.{topic}.in").unwrap();
        assert_eq!(subject.of("orders"), "shop.orders.in");
        let hostile = ["*", ">", "a.b", "a b", "$JS.API", "a\r\nPUB x 0", "ä", "%2E", "{topic}", ".", "\t"];
        let mut seen = std::collections::BTreeSet::new();
        for topic in hostile {
            let made = subject.of(topic);
            assert_eq!(made.split('.').count(), 3, "{made}");
            let token = made.split('.').nth(1).unwrap();
            assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-%".contains(&b)), "{token}");
            assert!(seen.insert(made), "two topics become the same");
        }
        assert_eq!(subject.of("a.b"), "shop.a%2Eb.in");
        assert_eq!(subject.of("%2E"), "shop.%252E.in");
        assert_eq!(Subject::parse("all").unwrap().of("a.b"), "all");
        assert_eq!(Subject::parse("v1-{topic}").unwrap().of(">"), "v1-%3E");
    }

    #[test]
    fn a_pattern_is_a_subject_that_one_may_publish_to() {
        for bad in
            ["", "a..b", ".a", "a.", "a.*", ">", "a b", "a.{kind}", "{", "$SYS.x", "_INBOX.x", "ä", "a\tb"]
        {
            assert!(Subject::parse(bad).is_err(), "{bad}");
        }
        assert!(Subject::parse(&"a".repeat(501)).is_err());
        for good in ["a", "a.b", "{topic}", "a.{topic}.b", "a-{topic}_b", "a/b:c"] {
            assert_eq!(Subject::parse(good).unwrap().pattern(), good);
        }
    }
}

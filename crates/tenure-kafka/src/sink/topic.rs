//! The topic of a record: the pattern of the URL with the message's topic in it.
//!
//! Kafka knows no way to escape what is no name. So a row whose topic gives none is poison, and an operator hears of it. A
//! pattern with a beginning of its own keeps rows within it: `shop.{topic}` cannot become another's topic.

use tenure_core::StoreError;

use crate::options::refuse;
use crate::url::check_topic;

const TOPIC: &str = "{topic}";

/// Where records go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    pattern: String,
}

impl Topic {
    /// Takes the name of a topic that may hold `{topic}`.
    pub(super) fn parse(pattern: String) -> Result<Self, StoreError> {
        check_topic("topic", pattern.replace(TOPIC, "t"))?;
        if pattern.starts_with("__") {
            return refuse("the topic begins with `__`, and belongs to Kafka itself");
        }
        Ok(Self { pattern })
    }

    /// The topic of a message with this one, or why there is none.
    pub(super) fn of(&self, topic: &str) -> Result<String, String> {
        if !self.pattern.contains(TOPIC) {
            return Ok(self.pattern.clone());
        }
        let legal =
            !topic.is_empty() && topic.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        let name = self.pattern.replace(TOPIC, topic);
        let shown = || topic.chars().flat_map(char::escape_default).collect::<String>();
        if !legal || check_topic("topic", name.clone()).is_err() {
            return Err(format!(
                "the topic `{}` gives no name of a Kafka topic, which has 1 to 249 of a–z, A–Z, 0–9, `.`, `_` and `-`",
                shown()
            ));
        }
        if name.starts_with("__") {
            return Err(format!("the topic `{}` belongs to Kafka itself", shown()));
        }
        Ok(name)
    }

    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_stays_within_the_pattern() {
        let topic = Topic::parse("shop.{topic}".into()).unwrap();
        assert_eq!(topic.of("orders.eu").unwrap(), "shop.orders.eu");
        for bad in ["", "a b", "ä", "a/b", "{topic}", "a\r\nb", &"a".repeat(250)] {
            assert!(topic.of(bad).is_err(), "{bad}");
        }
        let any = Topic::parse("{topic}".into()).unwrap();
        for bad in [".", "..", "__consumer_offsets"] {
            assert!(any.of(bad).is_err(), "{bad}");
        }
        assert_eq!(Topic::parse("all".into()).unwrap().of("a b").unwrap(), "all");
    }

    #[test]
    fn a_pattern_is_the_name_of_a_topic() {
        for bad in ["a b", "{kind}", "__consumer_offsets", "..", "a/b"] {
            assert!(Topic::parse(bad.into()).is_err(), "{bad}");
        }
    }
}

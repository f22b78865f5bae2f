//! What a `kafka://` URL says.
//!
//! Several brokers stand in it, each with its port, which no general reader of URLs accepts; so it is taken apart here.
//! Errors never repeat any part of it: a password with a stray `@`, `/` or `?` turns up in unexpected parts.

use tenure_core::StoreError;

use crate::options::{KafkaOptions, refuse};

/// The port of a broker that names none.
const PORT: u16 = 9092;
/// The most brokers that a URL may name: it needs to name a few to find the others.
const BROKERS_MAX: usize = 64;
/// What a URL looks like.
const SHAPE: &str = "kafka://user:password@broker1:9092,broker2:9092/topic, with special characters of the password \
                     percent-encoded (an at sign as %40, `/` as %2F, `?` as %3F, `#` as %23)";

/// A URL, taken apart.
#[derive(Debug)]
pub(crate) struct KafkaUrl {
    /// How to reach the brokers.
    pub(crate) options: KafkaOptions,
    /// The topic, if the URL names one.
    pub(crate) topic: Option<String>,
    /// What stands behind the `?` and is no common option: the lease's or the sink's own, to be refused if unknown.
    pub(crate) rest: Vec<(String, String)>,
}

impl KafkaUrl {
    /// Takes a URL apart.
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let mut url = Self::parse_loosely(text)?;
        url.topic = url.topic.map(|topic| check_topic("topic", topic)).transpose()?;
        Ok(url)
    }

    /// Takes a URL apart whose topic may be anything.
    pub(crate) fn parse_loosely(text: &str) -> Result<Self, StoreError> {
        let Some(text) = text.strip_prefix("kafka://") else {
            return refuse("the Kafka URL does not begin with kafka://");
        };
        if text.contains('#') {
            return refuse(format!("the Kafka URL holds a `#`; it looks like {SHAPE}"));
        }
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (authority, path) = text.split_once('/').unwrap_or((text, ""));
        let (credentials, brokers) = match authority.rsplit_once('@') {
            Some((credentials, brokers)) => (Some(credentials), brokers),
            None => (None, authority),
        };
        let mut options = KafkaOptions::new(read_brokers(brokers)?)?;
        if let Some(credentials) = credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            if user.is_empty() || credentials.contains('@') {
                return refuse(format!("the user of the Kafka URL cannot be read; it looks like {SHAPE}"));
            }
            options = options.with_credentials(&decoded(user), &decoded(password));
        }
        let topic = decoded(path);
        let mut rest = Vec::new();
        for (key, value) in ::url::form_urlencoded::parse(query.as_bytes()) {
            if !options.take(&key, &value)? {
                rest.push((key.into_owned(), value.into_owned()));
            }
        }
        options.validate()?;
        Ok(Self { options, topic: Some(topic).filter(|topic| !topic.is_empty()), rest })
    }
}

/// Checks the name of a topic as Kafka does. The message names the field and not the value, which may come from a URL.
pub(crate) fn check_topic(field: &str, name: String) -> Result<String, StoreError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > 249 || name == "." || name == ".." || !name.chars().all(legal) {
        return refuse(format!(
            "{field} is no name for a Kafka topic: 1 to 249 of the characters a–z, A–Z, 0–9, `.`, `_`, `-`"
        ));
    }
    Ok(name)
}

/// Resolves percent-encoding; a `+` is a `+`.
fn decoded(part: &str) -> String {
    ::url::form_urlencoded::parse(format!("x={}", part.replace('+', "%2B").replace('&', "%26")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Reads `host:port,host:port`.
fn read_brokers(text: &str) -> Result<Vec<String>, StoreError> {
    let mut brokers = Vec::new();
    for broker in text.split(',') {
        let (host, port) = match broker.rsplit_once(':') {
            // An IPv6 address without a port ends with its bracket.
            Some((host, port)) if !broker.ends_with(']') => (host, port.parse::<u16>().ok()),
            _ => (broker, Some(PORT)),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bracketed {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(plain),
        };
        match port.filter(|port| is_host && *port > 0) {
            Some(port) => brokers.push(format!("{host}:{port}")),
            None => {
                return refuse(format!("a broker of the Kafka URL cannot be read; it looks like {SHAPE}"));
            }
        }
    }
    if brokers.len() > BROKERS_MAX {
        return refuse(format!("the Kafka URL names more than {BROKERS_MAX} brokers; a few are enough"));
    }
    Ok(brokers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_topic_and_options_are_read() {
        let url =
            KafkaUrl::parse("kafka://b1:9093,b2,[::1]:7,[::2]/my.topic_1?client-id=x&group=g&heartbeat=3s")
                .unwrap();
        assert_eq!(url.options.brokers(), ["b1:9093", "b2:9092", "[::1]:7", "[::2]:9092"]);
        assert_eq!(url.topic.as_deref(), Some("my.topic_1"));
        assert_eq!(url.options.client_id, "x");
        assert_eq!(url.rest, [("group".to_owned(), "g".to_owned()), ("heartbeat".into(), "3s".into())]);
        for bare in ["kafka://h", "kafka://h/", "kafka://h?client-id=y"] {
            assert_eq!(KafkaUrl::parse(bare).unwrap().topic, None, "{bare}");
        }
    }

    #[test]
    fn no_refusal_and_no_debug_text_repeats_the_password() {
        let bad = [
            "kafka://u:c4nary@h:port/t",
            "kafka://u:x@c4nary@h/t",
            "kafka://u:1/c4nary@h/t",
            "kafka://u:1#c4nary@h/t",
            "kafka://u:c4nary@/t",
            "kafka://:c4nary@h/t",
            "kafka://u:c4nary@h/bad topic",
            "kafka://u:c4nary@h:0/t",
            "kafka://u:c4nary@h/t?tls=c4nary",
            "kafka://u:c4nary@h/t?sasl=c4nary",
            "kafka://u:c4nary@h/t?request-timeout=c4nary",
            "kafka:u:c4nary@h/t",
            "http://u:c4nary@h/t",
        ];
        for url in bad {
            let error = KafkaUrl::parse(url).expect_err(url);
            assert!(!format!("{error} {error:?}").contains("c4nary"), "{url}: {error}");
        }
        let good = KafkaUrl::parse("kafka://u:c4nary@127.0.0.1/t").unwrap();
        assert!(!format!("{good:?} {good:#?} {}", good.options.label()).contains("c4nary"));
    }
}

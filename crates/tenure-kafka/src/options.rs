//! How to reach the brokers, for leases and sink alike.
//!
//! The password is private here, and no error repeats a part of a URL.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use tenure_core::StoreError;

use crate::url::KafkaUrl;

/// How to reach the brokers.
#[derive(Clone)]
#[non_exhaustive]
pub struct KafkaOptions {
    /// What the brokers' logs and quotas call this program. `tenure`.
    pub client_id: String,
    /// Whether connections are encrypted and the brokers' certificates checked. On where there is a password and a broker
    /// is not on this machine, else off, as Kafka itself. Needs the feature `tls`.
    pub tls: bool,
    /// Certificates to trust instead of the system's, as PEM.
    pub root_certificate: Option<PathBuf>,
    /// How the password is shown to the brokers. PLAIN; the others need the feature `tls`.
    pub sasl: SaslMechanism,
    /// How long a broker may take to answer one request. 5 s.
    pub request_timeout: Duration,
    /// Further properties of librdkafka, by their own names. What Tenure sets itself wins over them.
    pub properties: BTreeMap<String, String>,
    brokers: Vec<String>,
    credentials: Option<Credentials>,
}

/// How a password is shown to a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaslMechanism {
    /// As it is.
    Plain,
    /// By a salted challenge.
    ScramSha256,
    /// By a salted challenge.
    ScramSha512,
}

impl SaslMechanism {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

#[derive(Clone)]
struct Credentials {
    user: String,
    password: String,
}

/// Refuses a URL or a setting. The message never repeats what was given in a URL: it may hold a password.
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused { store: "kafka".into(), message: message.into() })
}

impl KafkaOptions {
    /// With these brokers, each `host:port`, and every default.
    pub fn new(brokers: Vec<String>) -> Result<Self, StoreError> {
        if brokers.is_empty() || brokers.iter().any(|broker| broker.is_empty() || broker.contains([',', '@']))
        {
            return refuse("brokers is empty or holds what is not host:port");
        }
        Ok(Self {
            client_id: "tenure".into(),
            tls: false,
            root_certificate: None,
            sasl: SaslMechanism::Plain,
            request_timeout: Duration::from_secs(5),
            properties: BTreeMap::new(),
            brokers,
            credentials: None,
        })
    }

    /// Reads the brokers and the common options of `kafka://user:password@b1:9092,b2:9092/topic?…`.
    ///
    /// Common options: `client-id`, `tls` (on, off), `ca` (a file of certificates), `sasl` (PLAIN, SCRAM-SHA-256,
    /// SCRAM-SHA-512), `request-timeout`, and `property.NAME` for a property of librdkafka. Others are refused.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        let url = KafkaUrl::parse(text)?;
        if !url.rest.is_empty() {
            return refuse(unknown_option("none"));
        }
        Ok(url.options)
    }

    /// With a user and a password. Turns TLS on unless every broker is on this machine.
    #[must_use]
    pub fn with_credentials(mut self, user: &str, password: &str) -> Self {
        self.tls = !self.brokers.iter().all(|broker| is_local(broker));
        self.credentials = Some(Credentials { user: user.into(), password: password.into() });
        self
    }

    /// The brokers, each `host:port`.
    pub fn brokers(&self) -> &[String] {
        &self.brokers
    }

    /// Takes one option from behind the `?`, and tells whether it is a common one.
    pub(crate) fn take(&mut self, key: &str, value: &str) -> Result<bool, StoreError> {
        match key {
            "client-id" => self.client_id = value.into(),
            "tls" => match value {
                "on" | "true" => self.tls = true,
                "off" | "false" => self.tls = false,
                _ => return refuse("tls in the Kafka URL is neither on nor off"),
            },
            "ca" => self.root_certificate = Some(PathBuf::from(value)),
            "sasl" => {
                self.sasl = match value.to_ascii_uppercase().as_str() {
                    "PLAIN" => SaslMechanism::Plain,
                    "SCRAM-SHA-256" => SaslMechanism::ScramSha256,
                    "SCRAM-SHA-512" => SaslMechanism::ScramSha512,
                    _ => {
                        return refuse(
                            "sasl in the Kafka URL is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
                        );
                    }
                }
            }
            "request-timeout" => self.request_timeout = duration("request-timeout", value)?,
            _ => match key.strip_prefix("property.") {
                Some(name) if !name.is_empty() => {
                    self.properties.insert(name.into(), value.into());
                }
                _ => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), StoreError> {
        if self.request_timeout < Duration::from_millis(10) || self.request_timeout > Duration::from_secs(300)
        {
            return refuse("request_timeout is not between 10 ms and 300 s");
        }
        if self.client_id.is_empty() || self.client_id.len() > 200 {
            return refuse("client_id is empty or longer than 200 bytes");
        }
        let needs_tls = self.tls || (self.credentials.is_some() && self.sasl != SaslMechanism::Plain);
        if needs_tls && !cfg!(feature = "tls") {
            return refuse(
                "TLS and SCRAM are not in this build (the feature `tls` of tenure-kafka); with a password, TLS is on \
                 for brokers that are not on this machine unless the URL says tls=off",
            );
        }
        if self.root_certificate.is_some() && !self.tls {
            return refuse("root_certificate (ca) is given but tls is off");
        }
        self.properties_are_known()
    }

    /// Has librdkafka look at its properties, without making a client. Values are not repeated: one may be a password.
    fn properties_are_known(&self) -> Result<(), StoreError> {
        let Err(KafkaError::ClientConfig(what, _, name, _)) = self.client().create_native_config() else {
            return Ok(());
        };
        let why = match what {
            RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN => "is not known to librdkafka",
            _ => "has a value that librdkafka refuses",
        };
        // A name that no property could have is perhaps none: something else may have got into its place.
        let plain =
            name.contains('.') && name.chars().all(|char| char.is_ascii_lowercase() || "._".contains(char));
        match plain {
            true => refuse(format!("the property {name} (property.{name} in the Kafka URL) {why}")),
            false => refuse(format!("a property in the Kafka URL (property.…) {why}")),
        }
    }

    /// What errors and logs call this cluster: no user, no password, no options.
    pub fn label(&self) -> String {
        format!("kafka://{}", self.brokers.join(","))
    }

    /// The client's configuration, on which lease and sink set their own.
    pub(crate) fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        for (name, value) in &self.properties {
            config.set(name, value);
        }
        config
            .set("bootstrap.servers", self.brokers.join(","))
            .set("client.id", &self.client_id)
            .set("socket.timeout.ms", self.request_timeout.as_millis().to_string())
            .set("socket.nagle.disable", "true");
        let protocol = match (&self.credentials, self.tls) {
            (None, false) => "plaintext",
            (None, true) => "ssl",
            (Some(_), false) => "sasl_plaintext",
            (Some(_), true) => "sasl_ssl",
        };
        // A protocol among the properties stays where the URL says nothing of its own: Kerberos is set up that way.
        if protocol != "plaintext" || !self.properties.contains_key("security.protocol") {
            config.set("security.protocol", protocol);
        }
        if let Some(path) = &self.root_certificate {
            config.set("ssl.ca.location", path.display().to_string());
        }
        if let Some(Credentials { user, password }) = &self.credentials {
            config
                .set("sasl.mechanisms", self.sasl.name())
                .set("sasl.username", user)
                .set("sasl.password", password);
        }
        config
    }
}

/// What is said of an option that nobody knows. It is not named: behind a stray `?` it may be part of a password.
pub(crate) fn unknown_option(own: &str) -> String {
    format!(
        "the Kafka URL holds an option that is not known; known are client-id, tls, ca, sasl, request-timeout, \
         property.NAME, and of its own: {own} (a `?` in a password must be written as %3F)"
    )
}

/// Reads `3s`, `500ms`, `1m`.
pub(crate) fn duration(key: &str, value: &str) -> Result<Duration, StoreError> {
    match humantime::parse_duration(value) {
        Ok(duration) => Ok(duration),
        Err(_) => refuse(format!("{key} in the Kafka URL is no time such as 3s or 500ms")),
    }
}

/// Whether a broker, `host:port`, is on this machine.
fn is_local(broker: &str) -> bool {
    let host = broker.rsplit_once(':').map_or(broker, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Without the password and without the user; of the properties only the names.
impl fmt::Debug for KafkaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaOptions")
            .field("brokers", &self.brokers)
            .field("client_id", &self.client_id)
            .field("tls", &self.tls)
            .field("root_certificate", &self.root_certificate)
            .field("sasl", &self.sasl)
            .field("request_timeout", &self.request_timeout)
            .field("properties", &self.properties.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_turns_tls_on_for_other_machines() {
        let options = |broker: &str| KafkaOptions::new(vec![broker.into()]).unwrap();
        assert!(options("b.example:9092").with_credentials("u", "p").tls);
        for local in ["localhost:1", "127.0.0.1:1", "[::1]:1"] {
            assert!(!options(local).with_credentials("u", "p").tls, "{local}");
        }
        assert!(!options("b.example:9092").tls, "as Kafka itself");
        let config = options("localhost:1").with_credentials("u", "p").client();
        assert_eq!(config.get("security.protocol"), Some("sasl_plaintext"));
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn what_this_build_cannot_do_is_refused() {
        let mut options = KafkaOptions::new(vec!["h:1".into()]).unwrap();
        assert!(options.validate().is_ok());
        options.tls = true;
        assert!(options.validate().unwrap_err().to_string().contains("`tls`"));
    }

    #[test]
    fn a_property_that_librdkafka_does_not_take_is_refused_with_the_url() {
        for (bad, why) in [("no.such.thing=c4nary", "is not known"), ("linger.ms=c4nary", "has a value")] {
            let error = KafkaOptions::from_url(&format!("kafka://h:1/t?property.{bad}")).unwrap_err();
            let told = error.to_string();
            assert!(matches!(error, StoreError::Refused { .. }), "{told}");
            assert!(told.contains(why) && told.contains(bad.split('=').next().unwrap()), "{told}");
            assert!(!told.contains("c4nary"), "{told}");
        }
    }

    #[test]
    fn our_own_properties_win() {
        let options =
            KafkaOptions::from_url("kafka://h:1/t?property.client.id=x&property.linger.ms=7&client-id=y")
                .unwrap();
        let config = options.client();
        assert_eq!((config.get("client.id"), config.get("linger.ms")), (Some("y"), Some("7")));
        assert!(KafkaOptions::from_url("kafka://h/t?nonsense=1").is_err());
    }
}

//! How the sinks are set up; there in every build, so that options can be passed on without a feature.

use std::fmt;
use std::time::Duration;

use super::SinkError;

/// The longest token and secret, in bytes: servers take no longer header, and what is longer could not be struck from an
/// answer that repeats it.
const SECRET_MAX_BYTES: usize = 8 * 1024;
/// No request takes longer, whatever the options say.
const TIMEOUT_MAX: Duration = Duration::from_secs(60 * 60);

/// A word that must not be seen: shown as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the word.
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// The word itself, for whoever has to use it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(word: String) -> Self {
        Self(word)
    }
}

impl From<&str> for Secret {
    fn from(word: &str) -> Self {
        Self::new(word)
    }
}

/// How messages are posted.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Sent as `authorization: Bearer …`. None by default.
    pub token: Option<Secret>,
    /// What requests are signed with. None by default: requests are not signed.
    pub signing_secret: Option<Secret>,
    /// How long a delivery may take, from the look-up of the host's name to the end of the answer. 30 s.
    pub timeout: Duration,
    /// How long a connection may take: name, TCP and TLS together. 5 s.
    pub connect_timeout: Duration,
    /// How long an unused connection is kept. 60 s; a receiver that closes sooner should be matched, since a request that
    /// meets a closing connection is a failed attempt.
    pub idle_timeout: Duration,
    /// How many unused connections are kept. 64.
    pub idle_connections: usize,
    /// Certificates, in PEM, that are trusted besides the system's.
    pub root_certificates: Vec<Vec<u8>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            token: None,
            signing_secret: None,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            idle_connections: 64,
            root_certificates: Vec::new(),
        }
    }
}

impl HttpOptions {
    /// The environment's variable that holds the bearer token.
    pub const TOKEN_VARIABLE: &'static str = "TENURE_HTTP_TOKEN";
    /// The environment's variable that holds the secret to sign with.
    pub const SECRET_VARIABLE: &'static str = "TENURE_HTTP_SECRET";

    /// The defaults with the token and the secret of the environment. A variable that is empty counts as not set.
    pub fn from_env() -> Result<Self, SinkError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(read: impl Fn(&str) -> Option<std::ffi::OsString>) -> Result<Self, SinkError> {
        let secret = |name: &'static str| secret(name, read(name));
        Ok(Self {
            token: secret(Self::TOKEN_VARIABLE)?,
            signing_secret: secret(Self::SECRET_VARIABLE)?,
            ..Self::default()
        })
    }

    /// Trusts a certificate, in PEM, besides the system's.
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), SinkError> {
        let Self { token, signing_secret, timeout, connect_timeout, .. } = self;
        let refused = |option, message: &str| Err(SinkError::BadOption { option, message: message.into() });
        if let Some(token) = token {
            // The characters of RFC 6750 and those that people's tokens have besides; no space, nothing that ends a line.
            if !token.expose().bytes().all(|b| b.is_ascii_graphic()) {
                return refused("http token", "holds what is no visible ASCII character");
            }
        }
        for (option, secret) in [("http token", token), ("http signing secret", signing_secret)] {
            let Some(secret) = secret else { continue };
            if !(1..=SECRET_MAX_BYTES).contains(&secret.expose().len()) {
                return refused(option, &format!("has not between 1 and {SECRET_MAX_BYTES} bytes"));
            }
        }
        for (option, span) in [("http timeout", timeout), ("http connect timeout", connect_timeout)] {
            if span.is_zero() || *span > TIMEOUT_MAX {
                return refused(option, &format!("{span:?} is not above 0 and at most 1 h"));
            }
        }
        Ok(())
    }
}

/// How messages are published to NATS.
#[derive(Debug, Clone)]
pub struct NatsOptions {
    /// How long an acknowledgement may take, from the moment that the message is handed to the connection; a connection that
    /// is being made again is waited for within it. 5 s.
    pub timeout: Duration,
    /// How long a connection may take. 5 s.
    pub connect_timeout: Duration,
    /// Shown to the server instead of what the URL holds before its `@`. None by default.
    pub token: Option<Secret>,
    /// Certificates, in PEM, that are trusted besides the system's.
    pub root_certificates: Vec<Vec<u8>>,
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            token: None,
            root_certificates: Vec::new(),
        }
    }
}

impl NatsOptions {
    /// The environment's variable that holds the token.
    pub const TOKEN_VARIABLE: &'static str = "TENURE_NATS_TOKEN";

    /// The defaults with the token of the environment. A variable that is empty counts as not set.
    pub fn from_env() -> Result<Self, SinkError> {
        let token = secret(Self::TOKEN_VARIABLE, std::env::var_os(Self::TOKEN_VARIABLE))?;
        Ok(Self { token, ..Self::default() })
    }

    /// Trusts a certificate, in PEM, besides the system's.
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), SinkError> {
        let refused = |option, message: String| Err(SinkError::BadOption { option, message });
        if let Some(token) = &self.token
            && !(1..=SECRET_MAX_BYTES).contains(&token.expose().len())
        {
            return refused("nats token", format!("has not between 1 and {SECRET_MAX_BYTES} bytes"));
        }
        for (option, span) in [("nats timeout", self.timeout), ("nats connect timeout", self.connect_timeout)]
        {
            if span.is_zero() || span > TIMEOUT_MAX {
                return refused(option, format!("{span:?} is not above 0 and at most 1 h"));
            }
        }
        Ok(())
    }
}

/// How messages are produced to Kafka; the URL says the rest.
#[derive(Debug, Clone)]
pub struct KafkaSinkOptions {
    /// How long the delivery reports of a batch may take; then everything is taken out of the producer. 10 s.
    pub timeout: Duration,
}

impl Default for KafkaSinkOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10) }
    }
}

impl KafkaSinkOptions {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), SinkError> {
        match self.timeout.is_zero() || self.timeout > TIMEOUT_MAX {
            false => Ok(()),
            true => {
                let message = format!("{:?} is not above 0 and at most 1 h", self.timeout);
                Err(SinkError::BadOption { option: "kafka timeout", message })
            }
        }
    }
}

/// A secret from the environment; an empty one is none.
fn secret(name: &'static str, value: Option<std::ffi::OsString>) -> Result<Option<Secret>, SinkError> {
    match value.map(std::ffi::OsString::into_string) {
        None => Ok(None),
        Some(Ok(word)) => Ok((!word.is_empty()).then(|| Secret::new(word))),
        Some(Err(_)) => Err(SinkError::BadOption { option: name, message: "is not UTF-8".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_gives_token_and_secret_and_an_empty_variable_gives_none() {
        let read = |name: &str| (name == "TENURE_HTTP_TOKEN").then(|| "t0k".into());
        let options = HttpOptions::from_variables(read).unwrap();
        assert_eq!(options.token, Some("t0k".into()));
        assert_eq!(options.signing_secret, None);
        let options = HttpOptions::from_variables(|_| Some("".into())).unwrap();
        assert_eq!((options.token, options.signing_secret), (None, None));
    }

    #[test]
    fn what_cannot_be_a_header_is_no_token_and_is_not_repeated() {
        let with = |token: &str| HttpOptions { token: Some(token.into()), ..HttpOptions::default() };
        for token in ["a b", "a\r\nhost: evil", "ä"] {
            let refusal = with(token).validate().unwrap_err().to_string();
            assert_eq!(refusal, "http token: holds what is no visible ASCII character");
        }
        for token in ["".to_owned(), "t".repeat(SECRET_MAX_BYTES + 1)] {
            let refusal = with(&token).validate().unwrap_err().to_string();
            assert_eq!(refusal, "http token: has not between 1 and 8192 bytes");
        }
        let options = HttpOptions { timeout: Duration::ZERO, ..HttpOptions::default() };
        assert!(options.validate().unwrap_err().to_string().contains("http timeout: 0ns"));
        let options = HttpOptions { connect_timeout: Duration::MAX, ..HttpOptions::default() };
        assert!(options.validate().is_err());
        assert_eq!(HttpOptions::default().validate(), Ok(()));
    }
}

//! Where messages go: what a `nats://` URL says.

use url::Url;

use super::subject::Subject;
use crate::sink::{Secret, SinkError};

/// When a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    /// When the server asks for it.
    AsServer,
    /// Always; the server says so in plain text first, as NATS has it.
    On,
    /// Always, and from the first byte on.
    First,
}

/// What is shown to the server.
pub(super) enum Login {
    Nobody,
    Token(Secret),
    User { name: Secret, password: Secret },
}

/// The server's URL taken apart.
pub(super) struct Target {
    /// Without user and password: the client writes it to its log.
    pub(super) address: String,
    pub(super) subject: Subject,
    pub(super) login: Login,
    pub(super) tls: Tls,
    /// What logs and metrics call it.
    pub(super) name: String,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, SinkError> {
        // None of these errors repeats the text.
        let unusable = |message: &str| SinkError::BadUrl { message: message.into() };
        let url = Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
        if url.scheme() != "nats" {
            return Err(unusable("its scheme is not nats:"));
        }
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| unusable("it names no host"))?;
        if url.fragment().is_some() {
            return Err(unusable("it holds a `#`; in a password write %23"));
        }
        if lacks_password(text) {
            return Err(unusable(
                "it holds a `:` before its `@` and no password behind it; write user:password@, or token@ for a token",
            ));
        }
        let decoded = |text: &str| decode(text).ok_or_else(|| unusable("it holds a % that is no UTF-8"));
        let subject = decoded(url.path().strip_prefix('/').unwrap_or_default())?;
        let subject = Subject::parse(&subject).map_err(unusable)?;
        let login = match (url.username(), url.password()) {
            ("", None) => Login::Nobody,
            ("", Some(_)) => {
                return Err(unusable(
                    "it holds a password and no user; write user:password@, or token@ for a token",
                ));
            }
            (token, None) => Login::Token(decoded(token)?.into()),
            (name, Some(password)) => {
                Login::User { name: decoded(name)?.into(), password: decoded(password)?.into() }
            }
        };
        let mut tls = Tls::AsServer;
        for (key, value) in url.query_pairs() {
            tls = match (&*key, &*value) {
                ("tls", "on") => Tls::On,
                ("tls", "first") => Tls::First,
                _ => {
                    let message = "it holds an option that is not known; known is tls=on or tls=first (a `?` in a \
                                   password must be written as %3F)";
                    return Err(unusable(message));
                }
            };
        }
        let address = format!("nats://{host}:{}", url.port().unwrap_or(4222));
        let name = format!("{address}/{}", subject.pattern());
        Ok(Self { address, subject, login, tls, name })
    }
}

/// Whether an empty password is given. The parser leaves it out, and what is left looks like a token.
fn lacks_password(text: &str) -> bool {
    // The parser passes over these, wherever they stand.
    let text: String = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let authority = text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(login, _)| login.ends_with(':'))
}

fn decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else { return None };
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        bytes.push(digit(*high)? << 4 | digit(*low)?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_server_login_and_subject() {
        let target = Target::parse("nats://ann:p%40ss@Host/orders.{topic}?tls=on").unwrap();
        assert_eq!(target.address, "nats://Host:4222");
        assert_eq!(target.name, "nats://Host:4222/orders.{topic}");
        assert_eq!(target.tls, Tls::On);
        assert_eq!(target.subject.of("a"), "orders.a");
        let Login::User { name, password } = target.login else { panic!("no user") };
        assert_eq!((name.expose(), password.expose()), ("ann", "p@ss"));
        let target = Target::parse("nats://t0ken@[::1]:99/a%2Fb?tls=first").unwrap();
        assert_eq!((target.address.as_str(), target.tls), ("nats://[::1]:99", Tls::First));
        assert!(matches!(target.login, Login::Token(token) if token.expose() == "t0ken"));
        assert!(matches!(Target::parse("nats://h/a").unwrap().login, Login::Nobody));
    }

    #[test]
    fn half_a_login_is_refused_and_does_not_become_a_token() {
        for bad in ["nats://:c4nary@h/a", "nats://c4nary:@h/a", "nats://c4nary:\t@h/a", "nats://:@h/a"] {
            let Err(error) = Target::parse(bad) else { panic!("{bad:?} is taken") };
            let error = error.to_string();
            assert!(error.contains("user:password@") && !error.contains("c4nary"), "{error}");
        }
        assert!(Target::parse("nats://h:4222/a:@b").is_ok(), "a subject is no login");
    }

    #[test]
    fn what_a_url_cannot_say_is_refused() {
        for bad in [
            "nats:",
            "nats:///a",
            "nats://h",
            "nats://h/",
            "nats://h/a?tls=off",
            "nats://h/a?x=1",
            "nats://h/a#b",
            "nats://h/%ff",
            "nats://h/%2",
            "nats://h:99999/a",
            "http://h/a",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}

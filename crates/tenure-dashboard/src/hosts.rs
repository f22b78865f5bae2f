//! Which hosts a request may name.
//!
//! A page of somebody else's can make its own name stand for 127.0.0.1 (DNS rebinding), and then its scripts talk to a dashboard
//! there as if it were theirs. Such a request names the other host. So a request that names one that is not ours is not
//! answered, whoever sent it.

use axum::http::header::HOST;
use axum::http::{HeaderMap, Uri};

/// The longest host that is looked at.
const HOST_MAX_BYTES: usize = 300;

/// The hosts that a dashboard answers to, as they stand in the address line of a browser.
#[derive(Debug, Clone)]
pub struct Hosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Loopback,
    Named { name: String, port: Option<u16> },
    Any,
}

/// A name that cannot be a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host: write for example ops.example.com, ops.example.com:8443 or [2001:db8::1]")]
pub struct HostError(String);

impl Hosts {
    /// `localhost`, `127.0.0.1` and `[::1]`, at any port.
    pub fn loopback() -> Self {
        Self(vec![Entry::Loopback])
    }

    /// These, each at any port, or at the port it is given with. With 443 or 80 a request that names no port fits too, for browsers
    /// leave those out.
    pub fn these<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<Self, HostError> {
        let entry = |name: N| {
            let (name, port) = split(name.as_ref()).ok_or_else(|| HostError(shorten(name.as_ref())))?;
            Ok(Entry::Named { name, port })
        };
        Ok(Self(names.into_iter().map(entry).collect::<Result<_, _>>()?))
    }

    /// These, and this machine.
    #[must_use]
    pub fn and_loopback(mut self) -> Self {
        self.0.push(Entry::Loopback);
        self
    }

    /// Any: the application or the proxy in front checks it. Without such a check a dashboard can be read by any page that an
    /// operator's browser opens, if his browser can reach it and is let in without a token.
    pub fn checked_by_the_app() -> Self {
        Self(vec![Entry::Any])
    }

    fn has(&self, host: &str) -> bool {
        let Some((name, port)) = split(host) else { return false };
        self.0.iter().any(|entry| match entry {
            Entry::Any => true,
            Entry::Loopback => is_loopback_name(&name),
            Entry::Named { name: ours, port: None } => *ours == name,
            // Browsers leave out the port that the scheme has by itself.
            Entry::Named { name: ours, port: Some(ours_port) } => {
                *ours == name && port.map_or(matches!(ours_port, 80 | 443), |port| port == *ours_port)
            }
        })
    }
}

/// The host that a request names, if it names exactly one and that is ours.
pub(crate) fn check(hosts: &Hosts, uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let named = named(uri, headers)?;
    hosts.has(&named).then_some(named)
}

/// The one host that a request names.
pub(crate) fn named(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(HOST).iter();
    let host = match values.next() {
        Some(value) => Some(value.to_str().ok()?),
        None => None,
    };
    if values.next().is_some() {
        return None;
    }
    // A request line may name a host itself, and HTTP/2 does; then both have to agree.
    match (host, uri.authority().map(|authority| authority.as_str())) {
        (Some(host), None) => Some(host.to_owned()),
        (None, Some(authority)) => Some(authority.to_owned()),
        (Some(host), Some(authority)) => host.eq_ignore_ascii_case(authority).then(|| host.to_owned()),
        (None, None) => None,
    }
}

/// Whether a host is this machine by its name, with any port.
pub(crate) fn is_loopback(host: &str) -> bool {
    split(host).is_some_and(|(name, _)| is_loopback_name(&name))
}

fn is_loopback_name(name: &str) -> bool {
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// Name in lower case, and port.
fn split(host: &str) -> Option<(String, Option<u16>)> {
    if host.len() > HOST_MAX_BYTES || !host.is_ascii() {
        return None;
    }
    let end = if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, rest) = host.split_at_checked(end)?;
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        None => return None,
        Some(port) if (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(port.parse().ok()?)
        }
        Some(_) => return None,
    };
    let name = name.to_ascii_lowercase();
    let good = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_name(&name),
    };
    good.then_some((name, port))
}

/// Letters, digits and hyphens between dots; a dot at the end is refused, for cookies and pages know no such host.
fn is_name(name: &str) -> bool {
    let good = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.split('.').all(good)
}

fn shorten(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_three_names_and_nothing_that_looks_like_them() {
        let hosts = Hosts::loopback();
        for good in ["localhost", "LOCALHOST:7070", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:7070"] {
            assert!(hosts.has(good), "{good}");
        }
        for bad in [
            "",
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.nip.io",
            "localhost.",
            "localhost:",
            "localhost:x",
            "localhost:123456",
            "localhost:99999",
            "127.0.0.1:7070:1",
            "[::1",
            "[::1]7070",
            "[::2]",
            "::1",
            "127.1",
            "0.0.0.0",
            "localhost@evil.test",
            "evil.test#localhost",
            "localhost/",
            " localhost",
            "löcalhost",
            "127.0.0.2",
        ] {
            assert!(!hosts.has(bad), "{bad}");
        }
        assert!(!hosts.has(&"a".repeat(10_000)));
    }

    #[test]
    fn a_port_that_is_given_is_the_only_one() {
        let hosts = Hosts::these(["ops.example.com", "Other.Example.com:8443"]).unwrap();
        for good in ["ops.example.com", "ops.example.com:1234", "OPS.example.COM", "other.example.com:8443"] {
            assert!(hosts.has(good), "{good}");
        }
        for bad in ["other.example.com", "other.example.com:443", "x.ops.example.com", "localhost"] {
            assert!(!hosts.has(bad), "{bad}");
        }
        assert!(hosts.and_loopback().has("localhost"));
        let usual = Hosts::these(["ops.example.com:443", "plain.example.com:80"]).unwrap();
        for good in ["ops.example.com", "ops.example.com:443", "plain.example.com", "plain.example.com:80"] {
            assert!(usual.has(good), "{good}");
        }
        assert!(!usual.has("ops.example.com:8443") && !usual.has("ops.example.com:80"));
        for bad in ["", "a b", "http://ops.example.com", "*.example.com", "ops.example.com/x"] {
            assert!(Hosts::these([bad]).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_that_is_not_one_of_three_names_is_loopback(host in "[a-zA-Z0-9.:\\[\\]%@/é-]{0,40}") {
            let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host.as_str(), |(name, _)| name);
            let ours = ["localhost", "127.0.0.1", "[::1]"].contains(&name.to_ascii_lowercase().as_str());
            proptest::prop_assert!(ours || !is_loopback(&host), "{host}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let uri: Uri = "/".parse().unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(named(&uri, &headers), None);
        headers.append(HOST, "localhost".parse().unwrap());
        assert_eq!(named(&uri, &headers).unwrap(), "localhost");
        assert_eq!(named(&"http://localhost/".parse().unwrap(), &headers).unwrap(), "localhost");
        assert_eq!(named(&"http://evil.test/".parse().unwrap(), &headers), None);
        headers.append(HOST, "localhost".parse().unwrap());
        assert_eq!(named(&uri, &headers), None);
    }
}

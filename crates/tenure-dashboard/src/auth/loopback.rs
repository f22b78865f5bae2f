//! Looking without tokens, on this machine only.
//!
//! Whoever has an account on the machine may look, and nobody may act. A proxy on the machine would turn the whole world into
//! this machine; so what came through one is refused as far as the request tells.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::header::{ORIGIN, REFERER};
use axum::http::{Extensions, HeaderMap, Version};

use crate::hosts;

/// What proxies add to a request.
const PROXY_HEADERS: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
    "x-client-ip",
];

/// Where a request came from, if the server that took it tells.
pub(crate) fn peer(extensions: &Extensions) -> Option<SocketAddr> {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0)
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It came from another machine.
    Peer,
    /// Nobody told from where it came.
    Unknown,
    /// A proxy stands between.
    Proxy,
}

impl Outside {
    /// In words.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Peer => "without tokens this dashboard answers only requests from its own machine",
            Self::Unknown => {
                "without tokens this dashboard answers only requests from its own machine, and the server it is mounted in \
                 does not tell where requests come from (into_make_service_with_connect_info); configure tokens"
            }
            Self::Proxy => "the request came through a proxy, and no tokens are configured; configure tokens",
        }
    }
}

/// Whether a request comes from this machine. With `proxies` it may have come through one.
///
/// A proxy need not say that it is one: nginx adds nothing unless it is told to, and names this machine as the host. But it speaks
/// HTTP/1.0, which no browser does, and a browser behind it says which page it comes from.
pub(crate) fn check(
    (version, extensions, headers): (Version, &Extensions, &HeaderMap),
    proxies: bool,
) -> Result<(), Outside> {
    let peer = peer(extensions).ok_or(Outside::Unknown)?;
    if !peer.ip().to_canonical().is_loopback() {
        return Err(Outside::Peer);
    }
    let told = PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
    if !proxies && (told || version < Version::HTTP_11 || comes_from_elsewhere(headers)) {
        return Err(Outside::Proxy);
    }
    Ok(())
}

/// Whether a browser comes from a page that is not of this machine.
fn comes_from_elsewhere(headers: &HeaderMap) -> bool {
    let pages = [ORIGIN, REFERER].into_iter().flat_map(|name| headers.get_all(name));
    pages.into_iter().any(|page| {
        let host = page.to_str().ok().and_then(|page| page.split_once("://")).map(|(_, rest)| rest);
        let host = host.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or(rest));
        !host.is_some_and(hosts::is_loopback)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(address: &str) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo(address.parse::<SocketAddr>().unwrap()));
        extensions
    }

    #[test]
    fn only_this_machine_is_let_in() {
        let none = HeaderMap::new();
        for address in ["127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(check((Version::HTTP_11, &from(address), &none), false), Ok(()), "{address}");
        }
        for address in ["10.0.0.1:1", "192.168.1.2:1", "[fe80::1]:1", "0.0.0.0:1", "[::ffff:10.0.0.1]:1"] {
            assert_eq!(
                check((Version::HTTP_11, &from(address), &none), false),
                Err(Outside::Peer),
                "{address}"
            );
        }
        assert_eq!(check((Version::HTTP_11, &Extensions::new(), &none), false), Err(Outside::Unknown));
    }

    #[test]
    fn what_came_through_a_proxy_is_refused() {
        for name in PROXY_HEADERS {
            let mut headers = HeaderMap::new();
            headers.insert(name, "127.0.0.1".parse().unwrap());
            assert_eq!(
                check((Version::HTTP_11, &from("127.0.0.1:1"), &headers), false),
                Err(Outside::Proxy),
                "{name}"
            );
        }
    }
    /// nginx as it is: `proxy_pass http://127.0.0.1:7070;` and nothing else.
    #[test]
    fn a_proxy_that_does_not_say_so_is_refused_too() {
        let (here, none) = (from("127.0.0.1:1"), HeaderMap::new());
        assert_eq!(check((Version::HTTP_10, &here, &none), false), Err(Outside::Proxy));
        assert_eq!(check((Version::HTTP_2, &here, &none), false), Ok(()));
        for (page, fits) in [
            ("http://127.0.0.1:7070/_tenure", true),
            ("http://localhost:7070", true),
            ("https://ops.example.com/_tenure/dead", false),
            ("https://localhost.evil.test/", false),
            ("null", false),
        ] {
            for name in [ORIGIN, REFERER] {
                let mut headers = HeaderMap::new();
                headers.insert(name, page.parse().unwrap());
                assert_eq!(check((Version::HTTP_11, &here, &headers), false).is_ok(), fits, "{page}");
            }
        }
    }
}

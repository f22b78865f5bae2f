//! Looking without tokens, on this machine only.
//!
//! Whoever has an account on the machine may look, and nobody may act. A proxy on the machine would turn the whole world into
//! this machine; so what came through one is refused as far as the request tells.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::Extensions;
use axum::http::HeaderMap;

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
pub(crate) fn check(extensions: &Extensions, headers: &HeaderMap, proxies: bool) -> Result<(), Outside> {
    let peer = peer(extensions).ok_or(Outside::Unknown)?;
    if !peer.ip().to_canonical().is_loopback() {
        return Err(Outside::Peer);
    }
    if !proxies && PROXY_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        return Err(Outside::Proxy);
    }
    Ok(())
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
            assert_eq!(check(&from(address), &none, false), Ok(()), "{address}");
        }
        for address in ["10.0.0.1:1", "192.168.1.2:1", "[fe80::1]:1", "0.0.0.0:1", "[::ffff:10.0.0.1]:1"] {
            assert_eq!(check(&from(address), &none, false), Err(Outside::Peer), "{address}");
        }
        assert_eq!(check(&Extensions::new(), &none, false), Err(Outside::Unknown));
    }

    #[test]
    fn what_came_through_a_proxy_is_refused() {
        for name in PROXY_HEADERS {
            let mut headers = HeaderMap::new();
            headers.insert(name, "127.0.0.1".parse().unwrap());
            assert_eq!(check(&from("127.0.0.1:1"), &headers, false), Err(Outside::Proxy), "{name}");
        }
    }
}

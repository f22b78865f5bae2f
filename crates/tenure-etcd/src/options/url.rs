//! Reading a URL. A URL with several hosts is none for the usual readers, so it is taken apart here.

use std::path::PathBuf;
use std::time::Duration;

use tenure_core::StoreError;
use url::form_urlencoded;

use super::{EtcdOptions, PORT, PREFIX, TlsFiles, refuse};

const LOOKS_LIKE: &str = "it looks like etcd://user:password@host:port,host:port/prefix";

pub(super) fn read(text: &str) -> Result<EtcdOptions, StoreError> {
    let (tls, rest) = match (text.strip_prefix("etcd://"), text.strip_prefix("etcds://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        (None, None) => {
            return refuse(format!("the etcd URL does not begin with etcd:// or etcds://; {LOOKS_LIKE}"));
        }
    };
    if rest.contains('#') {
        return refuse("the etcd URL holds a `#`; in a password it must be written as %23");
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (Some(credentials(user)?), hosts),
        None => (None, authority),
    };
    let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
    let mut options = EtcdOptions {
        prefix: prefix(path),
        connect_timeout: Duration::from_secs(5),
        request_timeout: Duration::from_secs(2),
        tls,
        tls_files: TlsFiles::default(),
        hosts,
        user,
    };
    let (mut certificate, mut key) = (None, None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "tls" => options.tls = truth(&value, tls)?,
            "ca" => options.tls_files.authority = Some(PathBuf::from(&*value)),
            "cert" => certificate = Some(PathBuf::from(&*value)),
            "key" => key = Some(PathBuf::from(&*value)),
            "connect_timeout" => options.connect_timeout = seconds("connect_timeout", &value)?,
            "request_timeout" => options.request_timeout = seconds("request_timeout", &value)?,
            // The option is not named in the message: behind a stray `?` it may be part of a password.
            _ => {
                return refuse(
                    "the etcd URL holds an option that is not known; known are tls, ca, cert, key, connect_timeout, \
                     request_timeout (and a `?` in a password must be written as %3F)",
                );
            }
        }
    }
    options.tls_files.identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return refuse("the etcd URL names only one of cert and key; they go together"),
    };
    options.validate()?;
    Ok(options)
}

fn credentials(text: &str) -> Result<(String, String), StoreError> {
    let Some((user, password)) = text.split_once(':') else {
        return refuse("the etcd URL names a user without a password; etcd lets nobody in without one");
    };
    if text.contains('@') || password.contains(':') {
        return refuse(
            "user and password of the etcd URL cannot be told apart; write `@` as %40 and `:` as %3A in them",
        );
    }
    if user.is_empty() || password.is_empty() {
        return refuse("the etcd URL has an empty user or an empty password");
    }
    Ok((decoded(user), decoded(password)))
}

/// One host with its port, as connections want it.
fn host(text: &str) -> Result<String, StoreError> {
    let with_port = match text.rsplit_once(':') {
        // The last colon of an address of version 6 without a port is within its brackets.
        Some((_, tail)) if !tail.contains(']') => text.to_owned(),
        _ => format!("{text}:{PORT}"),
    };
    let parsed = url::Url::parse(&format!("etcd://{with_port}"));
    let sound = parsed.is_ok_and(|url| {
        url.port().is_some_and(|port| port != 0)
            && url.host_str().is_some_and(|host| !host.is_empty() && !host.contains(['%', '@', ' ', '\\']))
            && url.path().is_empty()
    });
    if sound {
        Ok(with_port)
    } else {
        refuse(format!(
            "a host of the etcd URL cannot be read; {LOOKS_LIKE}, with special characters of the password \
             percent-encoded: an at sign as %40, `/` as %2F"
        ))
    }
}

/// The prefix ends in a slash, so that `a` and `ab` never share keys.
fn prefix(path: &str) -> String {
    let path = decoded(path.trim_matches('/'));
    if path.is_empty() { PREFIX.to_owned() } else { format!("{path}/") }
}

fn truth(value: &str, by_scheme: bool) -> Result<bool, StoreError> {
    match value {
        "true" => Ok(true),
        "false" if by_scheme => refuse("the etcd URL begins with etcds:// and says tls=false"),
        "false" => Ok(false),
        _ => refuse("tls in the etcd URL is neither true nor false"),
    }
}

fn seconds(name: &str, value: &str) -> Result<Duration, StoreError> {
    let parsed = value.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match parsed {
        Some(span) => Ok(span),
        None => refuse(format!("{name} in the etcd URL is not a number of seconds")),
    }
}

/// Percent-decoded; a plus is a plus.
fn decoded(part: &str) -> String {
    let pair = format!("x={}", part.replace('+', "%2B").replace('&', "%26"));
    form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_ok(text: &str) -> EtcdOptions {
        read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn hosts_prefix_user_and_timeouts_are_read() {
        let plain = read_ok("etcd://localhost");
        assert_eq!((plain.hosts, plain.prefix.as_str()), (vec!["localhost:2379".to_owned()], PREFIX));
        assert_eq!((plain.tls, plain.user), (false, None));
        let full = read_ok(
            "etcd://u%40x:p%2F%3a+&@a:1,[::1],[::1]:2,b/my/app?request_timeout=0.5&connect_timeout=7",
        );
        assert_eq!(full.hosts, ["a:1", "[::1]:2379", "[::1]:2", "b:2379"]);
        assert_eq!((full.prefix.as_str(), full.user), ("my/app/", Some(("u@x".into(), "p/:+&".into()))));
        assert_eq!(full.request_timeout, Duration::from_millis(500));
        assert_eq!(full.connect_timeout, Duration::from_secs(7));
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_repeating_it() {
        let secret = "hunter2";
        for bad in [
            "etcd://",
            "http://u:hunter2@a",
            "etcd://u:hunter2@",
            "etcd://u:hunter2@a:0",
            "etcd://u:hunter2@a:x",
            "etcd://u:hunter2@a,,b",
            "etcd://u:hunter2@a b",
            "etcd://u:hunter2/@a",
            "etcd://u:hunter2?@a",
            "etcd://u:hunter2#@a",
            "etcd://u:hunter2@x@a",
            "etcd://hunter2@a",
            "etcd://:hunter2@a",
            "etcd://u:hunter2@a?hunter2=1",
            "etcd://u:hunter2@a?tls=hunter2",
            "etcd://u:hunter2@a?request_timeout=hunter2",
            "etcd://u:hunter2@a?request_timeout=0",
            "etcd://u:hunter2@a?request_timeout=-1",
            "etcd://u:hunter2@a?connect_timeout=601",
            "etcd://u:hunter2@a?ca=hunter2",
            "etcd://u:hunter2@a?tls=true&cert=hunter2",
            "etcds://u:hunter2@a?tls=false",
            "etcd://u:hunter2@a/%00",
        ] {
            let error = read(bad).expect_err(bad);
            assert!(matches!(error, StoreError::Refused { .. }), "{bad}: {error:?}");
            assert!(!format!("{error} {error:?}").contains(secret), "{bad}: {error:?}");
        }
    }

    #[test]
    fn the_password_is_shown_nowhere() {
        let options = read_ok("etcd://u:hunter2@a");
        let shown = format!("{options:?} {} {:?}", options.label(), options.notes());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("plain text"), "a password in the clear is told: {shown}");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn tls_is_asked_for_by_the_scheme_or_by_an_option() {
        let by_scheme = read_ok("etcds://a?ca=ca.pem&cert=c.pem&key=k.pem");
        assert!(by_scheme.tls && read_ok("etcd://a?tls=true").tls && !read_ok("etcd://a?tls=false").tls);
        assert_eq!(by_scheme.tls_files.authority, Some("ca.pem".into()));
        assert_eq!(by_scheme.tls_files.identity, Some(("c.pem".into(), "k.pem".into())));
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn without_the_feature_tls_is_refused_by_its_name() {
        let error = read("etcds://a").expect_err("no TLS");
        assert!(error.to_string().contains("feature `tls`"), "{error}");
    }
}

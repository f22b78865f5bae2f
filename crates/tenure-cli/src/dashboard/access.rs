//! Who may come in: tokens and hosts, from the command line and the environment.

use std::net::SocketAddr;
use std::path::Path;

use tenure_dashboard::{Auth, Hosts, Permissions, SigningKey, Tokens, TokensError};

use crate::args::AccessArgs;
use crate::output::Failure;

/// Tokens as the lines of a file, in a variable.
const TOKENS: &str = "TENURE_DASHBOARD_TOKENS";
/// One token in clear.
const TOKEN: &str = "TENURE_DASHBOARD_TOKEN";
/// What sessions are signed with.
const KEY: &str = "TENURE_DASHBOARD_KEY";

/// What there is to listen on.
pub(super) async fn addresses(listen: &str) -> Result<Vec<SocketAddr>, Failure> {
    let wrong = |error: std::io::Error| {
        Failure::Usage(format!("--listen {listen}: {error}; write for example 127.0.0.1:7070"))
    };
    Ok(tokio::net::lookup_host(listen).await.map_err(wrong)?.collect())
}

/// All tokens that were given; none when there are none.
pub(super) fn tokens(access: &AccessArgs) -> Result<Option<Tokens>, Failure> {
    let mut all: Option<Tokens> = None;
    let mut add = |more: Tokens| {
        all = Some(match all.take() {
            Some(before) => before.and(more),
            None => more,
        });
    };
    if let Some(path) = &access.tokens {
        add(Tokens::file(path).map_err(wrong("--tokens"))?);
    }
    if let Some(lines) = variable(TOKENS)? {
        add(Tokens::parse(&lines).map_err(wrong(TOKENS))?);
    }
    if let Some(token) = variable(TOKEN)? {
        add(everything("operator", &token)?);
    }
    Ok(all)
}

/// One token in clear, for an operator who may do everything.
pub(super) fn everything(name: &str, token: &str) -> Result<Tokens, Failure> {
    let everything = Permissions::parse("operate,payloads").map_err(wrong(TOKEN))?;
    Tokens::in_clear(name, everything, token).map_err(wrong(TOKEN))
}

/// Signs sessions with a key of the user's own, if there is one.
pub(super) fn signed(auth: Auth, access: &AccessArgs) -> Result<Auth, Failure> {
    let bytes = match (&access.key_file, variable(KEY)?) {
        (Some(path), _) => Some(read(path)?),
        (None, Some(key)) => Some(key.into_bytes()),
        (None, None) => None,
    };
    match bytes {
        None => Ok(auth),
        Some(bytes) => Ok(auth.signed_with(SigningKey::new(bytes).map_err(wrong("the key"))?)),
    }
}

/// The names by which browsers know it.
pub(super) fn hosts(access: &AccessArgs, address: SocketAddr) -> Result<Hosts, Failure> {
    let mut names = access.hosts.clone();
    if !address.ip().is_unspecified() && !address.ip().is_loopback() {
        names.push(match address {
            SocketAddr::V4(address) => address.ip().to_string(),
            SocketAddr::V6(address) => format!("[{}]", address.ip()),
        });
    }
    if names.is_empty() {
        return Ok(Hosts::loopback());
    }
    let hosts = Hosts::these(names).map_err(|error| Failure::Usage(format!("--host: {error}")))?;
    Ok(hosts.and_loopback())
}

fn variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::Usage(format!("{name} is no text"))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |what: String| Failure::Usage(format!("--key-file {}: {what}", path.display()));
    let mode = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if std::os::unix::fs::MetadataExt::mode(&mode) & 0o077 != 0 {
        return Err(wrong("others than its owner may read it; `chmod 600` it".to_owned()));
    }
    std::fs::read(path).map_err(|error| wrong(error.to_string()))
}

fn wrong(place: &'static str) -> impl Fn(TokensError) -> Failure {
    move |error| Failure::Usage(format!("{place}: {error}"))
}

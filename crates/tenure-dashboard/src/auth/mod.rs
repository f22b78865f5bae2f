//! Who may see and do what.
//!
//! There is no default: whoever makes a dashboard says who is let in, by [`Auth::tokens`], by code of his own ([`Auth::by`]),
//! or anyone on this machine for looking ([`Auth::insecure_loopback_only`]).

mod attempts;
mod authenticator;
pub(crate) mod csrf;
mod file;
mod key;
pub(crate) mod login;
pub(crate) mod loopback;
pub(crate) mod moment;
mod permission;
pub(crate) mod session;
mod tokens;
pub(crate) mod who;

pub(crate) use attempts::Attempts;
pub use authenticator::{Authenticator, Operator, Refused};
pub use key::{KEY_MIN_BYTES, SigningKey};
pub use permission::{Action, Permission, Permissions};
pub use tokens::{TOKEN_MIN_CHARS, TOKENS_MAX, Tokens, TokensError};

use std::fmt;
use std::sync::Arc;

/// Who is let in.
///
/// ```
/// use tenure_dashboard::{Auth, Permissions, Tokens};
///
/// let (token, line) = Tokens::make("ada", Permissions::OPERATE, None)?;
/// // The token goes to Ada, the line into a file that only its owner may read; then `Tokens::file("tokens")`.
/// let auth = Auth::tokens(Tokens::parse(&line)?);
/// # drop((token, auth));
/// # Ok::<(), tenure_dashboard::TokensError>(())
/// ```
#[derive(Clone)]
pub struct Auth {
    pub(crate) way: Way,
    key: Option<SigningKey>,
}

#[derive(Clone)]
pub(crate) enum Way {
    Tokens(Arc<Tokens>),
    By(Arc<dyn Authenticator>),
    Loopback { payloads: bool },
}

impl Auth {
    /// Whoever has one of these tokens.
    pub fn tokens(tokens: Tokens) -> Self {
        Self { way: Way::Tokens(Arc::new(tokens)), key: None }
    }

    /// Whoever a user's own code lets in: it sees the head of each request and answers who it is and what he may do. The
    /// key signs the forms; every node needs the same.
    pub fn by(authenticator: Arc<dyn Authenticator>, key: SigningKey) -> Self {
        Self { way: Way::By(authenticator), key: Some(key) }
    }

    /// Anyone on this machine may look, at everything but payloads; nobody may act. Refuses requests that came through a
    /// proxy, and hosts that are not loopback.
    pub fn insecure_loopback_only() -> Self {
        Self { way: Way::Loopback { payloads: false }, key: None }
    }

    /// Signs sessions with this key instead of one that the process makes for itself: sessions then outlive it, and hold on
    /// every node that has the same key.
    #[must_use]
    pub fn signed_with(mut self, key: SigningKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Shows payloads to anyone on this machine, where there are no tokens: for a store that holds only samples.
    #[must_use]
    pub fn showing_payloads(mut self) -> Self {
        if let Way::Loopback { payloads } = &mut self.way {
            *payloads = true;
        }
        self
    }

    /// Whether anyone could ever act: not without tokens.
    pub fn may_act(&self) -> bool {
        !matches!(self.way, Way::Loopback { .. })
    }

    /// Whether an operator who was let in could still act: what runs for him ends with his right to it. An application is
    /// not asked, for it judges by requests.
    pub(crate) fn still_lets_act(&self, name: &str) -> bool {
        match &self.way {
            Way::Tokens(tokens) => tokens.lets_act(name),
            Way::By(_) | Way::Loopback { .. } => true,
        }
    }

    pub(crate) fn key(&self) -> SigningKey {
        match (&self.key, &self.way) {
            (Some(key), _) => key.clone(),
            (None, Way::Tokens(tokens)) => tokens.key().clone(),
            // Without tokens nobody acts, so what it signs opens nothing.
            (None, _) => SigningKey::of_nobody(),
        }
    }
}

/// Which way, and no secret.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Tokens(tokens) => write!(f, "Auth({tokens:?})"),
            Way::By(_) => f.write_str("Auth(by the application)"),
            Way::Loopback { .. } => f.write_str("Auth(loopback only)"),
        }
    }
}

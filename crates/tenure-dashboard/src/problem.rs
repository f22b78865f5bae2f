//! What is answered instead of what was asked for.

use axum::http::StatusCode;
use tenure_core::error::StoreError;

use crate::auth::who::Stranger;

/// Why a request gets no answer. The texts are shown to whoever asked: they hold no secret, and no more of what was sent than
/// a name of a parameter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// A parameter is not as it should be.
    #[error("`{field}` {why}")]
    Invalid {
        /// Which parameter.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The request itself is not as it should be.
    #[error("{0}")]
    Malformed(&'static str),
    /// Nobody is known by the request.
    #[error("{}", .0.why())]
    Unauthenticated(Stranger),
    /// He may not.
    #[error("{0}")]
    Forbidden(String),
    /// Without tokens: the request does not come from this machine.
    #[error("{0}")]
    Outside(&'static str),
    /// A change that does not come from a page of ours, or not with its token.
    #[error("{0}")]
    Foreign(&'static str),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// There is such a path, but not for that method.
    #[error("this can be asked for with {allow} only")]
    Method {
        /// With what it can be asked for.
        allow: &'static str,
    },
    /// Things are not as the change needs them.
    #[error("{0}")]
    Conflict(String),
    /// Something is too long.
    #[error("the {what} is longer than {limit} bytes")]
    TooLong {
        /// What is.
        what: &'static str,
        /// Its limit.
        limit: usize,
    },
    /// A body that is neither a form nor JSON.
    #[error("a body is `application/x-www-form-urlencoded` or `application/json`")]
    ContentType,
    /// The request names a host that is not ours.
    #[error("this request names a host that is not configured here; see --host, or Hosts")]
    Host,
    /// Too many wrong tokens.
    #[error("too many wrong tokens came from there; wait a minute")]
    TooManyAttempts,
    /// The store gives no answer.
    #[error(transparent)]
    Store(#[from] Trouble),
    /// Too many live views.
    #[error("{0}")]
    Busy(String),
    /// Something broke in the dashboard.
    #[error("something went wrong here; the log says more, by the number of the request")]
    Broken,
}

/// Why a store gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// All questions that may be under way are.
    #[error("the database has not answered {questions} earlier questions yet; try again in a moment")]
    Crowded {
        /// How many.
        questions: usize,
    },
    /// It takes too long.
    #[error("the database did not answer within {:.1} s ({what})", .waited.as_secs_f64())]
    Slow {
        /// What was asked for.
        what: &'static str,
        /// How long was waited.
        waited: std::time::Duration,
    },
    /// It cannot answer.
    #[error("{text}")]
    Away {
        /// In the words of the store's own error, which hold no secret.
        text: String,
    },
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Away { text: error.to_string() }
    }
}

impl Problem {
    pub(crate) fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { field, why: why.into() }
    }

    /// The status of the response.
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::Invalid { .. } | Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) | Self::Outside(_) | Self::Foreign(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
            Self::Store(_) | Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// One word for programs.
    pub(crate) const fn what(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::Malformed(_) | Self::TooLong { .. } | Self::ContentType => "invalid",
            Self::Method { .. } | Self::Host => "invalid",
            Self::Unauthenticated(_) => "unauthenticated",
            Self::Forbidden(_) | Self::Outside(_) | Self::Foreign(_) => "forbidden",
            Self::NotFound(_) => "not_found",
            Self::Conflict(_) => "conflict",
            Self::TooManyAttempts => "too_many",
            Self::Store(Trouble::Away { .. }) => "away",
            Self::Store(_) | Self::Busy(_) => "slow",
            Self::Broken => "broken",
        }
    }

    /// After how many seconds to try again, where that may help.
    pub(crate) const fn retry_after(&self) -> Option<&'static str> {
        match self {
            Self::Store(_) | Self::Busy(_) => Some("2"),
            Self::TooManyAttempts => Some("60"),
            _ => None,
        }
    }
}

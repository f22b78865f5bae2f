//! Where requests go.

use hyper::Uri;
use url::Url;

use crate::sink::SinkError;

/// The receiver's URL, and what may be said of it.
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) uri: Uri,
    /// Scheme, host and port. The path is left out too: the paths of many webhooks are their password.
    pub(crate) name: String,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self, SinkError> {
        // None of these errors repeats the text.
        let unusable = |message: String| SinkError::BadUrl { message };
        let mut url = Url::parse(text).map_err(|error| unusable(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("its scheme is neither http: nor https:".into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let message =
                "it holds a user or password, which would be seen wherever a URL is; set a token instead";
            return Err(unusable(message.into()));
        }
        url.set_fragment(None);
        let uri = url
            .as_str()
            .parse()
            .map_err(|error: hyper::http::uri::InvalidUri| unusable(error.to_string()))?;
        let name = url.origin().ascii_serialization();
        Ok(Self { url, uri, name })
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }
}

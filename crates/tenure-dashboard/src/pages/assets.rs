//! The style sheet, the script and the icon. Their address holds a number that changes with what is in them, so browsers keep
//! them for good.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use sha2::{Digest, Sha256};

use crate::asked::Asked;
use crate::problem::Problem;
use crate::routes::Answer;

const FILES: [(&str, &str, &[u8]); 3] = [
    ("tenure.css", "text/css; charset=utf-8", include_bytes!("../../assets/tenure.css")),
    ("tenure.js", "text/javascript; charset=utf-8", include_bytes!("../../assets/tenure.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../../assets/icon.svg")),
];

/// The number of what is in all of them.
static NUMBER: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (_, _, content) in FILES {
        hash.update(content);
    }
    let mut text = String::new();
    for byte in hash.finalize().iter().take(6) {
        let _ = write!(text, "{byte:02x}");
    }
    text
});

/// The address of a file.
pub(crate) fn link(asked: &Asked, name: &str) -> String {
    asked.link(&format!("/assets/{}/{name}", *NUMBER))
}

/// A file.
pub(crate) async fn file(asked: Asked) -> Answer {
    let mut path = asked.path.trim_start_matches("/assets/").splitn(2, '/');
    let (number, name) = (path.next().unwrap_or_default(), path.next().unwrap_or_default());
    let found = FILES.iter().find(|(its, _, _)| *its == name);
    let (_, kind, content) = found.ok_or_else(|| Problem::NotFound("there is no such file".into()))?;
    let mut response = Response::new(Body::from(*content));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // A page of another version asks for another number: it gets what there is, and keeps it not.
    if number == *NUMBER {
        let keep = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, keep);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_fetched_from_elsewhere_and_the_script_is_short() {
        for (name, _, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !elsewhere.contains("http://")
                    && !elsewhere.contains("https://")
                    && !elsewhere.contains("@import"),
                "{name}"
            );
            assert!(!text.contains("eval(") && !text.contains("Function("), "{name}");
        }
        let script = std::str::from_utf8(FILES[1].2).unwrap();
        assert!(script.lines().count() <= 200);
    }
}

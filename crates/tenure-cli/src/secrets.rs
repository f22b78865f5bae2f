//! The last barrier before a terminal or a log: passwords in what is about to be told.
//!
//! Messages are made without connection strings in the first place. But a URL may stand where none belongs, as an
//! argument too many or as the value of another option, and whoever refuses it quotes it.

use std::borrow::Cow;

const HIDDEN: &str = "…";

/// The text with every password in it hidden: `//user:…@host`, `password=…`.
pub(crate) fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("password=") {
        return Cow::Borrowed(text);
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`');
    text.split_inclusive(ends).map(|word| hide_parameter(&hide_userinfo(word))).collect()
}

/// Hides what stands between the user's name and the last `@`.
fn hide_userinfo(word: &str) -> String {
    let found = word.split_once("//").and_then(|(scheme, rest)| {
        let (userinfo, host) = rest.rsplit_once('@')?;
        let (user, _) = userinfo.split_once(':')?;
        Some(format!("{scheme}//{user}:{HIDDEN}@{host}"))
    });
    found.unwrap_or_else(|| word.to_owned())
}

/// Hides the value of `password=`, as in a query or a connection string of libpq.
fn hide_parameter(word: &str) -> String {
    let Some((before, rest)) = word.split_once("password=") else { return word.to_owned() };
    let end = rest.find(|c: char| c == '&' || c.is_whitespace()).unwrap_or(rest.len());
    format!("{before}password={HIDDEN}{}", &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_they_stand() {
        for (text, expected) in [
            (
                "unexpected argument 'postgres://u:secret@h/d' found",
                "unexpected argument 'postgres://u:…@h/d' found",
            ),
            ("postgres://u:se:c@ret@h:1/d?x=1", "postgres://u:…@h:1/d?x=1"),
            ("`password=secret host=:`", "`password=… host=:`"),
            ("//h/d?password=secret&x=1\n", "//h/d?password=…&x=1\n"),
            ("postgres://u@h/d is away", "postgres://u@h/d is away"),
            ("nothing to hide", "nothing to hide"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }
}

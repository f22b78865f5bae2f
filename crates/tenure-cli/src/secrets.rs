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
    text.split_inclusive('\n').map(|line| hide_parameters(&hide_userinfo(line))).collect()
}

/// Hides what stands between the user's name and the last `@` of the line: nobody can tell where a password ends that
/// has spaces, quotes or an `@` in it.
fn hide_userinfo(line: &str) -> String {
    let found = line.split_once("//").and_then(|(scheme, rest)| {
        let (userinfo, host) = rest.rsplit_once('@')?;
        let (user, _) = userinfo.split_once(':')?;
        Some(format!("{scheme}//{user}:{HIDDEN}@{host}"))
    });
    found.unwrap_or_else(|| line.to_owned())
}

/// Hides every value of `password=`, as in a query or a connection string of libpq.
fn hide_parameters(line: &str) -> String {
    let Some((before, rest)) = line.split_once("password=") else { return line.to_owned() };
    let end = if before.ends_with(['?', '&']) {
        rest.find(['&', '\n'])
    } else if let Some(quoted) = rest.strip_prefix('\'') {
        // `\'` is a quote within the value.
        let ends = quoted.match_indices('\'').find(|(at, _)| !quoted[..*at].ends_with('\\'));
        ends.map(|(at, _)| at + 2)
    } else {
        rest.find(char::is_whitespace)
    };
    let rest = &rest[end.unwrap_or(rest.trim_end_matches('\n').len())..];
    format!("{before}password={HIDDEN}{}", hide_parameters(rest))
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
            (
                "argument 'postgres://u:se'cr\"et and @more@h/d' found\n tip",
                "argument 'postgres://u:…@h/d' found\n tip",
            ),
            ("a //u@h b //v:secret@h c", "a //u@h b //v:…@h c"),
            ("'//h/d?password=se'cret word' found\nUsage", "'//h/d?password=…\nUsage"),
            ("host=h password='se cr\\'et' user=u password=again", "host=h password=… user=u password=…"),
            ("nothing to hide", "nothing to hide"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }
}

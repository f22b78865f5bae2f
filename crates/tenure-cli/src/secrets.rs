//! The last barrier before a terminal or a log: passwords in what is about to be told.
//!
//! Messages are made without connection strings in the first place. But a URL may stand where none belongs, as an
//! argument too many or as the value of another option, and whoever refuses it quotes it.

use std::borrow::Cow;

const HIDDEN: &str = "…";

/// How connection strings name a password, whatever the case.
const NAMES: [&str; 2] = ["password=", "pwd="];

/// The text with every password in it hidden: `//user:…@host`, `password=…`.
pub(crate) fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && named(text).is_none() {
        return Cow::Borrowed(text);
    }
    text.split_inclusive('\n').map(|line| hide_userinfo(&hide_parameters(line))).collect()
}

/// Where the first value of a password begins.
fn named(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    NAMES.iter().filter_map(|name| lower.find(name).map(|at| at + name.len())).min()
}

/// Hides what stands between the user's name and the last `@` of the line: nobody can tell where a password ends that
/// has spaces, quotes or an `@` in it.
fn hide_userinfo(line: &str) -> String {
    let found = line.split_once("//").and_then(|(scheme, rest)| {
        let (userinfo, host) = rest.rsplit_once('@')?;
        match userinfo.split_once(':') {
            Some((user, _)) => Some(format!("{scheme}//{user}:{HIDDEN}@{host}")),
            // What stands alone there is a token to NATS, and not a user.
            None => {
                scheme.to_ascii_lowercase().ends_with("nats:").then(|| format!("{scheme}//{HIDDEN}@{host}"))
            }
        }
    });
    found.unwrap_or_else(|| line.to_owned())
}

/// Hides every value of a password, as in a query, or in a connection string of libpq or of SQL Server.
fn hide_parameters(line: &str) -> String {
    let Some(at) = named(line) else { return line.to_owned() };
    let (before, rest) = line.split_at(at);
    let name = before.rfind(|c: char| !c.is_ascii_alphabetic() && c != '=').map_or("", |at| &before[at..]);
    let end = if name.starts_with(['?', '&']) {
        rest.find(['&', '\n'])
    } else if name.starts_with(';') {
        // `}}` is a brace within a value in braces.
        match rest.strip_prefix('{') {
            Some(braced) => braced.replace("}}", "..").find('}').map(|at| at + 2),
            None => rest.find([';', '\n']),
        }
    } else if let Some(quoted) = rest.strip_prefix('\'') {
        // `\'` is a quote within the value.
        let ends = quoted.match_indices('\'').find(|(at, _)| !quoted[..*at].ends_with('\\'));
        ends.map(|(at, _)| at + 2)
    } else {
        rest.find(char::is_whitespace)
    };
    let rest = &rest[end.unwrap_or(rest.trim_end_matches('\n').len())..];
    format!("{before}{HIDDEN}{}", hide_parameters(rest))
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
            ("mysql://u:se:c@ret@h:1/d?ssl-mode=REQUIRED", "mysql://u:…@h:1/d?ssl-mode=REQUIRED"),
            (
                "'sqlserver://h:1433;user=sa;Password=se cr@et;database=d'",
                "'sqlserver://h:1433;user=sa;Password=…;database=d'",
            ),
            ("sqlserver://h;PWD={se;c}}r};user=u", "sqlserver://h;PWD=…;user=u"),
            ("Server=h;Password=secret", "Server=h;Password=…"),
            ("to 'nats://t0ken@h:1/a' found", "to 'nats://…@h:1/a' found"),
            ("nats://u:secret@h/a", "nats://u:…@h/a"),
            ("nothing to hide", "nothing to hide"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }
}

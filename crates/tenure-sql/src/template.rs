//! Where parameters stand in the text of a statement.
//!
//! A statement names its parameters `$1`, `$2` …, in any order and as often as it likes. What a driver makes of a place is
//! its own business: a `?` to be bound, `@P1`, or a literal.

/// A piece of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text as it is.
    Text(&'a str),
    /// The parameter of this number, counted from 0.
    Parameter(usize),
}

/// The pieces of a statement, in order. What stands in quotes or in a comment is text, whatever it looks like.
pub fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let bytes = sql.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' | b'`' => at = after_quote(bytes, at),
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = after(bytes, at, b"\n"),
            b'$' => {
                let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let end = at + 1 + digits;
                if let Some(number) = sql.get(at + 1..end).and_then(|text| text.parse::<usize>().ok())
                    && number > 0
                {
                    found.extend([Piece::Text(&sql[start..at]), Piece::Parameter(number - 1)]);
                    start = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    found.push(Piece::Text(&sql[start..]));
    found.retain(|piece| *piece != Piece::Text(""));
    found
}

fn after_quote(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    bytes[at + 1..].iter().position(|byte| *byte == quote).map_or(bytes.len(), |length| at + length + 2)
}

fn after(bytes: &[u8], at: usize, end: &[u8]) -> usize {
    bytes[at..]
        .windows(end.len())
        .position(|window| window == end)
        .map_or(bytes.len(), |skip| at + skip + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_and_quotes_and_comments_are_left_alone() {
        let text = pieces("-- $1 it's a name\nSELECT '$2', `$3`, $2, x$ FROM t WHERE a = $10");
        assert_eq!(
            text,
            [
                Piece::Text("-- $1 it's a name\nSELECT '$2', `$3`, "),
                Piece::Parameter(1),
                Piece::Text(", x$ FROM t WHERE a = "),
                Piece::Parameter(9),
            ]
        );
        assert_eq!(pieces("$0 'open $1"), [Piece::Text("$0 'open $1")]);
    }
}

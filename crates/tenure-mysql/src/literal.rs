//! Statements as texts, with their parameters in place.
//!
//! On our own connections a unit of work is one text of several statements, and so one round trip; there is nothing to bind
//! a parameter to. Bytes, and texts that hold anything but plain ASCII or a quote or a backslash, are written as hexadecimal
//! literals: no mode of the server, no character set and no value can make them end early. The rest, which is most, stands
//! there as it is: half as long, sooner read by the server, and legible in its list of processes.

use std::fmt::Write as _;

use sqlx::Arguments as _;
use sqlx::mysql::MySqlArguments;
use tenure_sql::{Call, Fault, FaultKind, Piece, Value, moment_text, pieces};

/// What stands around a value, about.
const LITERAL_BYTES: usize = 12;

/// What puts branches together.
const UNION: &str = " UNION ALL ";

/// What makes one statement of several, with one answer besides the rows that they tell (MariaDB).
const BLOCK: [&str; 2] = ["BEGIN NOT ATOMIC\n", "END"];

/// Several statements as one, with their parameters as literals.
pub(crate) fn block_written(calls: &[Call<'_>]) -> Result<String, Fault> {
    let mut text = BLOCK[0].to_owned();
    for call in calls {
        write_to(&mut text, call)?;
        text.push_str(";\n");
    }
    text.push_str(BLOCK[1]);
    Ok(text)
}

/// The same with a `?` for each parameter, and the parameters in that order.
pub(crate) fn block_bound(calls: &[Call<'_>]) -> Result<(String, MySqlArguments), Fault> {
    let (mut text, mut arguments) = (BLOCK[0].to_owned(), MySqlArguments::default());
    for call in calls {
        bind_pieces(&mut text, &mut arguments, &pieces(call.sql), &call.params)?;
        text.push_str(";\n");
    }
    text.push_str(BLOCK[1]);
    Ok((text, arguments))
}

/// The same with a `?` for each parameter, whatever it will be.
pub(crate) fn block_marked(statements: &[String]) -> String {
    let mut text = BLOCK[0].to_owned();
    for sql in statements {
        for piece in pieces(sql) {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Parameter(_) => text.push('?'),
            }
        }
        text.push_str(";\n");
    }
    text.push_str(BLOCK[1]);
    text
}

/// The statement with its parameters as literals.
pub(crate) fn written(call: &Call<'_>) -> Result<String, Fault> {
    let mut text = String::new();
    write_to(&mut text, call)?;
    Ok(text)
}

/// The same behind what stands in a text already.
pub(crate) fn write_to(text: &mut String, call: &Call<'_>) -> Result<(), Fault> {
    let values = call.params.iter().map(|value| value.size() + LITERAL_BYTES).sum::<usize>();
    text.reserve(call.sql.len() + values);
    write_pieces(text, &pieces(call.sql), &call.params)
}

fn write_pieces(text: &mut String, pieces: &[Piece<'_>], params: &[Value]) -> Result<(), Fault> {
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Parameter(number) => write(text, parameter(params, *number)?)?,
        }
    }
    Ok(())
}

/// The statement with a `?` for each parameter, and the parameters in that order.
pub(crate) fn bound(call: &Call<'_>) -> Result<(String, MySqlArguments), Fault> {
    let (mut text, mut arguments) = (String::with_capacity(call.sql.len()), MySqlArguments::default());
    bind_pieces(&mut text, &mut arguments, &pieces(call.sql), &call.params)?;
    Ok((text, arguments))
}

fn bind_pieces(
    text: &mut String,
    arguments: &mut MySqlArguments,
    pieces: &[Piece<'_>],
    params: &[Value],
) -> Result<(), Fault> {
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Parameter(number) => bind(text, arguments, parameter(params, *number)?)?,
        }
    }
    Ok(())
}

/// Values for a text that is there already, with a `?` for each of them.
pub(crate) fn arguments(values: &[Value]) -> Result<MySqlArguments, Fault> {
    let mut arguments = MySqlArguments::default();
    arguments.reserve(values.len(), values.iter().map(Value::size).sum());
    values.iter().try_for_each(|value| add(&mut arguments, value))?;
    Ok(arguments)
}

fn parameter(params: &[Value], number: usize) -> Result<&Value, Fault> {
    let missing = || Fault::new(FaultKind::Other, format!("the statement has no parameter {}", number + 1));
    params.get(number).ok_or_else(missing)
}

fn write(text: &mut String, value: &Value) -> Result<(), Fault> {
    match value {
        Value::Null => text.push_str("NULL"),
        Value::Int(number) => {
            let _ = write!(text, "{number}");
        }
        Value::Text(value) => {
            if !is_the_same_everywhere(value) {
                text.push_str("_utf8mb4 ");
            }
            match is_plain(value) {
                true => {
                    text.push('\'');
                    text.push_str(value);
                    text.push('\'');
                }
                false => hex(text, value.as_bytes()),
            }
        }
        Value::Bytes(bytes) => hex(text, bytes),
        Value::Time(at) => {
            let _ = write!(text, "TIMESTAMP'{}'", moment_text(*at));
        }
        Value::Branches { one, each } => {
            let pieces = pieces(one);
            separated(text, UNION, each, |text, params| write_pieces(text, &pieces, params))?;
        }
        Value::Expression { sql, params } => write_pieces(text, &pieces(sql), params)?,
        Value::List(list) => separated(text, ",", list, write)?,
        Value::Rows(rows) => separated(text, ",", rows, |text, row| {
            text.push('(');
            separated(text, ",", row, write)?;
            text.push(')');
            Ok(())
        })?,
    }
    Ok(())
}

/// Whether every character set that a session may speak has these letters where ASCII has them: they need not say which one they are of.
/// (swe7 has others in the place of brackets and braces, of which JSON is full.)
fn is_the_same_everywhere(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | b'.' | b':' | b'/'))
}

/// Whether a text means the same between quotes in every mode and character set of the server.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'' && byte != b'\\')
}

fn separated<T>(
    text: &mut String,
    by: &str,
    values: &[T],
    mut write: impl FnMut(&mut String, &T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            text.push_str(by);
        }
        write(text, value)?;
    }
    Ok(())
}

fn hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    text.reserve(bytes.len() * 2 + 3);
    text.push_str("X'");
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text.push('\'');
}

fn bind(text: &mut String, arguments: &mut MySqlArguments, value: &Value) -> Result<(), Fault> {
    match value {
        Value::List(list) => separated(text, ",", list, |text, value| bind(text, arguments, value)),
        Value::Branches { one, each } => {
            let pieces = pieces(one);
            separated(text, UNION, each, |text, params| bind_pieces(text, arguments, &pieces, params))
        }
        Value::Expression { sql, params } => bind_pieces(text, arguments, &pieces(sql), params),
        Value::Rows(rows) => separated(text, ",", rows, |text, row| {
            text.push('(');
            separated(text, ",", row, |text, value| bind(text, arguments, value))?;
            text.push(')');
            Ok(())
        }),
        value => {
            text.push('?');
            add(arguments, value)
        }
    }
}

/// A value that one `?` stands for.
fn add(arguments: &mut MySqlArguments, value: &Value) -> Result<(), Fault> {
    let added = match value {
        Value::Null => arguments.add(None::<i64>),
        Value::Int(number) => arguments.add(*number),
        Value::Text(value) => arguments.add(value.as_str()),
        Value::Bytes(bytes) => arguments.add(bytes.as_slice()),
        Value::Time(at) => arguments.add(moment_text(*at)),
        Value::List(_) | Value::Branches { .. } | Value::Expression { .. } | Value::Rows(_) => {
            Err("several values stand where one is bound".into())
        }
    };
    added.map_err(|error| Fault::new(FaultKind::Other, error.to_string()))
}

#[cfg(test)]
mod tests {
    use tenure_core::time::StoreTime;

    use super::*;

    #[test]
    fn no_value_can_leave_its_literal() {
        let evil = "'; DROP TABLE t; -- \\\0`\u{10ffff}";
        let call = Call::new(
            "SELECT $1, $2 WHERE x IN ($3) AND y = $1",
            vec![evil.into(), evil.as_bytes().into(), Value::list(["a'b"])],
        );
        let text = written(&call).unwrap();
        assert!(!text.contains("DROP") && !text.contains('\\') && !text.contains('`'), "{text}");
        assert!(
            text.ends_with(&format!(
                "X'612762') AND y = _utf8mb4 X'{}'",
                "273B2044524F50205441424C4520743B202D2D205C0060F48FBFBF"
            )),
            "{text}"
        );
    }

    #[test]
    fn only_what_means_the_same_everywhere_stands_between_quotes() {
        for character in (0..=0x2ff_u32).filter_map(char::from_u32) {
            let plain = (' '..='~').contains(&character) && !matches!(character, '\'' | '\\');
            let text = format!("a{character}b");
            // Letters that some character set has other ones for say which one they are of.
            let expected = match plain {
                true if is_the_same_everywhere(&text) => format!("'{text}'"),
                true => format!("_utf8mb4 '{text}'"),
                false => "_utf8mb4 X'61".to_owned(),
            };
            let call = Call::new("$1", vec![text.as_str().into()]);
            assert!(written(&call).unwrap().starts_with(&expected), "{character:?}");
        }
    }

    #[test]
    fn letters_that_differ_between_character_sets_say_which_one_they_are_of() {
        assert!(is_the_same_everywhere("source-7/a_b.c: 01Z"));
        // What stands there in swe7, in dec8 or in the Asian sets.
        for differs in "#$@[\\]^`{|}~\u{a5}\u{203e}".chars() {
            assert!(!is_the_same_everywhere(&differs.to_string()), "{differs}");
        }
    }

    #[test]
    fn several_are_one_statement() {
        let calls = [
            Call::new("INSERT INTO t VALUES ($1, $2)", vec![7_i64.into(), "a{".into()]),
            Call::new("INSERT INTO u VALUES (LAST_INSERT_ID())", []),
        ];
        let block = |one: &str| {
            format!(
                "BEGIN NOT ATOMIC\nINSERT INTO t VALUES ({one});\nINSERT INTO u VALUES (LAST_INSERT_ID());\nEND"
            )
        };
        assert_eq!(block_written(&calls).unwrap(), block("7, _utf8mb4 'a{'"));
        assert_eq!(block_bound(&calls).unwrap().0, block("?, ?"));
        assert_eq!(block_marked(&calls.map(|call| call.sql.to_owned())), block("?, ?"));
    }

    #[test]
    fn only_single_values_are_bound_to_a_text_that_is_there() {
        assert!(arguments(&[1_i64.into(), "a".into(), Value::Null]).is_ok());
        assert!(arguments(&[Value::list(["a", "b"])]).is_err());
    }

    #[test]
    fn an_expression_stands_where_a_value_would() {
        let sql = "LAST_INSERT_ID() + $1".to_owned();
        let number =
            |at: i64| Value::Expression { sql: sql.clone(), params: vec![at.into(), "unused".into()] };
        let rows = Value::Rows(vec![vec![number(0), "a".into()], vec![number(1), "b".into()]]);
        let call = Call::new("INSERT INTO t VALUES $1", vec![rows]);
        assert_eq!(
            written(&call).unwrap(),
            "INSERT INTO t VALUES (LAST_INSERT_ID() + 0,'a'),(LAST_INSERT_ID() + 1,'b')"
        );
        assert_eq!(
            bound(&call).unwrap().0,
            "INSERT INTO t VALUES (LAST_INSERT_ID() + ?,?),(LAST_INSERT_ID() + ?,?)"
        );
    }

    #[test]
    fn branches_are_put_together_with_parameters_of_their_own() {
        let one = "(SELECT id FROM t WHERE a = $2 LIMIT $1)".to_owned();
        let each = vec![vec![1_i64.into(), "x".into()], vec![2_i64.into(), Value::Null]];
        let call = Call::new("SELECT $2 FROM ($1) AS f", vec![Value::Branches { one, each }, Value::Int(7)]);
        assert_eq!(
            written(&call).unwrap(),
            "SELECT 7 FROM ((SELECT id FROM t WHERE a = 'x' LIMIT 1) UNION ALL \
             (SELECT id FROM t WHERE a = NULL LIMIT 2)) AS f"
        );
        assert_eq!(
            bound(&call).unwrap().0,
            "SELECT ? FROM ((SELECT id FROM t WHERE a = ? LIMIT ?) UNION ALL \
             (SELECT id FROM t WHERE a = ? LIMIT ?)) AS f"
        );
    }

    #[test]
    fn rows_and_moments_are_written_in_place() {
        let rows = Value::Rows(vec![vec![1_i64.into(), Value::Null], vec![Value::Int(-2), "".into()]]);
        let call = Call::new("INSERT INTO t VALUES $1, $2", vec![rows, StoreTime::from_micros(7).into()]);
        assert_eq!(
            written(&call).unwrap(),
            "INSERT INTO t VALUES (1,NULL),(-2,''), TIMESTAMP'1970-01-01 00:00:00.000007'"
        );
        assert_eq!(bound(&call).unwrap().0, "INSERT INTO t VALUES (?,?),(?,?), ?");
        assert!(written(&Call::new("SELECT $2", vec![Value::Null])).is_err());
    }
}

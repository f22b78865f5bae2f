//! Statements as texts, with their parameters in place.
//!
//! On our own connections a unit of work is one text of several statements, and so one round trip; there is nothing to bind
//! a parameter to. Texts and bytes are written as hexadecimal literals, which hold no quote and no backslash: no mode of the
//! server, no character set and no value can make them end early.

use std::fmt::Write as _;

use sqlx::Arguments as _;
use sqlx::mysql::MySqlArguments;
use tenure_sql::{Call, Fault, FaultKind, Piece, Value, moment_text, pieces};

/// The statement with its parameters as literals.
pub(crate) fn written(call: &Call<'_>) -> Result<String, Fault> {
    let mut text = String::with_capacity(call.sql.len() + 64);
    for piece in pieces(call.sql) {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Parameter(number) => write(&mut text, parameter(call, number)?),
        }
    }
    Ok(text)
}

/// The statement with a `?` for each parameter, and the parameters in that order.
pub(crate) fn bound(call: &Call<'_>) -> Result<(String, MySqlArguments), Fault> {
    let (mut text, mut arguments) = (String::with_capacity(call.sql.len()), MySqlArguments::default());
    for piece in pieces(call.sql) {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Parameter(number) => bind(&mut text, &mut arguments, parameter(call, number)?)?,
        }
    }
    Ok((text, arguments))
}

fn parameter<'c>(call: &'c Call<'_>, number: usize) -> Result<&'c Value, Fault> {
    let missing = || Fault::new(FaultKind::Other, format!("the statement has no parameter {}", number + 1));
    call.params.get(number).ok_or_else(missing)
}

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("NULL"),
        Value::Int(number) => {
            let _ = write!(text, "{number}");
        }
        Value::Text(value) => {
            text.push_str("_utf8mb4 ");
            hex(text, value.as_bytes());
        }
        Value::Bytes(bytes) => hex(text, bytes),
        Value::Time(at) => {
            let _ = write!(text, "TIMESTAMP'{}'", moment_text(*at));
        }
        Value::List(list) => separated(text, list, write),
        Value::Rows(rows) => separated(text, rows, |text, row| {
            text.push('(');
            separated(text, row, write);
            text.push(')');
        }),
    }
}

fn separated<T>(text: &mut String, values: &[T], write: impl Fn(&mut String, &T)) {
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        write(text, value);
    }
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
    let added = match value {
        Value::Null => arguments.add(None::<i64>),
        Value::Int(number) => arguments.add(*number),
        Value::Text(value) => arguments.add(value.as_str()),
        Value::Bytes(bytes) => arguments.add(bytes.as_slice()),
        Value::Time(at) => arguments.add(moment_text(*at)),
        Value::List(list) => return bind_all(text, arguments, list),
        Value::Rows(rows) => {
            for (place, row) in rows.iter().enumerate() {
                text.push_str(if place > 0 { ",(" } else { "(" });
                bind_all(text, arguments, row)?;
                text.push(')');
            }
            return Ok(());
        }
    };
    text.push('?');
    added.map_err(|error| Fault::new(FaultKind::Other, error.to_string()))
}

fn bind_all(text: &mut String, arguments: &mut MySqlArguments, values: &[Value]) -> Result<(), Fault> {
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        bind(text, arguments, value)?;
    }
    Ok(())
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
    fn rows_and_moments_are_written_in_place() {
        let rows = Value::Rows(vec![vec![1_i64.into(), Value::Null], vec![Value::Int(-2), "".into()]]);
        let call = Call::new("INSERT INTO t VALUES $1, $2", vec![rows, StoreTime::from_micros(7).into()]);
        assert_eq!(
            written(&call).unwrap(),
            "INSERT INTO t VALUES (1,NULL),(-2,_utf8mb4 X''), TIMESTAMP'1970-01-01 00:00:00.000007'"
        );
        assert_eq!(bound(&call).unwrap().0, "INSERT INTO t VALUES (?,?),(?,?), ?");
        assert!(written(&Call::new("SELECT $2", vec![Value::Null])).is_err());
    }
}

//! Values as parameters of the driver's: lists and rows are JSON, which the server reads by `OPENJSON`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use tenure_core::time::StoreTime;
use tenure_sql::{Fault, FaultKind, Value, moment_text};
use tiberius::ColumnData;

/// A text in a row is given as its bytes too, up to this length: that is what names are compared as.
const NAME_MAX_BYTES: usize = 500;

/// A parameter as it is. Nothing is a text, which the server turns into any type but bytes; a moment is a text as well, in the
/// one form that no language of a login reads otherwise.
pub(crate) fn as_it_is(value: &Value) -> ColumnData<'static> {
    match value {
        Value::Null => ColumnData::String(None),
        Value::Int(number) => ColumnData::I64(Some(*number)),
        Value::Text(text) => ColumnData::String(Some(text.clone().into())),
        Value::Bytes(bytes) => ColumnData::Binary(Some(bytes.clone().into())),
        Value::Time(at) => ColumnData::String(Some(moment(*at).into())),
        Value::List(list) => text(&Json::Array(list.iter().map(cell).collect())),
        Value::Rows(rows) | Value::Branches { each: rows, .. } => table(rows),
        // It stands in rows only.
        Value::Expression { .. } => ColumnData::String(None),
    }
}

/// A parameter as bytes.
pub(crate) fn as_bytes(value: &Value) -> Result<ColumnData<'static>, Fault> {
    Ok(match value {
        Value::Null => ColumnData::Binary(None),
        Value::Text(text) => ColumnData::Binary(Some(text.clone().into_bytes().into())),
        Value::Bytes(bytes) => ColumnData::Binary(Some(bytes.clone().into())),
        Value::List(list) => text(&Json::Array(list.iter().map(cell_as_bytes).collect())),
        Value::Rows(rows) | Value::Branches { each: rows, .. } => table(rows),
        Value::Int(_) | Value::Time(_) | Value::Expression { .. } => {
            return Err(Fault::new(FaultKind::Other, "a number, a moment or an expression has no bytes"));
        }
    })
}

/// Rows as one parameter.
pub(crate) fn table(table: &[Vec<Value>]) -> ColumnData<'static> {
    text(&rows(table))
}

fn text(json: &Json) -> ColumnData<'static> {
    ColumnData::String(Some(json.to_string().into()))
}

/// Rows, for `OPENJSON(@P1) WITH (…)`: `$.i` is a row's number, `$.v[0]` its first value, and `$.b[0]` that value as bytes if it
/// is a text as short as a name. The server reads rows of JSON in no certain order: hence the number.
fn rows(table: &[Vec<Value>]) -> Json {
    let row = |(number, row): (usize, &Vec<Value>)| {
        let values: Vec<Json> = row.iter().map(cell).collect();
        let bytes: Vec<Json> = row.iter().map(name_as_bytes).collect();
        json!({ "i": number, "v": values, "b": bytes })
    };
    Json::Array(table.iter().enumerate().map(row).collect())
}

/// A value within JSON. Bytes are written in base64, which the server reads where the column's type says bytes.
fn cell(value: &Value) -> Json {
    match value {
        Value::Int(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Bytes(bytes) => json!(STANDARD.encode(bytes)),
        Value::Time(at) => json!(moment(*at)),
        // Statements here have expressions of their own, over the same parameters.
        Value::Expression { params, .. } => Json::Array(params.iter().map(cell).collect()),
        // Lists within lists are not asked for.
        Value::Null | Value::List(_) | Value::Rows(_) | Value::Branches { .. } => Json::Null,
    }
}

fn cell_as_bytes(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(STANDARD.encode(text)),
        other => cell(other),
    }
}

fn name_as_bytes(value: &Value) -> Json {
    match value {
        Value::Text(text) if text.len() <= NAME_MAX_BYTES => json!(STANDARD.encode(text)),
        _ => Json::Null,
    }
}

/// `2026-11-15T09:30:00.123456`
fn moment(at: StoreTime) -> String {
    moment_text(at).replacen(' ', "T", 1)
}

#[cfg(test)]
mod tests {
    use tenure_sql::Call;

    use super::*;
    use crate::batch::Batch;

    fn texts(batch: &Batch) -> Vec<String> {
        batch.parameters.iter().map(|value| format!("{value:?}")).collect()
    }

    #[test]
    fn lists_and_rows_are_json_with_bytes_in_base64() {
        let list =
            |value: Value, sql: &str| texts(&Batch::of(&Call::new(sql, vec![value])).unwrap()).concat();
        let names = || Value::list(["a ", "ü\"\u{1f980}"]);
        assert_eq!(list(names(), "@P1"), format!("String(Some({:?}))", "[\"a \",\"ü\\\"\u{1f980}\"]"));
        assert_eq!(list(names(), "@B1"), format!("String(Some({:?}))", "[\"YSA=\",\"w7wi8J+mgA==\"]"));
        assert_eq!(list(Value::list(Vec::<i64>::new()), "@P1"), "String(Some(\"[null]\"))");
        let at = StoreTime::from_micros(7);
        let table = Value::Rows(vec![
            vec!["n".into(), i64::MAX.into(), Value::Null],
            vec!["x".repeat(501).into(), at.into(), Value::Bytes(vec![0, 255])],
        ]);
        let Batch { parameters, .. } = Batch::of(&Call::new("@P1", vec![table])).unwrap();
        let [ColumnData::String(Some(text))] = parameters.as_slice() else { panic!("{parameters:?}") };
        let read: Json = serde_json::from_str(text).unwrap();
        let first = json!({ "i": 0, "v": ["n", i64::MAX, null], "b": ["bg==", null, null] });
        let long = "x".repeat(501);
        let second =
            json!({ "i": 1, "v": [long, "1970-01-01T00:00:00.000007", "AP8="], "b": [null, null, null] });
        assert_eq!(read, json!([first, second]));
    }

    /// By which `given_fragment` finds the id of a message.
    #[test]
    fn of_an_expression_its_parameters_are_told() {
        let number =
            Value::Expression { sql: "LAST_INSERT_ID()".into(), params: vec![7_i64.into(), "id".into()] };
        let Batch { parameters, .. } =
            Batch::of(&Call::new("@P1", vec![Value::Rows(vec![vec![number]])])).unwrap();
        let [ColumnData::String(Some(text))] = parameters.as_slice() else { panic!("{parameters:?}") };
        let read: Json = serde_json::from_str(text).unwrap();
        assert_eq!(read.pointer("/0/v/0/1"), Some(&json!("id")));
    }
}

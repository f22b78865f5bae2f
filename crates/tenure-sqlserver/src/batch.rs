//! Several statements as one text, with one list of parameters, such that it is certain which answer is whose.
//!
//! A statement says `@P1`, `@P2` … for its parameters as they are; `@B1` for the same parameter as bytes (a text as its UTF-8);
//! `@now` for the server's clock, read once when the statement is about to begin; `@before` for how many rows the statement before
//! it concerned; and `@own_…` for a variable of its own. Any other variable is one of the whole text, for statements that always
//! stand in one.
//!
//! ```text
//!   DECLARE @now1 datetime2(6) = SYSUTCDATETIME();
//!   UPDATE … WHERE name = @P1 AND expires_at > @now1;
//!   DECLARE @changed1 bigint = ROWCOUNT_BIG();
//!   SELECT 1 AS tenure_statement, @changed1 AS tenure_changed;
//!   SELECT … WHERE name = @P2;
//!   DECLARE @changed2 bigint = ROWCOUNT_BIG();
//!   SELECT 2 AS tenure_statement, @changed2 AS tenure_changed;
//! ```
//!
//! The driver shows rows and the beginnings of result sets, and not where a statement ends. So each statement is followed by a
//! row of ours that says which one it was and how many rows it concerned: what came before that row is its answer, whether
//! that is several rows, an empty set or no set at all.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use tenure_core::time::StoreTime;
use tenure_sql::{Call, Fault, FaultKind, Value, moment_text};
use tiberius::ColumnData;

use crate::statements;

/// The server takes 2,100 parameters; two of them are the driver's own.
const PARAMETERS_MAX: usize = 2_000;
/// A text in a row is given as its bytes too, up to this length: that is what names are compared as.
const NAME_MAX_BYTES: usize = 500;

/// The columns of the row that ends a statement's answer.
pub(crate) const ENDED: [&str; 2] = ["tenure_statement", "tenure_changed"];

/// The column of the row by which a statement says that its value is there already.
pub(crate) const DUPLICATE: &str = "tenure_duplicate";

/// The column of the row by which a statement says that the one before it has not found what it had to find.
pub(crate) const UNMET: &str = "tenure_unmet";

/// A text of several statements with its parameters.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) text: String,
    pub(crate) parameters: Vec<ColumnData<'static>>,
    pub(crate) statements: usize,
    /// Where the parameter stands that says how many rows the last statement of the text before concerned.
    before: Option<usize>,
}

impl Batch {
    /// A batch of one statement.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, Fault> {
        let mut batch = Self::default();
        batch.add(call)?;
        Ok(batch)
    }

    /// Whether there is room for another statement.
    pub(crate) fn has_room(&self, call: &Call<'_>) -> bool {
        // Each may stand there as it is and as bytes.
        self.parameters.len() + 2 * call.params.len() <= PARAMETERS_MAX
    }

    /// Fills in how many rows the last statement of the text before concerned, where anyone asks.
    pub(crate) fn follows(&mut self, changed: u64) {
        if let Some(place) = self.before.and_then(|place| self.parameters.get_mut(place)) {
            *place = ColumnData::I64(Some(i64::try_from(changed).unwrap_or(i64::MAX)));
        }
    }

    /// Adds a statement.
    pub(crate) fn add(&mut self, call: &Call<'_>) -> Result<(), Fault> {
        self.statements += 1;
        let number = self.statements;
        let pieces = pieces(call.sql);
        if pieces.contains(&Piece::Now) {
            let _ = writeln!(self.text, "DECLARE @now{number} datetime2(6) = SYSUTCDATETIME();");
        }
        let mut known: Vec<(Piece<'_>, usize)> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(text),
                Piece::Now => {
                    let _ = write!(self.text, "@now{number}");
                }
                Piece::Own(name) => {
                    let _ = write!(self.text, "@{name}_{number}");
                }
                Piece::Before if number > 1 => {
                    let _ = write!(self.text, "@changed{}", number - 1);
                }
                Piece::Before => {
                    let at = *self.before.get_or_insert(self.parameters.len());
                    if at == self.parameters.len() {
                        self.parameters.push(ColumnData::I64(Some(0)));
                    }
                    let _ = write!(self.text, "@P{}", at + 1);
                }
                Piece::Plain(at) | Piece::Bytes(at) => {
                    if let Value::Branches { one, each } = parameter(call, at)? {
                        self.parameters.push(text(&rows(each)));
                        self.text.push_str(&branches(one, each, self.parameters.len())?);
                        continue;
                    }
                    let place = match known.iter().find(|(known, _)| *known == piece) {
                        Some((_, place)) => *place,
                        None => {
                            let value = parameter(call, at)?;
                            let bytes = matches!(piece, Piece::Bytes(_));
                            self.parameters.push(if bytes { as_bytes(value)? } else { as_it_is(value) });
                            known.push((piece, self.parameters.len()));
                            self.parameters.len()
                        }
                    };
                    let _ = write!(self.text, "@P{place}");
                }
            }
        }
        let [statement, changed] = ENDED;
        let _ = writeln!(self.text, ";\nDECLARE @changed{number} bigint = ROWCOUNT_BIG();");
        let _ = writeln!(self.text, "SELECT {number} AS {statement}, @changed{number} AS {changed};");
        Ok(())
    }
}

/// A piece of a statement. Parameters are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    /// `@P1`
    Plain(usize),
    /// `@B1`
    Bytes(usize),
    /// `@now`
    Now,
    /// `@before`
    Before,
    /// `@own_x`, which is a variable of the whole text and so has the statement's number in it.
    Own(&'a str),
}

/// The pieces of a statement, in order. What stands in quotes, in brackets or in a comment is text, whatever it looks like.
pub(crate) fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let bytes = sql.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' => at = after(bytes, at + 1, byte),
            b'[' => at = after(bytes, at + 1, b']'),
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = after(bytes, at, b'\n'),
            b'@' => {
                let word = bytes[at + 1..].iter().take_while(|byte| is_word(**byte)).count();
                let end = at + 1 + word;
                if let Some(piece) = marked(&sql[at + 1..end]) {
                    found.extend([Piece::Text(&sql[start..at]), piece]);
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

/// What a word behind an `@` stands for, if it is one of ours. `@@ROWCOUNT` is none: its second `@` belongs to the word.
fn marked(word: &str) -> Option<Piece<'_>> {
    match word {
        "now" => return Some(Piece::Now),
        "before" => return Some(Piece::Before),
        _ => {}
    }
    if word.starts_with("own_") {
        return Some(Piece::Own(word));
    }
    let number = |rest: &str| {
        let digits = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        rest.parse::<usize>().ok().filter(|number| digits && *number > 0).map(|number| number - 1)
    };
    match (word.strip_prefix('P'), word.strip_prefix('B')) {
        (Some(rest), _) => number(rest).map(Piece::Plain),
        (_, Some(rest)) => number(rest).map(Piece::Bytes),
        _ => None,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@' | b'#' | b'$')
}

fn after(bytes: &[u8], from: usize, end: u8) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == end).map_or(bytes.len(), |skip| from + skip + 1)
}

fn parameter<'c>(call: &'c Call<'_>, number: usize) -> Result<&'c Value, Fault> {
    let missing = || Fault::new(FaultKind::Other, format!("the statement has no parameter {}", number + 1));
    call.params.get(number).ok_or_else(missing)
}

/// A parameter as it is. Nothing is a text, which the server turns into any type but bytes; a moment is a text as well, in the
/// one form that no language of a login reads otherwise.
fn as_it_is(value: &Value) -> ColumnData<'static> {
    match value {
        Value::Null => ColumnData::String(None),
        Value::Int(number) => ColumnData::I64(Some(*number)),
        Value::Text(text) => ColumnData::String(Some(text.clone().into())),
        Value::Bytes(bytes) => ColumnData::Binary(Some(bytes.clone().into())),
        Value::Time(at) => ColumnData::String(Some(moment(*at).into())),
        Value::List(list) => text(&Json::Array(list.iter().map(cell).collect())),
        Value::Rows(table) | Value::Branches { each: table, .. } => text(&rows(table)),
    }
}

/// A parameter as bytes.
fn as_bytes(value: &Value) -> Result<ColumnData<'static>, Fault> {
    Ok(match value {
        Value::Null => ColumnData::Binary(None),
        Value::Text(text) => ColumnData::Binary(Some(text.clone().into_bytes().into())),
        Value::Bytes(bytes) => ColumnData::Binary(Some(bytes.clone().into())),
        Value::List(list) => text(&Json::Array(list.iter().map(cell_as_bytes).collect())),
        Value::Rows(table) | Value::Branches { each: table, .. } => text(&rows(table)),
        Value::Int(_) | Value::Time(_) => {
            return Err(Fault::new(FaultKind::Other, "a number or a moment has no bytes"));
        }
    })
}

/// One question for each of several lists of parameters: they are the rows of the parameter that stands at this place, and each
/// is asked with the columns of its row.
fn branches(one: &str, each: &[Vec<Value>], place: usize) -> Result<String, Fault> {
    let first = each.first().map(Vec::as_slice).unwrap_or_default();
    let (mut asked, mut columns): (String, Vec<String>) = Default::default();
    for piece in pieces(one) {
        let (at, column, kind) = match piece {
            Piece::Text(text) => {
                asked.push_str(text);
                continue;
            }
            Piece::Plain(at) => match first.get(at) {
                Some(Value::Int(_)) => (at, format!("v{at} bigint '$.v[{at}]'"), 'v'),
                _ => return Err(odd_branch(at)),
            },
            Piece::Bytes(at) => match first.get(at) {
                Some(Value::Bytes(_)) => (at, format!("b{at} varbinary(8000) '$.v[{at}]'"), 'b'),
                Some(Value::Text(_)) => (at, format!("b{at} varbinary(8000) '$.b[{at}]'"), 'b'),
                _ => return Err(odd_branch(at)),
            },
            Piece::Now | Piece::Before | Piece::Own(_) => {
                return Err(Fault::new(FaultKind::Other, "a branch has parameters and no variables"));
            }
        };
        let _ = write!(asked, "branch.{kind}{at}");
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let columns = columns.join(", ");
    Ok(statements::branches(place, &columns, &asked))
}

fn odd_branch(at: usize) -> Fault {
    Fault::new(FaultKind::Other, format!("parameter {} of a branch is neither a number nor bytes", at + 1))
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
    use super::*;

    fn texts(batch: &Batch) -> Vec<String> {
        batch.parameters.iter().map(|value| format!("{value:?}")).collect()
    }

    #[test]
    fn parameters_are_found_and_quotes_brackets_and_comments_are_left_alone() {
        let sql = "-- @P1 it's\nSELECT '@P2', [@P3], @P2, @B2, @@ROWCOUNT, @P, @Px, @now FROM t WHERE a = @P10 AND @nowhere";
        assert_eq!(
            pieces(sql),
            [
                Piece::Text("-- @P1 it's\nSELECT '@P2', [@P3], "),
                Piece::Plain(1),
                Piece::Text(", "),
                Piece::Bytes(1),
                Piece::Text(", @@ROWCOUNT, @P, @Px, "),
                Piece::Now,
                Piece::Text(" FROM t WHERE a = "),
                Piece::Plain(9),
                Piece::Text(" AND @nowhere"),
            ]
        );
        assert_eq!(pieces("@P0 'open @P1"), [Piece::Text("@P0 'open @P1")]);
    }

    #[test]
    fn parameters_are_numbered_across_statements_and_each_has_an_end_of_its_own() {
        let mut batch = Batch::default();
        batch
            .add(&Call::new("UPDATE a SET x = @P2, y = @P2 WHERE n = @B1", vec!["n".into(), 7_i64.into()]))
            .unwrap();
        batch.add(&Call::new("SELECT @P1, @now, @now", vec!["m".into()])).unwrap();
        assert_eq!(
            batch.text,
            "UPDATE a SET x = @P1, y = @P1 WHERE n = @P2;\n\
             DECLARE @changed1 bigint = ROWCOUNT_BIG();\n\
             SELECT 1 AS tenure_statement, @changed1 AS tenure_changed;\n\
             DECLARE @now2 datetime2(6) = SYSUTCDATETIME();\n\
             SELECT @P3, @now2, @now2;\n\
             DECLARE @changed2 bigint = ROWCOUNT_BIG();\n\
             SELECT 2 AS tenure_statement, @changed2 AS tenure_changed;\n"
        );
        assert_eq!(texts(&batch), ["I64(Some(7))", "Binary(Some([110]))", "String(Some(\"m\"))"]);
        assert!(batch.add(&Call::new("SELECT @P2", vec![Value::Null])).is_err());
        let own = Call::new("DECLARE @own_x int; SELECT @own_x", []);
        assert!(Batch::of(&own).unwrap().text.starts_with("DECLARE @own_x_1 int; SELECT @own_x_1;"));
        assert!(Batch::of(&Call::new("SELECT @B1", vec![Value::Int(1)])).is_err());
    }

    #[test]
    fn there_is_an_end_to_the_number_of_parameters() {
        let call = |count| Call::new("SELECT 1", vec![Value::Null; count]);
        assert!(Batch::default().has_room(&call(1_000)));
        assert!(!Batch::default().has_room(&call(1_001)));
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

    #[test]
    fn a_statement_may_ask_how_many_rows_the_one_before_it_concerned() {
        let ask = || Call::new("IF @before <> 1 OR @before = 7 RETURN", []);
        let mut together = Batch::of(&Call::new("UPDATE a SET x = 1", [])).unwrap();
        together.add(&ask()).unwrap();
        assert!(together.text.contains("IF @changed1 <> 1 OR @changed1 = 7 RETURN"), "{}", together.text);
        together.follows(3);
        assert!(together.parameters.is_empty());
        let mut alone = Batch::of(&ask()).unwrap();
        alone.follows(3);
        assert!(alone.text.starts_with("IF @P1 <> 1 OR @P1 = 7 RETURN"), "{}", alone.text);
        assert_eq!(texts(&alone), ["I64(Some(3))"]);
    }

    #[test]
    fn branches_are_one_question_with_the_columns_of_each_row() {
        let one = "-- 1 source\nSELECT TOP (@P2) id FROM t WHERE lane = @B1 AND a > @P2".to_owned();
        let each =
            vec![vec![Value::Bytes(vec![255]), Value::Int(2)], vec![Value::Bytes(vec![0]), Value::Int(3)]];
        let asked = |each| {
            let value = Value::Branches { one: one.clone(), each };
            Batch::of(&Call::new("SELECT * FROM (@P1) AS f WHERE x = @P2", vec![value, Value::Int(9)]))
        };
        let batch = asked(each).unwrap();
        assert!(
            batch.text.starts_with(
                "SELECT * FROM (SELECT one.* FROM OPENJSON(@P1) WITH (v1 bigint '$.v[1]', b0 varbinary(8000) '$.v[0]') AS \
                 branch\nCROSS APPLY (\n-- 1 source\nSELECT TOP (branch.v1) id FROM t WHERE lane = branch.b0 AND a > \
                 branch.v1\n) AS one) AS f WHERE x = @P2;"
            ),
            "{}",
            batch.text
        );
        let [ColumnData::String(Some(text)), ColumnData::I64(Some(9))] = batch.parameters.as_slice() else {
            panic!("{:?}", batch.parameters)
        };
        let read: Json = serde_json::from_str(text).unwrap();
        assert_eq!(read[1]["v"], json!(["AA==", 3]));
        assert!(asked(vec![vec![Value::Null, Value::Null]]).is_err());
    }
}

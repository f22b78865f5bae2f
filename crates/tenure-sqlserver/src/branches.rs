//! Several questions of one kind in one statement.

use std::fmt::Write as _;

use tenure_sql::{Fault, FaultKind, Value};

use crate::batch::{Piece, pieces};
use crate::statements;

/// One question for each of several lists of parameters: they are the rows of the parameter that stands at this place, and each
/// is asked with the columns of its row.
pub(crate) fn branches(one: &str, each: &[Vec<Value>], place: usize) -> Result<String, Fault> {
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
    Ok(statements::branches(place, &columns.join(", "), &asked))
}

fn odd_branch(at: usize) -> Fault {
    Fault::new(FaultKind::Other, format!("parameter {} of a branch is neither a number nor bytes", at + 1))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};
    use tenure_sql::Call;
    use tiberius::ColumnData;

    use super::*;
    use crate::batch::Batch;

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

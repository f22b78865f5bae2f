//! Many rows in few statements.
//!
//! Statements hold fewer rows than a server takes in one, or locks one by one; and texts short enough that no server refuses
//! one for its size.

use crate::driver::Call;
use crate::value::Value;

/// How many rows, or names, stand in one statement. Below 1,000: SQL Server takes no more rows in one, and MariaDB makes
/// something else of longer lists than a walk along the index.
const ROWS_MAX: usize = 500;
/// How many bytes of values stand in one statement, unless a single row has more.
const BYTES_MAX: usize = 200 * 1024;

/// The same statement for as many rows as there are, in their order; none for none.
pub(crate) fn in_batches(sql: &str, rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<Call<'_>> {
    let batches = divided(rows, |row| row.iter().map(Value::size).sum());
    batches.into_iter().map(|rows| Call::new(sql, [Value::Rows(rows)])).collect()
}

/// The same statement for as many names as there are, in their order; none for none.
pub(crate) fn by_names<'s, 'n>(sql: &'s str, names: impl IntoIterator<Item = &'n str>) -> Vec<Call<'s>> {
    let batches = divided(names, |name| name.len());
    batches.into_iter().map(|names| Call::new(sql, [Value::list(names)])).collect()
}

fn divided<T>(items: impl IntoIterator<Item = T>, size: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let (mut batches, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let more = size(&item);
        if batch.len() == ROWS_MAX || (bytes + more > BYTES_MAX && !batch.is_empty()) {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += more;
        batch.push(item);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_everything_in_order_and_none_is_too_large() {
        let rows = (0..1203).map(|number| vec![Value::Int(number)]);
        let calls = in_batches("x", rows);
        let sizes: Vec<usize> = calls.iter().map(|call| held(call).len()).collect();
        assert_eq!(sizes, [500, 500, 203]);
        let all: Vec<Vec<Value>> = calls.iter().flat_map(|call| held(call).to_vec()).collect();
        assert_eq!(all, (0..1203).map(|number| vec![Value::Int(number)]).collect::<Vec<_>>());
        assert!(in_batches("x", Vec::new()).is_empty() && by_names("x", []).is_empty());

        // The second has room beside the first; the third is too large for any, and stands alone.
        let texts = [100, 100 * 1024, 300 * 1024, 1].map(|length| vec![Value::Text("x".repeat(length))]);
        let sizes: Vec<usize> = in_batches("x", texts).iter().map(|call| held(call).len()).collect();
        assert_eq!(sizes, [2, 1, 1]);
    }

    fn held<'c>(call: &'c Call<'_>) -> &'c [Vec<Value>] {
        let [Value::Rows(rows)] = &call.params[..] else { panic!("{call:?}") };
        rows
    }
}

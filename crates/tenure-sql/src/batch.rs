//! Many rows in few statements.
//!
//! Statements hold fewer rows than a server takes in one, or locks one by one; and texts short enough that no server refuses
//! one for its size.

use crate::driver::Call;
use crate::limits::{INSERT_BYTES, STATEMENT_ROWS, TEXT_BYTES};
use crate::value::Value;

/// The same statement for as many rows as there are, in their order; none for none.
pub(crate) fn in_batches(sql: &str, rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<Call<'_>> {
    let batches = divided(rows, TEXT_BYTES, |row| size(row));
    batches.into_iter().map(|rows| Call::new(sql, [Value::Rows(rows)])).collect()
}

/// The same statement for as many names as there are, in their order; none for none.
pub(crate) fn by_names<'s, 'n>(sql: &'s str, names: impl IntoIterator<Item = &'n str>) -> Vec<Call<'s>> {
    let batches = divided(names, TEXT_BYTES, |name| name.len());
    batches.into_iter().map(|names| Call::new(sql, [Value::list(names)])).collect()
}

/// Rows in portions that a statement can insert, in their order.
pub(crate) fn inserts(rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    in_portions(rows).into_iter().map(Value::Rows).collect()
}

/// The same, as they are.
pub(crate) fn in_portions(rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<Vec<Vec<Value>>> {
    divided(rows, INSERT_BYTES, |row| size(row))
}

/// How many bytes a row holds, about.
pub(crate) fn size(row: &[Value]) -> usize {
    row.iter().map(Value::size).sum()
}

/// Items in portions of so many bytes, in their order; one alone may be larger.
pub(crate) fn divided<T>(
    items: impl IntoIterator<Item = T>,
    bytes_max: usize,
    size: impl Fn(&T) -> usize,
) -> Vec<Vec<T>> {
    let (mut batches, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let more = size(&item);
        if batch.len() == STATEMENT_ROWS || (bytes + more > bytes_max && !batch.is_empty()) {
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

    #[test]
    fn inserts_may_be_larger() {
        let sizes = |rows: Vec<usize>| -> Vec<usize> {
            let rows = rows.into_iter().map(|size| vec![Value::Bytes(vec![0; size])]);
            let count = |batch: Value| if let Value::Rows(rows) = batch { rows.len() } else { 0 };
            inserts(rows).into_iter().map(count).collect()
        };
        assert!(sizes(vec![]).is_empty());
        assert_eq!(sizes(vec![1; 1001]), [500, 500, 1]);
        assert_eq!(
            sizes(vec![INSERT_BYTES + 1, 1, INSERT_BYTES - 1, 1]),
            [1, 2, 1],
            "one alone may be larger"
        );
    }

    fn held<'c>(call: &'c Call<'_>) -> &'c [Vec<Value>] {
        let [Value::Rows(rows)] = &call.params[..] else { panic!("{call:?}") };
        rows
    }
}

//! Locks of a session, by name: what presence, session locks and migrations stand on.
//!
//! They belong to the database that the session is in. Names are ours and short, of plain letters and digits: the server keeps 255
//! characters, and compares them as they are.

use std::time::Duration;

use tenure_core::hash;
use tenure_core::lease::{Flag, LeaseName};
use tenure_core::naming::Naming;
use tenure_sql::{Answer, Call, Columns as _, Fault, FaultKind, Session, Value};

use crate::statements::{LOCK_FREE, LOCK_GIVE, LOCK_TAKE};

/// Whether others may have it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Self::Exclusive => "Exclusive",
            Self::Shared => "Shared",
        }
    }
}

/// By which locks of one set of tables are told from those of another.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    space: String,
}

impl Names {
    /// `own_schema` is where tables without a schema go.
    pub(crate) fn new(naming: &Naming, own_schema: &str) -> Self {
        let schema = naming.schema.as_ref().map_or(own_schema, |schema| schema.as_str());
        Self { space: format!("{schema}.{}", naming.prefix) }
    }

    pub(crate) fn flag(&self, flag: &Flag) -> String {
        format!("tenure:flag:{:016x}", flag.key(&self.space))
    }

    /// Two numbers of 64 bits: two locks under one name would keep each other out.
    pub(crate) fn lock(&self, name: &LeaseName) -> String {
        let key = |kind: &str| hash::key([self.space.as_str(), kind, name.as_str()].map(str::as_bytes));
        format!("tenure:lock:{:016x}{:016x}", key("lock"), key("again"))
    }

    pub(crate) fn migration(&self) -> String {
        format!("tenure:migration:{:016x}", hash::key([self.space.as_bytes()]))
    }
}

/// Takes a lock; false if it was not had in time.
pub(crate) async fn take(
    session: &mut dyn Session,
    name: &str,
    mode: Mode,
    wait: Duration,
) -> Result<bool, Fault> {
    let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX).min(i32::MAX.into());
    let call = Call::new(LOCK_TAKE, vec![Value::from(name), mode.word().into(), wait.into()]);
    taken(number(&session.run(&call).await?, "taken")?)
}

/// What `sp_getapplock` answers.
fn taken(code: i64) -> Result<bool, Fault> {
    match code {
        // Had at once; had after a wait.
        0 | 1 => Ok(true),
        -1 => Ok(false),
        -2 => Err(Fault::new(FaultKind::Busy, "the wait for a lock of the session was cancelled")),
        -3 => {
            Err(Fault::new(FaultKind::Deadlock, "the wait for a lock of the session was a deadlock's victim"))
        }
        code => Err(Fault::new(
            FaultKind::Other,
            format!("the server refused a lock of the session (code {code})"),
        )),
    }
}

/// Gives a lock back.
pub(crate) async fn give(session: &mut dyn Session, name: &str) -> Result<(), Fault> {
    let call = Call::new(LOCK_GIVE, vec![Value::from(name)]);
    match number(&session.run(&call).await?, "given")? {
        0 => Ok(()),
        code => {
            Err(Fault::new(FaultKind::Other, format!("a lock of the session was not held (code {code})")))
        }
    }
}

/// Whether nobody holds it alone.
pub(crate) async fn is_free(session: &mut dyn Session, name: &str) -> Result<bool, Fault> {
    let call = Call::new(LOCK_FREE, vec![Value::from(name)]);
    Ok(number(&session.run(&call).await?, "free")? == 1)
}

fn number(answer: &Answer, column: &str) -> Result<i64, Fault> {
    let read = answer.rows.first().and_then(|row| row.number(column).ok().flatten());
    read.ok_or_else(|| Fault::new(FaultKind::Gone, "the server did not say whether the lock was had"))
}

#[cfg(test)]
mod tests {
    use tenure_core::id::Unique;
    use tenure_core::lease::Term;

    use super::*;

    #[test]
    fn every_code_has_its_meaning() {
        assert_eq!((taken(0).unwrap(), taken(1).unwrap(), taken(-1).unwrap()), (true, true, false));
        let kind = |code| taken(code).unwrap_err().kind;
        assert_eq!(
            (kind(-2), kind(-3), kind(-999)),
            (FaultKind::Busy, FaultKind::Deadlock, FaultKind::Other)
        );
        assert_eq!(kind(7), FaultKind::Other);
    }

    #[test]
    fn names_are_short_and_differ_by_tables_kind_and_subject() {
        let names = Names::new(&Naming::default(), "dbo");
        let lease = |name: &str| LeaseName::new(name).unwrap();
        let flag = |term| Flag { lease: lease("a"), term, session: Unique::from_u128(7) };
        let first = Term::from_column(1).unwrap();
        let all = [
            names.lock(&lease("a")),
            names.lock(&lease("A")),
            names.lock(&lease("a ")),
            names.flag(&flag(first)),
            names.flag(&flag(Term::from_column(2).unwrap())),
            names.migration(),
            Names::new(&Naming::default(), "app").migration(),
        ];
        for (at, name) in all.iter().enumerate() {
            assert!(name.len() < 255 && name.is_ascii(), "{name}");
            assert!(!all[..at].contains(name), "{name}");
        }
    }
}

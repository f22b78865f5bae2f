//! What can go wrong on a session.

use tenure_core::StoreError;

use crate::driver::Answer;

/// What kind of fault it is: what the code above has to know apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A unique index has the value already. Only the statement was undone.
    Duplicate,
    /// The server chose this transaction as the victim of a deadlock, or its snapshot is too old, and undid it: it can be
    /// tried again from its beginning.
    Deadlock,
    /// A lock was not had in time, or a statement took too long.
    Busy,
    /// A statement of ours that had to find a row has found none, and failed for it: what follows was not run.
    Unmet,
    /// There is no transaction where one has to be open.
    NoTransaction,
    /// A table is not there.
    NoTable,
    /// The server cannot be written to.
    ReadOnly,
    /// Credentials or permissions are missing, or it is larger than the server takes.
    Refused,
    /// The connection broke, or there was no answer in time: whether anything took effect is unknown.
    Gone,
    /// The server does not take such a text, or keeps no more of them prepared: nothing was run.
    Unprepared,
    /// Anything else.
    Other,
}

/// What went wrong. The message repeats the server's words and its code, never a value or a connection string.
#[derive(Debug, Clone)]
pub struct Fault {
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What the server or the driver said.
    pub message: String,
    /// What the statements before it in the same call have answered, as far as the driver tells.
    pub before: Vec<Answer>,
}

impl Fault {
    /// A fault of this kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), before: Vec::new() }
    }

    /// The same behind statements that have answered.
    #[must_use]
    pub fn after(mut self, mut answers: Vec<Answer>) -> Self {
        answers.append(&mut self.before);
        self.before = answers;
        self
    }

    /// The same as the core's error. `store` is the label without secrets.
    pub fn into_error(self, store: &str) -> StoreError {
        let (store, message) = (store.to_owned(), self.message);
        match self.kind {
            FaultKind::Deadlock | FaultKind::Busy => StoreError::Busy { store, message },
            FaultKind::NoTable => StoreError::SchemaMissing { store },
            FaultKind::NoTransaction => {
                let message =
                    "no transaction is open on this connection: begin one first, commit it afterwards";
                StoreError::Refused { store, message: message.into() }
            }
            FaultKind::ReadOnly => StoreError::ReadOnly { store, message },
            FaultKind::Refused => StoreError::Refused { store, message },
            FaultKind::Gone => StoreError::Unreachable { store, message },
            FaultKind::Duplicate | FaultKind::Unmet | FaultKind::Unprepared | FaultKind::Other => {
                StoreError::Failed { store, message, source: None }
            }
        }
    }
}

//! What is asked on a connection, as the bytes tell that a client sends.

mod mysql;
mod postgres;

use std::sync::atomic::{AtomicU64, Ordering};

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Postgres,
    MySql,
}

impl Protocol {
    /// A counter for one connection.
    pub(super) fn counter(self) -> Counter {
        match self {
            Self::Postgres => Counter::Postgres(postgres::Counter::default()),
            Self::MySql => Counter::MySql(mysql::Counter::default()),
        }
    }
}

/// How much was asked, on all connections together.
#[derive(Debug, Default)]
pub(super) struct Asked {
    statements: AtomicU64,
    pings: AtomicU64,
}

impl Asked {
    fn statements(&self, count: u64) {
        self.statements.fetch_add(count, Ordering::SeqCst);
    }

    fn ping(&self) {
        self.pings.fetch_add(1, Ordering::SeqCst);
    }

    /// Statements other than pings, and pings.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.statements.load(Ordering::SeqCst), self.pings.load(Ordering::SeqCst))
    }
}

/// Reads along on one connection.
pub(super) enum Counter {
    Postgres(postgres::Counter),
    MySql(mysql::Counter),
}

impl Counter {
    /// Bytes from the client.
    pub(super) fn eat(&mut self, bytes: &[u8], asked: &Asked) {
        match self {
            Self::Postgres(counter) => counter.eat(bytes, asked),
            Self::MySql(counter) => counter.eat(bytes, asked),
        }
    }
}

//! The handle: a driver, and the statements over one set of tables.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tenure_core::StoreError;
use tenure_core::naming::Naming;

use crate::driver::Driver;
use crate::events::AppendLine;
use crate::outbox::Beside;
use crate::reader::Reader;
use crate::row::Row;
use crate::schema::Migration;
use crate::statements::{Statements, Texts};

/// A store over a driver: every contract, written once. Clones share everything.
#[derive(Clone)]
pub struct SqlStore {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) naming: Naming,
    pub(crate) statements: Statements,
    pub(crate) texts: &'static Texts,
    pub(crate) migrations: &'static [Migration],
    pub(crate) quotes: (char, char),
    /// Whether the last look has seen anything in lanes of the outbox. A hint: what is gone by it is looked at once more.
    pub(crate) laned: AtomicBool,
    /// Whether the numbers of what has just come had no gap when they were last looked at, and what stood in lanes beside them. Hints
    /// too.
    pub(crate) gapless: AtomicBool,
    pub(crate) beside: Beside,
    /// The appends that wait, to go together.
    pub(crate) line: AppendLine,
    /// Whether it was said that messages are left to a relay because their sender could not put them into the queue.
    pub(crate) said_unplaced: AtomicBool,
}

impl SqlStore {
    /// A store of these tables. Connects to nothing by itself.
    pub fn new(
        driver: Arc<dyn Driver>,
        texts: &'static Texts,
        migrations: &'static [Migration],
        naming: Naming,
        quotes: (char, char),
    ) -> Self {
        let statements = Statements::new(texts, &naming, quotes);
        let shared = Shared {
            driver,
            naming,
            statements,
            texts,
            migrations,
            quotes,
            laned: AtomicBool::new(false),
            gapless: AtomicBool::new(false),
            beside: Beside::default(),
            line: AppendLine::default(),
            said_unplaced: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The driver.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.shared.driver
    }

    /// The statements over its tables.
    pub fn statements(&self) -> &Statements {
        &self.shared.statements
    }

    /// Where the tables live.
    pub fn naming(&self) -> &Naming {
        &self.shared.naming
    }
}

impl Shared {
    /// What errors call this store.
    pub(crate) fn label(&self) -> &str {
        self.driver.label()
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { store: self.driver.label() }
    }

    /// The first row of an answer that always has one.
    pub(crate) fn only<'r>(&self, rows: &'r [Row]) -> Result<&'r Row, StoreError> {
        rows.first().ok_or_else(|| self.no_row())
    }

    pub(crate) fn no_row(&self) -> StoreError {
        let message = "the server answered with no row where there is always one".into();
        StoreError::Unreachable { store: self.label().to_owned(), message }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("driver", &self.driver)
            .field("naming", &self.naming)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("driver", &self.shared.driver)
            .field("naming", &self.shared.naming)
            .finish_non_exhaustive()
    }
}

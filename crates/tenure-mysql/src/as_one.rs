//! How several statements of ours are one in a user's session: one answer, and whoever waits for it wakes up once.
//!
//! | server | how |
//! |---|---|
//! | MariaDB | a text that holds them all, `BEGIN NOT ATOMIC … END` |
//! | MySQL | a routine that does the same, `CALL`; see `driver/outbox_enqueue.sql` |
//!
//! Nothing depends on either: where it does not pay, or cannot be had, the statements are sent as they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_sql::{Call, Fault, FaultKind, SqlStore};

use crate::connect::Flavour;
use crate::literal::block_marked;
use crate::statements::QUOTES;

/// The routine's name, behind the prefix.
const ROUTINE: &str = "outbox_enqueue";

/// What is known of it, for all sessions that the store's [`Outbox`](crate::Outbox) is lent.
#[derive(Debug)]
pub(crate) struct AsOne {
    flavour: Flavour,
    alone: Alone,
    /// What the server calls the routine when it speaks of it.
    name: String,
    /// Not where the driver is told to keep nothing prepared, or the server does not take it.
    pays: AtomicBool,
}

/// What most messages are enqueued by: a message alone, which goes at once. It is made but once: to put it together for each of them
/// would take longer than the rest of our part.
#[derive(Debug)]
pub(crate) struct Alone {
    /// The statements. The first has all parameters, in their order.
    of: [String; 2],
    /// What does the same, with a `?` for each.
    pub(crate) prepared: Arc<str>,
    /// The routine with its parameters by number, if it is one.
    pub(crate) routine: Option<String>,
}

impl AsOne {
    pub(crate) fn on(flavour: Flavour, store: &SqlStore) -> Self {
        let name = format!("{}{ROUTINE}", store.naming().prefix);
        Self { flavour, alone: Alone::on(flavour, store), name, pays: AtomicBool::new(true) }
    }

    pub(crate) fn pays(&self) -> bool {
        self.pays.load(Ordering::Relaxed)
    }

    /// Whether this fault says that the server does not take it. Then it is not tried again.
    pub(crate) fn is_refused_by(&self, fault: &Fault) -> bool {
        // That it is not there, or that this user may not call it. The same is said of what a trigger calls: so it goes by the name.
        let absent = matches!(fault.kind, FaultKind::NoTransaction | FaultKind::Refused);
        let ours = !self.flavour.has_blocks() && absent && fault.message.contains(&self.name);
        let refused = ours || fault.kind == FaultKind::Unprepared;
        if refused {
            self.give_up(&fault.message);
        }
        refused
    }

    /// From now on the statements are sent as they are.
    pub(crate) fn give_up(&self, why: &str) {
        if self.pays.swap(false, Ordering::Relaxed) {
            tracing::info!(
                why,
                "messages are enqueued by two statements each, which takes a little longer than one"
            );
        }
    }

    /// What does as one what these do, if it is that.
    pub(crate) fn alone(&self, calls: &[Call<'_>]) -> Option<&Alone> {
        let [first, second] = calls else { return None };
        let of = &self.alone.of;
        (first.sql == of[0] && second.sql == of[1] && second.params.is_empty()).then_some(&self.alone)
    }

    /// Whether any statements can be one.
    pub(crate) fn has_blocks(&self) -> bool {
        self.flavour.has_blocks()
    }
}

impl Alone {
    fn on(flavour: Flavour, store: &SqlStore) -> Self {
        let texts = store.statements();
        let of = [texts.outbox_insert_one.clone(), texts.arrivals_add_new.clone()];
        let name = store.naming().table_quoted(ROUTINE, QUOTES);
        let (prepared, routine) = match flavour.has_blocks() {
            true => (block_marked(&of), None),
            false => (
                format!("CALL {name}(?, ?, ?, ?, ?, ?, ?)"),
                Some(format!("CALL {name}($1, $2, $3, $4, $5, $6, $7)")),
            ),
        };
        Self { of, prepared: prepared.into(), routine }
    }
}

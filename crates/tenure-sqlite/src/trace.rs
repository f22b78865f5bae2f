//! Every statement as an event of `tracing`, for those who want to see or to count what our connections run.

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

/// Whoever enables this target at the level TRACE, before a store is opened, is told of its statements.
const TARGET: &str = "tenure_sqlite::statement";
/// How much of a statement is told.
const TEXT_MAX_CHARS: usize = 200;

/// Tells of what this connection runs, transaction brackets included, if anyone listens. Otherwise it costs nothing.
pub(crate) fn follow(connection: &Connection) {
    if tracing::enabled!(target: TARGET, tracing::Level::TRACE) {
        connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(tell));
    }
}

/// The text has its placeholders, not the values bound to them: those may be payloads.
fn tell(event: TraceEvent<'_>) {
    let TraceEvent::Stmt(statement, told) = event else { return };
    let text = statement.sql();
    // What runs inside a statement (a trigger, a function that asks for a pragma) is told as a comment; it is a part of
    // that statement, which has been told of already.
    if text != told {
        return;
    }
    let words = text.lines().filter(|line| !line.starts_with("--")).flat_map(str::split_whitespace);
    let shown: String = words.collect::<Vec<_>>().join(" ").chars().take(TEXT_MAX_CHARS).collect();
    tracing::trace!(target: TARGET, statement = shown);
}

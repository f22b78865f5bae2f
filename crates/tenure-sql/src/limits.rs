//! How much one statement carries, and how far times and spans go: the same for every SQL store. What the contracts
//! themselves limit stands in the core.

/// The end of the year 9999: what a time that saturated becomes, so that it can still be written.
pub const LAST_MICROS: i64 = 253_402_300_799_000_000;
/// A hundred years: the longest span that is added to a server's clock.
pub const LONGEST_MICROS: u128 = 100 * 366 * 86_400 * 1_000_000;

/// How many rows are looked at in one step of a registry's sweep; further ones follow until none is left.
pub const SWEEP_BATCH: u32 = 1000;
/// How many bytes of payloads one statement carries where the server takes any size: Postgres.
pub const STATEMENT_BYTES: usize = 32 * 1024 * 1024;
/// How often a message is enqueued or noted anew that was swept away between two looks at it.
pub const RESTLESS_TRIES: usize = 3;
/// The most attempts that are shown of one message.
pub const ATTEMPTS_MAX: u32 = 10_000;
/// How many rows, or values, stand in one statement. Below 1,000: SQL Server takes no more rows in one, and locks whole tables
/// from 5,000 on; MariaDB makes something else of longer lists than a walk along the index.
pub const STATEMENT_ROWS: usize = 500;
/// How many bytes of values one statement inserts, about, unless a single row has more: servers take no larger packets than
/// they are told to.
pub const INSERT_BYTES: usize = 4 * 1024 * 1024;
/// The same where several statements go to the server as one text.
pub const TEXT_BYTES: usize = 200 * 1024;

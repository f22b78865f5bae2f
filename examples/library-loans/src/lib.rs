//! Two libraries lend each other's books.
//!
//! ```text
//!   loan (a process)            book (an aggregate)         desk (an aggregate)
//!     Request ── Requested
//!                   └─ Reserve ──▶ Reserved │ Refused
//!     Approve ◀─────── a route ──────┘          │
//!     Refuse  ◀─────── a route ─────────────────┘
//!        └─ HandOut ──────────────────────────────▶ HandedOut
//!     Lend    ◀─────── a route ────────────────────────┘
//!        └─ BringBack to itself, after a while: a timeout
//!     BringBack ── Returned
//!        ├─ TakeIn ───────────────────────────────▶ TakenIn
//!        └─ PutBack ──▶ PutBack
//! ```
//!
//! The book stands in one library and is handed out at the desk of the other. No transaction spans them: each step is
//! one append to one stream, and what follows from it is sent through the outbox, or comes back by a route.

mod book;
mod desk;
mod loan;
mod shelf;

pub use book::{Book, BookCommand, BookEvent};
pub use desk::{Desk, DeskCommand, DeskEvent};
pub use loan::{Loan, LoanCommand, LoanEvent, Stage, route};
pub use shelf::Shelf;

/// The libraries.
pub const LIBRARIES: [&str; 2] = ["north", "south"];

//! The outbox: messages written in the transaction of the data they speak of, and delivered afterwards.
//!
//! ```text
//!   enqueue (the user's own transaction)
//!      │
//!      ▼                  success
//!   pending ─────────────────────────────▶ dispatched
//!    │  ▲ ▲
//!    │  │ └── transient: again after a backoff, the source waits in order
//!    │  │
//!    │  └── retry (an operator, audited)
//!    ▼                                    discard (an operator, audited)
//!   dead ────────────────────────────────▶ discarded
//! ```
//!
//! **What it promises.** A message is delivered only if its row was committed, at least once, and those of one source one
//! after another in their order, through retries and changes of relay. Effects are made once by the receiver's inbox, in
//! the same transaction as its own writes. **What it does not:** no order among sources, and none at all among messages
//! without a source.
//!
//! Decisions stand here, without I/O: what may be enqueued ([`NewMessage`]), what a row means ([`decode`]), when to try
//! again ([`RetryPolicy`]), what to read, deliver and record next ([`Drain`]), and when to look again ([`Pace`]).

mod admin;
mod bisect;
mod cause;
pub mod cloudevents;
mod content;
mod dead_walk;
mod decode;
mod drain;
#[cfg(test)]
mod drain_arrivals_tests;
#[cfg(test)]
mod drain_tests;
mod ids;
mod inbox;
mod lane;
mod look;
mod message;
mod outcome;
mod pace;
mod part;
mod pulse;
mod retention;
mod retry;
mod settings;

pub use crate::health::{HealthThresholds, Level};
pub use admin::{Attempt, Details, Filter, LIST_MAX, LOOK_MAX, Listing, Selection, State, Stats, Summary};
pub use bisect::{BISECT_MARGIN, Bisect, Walk};
pub use cause::{CauseId, GRAVES_MAX, Grave, Graves, NotACauseId};
pub use content::Existing;
pub use dead_walk::{ACT_MAX, Acted, Counted, DEAD_LOOK_MAX, DeadPass, DeadWalk};
pub use decode::{Poison, decode};
pub use drain::{Drain, Flight, Landing};
pub use ids::{MessageId, deterministic_id};
pub use inbox::{Accept, Consumer, InboxSettings, fingerprint};
pub use look::{
    Arrivals, ArrivalsLook, Discover, Found, INLINE_MAX_BYTES, LaneLook, Loaded, Look, Missed, Page, Place,
    RowId, Stored, UnorderedLook,
};
pub(crate) use message::is_json;
pub use message::{
    Body, ENQUEUE_MAX, Enqueued, HEADERS_MAX_BYTES, Limits, Message, MessageError, NewMessage,
    PAYLOAD_MAX_BYTES, SOURCE_MAX_BYTES, Sequence, TOPIC_MAX_BYTES, TYPE_MAX_BYTES,
};
pub use outcome::{Kind, Next, Outcome, REASON_MAX_BYTES, Recorded, Verdict, shorten};
pub use pace::Pace;
pub use part::{PARTS_MAX, Part, PartError};
pub use pulse::{Count, PULSE_MAX, Pulse};
pub use retention::{Retention, Swept};
pub use retry::RetryPolicy;
pub use settings::{OnDead, RelaySettings};

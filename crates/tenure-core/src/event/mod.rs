//! Events: what happened, stream by stream, for ever.
//!
//! ```text
//!   append ── one transaction ──▶ events (stream, version)  +  dispatches in the outbox  +  the inbox's mark
//!                                   │
//!                                   ▼  by position, in the order of commits
//!                                subscriptions, taps
//! ```
//!
//! **What it promises.** An append is there as a whole or not at all, and only if the stream had the expected version. A
//! retry with the same ids gives the first result. Who reads by position never misses an event that commits late: a page
//! ends where the store can prove that nothing below it may still appear. **What it does not:** positions have gaps, and
//! there is no order between streams beyond that of commits.

mod append;
mod codec;
mod decide;
mod read;
mod record;
mod story;
mod stream;
mod unreadable;

pub use append::{
    APPEND_MAX_BYTES, Append, AppendAnswer, AppendProblem, Appended, EVENTS_MAX, EventProblem, Expected,
    InboxMark, Limits, NewEvent,
};
pub use codec::{DecodeError, Encoded, Types, encode};
pub use decide::{Judgement, Seen, Standing, judge, not_again, same_events};
pub use read::{AllPage, Direction, PAGE_BYTES, PAGE_MAX, PageRows, Stall, StreamPage, StreamRead};
pub use record::{Metadata, Recorded, Snapshot};
pub use story::{STORY_MAX, STREAMS_MAX, StreamLine};
pub use stream::{Position, STREAM_MAX_BYTES, StreamName, Version};
pub use unreadable::Unreadable;

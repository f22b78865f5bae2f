//! Leases: the named right to do something, held by at most one holder at a time.
//!
//! ```text
//!             decide::acquire                    decide::renew
//!   free ───────────────────────▶ held (term n) ───────────────┐
//!    ▲                              │   ▲                      │
//!    │ decide::release (term n)     │   └──────────────────────┘
//!    ├──────────────────────────────┤
//!    │ expiry by the store's clock, or presence ended and trust waited out
//!    └── decide::acquire of the next holder gives term n + 1
//! ```
//!
//! Three parties decide, each in its own file and none with I/O: the store ([`decide`]), the one who holds
//! ([`Incumbent`]) and the one who would like to ([`Contender`]).

mod contender;
#[cfg(test)]
mod contender_tests;
pub mod decide;
#[cfg(test)]
mod decide_tests;
mod fence;
#[cfg(test)]
mod fixtures;
mod grant;
mod history;
mod incumbent;
#[cfg(test)]
mod incumbent_tests;
mod name;
mod presence;
mod record;
mod settings;
mod term;

pub use contender::{Contender, Move};
pub use fence::{Fence, FenceCheck, FenceError, Fenced};
pub use grant::{Acquire, Claim, Grant, Holder, Loss, Release, Renew, Renewal, Revoke};
pub use history::{Cause, Change, FORGET_MAX, Fate, Forgotten, HistoryId};
pub use incumbent::{Incumbent, Step};
pub use name::{LEASE_NAME_MAX_BYTES, LeaseName};
pub use presence::{Announced, Evidence, Flag};
pub use record::{LeasePageOf, LeaseRecord};
pub use settings::{LeaseSettings, PresenceSettings, SettingsError, TTL_MAX, TTL_MIN};
pub use term::Term;

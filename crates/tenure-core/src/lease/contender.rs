//! The other side of a lease: the one who waits for it.
//!
//! ```text
//!            Held, no presence                      flag fell
//!   eager ──────────────────▶ waiting ◀──┐   ┌──────────────────▶ looking ──▶ granted (it was released)
//!     │                          │ time   │   │                      │ still held by the same grant
//!     │ Granted                  ▼        │   │                      ▼
//!     ▼                        Try ───────┴─ Watch ◀───────────── suspecting ──▶ Try with evidence
//!   done                                                          waits out the holder's trust
//! ```

use std::time::Duration;

use super::{Evidence, Flag, Holder, LeaseName, PresenceSettings};
use crate::mutation::{Rule, off};
use crate::time::Monotonic;

/// What a contender does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// Claim the lease, with this evidence.
    Try(Option<Evidence>),
    /// Wait for this flag to fall, at most until then.
    Watch(Flag, Monotonic),
    /// Wait until then.
    Sleep(Monotonic),
}

/// One who waits for a lease.
#[derive(Debug, Clone)]
pub struct Contender {
    lease: LeaseName,
    poll: Duration,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// Claim at once.
    Eager,
    /// Someone holds it; look again at `look_at`, or when the flag falls.
    Waiting { flag: Option<Flag>, look_at: Monotonic },
    /// The flag fell at `fell`; the next answer tells whether the lease was given back.
    Looking { flag: Flag, fell: Monotonic },
    /// It was not given back: wait until the holder's trust must have ended.
    Suspecting { flag: Flag, not_before: Monotonic },
}

/// A little after the ttl's end, so that the first look is not a hair too early.
const AFTER_EXPIRY: Duration = Duration::from_millis(5);
/// Later still when a flag is watched: a living holder has renewed by then, and the next look is a whole ttl away.
const AFTER_EXPIRY_WATCHED: Duration = Duration::from_millis(300);

impl Contender {
    /// Will try at once, and look every `poll` when nothing else wakes it.
    pub fn new(lease: LeaseName, poll: Duration) -> Self {
        Self { lease, poll, state: State::Eager }
    }

    /// Decides what to do at `now`.
    pub fn next(&self, now: Monotonic) -> Move {
        match &self.state {
            State::Eager | State::Looking { .. } => Move::Try(None),
            State::Waiting { look_at, .. } if now >= *look_at => Move::Try(None),
            State::Waiting { flag: Some(flag), look_at } => Move::Watch(flag.clone(), *look_at),
            State::Waiting { flag: None, look_at } => Move::Sleep(*look_at),
            State::Suspecting { flag, not_before } if now >= *not_before => {
                Move::Try(Some(Evidence { term: flag.term, session: flag.session }))
            }
            State::Suspecting { not_before, .. } => Move::Sleep(*not_before),
        }
    }

    /// Notes that a claim found the lease held.
    ///
    /// `jitter`, between 0 and 1, spreads the looks of many contenders.
    pub fn held(&mut self, holder: &Holder, jitter: f64, now: Monotonic) {
        let flag = holder.presence.as_ref().map(|presence| Flag {
            lease: self.lease.clone(),
            term: holder.term,
            session: presence.session,
        });
        if let State::Looking { flag: fallen, fell } = &self.state
            && Some(fallen) == flag.as_ref()
        {
            let trust = holder.presence.as_ref().map_or(Duration::ZERO, |presence| presence.trust);
            let wait =
                if off(Rule::WaitOutPresence) { Duration::ZERO } else { PresenceSettings::wait_out(trust) };
            self.state = State::Suspecting { flag: fallen.clone(), not_before: fell.after(wait) };
            return;
        }
        let look_in = match flag {
            // The flag will wake us; the look at expiry is for a holder that is frozen with its session open.
            Some(_) => holder.expires_in.saturating_add(AFTER_EXPIRY_WATCHED),
            None => holder
                .expires_in
                .saturating_add(AFTER_EXPIRY)
                .min(self.poll.mul_f64(1.0 + 0.2 * jitter.clamp(0.0, 1.0))),
        };
        self.state = State::Waiting { flag, look_at: now.after(look_in) };
    }

    /// Notes that a claim got no answer. The same claim is to be made again: it may have taken effect.
    pub fn no_answer(&mut self, pause: Duration, now: Monotonic) {
        self.state = State::Waiting { flag: None, look_at: now.after(pause) };
    }

    /// Notes that `flag` fell: its holder gave the lease back, or its session ended.
    pub fn flag_fell(&mut self, flag: &Flag, now: Monotonic) {
        if matches!(&self.state, State::Waiting { flag: Some(awaited), .. } if awaited == flag) {
            self.state = State::Looking { flag: flag.clone(), fell: now };
        }
    }

    /// Notes that the flag cannot be watched just now: falls back to looking every poll.
    pub fn cannot_watch(&mut self, now: Monotonic) {
        if let State::Waiting { flag, look_at } = &mut self.state {
            *flag = None;
            *look_at = (*look_at).min(now.after(self.poll));
        }
    }

    /// Takes a hint that the lease may be free. A hint changes when a claim is made, never what it proves.
    pub fn hint(&mut self) {
        if matches!(self.state, State::Waiting { .. }) {
            self.state = State::Eager;
        }
    }
}

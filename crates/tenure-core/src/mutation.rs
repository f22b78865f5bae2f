//! Switches that turn one safety rule off each.
//!
//! A rule that no test misses is a rule nobody can rely on. With the feature `mutations` (used by the simulator and by
//! tests only) a rule can be switched off for the current thread, and the test then has to fail. Without the feature
//! [`off`] is a constant and every check of it disappears.

/// A safety rule that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Trust is counted from the start of an attempt; off: from its answer.
    TrustFromStart,
    /// The store checks the fence of a protected write; off: it lets every write pass.
    Fence,
    /// Expiry is judged by the store's clock; off: by the clock of the node that asks.
    StoreClock,
    /// A holder stops at its trust deadline; off: it goes on until it is told.
    StopAtDeadline,
    /// A release names the term; off: it names only the lease.
    ReleaseByTerm,
    /// A renewal names the term; off: it names only the lease.
    RenewByTerm,
    /// A term is remembered after a release; off: it starts again at one.
    TermForEver,
    /// Trust ends a margin before the ttl; off: the margin is zero.
    Margin,
    /// A contender that saw a presence end waits out the holder's trust; off: it takes over at once.
    WaitOutPresence,
    /// A holder under presence trusts itself only as far as its last ping; off: as far as the row says.
    PresenceTrust,
    /// Evidence of an ended presence names the session; off: any session of that term will do.
    EvidenceNamesSession,
    /// A doubtful renewal leaves the presence as bound as before; off: it counts as done.
    DoubtKeepsPresence,
    /// A renewal that arrives after a later one is refused; off: it takes effect.
    RenewalsInOrder,
    /// A source whose message failed delivers nothing more before that failure was recorded; off: it goes on.
    LaneStops,
    /// A look that was under way when a row was settled cannot bring it back; off: it can.
    BuryUntilLooked,
    /// A source that is being drained is read from its head again and again; off: only from where it was read to.
    LookFromHead,
    /// When there are more sources than can be held, those that had their turn make way; off: they stay.
    MakeWay,
    /// What was read of the list of arrivals and not taken in is read again before what is behind it; off: it is passed by.
    ReadAgainWhatWasLeft,
    /// What stands in a lane waits until the list of arrivals was read as far as its number; off: it goes before what came before it.
    LanesWaitForTheList,
    /// The numbers before those that were read are asked for again and again; off: the list is read only forwards.
    LookBehind,
    /// A source of which so much is held that there is no room for others gives some of it back; off: it keeps it.
    MakeRoom,
    /// An outcome whose record had no answer is recorded again; off: it is forgotten.
    RecordAgain,
    /// An attempt is recorded only as the next one of a pending row; off: whatever the row is.
    RecordNextAttempt,
    /// A dead message that halts its source holds it back; off: the source goes on.
    HaltHolds,
    /// An inbox remembers what it accepted; off: everything is fresh.
    InboxRemembers,
    /// A message is delivered only once it is committed; off: as soon as it is inserted.
    OnlyCommitted,
    /// Retention leaves alone what is not finished; off: age is enough.
    SweepOnlyFinished,
    /// An append happens only at the expected version; off: at any.
    ExpectedVersion,
    /// A checkpoint moves only to where nothing below may still appear; off: to the last position that was given out.
    CheckpointProven,
    /// A checkpoint moves only from where its reader knows it; off: from wherever it is.
    CheckpointFrom,
    /// A checkpoint moves only for a reader that knows of every time an operator has moved it; off: for any.
    CheckpointRewinds,
    /// Events and dispatches are written together; off: the events first, and the dispatches if nothing comes between.
    AppendWhole,
    /// A cluster's store checks the fence of an order; off: it takes orders from anyone.
    LeaderFence,
    /// A daemon is taken from a node only when the node is over or late; off: whenever the leader says so.
    OwnerOver,
    /// An acknowledgement names the generation; off: it names only the daemon.
    AcknowledgeByGeneration,
    /// A confirmation that a daemon has stopped names the generation; off: it names only the daemon.
    ConfirmByGeneration,
    /// The parts of one layout are placed only when those of another are gone; off: at once.
    OneLayout,
    /// A node starts a daemon only when the store has taken its acknowledgement; off: as soon as it is assigned.
    StartAcknowledged,
    /// A node starts a generation only when it has stopped the one before; off: at once.
    StopBeforeStart,
    /// A node that is out of office stops its daemons; off: it lets them run.
    StopOutOfOffice,
    /// A holding that was granted elsewhere is recorded only if it is later than the recorded one; off: whichever comes last.
    OriginRises,
    /// A holding is recorded over one whose number says nothing of its own only when that one has ended; off: at once.
    PlacesTakeTurns,
}

impl Rule {
    /// Every rule there is.
    pub const ALL: [Self; 42] = [
        Self::TrustFromStart,
        Self::Fence,
        Self::StoreClock,
        Self::StopAtDeadline,
        Self::ReleaseByTerm,
        Self::RenewByTerm,
        Self::TermForEver,
        Self::Margin,
        Self::WaitOutPresence,
        Self::PresenceTrust,
        Self::EvidenceNamesSession,
        Self::DoubtKeepsPresence,
        Self::RenewalsInOrder,
        Self::LaneStops,
        Self::BuryUntilLooked,
        Self::LookFromHead,
        Self::MakeWay,
        Self::ReadAgainWhatWasLeft,
        Self::LanesWaitForTheList,
        Self::LookBehind,
        Self::MakeRoom,
        Self::RecordAgain,
        Self::RecordNextAttempt,
        Self::HaltHolds,
        Self::InboxRemembers,
        Self::OnlyCommitted,
        Self::SweepOnlyFinished,
        Self::ExpectedVersion,
        Self::CheckpointProven,
        Self::CheckpointFrom,
        Self::CheckpointRewinds,
        Self::AppendWhole,
        Self::LeaderFence,
        Self::OwnerOver,
        Self::AcknowledgeByGeneration,
        Self::ConfirmByGeneration,
        Self::OneLayout,
        Self::StartAcknowledged,
        Self::StopBeforeStart,
        Self::StopOutOfOffice,
        Self::OriginRises,
        Self::PlacesTakeTurns,
    ];
}

#[cfg(not(feature = "mutations"))]
mod switch {
    use super::Rule;

    /// Whether a rule is switched off; never, in a build without the feature `mutations`.
    #[inline(always)]
    pub const fn off(_: Rule) -> bool {
        false
    }
}

#[cfg(feature = "mutations")]
mod switch {
    use std::cell::Cell;

    use super::Rule;

    thread_local! {
        static OFF: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    /// Whether a rule is switched off on this thread.
    pub fn off(rule: Rule) -> bool {
        OFF.get() == Some(rule)
    }

    /// Runs `work` with one rule switched off on this thread.
    pub fn without<T>(rule: Rule, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Rule>);
        impl Drop for Restore {
            fn drop(&mut self) {
                OFF.set(self.0);
            }
        }
        let _restore = Restore(OFF.replace(Some(rule)));
        work()
    }
}

pub use switch::off;
#[cfg(feature = "mutations")]
pub use switch::without;

//! What this process has seen of each object, and since when by its own clock. No I/O, no clock of its own.
//!
//! Nobody knows the holder's clock, nor the API server's. What a contender knows is its own steady clock, and that the
//! object has not changed since it first saw it like this. A living holder changes it within the duration that the object
//! records; one that did not, for that whole duration, has stopped.
//!
//! ```text
//!   holder   renews ·│                          its trust ends │
//!   others           └─ seen ·│◀────── recorded duration ───────────▶│ free
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::id::Unique;
use tenure_core::lease::{LeaseName, Term};
use tenure_core::time::Monotonic;

use crate::decide::Seen;
use crate::object::Object;

/// The most leases that are remembered. To forget one costs a contender one whole duration, and nothing else.
const LEASES_MAX: usize = 10_000;

/// What makes an object the same as before: with any of these changed, its holder has shown that it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    uid: String,
    version: String,
    holder: Option<String>,
    renew_time: Option<i64>,
    transitions: i32,
}

impl Mark {
    fn of(seen: &Seen) -> Self {
        Self {
            uid: seen.uid.clone(),
            version: seen.version.clone(),
            holder: seen.holder.clone(),
            renew_time: seen.renew_time,
            transitions: seen.transitions,
        }
    }
}

/// A grant of this process, with the object as it was last written for it.
#[derive(Debug, Clone)]
pub(crate) struct Ours {
    pub(crate) claim: Unique,
    pub(crate) uid: String,
    pub(crate) object: Object,
}

/// The highest term seen of a lease, and in which object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Highest {
    pub(crate) term: Term,
    pub(crate) uid: String,
}

#[derive(Debug, Default)]
struct Known {
    sighting: Option<(Mark, Monotonic)>,
    highest: Option<Highest>,
    ours: Option<Ours>,
    looked: u64,
}

/// What this process has seen of each lease.
#[derive(Debug, Default)]
pub(crate) struct Sights {
    leases: BTreeMap<LeaseName, Known>,
    looks: u64,
}

impl Sights {
    /// Notes an object as an answer showed it. `now` is read **after** the answer came: a sighting may be dated too late,
    /// never too early. Answers how long its holder has left, by what it recorded itself.
    pub(crate) fn note(&mut self, name: &LeaseName, seen: &Seen, now: Monotonic) -> Duration {
        let known = self.known(name);
        let mark = Mark::of(seen);
        let since = match &known.sighting {
            Some((same, since)) if *same == mark => *since,
            _ => now,
        };
        known.sighting = Some((mark, since));
        if let Some(term) = seen.term()
            && known.highest.as_ref().is_none_or(|highest| highest.term < term)
        {
            known.highest = Some(Highest { term, uid: seen.uid.clone() });
        }
        seen.duration.saturating_sub(since.until(now))
    }

    /// How long the holder has left where the object is as it was last seen; its whole duration where it is not.
    pub(crate) fn left(&self, name: &LeaseName, seen: &Seen, now: Monotonic) -> Duration {
        match self.leases.get(name).and_then(|known| known.sighting.as_ref()) {
            Some((mark, since)) if *mark == Mark::of(seen) => seen.duration.saturating_sub(since.until(now)),
            _ => seen.duration,
        }
    }

    /// Notes that the object is not there.
    pub(crate) fn note_gone(&mut self, name: &LeaseName) {
        if let Some(known) = self.leases.get_mut(name) {
            (known.sighting, known.ours) = (None, None);
        }
    }

    /// The highest term seen, also of objects that are gone.
    pub(crate) fn highest(&self, name: &LeaseName) -> Option<&Highest> {
        self.leases.get(name)?.highest.as_ref()
    }

    /// Notes the object as we wrote it for a grant of ours.
    pub(crate) fn note_ours(&mut self, name: &LeaseName, ours: Ours) {
        self.known(name).ours = Some(ours);
    }

    /// The object of this grant, if this process wrote it last.
    pub(crate) fn ours(&self, name: &LeaseName, claim: Unique) -> Option<&Ours> {
        self.leases.get(name)?.ours.as_ref().filter(|ours| ours.claim == claim)
    }

    fn known(&mut self, name: &LeaseName) -> &mut Known {
        if self.leases.len() >= LEASES_MAX && !self.leases.contains_key(name) {
            let oldest = self.leases.iter().min_by_key(|(_, known)| known.looked);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.leases.remove(&oldest);
            }
        }
        self.looks += 1;
        let known = self.leases.entry(name.clone()).or_default();
        known.looked = self.looks;
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::{HOUR_MICROS, foreign};

    const SECOND: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_origin(Duration::from_millis(millis))
    }

    fn name() -> LeaseName {
        LeaseName::new("relay").unwrap()
    }

    /// client-go#448: what happened before we looked proves nothing.
    #[test]
    fn a_first_sight_waits_a_whole_duration() {
        let mut sights = Sights::default();
        assert_eq!(sights.left(&name(), &foreign(15), at(90_000)), 15 * SECOND);
        assert_eq!(sights.note(&name(), &foreign(15), at(90_000)), 15 * SECOND);
    }

    #[test]
    fn what_has_not_changed_for_its_duration_has_expired_and_not_before() {
        let mut sights = Sights::default();
        sights.note(&name(), &foreign(2), at(1000));
        assert_eq!(sights.note(&name(), &foreign(2), at(2999)), Duration::from_millis(1));
        assert_eq!(sights.note(&name(), &foreign(2), at(3000)), Duration::ZERO);
    }

    #[test]
    fn any_change_begins_a_new_wait() {
        let changes: [fn(&mut Seen); 5] = [
            |seen| seen.uid = "another".into(),
            |seen| seen.version = "another".into(),
            |seen| seen.holder = Some("another".into()),
            |seen| seen.renew_time = seen.renew_time.map(|time| time + 1),
            |seen| seen.transitions += 1,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut sights = Sights::default();
            sights.note(&name(), &foreign(2), at(0));
            let mut changed = foreign(2);
            change(&mut changed);
            assert_eq!(sights.left(&name(), &changed, at(5000)), 2 * SECOND, "change {number}");
            assert_eq!(sights.note(&name(), &changed, at(5000)), 2 * SECOND, "change {number}");
        }
    }

    /// Whatever the holder's wall clock says, a day ahead or a day behind.
    #[test]
    fn times_in_the_object_decide_nothing() {
        for shift in [-24 * HOUR_MICROS, 0, 24 * HOUR_MICROS] {
            let mut sights = Sights::default();
            let mut seen = foreign(2);
            seen.renew_time = seen.renew_time.map(|time| time + shift);
            assert_eq!(sights.note(&name(), &seen, at(0)), 2 * SECOND);
            assert_eq!(sights.note(&name(), &seen, at(1000)), SECOND);
            assert_eq!(sights.note(&name(), &seen, at(2000)), Duration::ZERO);
        }
    }

    #[test]
    fn a_deleted_object_is_forgotten_but_not_its_number() {
        let mut sights = Sights::default();
        sights.note(&name(), &foreign(2), at(0));
        let before = sights.highest(&name()).cloned();
        sights.note_gone(&name());
        assert_eq!(sights.left(&name(), &foreign(2), at(9000)), 2 * SECOND);
        assert!(before.is_some());
        assert_eq!(sights.highest(&name()).cloned(), before);
    }

    #[test]
    fn the_memory_has_a_limit_and_forgets_what_was_longest_unseen() {
        let mut sights = Sights::default();
        let number = |n: usize| LeaseName::new(format!("lease-{n}")).unwrap();
        for n in 0..LEASES_MAX {
            sights.note(&number(n), &foreign(2), at(0));
        }
        sights.note(&number(0), &foreign(2), at(0));
        sights.note(&name(), &foreign(2), at(0));
        assert_eq!(sights.leases.len(), LEASES_MAX);
        assert_eq!(sights.left(&number(0), &foreign(2), at(1000)), SECOND, "seen again, hence remembered");
        assert_eq!(sights.left(&number(1), &foreign(2), at(1000)), 2 * SECOND, "forgotten");
    }
}

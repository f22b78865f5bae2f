//! The holder's side, property by property; the numbers are those of the catalogue of failures.

use std::time::Duration;

use super::{Incumbent, LeaseSettings, Loss, PresenceSettings, Renew, Renewal, Step};
use crate::id::Unique;
use crate::lease::fixtures::{at, grant, millis, unique};
use crate::time::Monotonic;

/// Takes office at 0 with the answer to an attempt that started at 0. Trusted until 5.5 s, renews at 2 s.
fn in_office() -> Incumbent {
    let settings = LeaseSettings::default();
    Incumbent::begin(&grant(1, settings.ttl), &settings, at(0), at(0))
}

/// Does what the holder wants to do at `now`, which must be a renewal, and answers it `answer_after` later.
fn renew(incumbent: &mut Incumbent, now: u64, answer: Option<Renew>, answer_after: u64) -> Renewal {
    let Step::Renew(renewal) = incumbent.step(at(now)) else { panic!("wants no renewal at {now} ms") };
    incumbent.renewal_started(&renewal, at(now));
    incumbent.renewal_ended(renewal.number, answer, at(now + answer_after));
    renewal
}

/// Raises the flag on session 7 at 0, and announces it.
fn announced() -> Incumbent {
    let mut incumbent = in_office();
    incumbent.flag_raised(unique(7), at(0));
    let renewal = renew(&mut incumbent, 0, Some(Renew::Extended), 10);
    assert_eq!(session_of(&renewal), Some(unique(7)));
    incumbent
}

fn session_of(renewal: &Renewal) -> Option<Unique> {
    renewal.presence.as_ref().map(|announced| announced.session)
}

#[test]
fn s06_slow_answer_does_not_extend_trust() {
    let mut incumbent = in_office();
    renew(&mut incumbent, 2000, Some(Renew::Extended), 3000);
    assert_eq!(incumbent.trusted_until(), at(7500));
    assert!(incumbent.believes(at(7499)));
    assert!(!incumbent.believes(at(7500)));
}

#[test]
fn s06_a_grant_answered_after_its_trust_is_over_from_the_start() {
    let settings = LeaseSettings::default();
    let mut incumbent = Incumbent::begin(&grant(1, settings.ttl), &settings, at(0), at(5500));
    assert!(!incumbent.believes(at(5500)));
    assert_eq!(incumbent.step(at(5500)), Step::Stop(Loss::TrustEnded));
}

#[test]
fn s07_a_renewal_without_an_answer_is_repeated_within_the_deadline() {
    let mut incumbent = in_office();
    renew(&mut incumbent, 2000, None, 1000);
    assert_eq!(incumbent.step(at(3000)), Step::WaitUntil(at(3250)));
    let second = renew(&mut incumbent, 3250, Some(Renew::Extended), 10);
    assert_eq!(second.number, 2, "a repeated renewal is a new one: the first may still arrive");
    assert_eq!(incumbent.trusted_until(), at(8750));
}

#[test]
fn s08_without_an_answer_it_stops_at_the_deadline_for_ever() {
    let mut incumbent = in_office();
    let Step::Renew(renewal) = incumbent.step(at(2000)) else { panic!() };
    incumbent.renewal_started(&renewal, at(2000));
    assert_eq!(incumbent.step(at(2001)), Step::WaitUntil(at(2500)));
    assert_eq!(incumbent.step(at(5500)), Step::Stop(Loss::TrustEnded));
    incumbent.renewal_ended(renewal.number, Some(Renew::Extended), at(5600));
    incumbent.pinged(unique(7), at(5600), at(5601));
    assert_eq!(incumbent.step(at(5601)), Step::Stop(Loss::TrustEnded));
    assert!(!incumbent.believes(at(0)), "what is over is over for every reading");
}

#[test]
fn s08_an_answer_after_the_deadline_brings_nothing_back() {
    let mut incumbent = in_office();
    // Nobody looked between the deadline and the answer: a process that was stopped.
    renew(&mut incumbent, 2000, Some(Renew::Extended), 3500);
    assert_eq!(incumbent.loss(), Some(&Loss::TrustEnded));
}

#[test]
fn s03_a_lost_grant_is_over_at_once() {
    let mut incumbent = in_office();
    renew(&mut incumbent, 2000, Some(Renew::Lost(Loss::Revoked)), 10);
    assert!(!incumbent.believes(at(2010)));
    assert_eq!(incumbent.step(at(2010)), Step::Stop(Loss::Revoked));
}

#[test]
fn an_announcement_binds_from_the_moment_it_is_sent() {
    let mut incumbent = in_office();
    incumbent.flag_raised(unique(7), at(0));
    assert_eq!(incumbent.trusted_until(), at(5500), "a flag that no row names binds nobody");
    let Step::Renew(renewal) = incumbent.step(at(100)) else { panic!() };
    incumbent.renewal_started(&renewal, at(100));
    assert_eq!(incumbent.trusted_until(), at(700), "the row may name the session from now on");
    incumbent.renewal_ended(renewal.number, None, at(200));
    assert_eq!(incumbent.trusted_until(), at(700), "and may do so without an answer");
}

#[test]
fn under_presence_trust_follows_the_start_of_pings() {
    let mut incumbent = announced();
    assert_eq!(incumbent.trusted_until(), at(700));
    incumbent.pinged(unique(7), at(250), at(400));
    assert_eq!(incumbent.trusted_until(), at(950));
    incumbent.pinged(unique(7), at(100), at(500));
    assert_eq!(incumbent.trusted_until(), at(950), "an older ping takes nothing away");
    incumbent.pinged(unique(8), at(600), at(601));
    assert_eq!(incumbent.trusted_until(), at(950), "a ping of another session gives nothing");
    incumbent.pinged(unique(7), at(940), at(960));
    assert_eq!(incumbent.loss(), Some(&Loss::TrustEnded), "an answer after the end brings nothing back");
}

#[test]
fn s02_a_broken_session_is_withdrawn_and_binds_until_that_is_answered() {
    let mut incumbent = announced();
    incumbent.session_lost(unique(7));
    assert_eq!(incumbent.trusted_until(), at(700));
    let withdrawal = renew(&mut incumbent, 100, None, 100);
    assert_eq!(session_of(&withdrawal), None);
    assert_eq!(incumbent.trusted_until(), at(700), "the row may still name the session");
    let again = renew(&mut incumbent, 450, Some(Renew::Extended), 100);
    assert_eq!(session_of(&again), None);
    assert_eq!(incumbent.trusted_until(), at(5950), "now the row alone decides");
}

#[test]
fn from_one_session_to_another_the_row_goes_by_way_of_none() {
    let mut incumbent = announced();
    incumbent.session_lost(unique(7));
    incumbent.flag_raised(unique(8), at(50));
    assert_eq!(session_of(&renew(&mut incumbent, 100, Some(Renew::Extended), 10)), None);
    // Not at once: a jittery session must not flap.
    incumbent.pinged(unique(8), at(200), at(201));
    assert!(matches!(incumbent.step(at(210)), Step::WaitUntil(_)));
    incumbent.pinged(unique(8), at(2000), at(2001));
    assert_eq!(session_of(&renew(&mut incumbent, 2100, Some(Renew::Extended), 10)), Some(unique(8)));
    assert_eq!(incumbent.trusted_until(), at(2700));
}

#[test]
fn a_session_whose_pings_are_late_is_withdrawn_before_trust_ends() {
    let mut incumbent = announced();
    // The next ping is due at 250, trust ends at 700: doubt begins half-way between.
    assert_eq!(incumbent.step(at(10)), Step::WaitUntil(at(475)));
    assert!(matches!(incumbent.step(at(474)), Step::WaitUntil(_)));
    assert_eq!(session_of(&renew(&mut incumbent, 475, Some(Renew::Extended), 10)), None);
    assert!(incumbent.believes(at(700)));
}

/// Found by the simulator: with the slowest ping that settings allow, each session was doubted before its next ping.
#[test]
fn the_slowest_allowed_ping_keeps_presence_announced() {
    let ping = Duration::from_millis(350);
    let presence = PresenceSettings { ping, trust: ping * 2, ..PresenceSettings::default() };
    let settings = LeaseSettings { presence: Some(presence), ..LeaseSettings::default() };
    settings.validate().unwrap();
    let mut incumbent = Incumbent::begin(&grant(1, settings.ttl), &settings, at(0), at(0));
    incumbent.flag_raised(unique(7), at(0));
    renew(&mut incumbent, 0, Some(Renew::Extended), 10);
    for start in (350..60_000).step_by(350) {
        incumbent.pinged(unique(7), at(start), at(start + 80));
        for now in [start + 80, start + 349] {
            if let Step::Renew(renewal) = incumbent.step(at(now)) {
                assert_eq!(session_of(&renewal), Some(unique(7)), "withdrawn at {now} ms");
                incumbent.renewal_started(&renewal, at(now));
                incumbent.renewal_ended(renewal.number, Some(Renew::Extended), at(now));
            }
        }
    }
    assert!(incumbent.believes(at(60_000)));
}

#[test]
fn s18_work_without_progress_gives_the_lease_up() {
    let settings = LeaseSettings { watchdog: Some(millis(3000)), ..LeaseSettings::default() };
    let mut incumbent = Incumbent::begin(&grant(1, settings.ttl), &settings, at(0), at(0));
    incumbent.progressed(at(1000));
    renew(&mut incumbent, 2000, Some(Renew::Extended), 10);
    assert_eq!(incumbent.step(at(2100)), Step::WaitUntil(at(4000)));
    assert!(incumbent.believes(at(3999)));
    assert_eq!(incumbent.step(at(4000)), Step::Stop(Loss::Stalled));
}

#[test]
fn the_ttl_of_the_grant_decides_and_not_that_of_the_settings() {
    let incumbent = Incumbent::begin(&grant(1, millis(3000)), &LeaseSettings::default(), at(0), at(0));
    assert_eq!(incumbent.trusted_until(), at(2500));
}

#[test]
fn s07_a_renewal_that_hangs_is_overtaken_and_extends_trust_all_the_same() {
    let mut incumbent = in_office();
    let mut sent = Vec::new();
    for now in [2000, 2500, 3000, 3500] {
        let Step::Renew(renewal) = incumbent.step(at(now)) else { panic!("no renewal at {now} ms") };
        incumbent.renewal_started(&renewal, at(now));
        sent.push(renewal.number);
    }
    assert_eq!(sent, [1, 2, 3, 4]);
    assert_eq!(incumbent.step(at(4000)), Step::WaitUntil(at(5500)), "not more than four at once");
    incumbent.renewal_ended(2, Some(Renew::Extended), at(4100));
    assert_eq!(incumbent.trusted_until(), at(2500 + 5500), "by the start of the one that was answered");
    incumbent.renewal_ended(1, Some(Renew::Extended), at(4200));
    assert_eq!(incumbent.trusted_until(), at(2500 + 5500), "an older answer takes nothing away");
    incumbent.renewal_ended(4, Some(Renew::Extended), at(4300));
    assert_eq!(incumbent.trusted_until(), at(3500 + 5500));
    assert_eq!(incumbent.step(at(4300)), Step::WaitUntil(at(5500)), "the next one in its turn");
}

#[test]
fn an_overtaken_renewal_says_nothing_of_presence() {
    let mut incumbent = announced();
    incumbent.session_lost(unique(7));
    let Step::Renew(first) = incumbent.step(at(20)) else { panic!("withdraws") };
    incumbent.renewal_started(&first, at(20));
    let Step::Renew(second) = incumbent.step(at(540)) else { panic!("withdraws again") };
    incumbent.renewal_started(&second, at(540));
    incumbent.renewal_ended(first.number, Some(Renew::Extended), at(550));
    assert_eq!(incumbent.trusted_until(), at(700), "only the last word counts");
    incumbent.renewal_ended(second.number, Some(Renew::Extended), at(560));
    assert_eq!(incumbent.trusted_until(), at(540 + 5500));
}

mod random {
    //! Any order of events: what the holder trusts never goes beyond what the store and contenders may conclude.

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Event {
        Step,
        Extended(usize),
        NoAnswer(usize),
        Raised(u128),
        Pinged(u128, u64),
        Lost(u128),
    }

    fn event() -> impl Strategy<Value = Event> {
        let session = || 1..3_u128;
        prop_oneof![
            4 => Just(Event::Step),
            2 => (0..4_usize).prop_map(Event::Extended),
            1 => (0..4_usize).prop_map(Event::NoAnswer),
            2 => session().prop_map(Event::Raised),
            6 => (session(), 0..150_u64).prop_map(|(session, ago)| Event::Pinged(session, ago)),
            1 => session().prop_map(Event::Lost),
        ]
    }

    /// What the row may say, as pessimistically as one can think of it.
    #[derive(Default)]
    struct Model {
        /// When the last extended attempt started.
        extended: u64,
        /// Every session that the row may name.
        named: Vec<u128>,
        /// When the last answered ping of a session started.
        pings: BTreeMap<u128, u64>,
        in_flight: BTreeMap<u64, (u64, Option<u128>)>,
        number: u64,
    }

    impl Model {
        fn sent(&mut self, renewal: &Renewal, now: u64) {
            assert!(renewal.number > self.number, "numbers rise");
            self.number = renewal.number;
            let session = session_of(renewal).map(Unique::as_u128);
            if let Some(session) = session {
                assert!(self.named.iter().all(|named| *named == session), "the row might name either of two");
                self.named.push(session);
            }
            self.in_flight.insert(renewal.number, (now, session));
        }

        fn extended(&mut self, number: u64) {
            if let Some((started, session)) = self.in_flight.remove(&number) {
                self.extended = self.extended.max(started);
                // Only the last one sent tells what the row says now.
                if number == self.number {
                    self.named = session.into_iter().collect();
                }
            }
        }

        /// One of those under way.
        fn pick(&self, at: usize) -> Option<u64> {
            self.in_flight.keys().nth(at % self.in_flight.len().max(1)).copied()
        }

        fn ping(&self, session: u128) -> u64 {
            self.pings.get(&session).copied().unwrap_or(0)
        }

        /// The last moment at which a holder may believe.
        fn trust(&self) -> Monotonic {
            let pings = self.named.iter().map(|session| at(self.ping(*session) + 700));
            pings.chain([at(self.extended + 5500)]).min().unwrap_or(at(0))
        }
    }

    proptest! {
        #[test]
        fn trust_never_goes_beyond_what_others_may_conclude(
            events in prop::collection::vec((event(), 0..120_u64), 1..200)
        ) {
            let (mut incumbent, mut model, mut now) = (in_office(), Model::default(), 0);
            let mut over = false;
            for (event, pause) in events {
                now += pause;
                over |= !incumbent.believes(at(now));
                match event {
                    Event::Step => match incumbent.step(at(now)) {
                        Step::Renew(renewal) => {
                            prop_assert!(model.in_flight.len() < 64, "renewals are bounded");
                            incumbent.renewal_started(&renewal, at(now));
                            model.sent(&renewal, now);
                        }
                        Step::WaitUntil(until) => prop_assert!(until > at(now), "a wait that does not wait"),
                        Step::Stop(_) => prop_assert!(!incumbent.believes(at(now))),
                    },
                    Event::Extended(at_index) => {
                        if let Some(number) = model.pick(at_index) {
                            incumbent.renewal_ended(number, Some(Renew::Extended), at(now));
                            model.extended(number);
                        }
                    }
                    Event::NoAnswer(at_index) => {
                        if let Some(number) = model.pick(at_index) {
                            incumbent.renewal_ended(number, None, at(now));
                            model.in_flight.remove(&number);
                        }
                    }
                    Event::Raised(session) => incumbent.flag_raised(unique(session), at(model.ping(session))),
                    Event::Pinged(session, ago) => {
                        let started = now.saturating_sub(ago);
                        incumbent.pinged(unique(session), at(started), at(now));
                        let ping = model.pings.entry(session).or_default();
                        *ping = started.max(*ping);
                    }
                    Event::Lost(session) => incumbent.session_lost(unique(session)),
                }
                prop_assert!(!over || !incumbent.believes(at(now)), "belief came back");
                prop_assert!(!incumbent.believes(at(now)) || incumbent.trusted_until() <= model.trust());
            }
        }
    }
}

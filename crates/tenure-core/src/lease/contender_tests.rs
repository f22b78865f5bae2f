//! The side of the one who waits: when it looks, and what it may conclude.

use super::{Announced, Contender, Evidence, Flag, Holder, Move};
use crate::lease::fixtures::{at, lease, millis, node, term, unique};

/// The holder of a term, whose grant lasts another five seconds.
fn holder(number: u64, session: Option<u128>) -> Holder {
    let presence = session.map(|session| Announced { session: unique(session), trust: millis(700) });
    Holder { node: node(9), term: term(number), expires_in: millis(5000), presence }
}

fn flag(number: u64, session: u128) -> Flag {
    Flag { lease: lease(), term: term(number), session: unique(session) }
}

fn contender() -> Contender {
    Contender::new(lease(), millis(2000))
}

/// One that watches the flag of term 3 on session 7.
fn watching() -> Contender {
    let mut contender = contender();
    contender.held(&holder(3, Some(7)), 0.0, at(0));
    contender
}

#[test]
fn it_tries_at_once() {
    assert_eq!(contender().next(at(0)), Move::Try(None));
}

#[test]
fn without_presence_it_looks_every_poll_and_when_the_ttl_ends() {
    let mut contender = contender();
    contender.held(&holder(3, None), 0.0, at(0));
    assert_eq!(contender.next(at(0)), Move::Sleep(at(2000)));
    assert_eq!(contender.next(at(2000)), Move::Try(None));
    contender.held(&holder(3, None), 1.0, at(2000));
    assert_eq!(contender.next(at(2000)), Move::Sleep(at(4400)), "jitter spreads the looks by a fifth");
    contender.held(&Holder { expires_in: millis(300), ..holder(3, None) }, 1.0, at(4400));
    assert_eq!(contender.next(at(4400)), Move::Sleep(at(4705)), "a hair after the end, not before");
}

#[test]
fn with_presence_it_watches_until_a_living_holder_has_renewed() {
    let contender = watching();
    assert_eq!(contender.next(at(0)), Move::Watch(flag(3, 7), at(5300)));
    assert_eq!(contender.next(at(5300)), Move::Try(None), "a frozen holder keeps its session, not its row");
}

#[test]
fn a_fallen_flag_means_a_look_and_no_evidence_yet() {
    let mut contender = watching();
    contender.flag_fell(&flag(3, 7), at(100));
    assert_eq!(contender.next(at(100)), Move::Try(None), "it may have been released");
}

#[test]
fn evidence_comes_only_after_the_holders_trust_is_waited_out() {
    let mut contender = watching();
    contender.flag_fell(&flag(3, 7), at(100));
    contender.held(&holder(3, Some(7)), 0.0, at(110));
    assert_eq!(contender.next(at(110)), Move::Sleep(at(870)), "trust and a tenth, from the fall");
    assert_eq!(contender.next(at(869)), Move::Sleep(at(870)));
    let evidence = Evidence { term: term(3), session: unique(7) };
    assert_eq!(contender.next(at(870)), Move::Try(Some(evidence)));
    contender.held(&holder(3, Some(8)), 0.0, at(880));
    assert_eq!(
        contender.next(at(880)),
        Move::Watch(flag(3, 8), at(6180)),
        "refused evidence is not repeated"
    );
}

#[test]
fn a_look_that_finds_another_session_or_term_or_none_drops_the_suspicion() {
    for (number, session) in [(3, Some(8)), (4, Some(7)), (3, None)] {
        let mut contender = watching();
        contender.flag_fell(&flag(3, 7), at(100));
        contender.held(&holder(number, session), 0.0, at(110));
        assert!(!matches!(contender.next(at(3000)), Move::Try(Some(_))));
    }
}

#[test]
fn the_fall_of_a_flag_that_nobody_watches_means_nothing() {
    let mut contender = watching();
    contender.flag_fell(&flag(3, 8), at(100));
    contender.flag_fell(&flag(2, 7), at(100));
    assert_eq!(contender.next(at(100)), Move::Watch(flag(3, 7), at(5300)));
}

#[test]
fn no_answer_proves_nothing() {
    let mut contender = watching();
    contender.flag_fell(&flag(3, 7), at(100));
    contender.no_answer(millis(400), at(200));
    assert_eq!(contender.next(at(200)), Move::Sleep(at(600)));
    assert_eq!(contender.next(at(600)), Move::Try(None));
}

#[test]
fn a_hint_changes_when_and_never_what() {
    let mut contender = watching();
    contender.hint();
    assert_eq!(contender.next(at(1)), Move::Try(None));
    contender.held(&holder(3, Some(7)), 0.0, at(2));
    contender.flag_fell(&flag(3, 7), at(100));
    contender.held(&holder(3, Some(7)), 0.0, at(110));
    contender.hint();
    assert_eq!(contender.next(at(120)), Move::Sleep(at(870)), "a hint does not shorten the wait");
}

#[test]
fn one_who_cannot_watch_looks_every_poll() {
    let mut contender = watching();
    contender.cannot_watch(at(100));
    assert_eq!(contender.next(at(100)), Move::Sleep(at(2100)));
}

mod random {
    use proptest::prelude::*;

    use super::*;
    use crate::lease::PresenceSettings;

    #[derive(Debug, Clone)]
    enum Event {
        Held(u64, Option<u128>),
        NoAnswer,
        Fell(u64, u128),
        CannotWatch,
        Hint,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            6 => (1..3_u64, prop::option::of(1..3_u128))
                .prop_map(|(number, session)| Event::Held(number, session)),
            1 => Just(Event::NoAnswer),
            4 => (1..3_u64, 1..3_u128).prop_map(|(number, session)| Event::Fell(number, session)),
            1 => Just(Event::CannotWatch),
            1 => Just(Event::Hint),
        ]
    }

    proptest! {
        /// Evidence names a flag that was seen down, then seen in the row again, and waited out by the row's number.
        #[test]
        fn evidence_is_never_early(events in prop::collection::vec((event(), 0..150_u64), 1..80)) {
            let (mut contender, mut now) = (contender(), 0);
            let mut fallen: Vec<(Flag, u64)> = Vec::new();
            for (event, pause) in events {
                now += pause;
                match event {
                    Event::Held(number, session) => contender.held(&holder(number, session), 0.5, at(now)),
                    Event::NoAnswer => contender.no_answer(millis(100), at(now)),
                    Event::Fell(number, session) => {
                        contender.flag_fell(&flag(number, session), at(now));
                        fallen.push((flag(number, session), now));
                    }
                    Event::CannotWatch => contender.cannot_watch(at(now)),
                    Event::Hint => contender.hint(),
                }
                match contender.next(at(now)) {
                    Move::Try(Some(evidence)) => {
                        let wait = PresenceSettings::wait_out(millis(700));
                        let waited = |(flag, fell): &(Flag, u64)| {
                            let named = flag.term == evidence.term && flag.session == evidence.session;
                            named && at(*fell).after(wait) <= at(now)
                        };
                        prop_assert!(fallen.iter().any(waited));
                    }
                    Move::Watch(_, until) | Move::Sleep(until) => {
                        prop_assert!(until > at(now), "a wait that does not wait");
                    }
                    Move::Try(None) => {}
                }
            }
        }
    }
}

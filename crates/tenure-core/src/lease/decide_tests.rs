//! The store's decisions, one by one and in random order; the numbers are those of the catalogue of failures.

use super::decide::{self, RenewAnswer, TermError, acquire, check, release, renew, revoke};
use super::{
    Acquire, Announced, Cause, Claim, Evidence, FenceCheck, Grant, LeaseRecord, Loss, Release, Renew,
    Renewal, Revoke, Term,
};
use crate::lease::fixtures::{claim, grant, lease, millis, node, store_at, term, unique};
use crate::time::StoreTime;

/// A row with its history, to which decisions are applied.
#[derive(Default)]
struct Row {
    record: Option<LeaseRecord>,
    history: Vec<(Term, Cause)>,
}

impl Row {
    fn apply<O>(&mut self, decision: decide::Decision<O>) -> O {
        if decision.write.is_some() {
            self.record = decision.write;
        }
        self.history.extend(decision.history.iter().map(|change| (change.term, change.cause)));
        decision.outcome
    }

    fn try_acquire(&mut self, claim: &Claim, now: StoreTime) -> Result<Acquire, TermError> {
        let remembered = self.history.iter().map(|(term, _)| *term).max();
        let decision = acquire(self.record.as_ref(), remembered, claim, "test", now)?;
        Ok(self.apply(decision))
    }

    fn granted(&mut self, claim: &Claim, now: StoreTime) -> Grant {
        match self.try_acquire(claim, now) {
            Ok(Acquire::Granted(grant)) => grant,
            other => panic!("not granted: {other:?}"),
        }
    }

    fn renew(&mut self, grant: &Grant, number: u64, session: Option<u128>, now: StoreTime) -> RenewAnswer {
        let presence = session.map(|session| Announced { session: unique(session), trust: millis(700) });
        let decision = renew(self.record.as_ref(), grant, &Renewal { number, presence }, now);
        self.apply(decision)
    }

    fn release(&mut self, grant: &Grant, now: StoreTime) -> Release {
        let decision = release(self.record.as_ref(), grant, now);
        self.apply(decision)
    }

    fn revoke(&mut self, force: bool, now: StoreTime) -> Revoke {
        let decision = revoke(self.record.as_ref(), force, now);
        self.apply(decision)
    }

    fn holds(&self, grant: &Grant, now: StoreTime) -> bool {
        check(self.record.as_ref(), &grant.fence(), now) == FenceCheck::Holds
    }
}

fn with_evidence(number: u64, session: u128) -> Claim {
    Claim { evidence: Some(Evidence { term: term(number), session: unique(session) }), ..claim(2, 20) }
}

const EXTENDED: RenewAnswer = RenewAnswer::Is(Renew::Extended);

#[test]
fn a_held_lease_is_free_when_its_ttl_ends_and_not_before() {
    let mut row = Row::default();
    let first = row.granted(&claim(1, 10), store_at(0));
    assert!(matches!(row.try_acquire(&claim(2, 20), store_at(5999)), Ok(Acquire::Held(_))));
    assert!(row.holds(&first, store_at(5999)));
    assert!(!row.holds(&first, store_at(6000)));
    assert_eq!(row.granted(&claim(2, 20), store_at(6000)).term, term(2));
    assert_eq!(
        row.history,
        [(term(1), Cause::Acquired), (term(1), Cause::Expired), (term(2), Cause::Acquired)]
    );
}

#[test]
fn s03_a_stale_renewal_is_lost_and_changes_nothing() {
    let mut row = Row::default();
    let stale = row.granted(&claim(1, 10), store_at(0));
    row.granted(&claim(2, 20), store_at(7000));
    let before = row.record.clone();
    let by = node(2).name;
    assert_eq!(
        row.renew(&stale, 1, None, store_at(7001)),
        RenewAnswer::Is(Renew::Lost(Loss::Taken { term: term(2), by }))
    );
    assert_eq!(row.record, before);
}

#[test]
fn s04_calls_of_a_former_term_of_the_same_owner_are_refused() {
    let mut row = Row::default();
    let former = row.granted(&claim(1, 10), store_at(0));
    assert_eq!(row.release(&former, store_at(10)), Release::Released);
    let present = row.granted(&claim(1, 11), store_at(20));
    let before = row.record.clone();
    assert!(matches!(row.renew(&former, 1, None, store_at(30)), RenewAnswer::Is(Renew::Lost(_))));
    assert_eq!(row.release(&former, store_at(30)), Release::NotHeld);
    assert_eq!(row.record, before);
    assert!(row.holds(&present, store_at(30)));
}

#[test]
fn s05_a_repeated_release_finds_nothing() {
    let mut row = Row::default();
    let former = row.granted(&claim(1, 10), store_at(0));
    assert_eq!(row.release(&former, store_at(10)), Release::Released);
    assert_eq!(row.release(&former, store_at(11)), Release::NotHeld);
    let present = row.granted(&claim(2, 20), store_at(20));
    assert_eq!(row.release(&former, store_at(30)), Release::NotHeld);
    assert!(row.holds(&present, store_at(30)));
}

#[test]
fn s14_the_recorded_ttl_of_the_holder_decides() {
    let mut row = Row::default();
    let long = Claim { ttl: millis(9000), ..claim(1, 10) };
    let grant = row.granted(&long, store_at(0));
    assert_eq!(row.renew(&grant, 1, None, store_at(1000)), EXTENDED);
    let short = Claim { ttl: millis(1000), ..claim(2, 20) };
    let Ok(Acquire::Held(holder)) = row.try_acquire(&short, store_at(9000)) else { panic!() };
    assert_eq!(holder.expires_in, millis(1000));
    assert!(matches!(row.try_acquire(&short, store_at(9999)), Ok(Acquire::Held(_))));
    assert_eq!(row.granted(&short, store_at(10_000)).term, term(2));
}

#[test]
fn s15_terms_go_on_after_the_row_was_deleted() {
    let mut row = Row::default();
    row.granted(&claim(1, 10), store_at(0));
    row.record = None;
    assert_eq!(row.granted(&claim(2, 20), store_at(1)).term, term(2));
}

#[test]
fn s15_a_row_that_went_back_is_refused() {
    let mut row = Row::default();
    let first = row.granted(&claim(1, 10), store_at(0));
    row.release(&first, store_at(1));
    let backup = row.record.clone();
    row.granted(&claim(2, 20), store_at(2));
    row.record = backup;
    let error = row.try_acquire(&claim(3, 30), store_at(10_000)).unwrap_err();
    let lease = lease().to_string();
    assert_eq!(error, TermError::WentBack { lease, found: term(1), remembered: term(2) });
}

#[test]
fn s15_terms_that_have_run_out_are_refused() {
    let mut row = Row::default();
    row.granted(&claim(1, 10), store_at(0));
    row.history.push((term(i64::MAX as u64), Cause::Acquired));
    row.record = None;
    let error = row.try_acquire(&claim(2, 20), store_at(10_000)).unwrap_err();
    assert_eq!(error, TermError::Exhausted { lease: lease().to_string() });
}

#[test]
fn s16_a_repeated_claim_gets_the_same_grant_and_another_claim_does_not() {
    let mut row = Row::default();
    let first = row.granted(&claim(1, 10), store_at(0));
    let again = row.granted(&claim(1, 10), store_at(1000));
    assert_eq!(again, first);
    assert!(row.holds(&again, store_at(6999)), "it lasts from the repetition");
    assert!(matches!(row.try_acquire(&claim(1, 11), store_at(1000)), Ok(Acquire::Held(_))));
    assert!(
        matches!(row.try_acquire(&claim(2, 10), store_at(1000)), Ok(Acquire::Held(_))),
        "s19: other incarnation"
    );
    assert_eq!(row.history, [(term(1), Cause::Acquired)]);
}

#[test]
fn evidence_counts_only_for_the_term_and_session_that_the_row_names() {
    let mut row = Row::default();
    let grant = row.granted(&claim(1, 10), store_at(0));
    let refused =
        |row: &mut Row, claim: &Claim| matches!(row.try_acquire(claim, store_at(20)), Ok(Acquire::Held(_)));
    assert!(refused(&mut row, &with_evidence(1, 7)), "the row names no session");
    assert_eq!(row.renew(&grant, 1, Some(7), store_at(10)), EXTENDED);
    assert!(refused(&mut row, &with_evidence(1, 8)));
    assert!(refused(&mut row, &with_evidence(2, 7)));
    assert_eq!(row.granted(&with_evidence(1, 7), store_at(20)).term, term(2));
    assert_eq!(row.history[1], (term(1), Cause::Crashed));
    assert_eq!(row.record.as_ref().and_then(|record| record.presence.clone()), None);
}

#[test]
fn a_renewal_that_arrives_after_a_later_one_changes_nothing() {
    let mut row = Row::default();
    let grant = row.granted(&claim(1, 10), store_at(0));
    assert_eq!(row.renew(&grant, 2, None, store_at(20)), EXTENDED);
    let before = row.record.clone();
    assert_eq!(row.renew(&grant, 1, Some(7), store_at(30)), RenewAnswer::OutOfOrder);
    assert_eq!(row.renew(&grant, 2, None, store_at(30)), RenewAnswer::OutOfOrder);
    assert_eq!(row.record, before);
}

#[test]
fn an_expired_grant_is_over_even_if_nobody_took_the_lease() {
    let mut row = Row::default();
    let grant = row.granted(&claim(1, 10), store_at(0));
    assert_eq!(row.renew(&grant, 1, None, store_at(6000)), RenewAnswer::Is(Renew::Lost(Loss::Expired)));
    assert_eq!(row.release(&grant, store_at(6001)), Release::Released, "its end is told once, by its holder");
    row.granted(&claim(2, 20), store_at(6002));
    let causes: Vec<_> = row.history.iter().map(|(_, cause)| *cause).collect();
    assert_eq!(causes, [Cause::Acquired, Cause::Released, Cause::Acquired]);
}

#[test]
fn a_revoked_holder_is_fenced_at_once_and_replaced_when_it_has_resigned() {
    let mut row = Row::default();
    let grant = row.granted(&claim(1, 10), store_at(0));
    assert!(matches!(row.revoke(false, store_at(10)), Revoke::Asked { .. }));
    assert!(!row.holds(&grant, store_at(10)));
    assert!(matches!(row.try_acquire(&claim(2, 20), store_at(10)), Ok(Acquire::Held(_))));
    assert!(
        matches!(row.try_acquire(&claim(1, 10), store_at(10)), Ok(Acquire::Held(_))),
        "not even its own claim"
    );
    assert_eq!(row.renew(&grant, 1, None, store_at(20)), RenewAnswer::Is(Renew::Lost(Loss::Revoked)));
    assert_eq!(row.release(&grant, store_at(30)), Release::Released);
    assert_eq!(row.history[1], (term(1), Cause::Resigned));
    assert_eq!(row.granted(&claim(2, 20), store_at(40)).term, term(2));
}

#[test]
fn force_frees_the_lease_at_once() {
    let mut row = Row::default();
    let grant = row.granted(&claim(1, 10), store_at(0));
    assert!(matches!(row.revoke(true, store_at(10)), Revoke::Forced { .. }));
    assert_eq!(row.revoke(true, store_at(10)), Revoke::NotHeld);
    assert_eq!(row.granted(&claim(2, 20), store_at(11)).term, term(2));
    assert!(!row.holds(&grant, store_at(11)));
    assert_eq!(row.history[1], (term(1), Cause::Fenced));
}

#[test]
fn a_lease_without_a_row_refuses_everything_but_a_claim() {
    let mut row = Row::default();
    let grant = grant(1, millis(6000));
    assert_eq!(row.renew(&grant, 1, None, store_at(0)), RenewAnswer::Is(Renew::Lost(Loss::Unknown)));
    assert_eq!(row.release(&grant, store_at(0)), Release::NotHeld);
    assert_eq!(row.revoke(true, store_at(0)), Revoke::NotHeld);
    assert!(!row.holds(&grant, store_at(0)));
}

mod random {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Call {
        Claim(u128, u128, Option<(u64, u128)>),
        /// Of which grant there ever was, counted from the newest.
        Renew(usize, u64, Option<u128>),
        Release(usize),
        Revoke(bool),
        Delete,
    }

    fn call() -> impl Strategy<Value = Call> {
        let evidence = prop::option::of((1..12_u64, 1..3_u128));
        prop_oneof![
            6 => (1..4_u128, 1..4_u128, evidence).prop_map(|(node, id, proof)| Call::Claim(node, id, proof)),
            6 => (0..4_usize, 1..20_u64, prop::option::of(1..3_u128))
                .prop_map(|(of, number, session)| Call::Renew(of, number, session)),
            2 => (0..4_usize).prop_map(Call::Release),
            1 => any::<bool>().prop_map(Call::Revoke),
            1 => Just(Call::Delete),
        ]
    }

    proptest! {
        /// Whatever is called in whatever order: terms rise, one fence holds at most, old grants change nothing.
        #[test]
        fn terms_rise_and_at_most_one_fence_holds(
            calls in prop::collection::vec((call(), 0..2500_u64), 1..80)
        ) {
            let (mut row, mut grants, mut now) = (Row::default(), Vec::<Grant>::new(), 0);
            for (call, pause) in calls {
                now += pause;
                let (before, at) = (row.record.clone(), store_at(now));
                match call {
                    Call::Claim(node, id, proof) => {
                        let evidence = proof.map(|(number, session)| {
                            Evidence { term: term(number), session: unique(session) }
                        });
                        let claim = Claim { evidence, ..claim(node, id) };
                        if let Acquire::Granted(grant) = row.try_acquire(&claim, at).unwrap() {
                            let newest = grants.last().map(|grant| grant.term);
                            if newest == Some(grant.term) {
                                prop_assert_eq!(Some(&grant), grants.last());
                            } else {
                                prop_assert!(newest < Some(grant.term));
                                grants.push(grant);
                            }
                        }
                    }
                    Call::Renew(of, number, session) => if let Some(grant) = grants.iter().rev().nth(of) {
                        let answer = row.renew(grant, number, session, at);
                        let exact = before.as_ref().is_some_and(|row| row.term == grant.term && row.is_held(at));
                        prop_assert!(answer != EXTENDED || exact);
                        prop_assert!(answer == EXTENDED || row.record == before);
                    },
                    Call::Release(of) => if let Some(grant) = grants.iter().rev().nth(of) {
                        let released = row.release(grant, at) == Release::Released;
                        let exact = before.as_ref().is_some_and(|row| row.term == grant.term);
                        prop_assert!(!released || exact);
                        prop_assert!(released || row.record == before);
                    },
                    Call::Revoke(force) => { row.revoke(force, at); }
                    Call::Delete => row.record = None,
                }
                let holding = grants.iter().filter(|grant| row.holds(grant, at));
                prop_assert!(holding.count() <= 1);
                let newest_begun = row.history.iter().rev().find(|(_, cause)| *cause == Cause::Acquired);
                prop_assert_eq!(newest_begun.map(|(term, _)| *term), grants.last().map(|grant| grant.term));
            }
        }
    }
}

//! Each rule of `decide`, with what would go wrong without it.

use tenure_core::id::NodeName;
use tenure_core::lease::{Evidence, LeaseName};

use super::*;

pub(crate) const HOUR_MICROS: i64 = 3_600_000_000;
const LEFT: Duration = Duration::from_secs(3);
const NONE_LEFT: Duration = Duration::ZERO;

/// An object held by another client.
pub(crate) fn foreign(duration_secs: u64) -> Seen {
    Seen {
        uid: "object".into(),
        version: "7".into(),
        holder: Some("controller_0af9".into()),
        node: node("controller_0af9", 0),
        renew_time: Some(1_700_000_000_000_000),
        transitions: 4,
        duration: Duration::from_secs(duration_secs),
        entry: None,
    }
}

fn node(name: &str, incarnation: u128) -> Node {
    Node {
        name: NodeName::new(name).unwrap(),
        incarnation: Unique::from_u128(incarnation),
        machine: "rack".into(),
        pid: 7,
    }
}

/// An object held by ann under term 5.
fn anns() -> Seen {
    let entry = Entry {
        claim: Unique::from_u128(11),
        renewals: 2,
        kind: None,
        presence: None,
        acquired_at: StoreTime::from_micros(0),
        renewed_at: StoreTime::from_micros(0),
        released_at: None,
    };
    Seen { holder: Some("ann_1".into()), node: node("ann", 1), entry: Some(entry), ..foreign(6) }
}

fn released() -> Seen {
    Seen { holder: None, ..anns() }
}

fn wish(incarnation: u128, id: u128) -> Claim {
    Claim {
        name: LeaseName::new("relay").unwrap(),
        node: node("someone", incarnation),
        id: Unique::from_u128(id),
        ttl: Duration::from_secs(600),
        kind: None,
        evidence: None,
    }
}

fn anns_grant() -> Grant {
    Grant {
        name: LeaseName::new("relay").unwrap(),
        term: Term::new(5).unwrap(),
        node: node("ann", 1),
        claim: Unique::from_u128(11),
        ttl: Duration::from_secs(6),
        acquired_at: StoreTime::from_micros(0),
    }
}

fn next(number: u64) -> Renewal {
    Renewal { number, presence: None }
}

#[test]
fn without_an_object_one_is_made() {
    assert_eq!(claim(None, NONE_LEFT, None, &wish(2, 22)), Ok(Claimed::Create(0)));
}

#[test]
fn an_object_without_a_holder_is_taken_at_once() {
    assert_eq!(claim(Some(&released()), LEFT, None, &wish(2, 22)), Ok(Claimed::Take(5)));
}

#[test]
fn a_holder_is_respected_for_what_it_has_left_whoever_it_is() {
    for seen in [anns(), foreign(15)] {
        assert_eq!(claim(Some(&seen), LEFT, None, &wish(2, 22)), Ok(Claimed::Held(LEFT)));
        let hair = Duration::from_nanos(1);
        assert_eq!(claim(Some(&seen), hair, None, &wish(2, 22)), Ok(Claimed::Held(hair)));
        assert_eq!(claim(Some(&seen), NONE_LEFT, None, &wish(2, 22)), Ok(Claimed::Take(5)));
    }
}

/// k8s#47671: the contender's own ttl is 600 s in these tests, and counts for nothing.
#[test]
fn only_the_holders_duration_counts() {
    let impatient = Claim { ttl: Duration::from_millis(1), ..wish(2, 22) };
    assert_eq!(claim(Some(&anns()), LEFT, None, &impatient), Ok(Claimed::Held(LEFT)));
    assert_eq!(claim(Some(&anns()), NONE_LEFT, None, &wish(2, 22)), Ok(Claimed::Take(5)));
}

#[test]
fn a_claim_is_the_same_only_with_its_process_and_its_number() {
    let seen = anns();
    assert_eq!(claim(Some(&seen), LEFT, None, &wish(1, 11)), Ok(Claimed::Again));
    assert_eq!(claim(Some(&seen), LEFT, None, &wish(1, 12)), Ok(Claimed::Held(LEFT)), "another claim");
    assert_eq!(claim(Some(&seen), LEFT, None, &wish(2, 11)), Ok(Claimed::Held(LEFT)), "another process");
    assert_eq!(claim(Some(&released()), LEFT, None, &wish(1, 11)), Ok(Claimed::Take(5)), "it was given back");
    assert_eq!(claim(Some(&seen), NONE_LEFT, None, &wish(1, 11)), Ok(Claimed::Take(5)), "it has expired");
}

#[test]
fn only_evidence_of_the_announced_session_and_term_deposes() {
    let announced = Announced { session: Unique::from_u128(9), trust: Duration::from_millis(700) };
    let mut seen = anns();
    seen.entry.as_mut().unwrap().presence = Some(announced);
    let with = |term: u64, session: u128| {
        let evidence = Evidence { term: Term::new(term).unwrap(), session: Unique::from_u128(session) };
        claim(Some(&seen), LEFT, None, &Claim { evidence: Some(evidence), ..wish(2, 22) })
    };
    assert_eq!(with(5, 9), Ok(Claimed::Take(5)));
    assert_eq!(with(5, 8), Ok(Claimed::Held(LEFT)));
    assert_eq!(with(4, 9), Ok(Claimed::Held(LEFT)));
}

#[test]
fn numbers_rise_over_a_deleted_object_as_far_as_they_were_seen() {
    let term = Term::new(9).unwrap();
    let before = Highest { term, uid: "the one before".into() };
    assert_eq!(claim(None, NONE_LEFT, Some(&before), &wish(2, 22)), Ok(Claimed::Create(9)));
    assert_eq!(claim(Some(&released()), LEFT, Some(&before), &wish(2, 22)), Ok(Claimed::Take(9)));
    let lower = Highest { term: Term::new(2).unwrap(), ..before };
    assert_eq!(claim(Some(&released()), LEFT, Some(&lower), &wish(2, 22)), Ok(Claimed::Take(5)));
}

#[test]
fn a_number_that_went_back_within_one_object_is_refused() {
    let term = Term::new(9).unwrap();
    let highest = Highest { term, uid: "object".into() };
    let answer = claim(Some(&released()), LEFT, Some(&highest), &wish(2, 22));
    assert_eq!(answer, Err(Numbers::WentBack { found: 5, seen: term }));
    let last = Seen { transitions: i32::MAX, ..released() };
    assert_eq!(claim(Some(&last), LEFT, None, &wish(2, 22)), Err(Numbers::Exhausted));
}

#[test]
fn a_renewal_extends_exactly_its_grant() {
    let grant = anns_grant();
    let renewed = |grant: &Grant| renew(Some(&anns()), LEFT, Some("object"), grant, &next(3));
    assert_eq!(renewed(&grant), Renewed::Write);
    let taken = Renewed::Lost(Loss::Taken { term: grant.term, by: grant.node.name.clone() });
    let other_claim = Grant { claim: Unique::from_u128(12), ..grant.clone() };
    let other_process = Grant { node: node("ann", 2), ..grant.clone() };
    let former_term = Grant { term: Term::new(4).unwrap(), ..grant.clone() };
    for other in [other_claim, other_process, former_term] {
        assert_eq!(renewed(&other), taken, "{other:?}");
        assert!(!may_release(Some(&anns()), Some("object"), &other), "{other:?}");
    }
    assert!(may_release(Some(&anns()), Some("object"), &grant));
}

#[test]
fn a_renewal_brings_nothing_back() {
    let grant = anns_grant();
    let over = |seen: Option<&Seen>, left, uid| renew(seen, left, Some(uid), &grant, &next(3));
    assert_eq!(over(None, LEFT, "object"), Renewed::Lost(Loss::Unknown), "deleted");
    assert_eq!(over(Some(&released()), LEFT, "object"), Renewed::Lost(Loss::Released));
    assert_eq!(over(Some(&anns()), NONE_LEFT, "object"), Renewed::Lost(Loss::Expired));
    assert_eq!(over(Some(&anns()), LEFT, "another"), Renewed::Lost(Loss::Unknown), "deleted and made again");
    let by = NodeName::new("controller_0af9").unwrap();
    assert_eq!(over(Some(&foreign(15)), LEFT, "object"), Renewed::Lost(Loss::Taken { term: grant.term, by }));
    let passed_on = Seen { holder: None, entry: None, ..foreign(15) };
    assert_eq!(over(Some(&passed_on), LEFT, "object"), Renewed::Lost(Loss::Released));
}

#[test]
fn a_renewal_that_comes_after_a_later_one_is_not_written() {
    for late in [1, 2] {
        assert_eq!(renew(Some(&anns()), LEFT, None, &anns_grant(), &next(late)), Renewed::OutOfOrder);
    }
}

#[test]
fn a_release_needs_its_grant_in_office_and_no_time_left() {
    let grant = anns_grant();
    assert!(may_release(Some(&anns()), None, &grant));
    assert!(!may_release(Some(&released()), None, &grant), "it was given back");
    assert!(!may_release(Some(&anns()), Some("another"), &grant), "the object was made since");
    assert!(!may_release(Some(&foreign(15)), None, &grant));
    assert!(!may_release(None, None, &grant));
}

#[test]
fn a_grant_is_over_when_nobody_or_another_is_in_the_object() {
    let term = Term::new(5).unwrap();
    assert!(!is_over(Some(&anns()), term));
    assert!(!is_over(Some(&foreign(15)), term), "another client's holder is one as well");
    assert!(is_over(Some(&anns()), Term::new(4).unwrap()));
    assert!(is_over(Some(&released()), term));
    assert!(is_over(None, term));
}

#[test]
fn a_ttl_is_recorded_in_whole_seconds_and_never_shorter() {
    let recorded = |millis| whole_seconds(Duration::from_millis(millis));
    assert_eq!([recorded(0), recorded(1), recorded(1000), recorded(1001), recorded(6000)], [1, 1, 1, 2, 6]);
    assert_eq!(whole_seconds(Duration::MAX), i32::MAX);
}

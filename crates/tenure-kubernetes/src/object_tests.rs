//! What is read from an object that others have touched.

use super::*;

fn name() -> LeaseName {
    LeaseName::new("Relay/1").unwrap()
}

fn claim() -> Claim {
    Claim {
        name: name(),
        node: Node {
            name: NodeName::new("ann").unwrap(),
            incarnation: Unique::from_u128(7),
            machine: "rack 東".into(),
            pid: 4_000_000_000,
        },
        id: Unique::from_u128(11),
        ttl: Duration::from_millis(1500),
        kind: Some("outbox".into()),
        evidence: None,
    }
}

const NOW: StoreTime = StoreTime::from_micros(1_700_000_000_123_456);

/// As the server would give it back.
fn stored(mut lease: Lease) -> Lease {
    lease.metadata.uid = Some("u".into());
    lease.metadata.resource_version = Some("1".into());
    lease
}

fn held() -> Lease {
    stored(created("relay-1", &claim(), 4, NOW).unwrap())
}

fn read(lease: Lease) -> Object {
    Object::read(lease, &name()).unwrap()
}

#[test]
fn what_is_written_is_read_again() {
    let object = read(held());
    let spec = object.lease.spec.clone().unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("ann_00000000000000000000000000000007"));
    assert_eq!((spec.lease_transitions, spec.lease_duration_seconds), (Some(4), Some(2)));
    assert_eq!(object.seen.duration, Duration::from_secs(2), "whole seconds, and not fewer");
    let record = object.record(&name()).unwrap();
    assert_eq!((record.term.get(), &record.node, record.claim), (5, &claim().node, claim().id));
    assert_eq!((record.acquired_at, record.renewed_at, record.kind.as_deref()), (NOW, NOW, Some("outbox")));
    assert_eq!(record.released_at, None);
}

#[test]
fn a_renewal_changes_the_time_even_if_the_clock_stands_still() {
    let renewal = Renewal { number: 1, presence: None };
    let renewed = read(stored(read(held()).renewed(&renewal, claim().ttl, NOW).unwrap()));
    assert_ne!(renewed.seen.renew_time, Some(NOW.as_micros()), "client-go would take it for no renewal");
    assert_eq!(renewed.record(&name()).unwrap().acquired_at, NOW);
}

#[test]
fn a_release_empties_the_holder_and_keeps_the_number_and_who_it_was() {
    let released = stored(read(held()).released(NOW.after(Duration::from_secs(1))).unwrap());
    assert_eq!(released.spec.as_ref().unwrap().holder_identity.as_deref(), Some(""));
    assert_eq!(released.spec.as_ref().unwrap().lease_transitions, Some(4));
    let object = read(released);
    assert_eq!(object.seen.holder, None);
    let record = object.record(&name()).unwrap();
    assert_eq!((record.term.get(), record.node), (5, claim().node));
    assert_eq!(record.released_at, Some(NOW.after(Duration::from_secs(1))));
}

#[test]
fn another_lease_s_object_is_refused() {
    let error = Object::read(held(), &LeaseName::new("relay/1").unwrap()).unwrap_err();
    assert!(error.contains("Relay/1") && error.contains("relay-1"), "{error}");
}

/// client-go keeps annotations that it does not know when it takes a lease over.
#[test]
fn annotations_do_not_speak_for_another_client() {
    let by = |change: fn(&mut LeaseSpec)| {
        let mut lease = held();
        change(lease.spec.as_mut().unwrap());
        read(lease).seen
    };
    let taken = by(|spec| {
        spec.holder_identity = Some("controller_1".into());
        spec.lease_transitions = Some(5);
    });
    assert_eq!((taken.entry, taken.node.name.as_str()), (None, "controller_1"));
    let edited = by(|spec| spec.holder_identity = Some("controller_1".into()));
    assert_eq!((edited.entry, edited.node.name.as_str()), (None, "controller_1"));
    let given_back = by(|spec| {
        spec.holder_identity = Some(String::new());
        spec.lease_transitions = Some(5);
    });
    assert_eq!((given_back.entry, given_back.holder), (None, None));
    let emptied_by_hand = by(|spec| spec.holder_identity = None);
    assert!(emptied_by_hand.entry.is_some_and(|entry| entry.released_at.is_some()));
}

#[test]
fn an_object_of_another_client_has_a_holder_with_a_name() {
    let named = |identity: &str| {
        let spec = LeaseSpec { holder_identity: Some(identity.into()), ..LeaseSpec::default() };
        let object = read(stored(Lease { metadata: ObjectMeta::default(), spec: Some(spec) }));
        assert_eq!(object.seen.duration, Duration::from_secs(DURATION_UNKNOWN_SECS));
        assert_eq!(object.record(&name()).unwrap().term.get(), 1);
        object.seen.node.name.as_str().to_owned()
    };
    assert_eq!(named("controller_0af9"), "controller_0af9");
    assert_eq!(named("a\nb"), "ab");
    assert_eq!(named("\n"), "unknown");
    assert!(named(&"é".repeat(300)).len() <= 200);
}

#[test]
fn what_another_holder_left_behind_is_cleared() {
    let renewal = Renewal {
        number: 3,
        presence: Some(Announced { session: claim().id, trust: Duration::from_millis(700) }),
    };
    let announced = read(stored(read(held()).renewed(&renewal, claim().ttl, NOW).unwrap()));
    assert_eq!(announced.seen.entry.as_ref().unwrap().presence, renewal.presence);
    let next = Claim { kind: None, id: Unique::from_u128(12), ..claim() };
    let entry = read(stored(announced.taken(&next, 5, NOW).unwrap())).seen.entry.unwrap();
    assert_eq!((entry.presence, entry.kind, entry.renewals, entry.released_at), (None, None, 0, None));
}

#[test]
fn what_was_written_by_others_stays() {
    let mut lease = held();
    lease.metadata.labels = Some([("team".into(), "shop".into())].into());
    notes(&mut lease).insert("example.com/a".into(), "b".into());
    let taken = read(lease).taken(&claim(), 5, NOW).unwrap();
    assert_eq!(taken.metadata.labels.as_ref().unwrap()["team"], "shop");
    assert_eq!(annotation(&taken, "example.com/a"), Some("b"));
    assert_eq!(taken.metadata.resource_version.as_deref(), Some("1"), "the write compares");
    // The API makes an object of an update without a uid, were this one deleted meanwhile.
    assert_eq!(taken.metadata.uid.as_deref(), Some("u"), "the write makes no new object");
}

#[test]
fn nonsense_in_an_object_is_refused() {
    for spec in [
        LeaseSpec { lease_transitions: Some(-1), ..LeaseSpec::default() },
        LeaseSpec { lease_duration_seconds: Some(-1), ..LeaseSpec::default() },
    ] {
        let lease = stored(Lease { metadata: ObjectMeta::default(), spec: Some(spec) });
        assert!(Object::read(lease, &name()).is_err());
    }
    assert!(Object::read(Lease::default(), &name()).is_err(), "an object that cannot be compared");
}

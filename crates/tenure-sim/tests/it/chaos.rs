//! The random world: it holds, it is the same twice, and something happens in it.

use tenure_sim::{ClusterTally, EventTally, Tally, run};

/// How many seeds the tests of this crate run; CI runs more with the release build.
const SEEDS: u64 = 200;

#[test]
fn s73_chaos_holds_and_something_happens_in_it() {
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        match run(seed) {
            Ok(report) => tally += report.tally,
            Err(failure) => panic!("\n{failure}"),
        }
    }
    // A chaos in which one of these never happens proves nothing about it.
    let Tally { granted, granted_again, released, expired, crashed, revoked, .. } = tally;
    let seen = [granted, granted_again, released, expired, crashed, revoked];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
    let Tally { renewals_lost, renewals_out_of_order, releases_not_held, writes_refused, .. } = tally;
    let seen = [renewals_lost, renewals_out_of_order, releases_not_held, writes_refused];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
    assert!(tally.writes_accepted > 10_000 && tally.regresses == 0, "{tally}");
    let Tally { committed, deliveries, effects, dead, steered, swept, records_refused, .. } = tally;
    let seen = [committed, effects, dead, steered, swept, records_refused];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
    // Some are delivered more than once, and no producer's replay says something else.
    assert!(deliveries > effects + SEEDS && tally.conflicts == 0, "{tally}");
    let EventTally { overtaken, repeated, conflicts, duplicates, rolled_back, stalls, .. } = tally.events;
    let seen = [overtaken, repeated, conflicts, duplicates, rolled_back, stalls];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
    let EventTally { refused_again, sent, handled, applied, parked, fenced, moved, rewinds, .. } =
        tally.events;
    let seen = [refused_again, sent, handled, applied, parked, fenced, moved, rewinds];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
    let ClusterTally { elected, seats_lost, orphaned, forced, spread, confirmed, failed, .. } = tally.cluster;
    let seen = [elected, seats_lost, orphaned, forced, spread, confirmed, failed];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
    let ClusterTally { stale, refused, fenced, effects_refused, left, forgotten, steered, .. } =
        tally.cluster;
    let seen = [stale, refused, fenced, effects_refused, left, forgotten, steered];
    assert!(seen.iter().all(|count| *count > SEEDS / 10), "{tally}");
}

#[test]
fn a_seed_gives_the_same_trace_twice() {
    for seed in 1000..1010 {
        let (first, second) = (run(seed).unwrap(), run(seed).unwrap());
        assert_eq!(first, second);
    }
    assert_ne!(run(1000).unwrap().trace_hash, run(1001).unwrap().trace_hash);
}

//! Facts → level, with each threshold at its edge.

use std::collections::BTreeMap;

use super::*;
use crate::health::{Others, SubscriptionFacts};
use crate::id::{Node, NodeName, Unique};
use crate::observe::RunnerRow;
use crate::outbox::Pulse;
use crate::time::StoreTime;

const SECOND: Duration = Duration::from_secs(1);

fn pulse() -> Pulse {
    Pulse {
        now: StoreTime::from_micros(0),
        newest: None,
        pending: Count::exactly(0),
        retrying: Count::exactly(0),
        dead: Count::exactly(0),
        halted_sources: Count::exactly(0),
        lag: None,
        lag_is_least: false,
    }
}

fn runner(kind: RunnerKind, cycled: u64, advanced: u64) -> RunnerReport {
    RunnerReport {
        kind,
        name: "outbox".into(),
        state: "leading".into(),
        trouble: None,
        cycled_ago: Some(Duration::from_secs(cycled)),
        advanced_ago: Some(Duration::from_secs(advanced)),
        every: SECOND,
        counters: BTreeMap::new(),
    }
}

fn facts() -> Facts {
    Facts { store: StoreState::Answers, pulse: Some((pulse(), SECOND)), ..Facts::default() }
}

fn level(facts: &Facts) -> Level {
    judge(facts, &HealthThresholds::default()).level
}

/// One threshold: what is just below it, and what has reached it.
fn edge(at: u64, facts: impl Fn(u64) -> Facts, below: Level, reached: Level) {
    assert_eq!(level(&facts(at - 1)), below, "{} below {at}", at - 1);
    assert_eq!(level(&facts(at)), reached, "{at}");
}

#[test]
fn b9_each_threshold_counts_from_where_it_is_set() {
    use Level::{Degraded, Healthy, Unhealthy};
    let seconds = Duration::from_secs;
    let with = |change: &dyn Fn(&mut Pulse)| {
        let mut pulse = pulse();
        change(&mut pulse);
        Facts { pulse: Some((pulse, SECOND)), ..facts() }
    };
    let lag = |s: u64| with(&|pulse| pulse.lag = Some(seconds(s)));
    edge(60, lag, Healthy, Degraded);
    edge(300, lag, Degraded, Unhealthy);
    let dead = |n: u64| with(&|pulse| pulse.dead = Count::exactly(n));
    edge(1, dead, Healthy, Degraded);
    edge(100, dead, Degraded, Unhealthy);
    edge(1, |n| with(&|pulse| pulse.halted_sources = Count::exactly(n)), Healthy, Unhealthy);
    let old = |s: u64| Facts { pulse: Some((pulse(), seconds(s))), ..facts() };
    edge(31, old, Healthy, Degraded);
    let away = |s| Facts { store: StoreState::Away { since: seconds(s), reason: "gone".into() }, ..facts() };
    edge(15, away, Degraded, Unhealthy);
    let vacant = |s| Facts { leader: LeaderState::Vacant { since: seconds(s) }, ..facts() };
    edge(15, vacant, Healthy, Degraded);
    edge(60, vacant, Degraded, Unhealthy);
    let silent = |s| Facts { runners: vec![runner(RunnerKind::Listener, 0, s)], ..facts() };
    edge(60, silent, Healthy, Degraded);
    edge(100_000, silent, Degraded, Degraded);
    let stopped = |s| Facts { runners: vec![runner(RunnerKind::Relay, s, 0)], ..facts() };
    edge(30, stopped, Healthy, Unhealthy);
    let stuck = |s| Facts { runners: vec![runner(RunnerKind::Relay, 0, s)], ..facts() };
    edge(120, stuck, Healthy, Degraded);
    edge(600, stuck, Degraded, Unhealthy);
    let reads = |behind, s| {
        let moved_ago = seconds(s);
        let subscription = SubscriptionFacts { name: "mails".into(), behind, moved_ago };
        Facts { subscriptions: vec![subscription], ..facts() }
    };
    edge(60, |s| reads(5, s), Healthy, Degraded);
    edge(600, |s| reads(5, s), Degraded, Unhealthy);
    assert_eq!(level(&reads(0, 100_000)), Healthy, "who has read all there is need not move");
}

#[test]
fn a_loop_that_cannot_get_on_has_not_stopped() {
    let thresholds = HealthThresholds::default();
    let mut stuck = runner(RunnerKind::Relay, 1, 100_000);
    stuck.trouble = Some("the store is away".into());
    let live = judge_loops(std::slice::from_ref(&stuck), &thresholds);
    assert!(live.is_up(), "a new start would not mend it: {:?}", live.reasons);
    let report = judge(&Facts { runners: vec![stuck], ..facts() }, &thresholds);
    assert_eq!(report.level, Level::Unhealthy);
    assert_eq!(report.reasons, ["relay outbox has not got on for 27 h: the store is away"]);

    let stopped = runner(RunnerKind::Heart, 31, 31);
    let live = judge_loops(std::slice::from_ref(&stopped), &thresholds);
    assert!(!live.is_up());
    assert!(live.checks.iter().all(|check| check.kind == CheckKind::Liveness));
    let report = judge(&Facts { runners: vec![stopped], ..facts() }, &thresholds);
    assert_eq!(
        report.reasons,
        ["heart outbox has not gone round for 31 s: it has stopped"],
        "it is said once"
    );
}

#[test]
fn a_loop_that_goes_round_seldom_is_given_its_time() {
    let mut sweeper = runner(RunnerKind::Sweeper, 31, 9_000);
    sweeper.every = Duration::from_secs(3_600);
    assert_eq!(level(&Facts { runners: vec![sweeper], ..facts() }), Level::Healthy);
}

#[test]
fn to_stand_by_is_to_be_well() {
    let mut standby = runner(RunnerKind::Relay, 4, 4);
    standby.state = "standing by".into();
    let facts = Facts { runners: vec![standby], leader: LeaderState::Leads, ..facts() };
    assert_eq!(level(&facts), Level::Healthy);
}

fn elsewhere(cycled: u64) -> RunnerRow {
    RunnerRow {
        node: Node {
            name: NodeName::new("other").unwrap(),
            incarnation: Unique::from_u128(1),
            machine: "m".into(),
            pid: 1,
        },
        report: runner(RunnerKind::Relay, cycled, cycled),
        started_at: StoreTime::from_micros(0),
        seen_at: StoreTime::from_micros(0),
    }
}

#[test]
fn another_process_in_trouble_makes_nobody_else_unready() {
    let others = Others { rows: vec![elsewhere(5_000)], now: StoreTime::from_micros(1_000_000) };
    let report = judge(&Facts { others: Some(others), ..facts() }, &HealthThresholds::default());
    assert_eq!(report.level, Level::Degraded);
    assert_eq!(report.reasons, ["on other, relay outbox has not gone round for 83 min"]);
}

#[test]
fn what_was_never_asked_is_not_called_well() {
    assert_eq!(level(&Facts::default()), Level::Degraded);
}

/// Ten thousand that wait for their time must not hide what stands late behind them.
#[test]
fn what_is_not_known_is_not_told_as_well() {
    let waiting = |or_more| {
        let pending = Count { number: 10_000, or_more };
        Facts { pulse: Some((Pulse { pending, lag_is_least: or_more, ..pulse() }, SECOND)), ..facts() }
    };
    assert_eq!(level(&waiting(false)), Level::Healthy);
    assert_eq!(level(&waiting(true)), Level::Degraded);
    let report = judge(&waiting(true), &HealthThresholds::default());
    assert!(report.reasons.iter().any(|reason| reason.contains("not known")), "{report:?}");
}

/// What a process that was killed said last is no reason to wake anyone: its loops do not go round, and others have its work.
#[test]
fn loops_of_a_process_that_is_not_heard_of_are_not_judged() {
    let after = |seconds: i64, cycled| {
        let others =
            Others { rows: vec![elsewhere(cycled)], now: StoreTime::from_micros(seconds * 1_000_000) };
        judge(&Facts { others: Some(others), ..facts() }, &HealthThresholds::default())
    };
    for seconds in [0, 10, 45, 46, 65, 90] {
        assert_eq!(after(seconds, 1).reasons, Vec::<String>::new(), "it was well, {seconds} s ago");
    }
    assert_eq!(after(45, 5_000).level, Level::Degraded);
    assert_eq!(after(46, 5_000).level, Level::Healthy);
}

/// A database that falls silent must not make a process ready that was not.
#[test]
fn what_was_bad_when_it_was_last_seen_stays_bad() {
    let dead = |age| {
        let pulse = Pulse { dead: Count::exactly(1_232), ..pulse() };
        let report = judge(&Facts { pulse: Some((pulse, age)), ..facts() }, &HealthThresholds::default());
        (report.level, report.reasons)
    };
    let dead_now = "1232 messages are dead".to_owned();
    assert_eq!(dead(SECOND), (Level::Unhealthy, vec![dead_now.clone()]));
    let old = vec![format!("{dead_now}, 31 s ago"), "the numbers of the outbox are 31 s old".to_owned()];
    assert_eq!(dead(SECOND * 31), (Level::Unhealthy, old));
}

#[test]
fn daemons_that_run_nowhere_are_told_of_in_their_number() {
    let of = |nowhere, has_nodes| {
        let daemons = Some(DaemonFacts { nowhere, wanted: true, has_nodes });
        let report = judge(&Facts { daemons, ..facts() }, &HealthThresholds::default());
        (report.level, report.reasons.join(" "))
    };
    assert_eq!(of(0, true), (Level::Healthy, String::new()));
    assert_eq!(of(1, true).1, "1 daemon runs nowhere; `tenure daemon list` says why");
    assert_eq!(of(2, true).1, "2 daemons run nowhere; `tenure daemon list` says why");
    assert_eq!((of(1, true).0, of(1, false).0), (Level::Degraded, Level::Unhealthy));
}

//! A node and its daemons, step by step.

use super::*;
use crate::cluster::DaemonSpec;

const TERM: Term = Term::FIRST;

fn at(millis: u64) -> Monotonic {
    Monotonic::from_origin(Duration::from_millis(millis))
}

fn name(text: &str) -> DaemonName {
    DaemonName::new(text).unwrap()
}

fn generation(number: u64) -> Term {
    Term::new(number).unwrap()
}

fn row(text: &str, number: u64, state: DaemonState) -> Daemon {
    Daemon {
        state,
        place: Some((NodeName::new("a").unwrap(), TERM)),
        generation: Some(generation(number)),
        deadline: Some(StoreTime::from_micros(10_000_000)),
        ..Daemon::new(DaemonSpec::new(name(text)), StoreTime::from_micros(0))
    }
}

fn host() -> Host {
    Host::new(NodeName::new("a").unwrap(), ClusterSettings::default())
}

impl Host {
    fn sees(&mut self, rows: &[Daemon], now: Monotonic) -> Vec<Action> {
        self.assigned(rows, TERM, StoreTime::from_micros(0), now, |_| true);
        self.step(now)
    }

    fn running_now(&self) -> Vec<(String, u64)> {
        self.running().map(|(daemon, generation)| (daemon.to_string(), generation.get())).collect()
    }
}

fn asked(text: &str, number: u64) -> Vec<(DaemonName, Term)> {
    vec![(name(text), generation(number))]
}

/// A host on which one daemon runs.
fn running() -> Host {
    let mut host = host();
    host.sees(&[row("d", 3, DaemonState::Assigning)], at(0));
    host.acknowledged(&asked("d", 3), Some(&[Verdict::Taken]), at(1));
    assert_eq!(host.step(at(1)), [Action::Start { daemon: name("d"), generation: generation(3) }]);
    host
}

#[test]
fn a_daemon_starts_when_its_acknowledgement_was_taken_and_not_before() {
    let mut host = host();
    let rows = [row("d", 3, DaemonState::Assigning)];
    assert_eq!(host.sees(&rows, at(0)), [Action::Acknowledge(asked("d", 3))]);
    assert_eq!(host.sees(&rows, at(10)), [], "one at a time");
    host.acknowledged(&asked("d", 3), None, at(20));
    assert_eq!(host.step(at(20)), [], "not at once again");
    assert_eq!(host.step(at(220)), [Action::Acknowledge(asked("d", 3))]);
    host.acknowledged(&asked("d", 3), Some(&[Verdict::Taken]), at(230));
    assert_eq!(host.step(at(230)), [Action::Start { daemon: name("d"), generation: generation(3) }]);
    assert_eq!(host.step(at(240)), [], "once per generation");
}

#[test]
fn s64_a_refused_acknowledgement_starts_nothing() {
    let mut host = host();
    let rows = [row("d", 3, DaemonState::Assigning)];
    host.sees(&rows, at(0));
    let stale = Verdict::Refused(Refusal::Stale { daemon: name("d") });
    host.acknowledged(&asked("d", 3), Some(&[stale]), at(1));
    assert_eq!(host.sees(&rows, at(2)), [], "the rows are older than the answer");
    assert_eq!(
        host.sees(&[row("d", 4, DaemonState::Assigning)], at(3)),
        [Action::Acknowledge(asked("d", 4))]
    );
}

#[test]
fn a_lost_answer_is_found_in_the_row() {
    let mut host = host();
    host.sees(&[row("d", 3, DaemonState::Assigning)], at(0));
    host.acknowledged(&asked("d", 3), None, at(1));
    let started = host.sees(&[row("d", 3, DaemonState::Active)], at(2));
    assert_eq!(started, [Action::Start { daemon: name("d"), generation: generation(3) }]);
}

#[test]
fn s72_what_is_revoked_stops_and_is_confirmed() {
    let mut host = running();
    let rows = [row("d", 3, DaemonState::Revoking)];
    assert_eq!(host.sees(&rows, at(10)), [Action::Stop { daemon: name("d"), generation: generation(3) }]);
    assert_eq!(host.step(at(11)), []);
    host.ended(&name("d"), generation(3), &End::Finished, 0.5, at(20));
    assert_eq!(host.step(at(20)), [Action::Confirm(asked("d", 3))]);
    let in_use = Verdict::Refused(Refusal::InUse(name("d")));
    host.confirmed(&asked("d", 3), Some(&[in_use]), at(21));
    assert_eq!(host.step(at(221)), [Action::Confirm(asked("d", 3))]);
    host.confirmed(&asked("d", 3), Some(&[Verdict::Taken]), at(222));
    assert_eq!(host.sees(&rows, at(223)), [], "these rows are older than the answer");
    assert!(host.is_empty());
}

#[test]
fn s70_what_does_not_stop_is_cut_off_before_the_leader_takes_it() {
    let mut host = running();
    host.sees(&[row("d", 3, DaemonState::Revoking)], at(100));
    // Ten seconds are left; a tenth of it is the margin.
    assert_eq!(host.next_due(), Some(at(9100)));
    assert_eq!(host.step(at(9099)), []);
    assert_eq!(host.step(at(9100)), [Action::Abort { daemon: name("d"), generation: generation(3) }]);
    assert_eq!(host.step(at(9900)), []);
    assert_eq!(host.running_now(), [("d".to_owned(), 3)], "it is not confirmed before it has ended");
}

#[test]
fn an_earlier_generation_ends_before_the_next_begins() {
    let mut host = running();
    let rows = [row("d", 5, DaemonState::Assigning)];
    assert_eq!(host.sees(&rows, at(10)), [Action::Lose { daemon: name("d"), generation: generation(3) }]);
    assert_eq!(host.sees(&rows, at(20)), []);
    host.ended(&name("d"), generation(3), &End::Finished, 0.5, at(30));
    assert_eq!(host.step(at(30)), [Action::Acknowledge(asked("d", 5))]);
}

#[test]
fn s67_what_is_not_assigned_here_is_stopped() {
    let mut gone = running();
    assert_eq!(gone.sees(&[], at(10)), [Action::Lose { daemon: name("d"), generation: generation(3) }]);
    let mut elsewhere = running();
    let mut row = row("d", 3, DaemonState::Active);
    row.place = Some((NodeName::new("b").unwrap(), TERM));
    assert_eq!(
        elsewhere.sees(&[row], at(10)),
        [Action::Lose { daemon: name("d"), generation: generation(3) }]
    );
    let mut deposed = running();
    deposed.out_of_office(at(10));
    assert_eq!(deposed.step(at(10)), [Action::Lose { daemon: name("d"), generation: generation(3) }]);
    deposed.ended(&name("d"), generation(3), &End::Finished, 0.5, at(11));
    assert!(deposed.is_empty() && deposed.running_now().is_empty());
}

#[test]
fn s70_a_daemon_that_fails_rests_and_is_given_up_after_its_budget() {
    let mut host = running();
    let failed = End::Failed("no disk".to_owned());
    host.ended(&name("d"), generation(3), &failed, 0.0, at(1000));
    assert_eq!((host.step(at(1100)), host.next_due()), (vec![], Some(at(1250))));
    assert_eq!(host.step(at(1250)).len(), 1);
    host.ended(&name("d"), generation(3), &failed, 0.0, at(2000));
    assert_eq!(host.next_due(), Some(at(2500)), "twice the pause");
    assert_eq!(host.step(at(2500)).len(), 1);
    host.ended(&name("d"), generation(3), &failed, 0.0, at(3000));
    let [Action::Fail { reason, .. }] = &host.step(at(3000))[..] else { panic!("it is given up") };
    assert_eq!(reason, "no disk (3 times in a row)");
    host.failure_reported(&name("d"), generation(3), Some(&Verdict::Taken), at(3001));
    assert!(host.is_empty());
}

#[test]
fn failures_are_forgotten_after_a_while() {
    let mut host = running();
    for round in 1..10 {
        host.ended(&name("d"), generation(3), &End::Finished, 0.0, at(round * 100_000));
        assert_eq!(host.step(at(round * 100_000 + 250)).len(), 1, "it starts again");
    }
}

#[test]
fn s66_a_daemon_without_an_agent_is_given_back() {
    let mut host = host();
    let rows = [row("d", 3, DaemonState::Assigning)];
    host.assigned(&rows, TERM, StoreTime::from_micros(0), at(0), |_| false);
    let [Action::Fail { reason, .. }] = &host.step(at(0))[..] else { panic!("it is given back") };
    assert!(reason.contains("no agent"), "{reason}");
}

#[test]
fn a_node_that_leaves_gives_up_what_nobody_asked_for() {
    let mut host = running();
    host.leave(at(2000));
    assert_eq!(host.sees(&[row("d", 3, DaemonState::Active)], at(1000)), []);
    assert_eq!(host.step(at(2000)), [Action::Stop { daemon: name("d"), generation: generation(3) }]);
    host.ended(&name("d"), generation(3), &End::Finished, 0.5, at(2010));
    assert_eq!(host.step(at(2010)), [Action::Confirm(asked("d", 3))]);
}

#[test]
fn what_a_leaving_node_gave_up_by_itself_is_cut_off_before_the_leader_takes_it() {
    let mut host = running();
    host.sees(&[row("d", 3, DaemonState::Active)], at(5));
    host.leave(at(10));
    assert_eq!(host.step(at(10)), [Action::Stop { daemon: name("d"), generation: generation(3) }]);
    // The leader had told it to stop before, and the node sees it only now: ten seconds are left.
    assert_eq!(host.sees(&[row("d", 3, DaemonState::Revoking)], at(20)), []);
    assert_eq!(host.step(at(9_019)), []);
    assert_eq!(host.step(at(9_020)), [Action::Abort { daemon: name("d"), generation: generation(3) }]);
}

#[test]
fn a_daemon_that_was_refused_and_is_active_later_is_started() {
    let mut host = host();
    host.sees(&[row("d", 3, DaemonState::Assigning)], at(0));
    let leaving = Verdict::Refused(Refusal::Leaving(NodeName::new("a").unwrap()));
    host.acknowledged(&asked("d", 3), Some(&[leaving]), at(10));
    let active = [row("d", 3, DaemonState::Active)];
    assert_eq!(host.sees(&active, at(10)), [], "this reading began before the answer came");
    // A late copy of the acknowledgement was taken: nobody else would ever run it.
    let started = host.sees(&active, at(20));
    assert_eq!(started, [Action::Start { daemon: name("d"), generation: generation(3) }]);
}

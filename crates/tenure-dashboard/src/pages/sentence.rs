//! How things stand in one sentence, for someone who was woken by it: whether messages flow, and if not, what keeps them.

use std::time::Duration;

use tenure_core::health::{
    self, DaemonFacts, HealthThresholds, LeaderState, Level, Others, StoreState, SubscriptionFacts,
};
use tenure_core::outbox::Count;

use super::heard::{relays, relays_in_office};
use crate::dashboard::Desk;
use crate::sampler::{Facts, Snapshot};
use crate::view::number::{of as count_of, rate};
use crate::view::state::{Tone, level as word};
use crate::view::time::span;

/// A snapshot that is older than this says nothing about now.
const OLD: Duration = Duration::from_secs(30);
/// The most reasons that are told.
const REASONS: usize = 6;
/// Below this many messages in a second nothing moves.
const STILL: f64 = 0.01;

/// The judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) tone: Tone,
    /// In a word: healthy, degraded, unhealthy, away, unknown.
    pub(crate) word: &'static str,
    pub(crate) sentence: String,
    /// What makes it so, the worst first.
    pub(crate) reasons: Vec<String>,
}

/// How things stand.
pub(crate) fn of(snapshot: &Snapshot, desk: &Desk) -> Verdict {
    let here = |facts: &Facts| {
        let others = Others::of(facts.runners.clone(), Some(&facts.look), |node| desk.is_here(node));
        health::Facts { runners: desk.loops(), others: Some(others), ..health::Facts::default() }
    };
    told(snapshot, &desk.thresholds, here)
}

/// The same, with the loops of this process and those of others as `loops` has them.
fn told(
    snapshot: &Snapshot,
    thresholds: &HealthThresholds,
    loops: impl Fn(&Facts) -> health::Facts,
) -> Verdict {
    let unknown = |sentence: &str, reasons: Vec<String>| Verdict {
        tone: Tone::Warn,
        word: "unknown",
        sentence: sentence.to_owned(),
        reasons,
    };
    match (&snapshot.facts, &snapshot.away, snapshot.age()) {
        (_, Some((_, why)), _) => Verdict {
            tone: Tone::Bad,
            word: "away",
            sentence: "The database gives no answer: whether messages flow is not known".to_owned(),
            reasons: vec![why.chars().take(300).collect()],
        },
        (Some(facts), None, Some(age)) if age <= OLD => judge(facts, thresholds, loops(facts)),
        (Some(_), None, _) => {
            unknown("What is known is old: the database has not answered for a while", vec![])
        }
        (None, None, _) => unknown("Nothing is known yet: the database has not answered so far", vec![]),
    }
}

fn judge(facts: &Facts, thresholds: &HealthThresholds, loops: health::Facts) -> Verdict {
    let report = health::judge(&gathered(facts, loops), thresholds);
    let (mut sentence, about) = sentence(facts, thresholds);
    let mut bad: Vec<_> = report.checks.iter().filter(|check| check.level > Level::Healthy).collect();
    // The worst first; of what is equally bad, in the order of the judgement.
    bad.sort_by_key(|check| std::cmp::Reverse(check.level));
    let is_told = |name: &str| about.contains(&name);
    // The sentence is about the worst there is: what is red because of dead messages must not read as if all were well.
    let worst = bad
        .first()
        .filter(|worst| !bad.iter().any(|check| check.level == worst.level && is_told(&check.name)));
    let mut told = about.clone();
    if let Some(worst) = worst {
        told.push(&worst.name);
        sentence = format!("{}; {}", large(&worst.what), small(&sentence));
    }
    let reasons = bad.iter().filter(|check| !told.contains(&check.name.as_str()));
    let reasons = reasons.map(|check| check.what.clone()).take(REASONS).collect();
    Verdict { tone: Tone::of(report.level), word: word(report.level), sentence, reasons }
}

/// With a large letter at its beginning.
fn large(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// With a small one.
fn small(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_lowercase().chain(rest).collect()).unwrap_or_default()
}

/// The same facts as probes are judged by, so that a page and a probe never differ.
fn gathered(facts: &Facts, loops: health::Facts) -> health::Facts {
    let slow = &facts.slow;
    let subscription = |progress| SubscriptionFacts::of(progress, slow.head, facts.pulse.now);
    let has_nodes = facts.look.nodes.iter().any(|standing| standing.is_alive(facts.look.now));
    health::Facts {
        store: StoreState::Answers,
        pulse: Some((facts.pulse.clone(), Duration::ZERO)),
        leader: LeaderState::of(&facts.look),
        subscriptions: slow.subscriptions.iter().map(subscription).collect(),
        daemons: Some(DaemonFacts { nowhere: slow.nowhere.len() as u64, wanted: slow.wanted, has_nodes }),
        ..loops
    }
}

/// The sentence: what moves and what waits; and the checks that it tells of.
fn sentence(facts: &Facts, thresholds: &HealthThresholds) -> (String, Vec<&'static str>) {
    const LAG: &str = "outbox-lag";
    const DEAD: &str = "outbox-dead";
    let Facts { pulse, rates, .. } = facts;
    let out = rates.delivered.unwrap_or_default();
    let about = if rates.is_derived { "about " } else { "" };
    let lag = pulse.lag.unwrap_or_default();
    let waits = count_of(pulse.pending, "message waits", "messages wait");
    let its = if pulse.pending == Count::exactly(1) { "its" } else { "their" };
    let at_least = if pulse.lag_is_least { "at least " } else { "" };
    let oldest = format!("the oldest for {at_least}{}", span(lag));
    if pulse.pending.number == 0 {
        return match (out > STILL, pulse.dead.number) {
            (true, 0) => (format!("Messages flow: {about}{}, and nothing waits", rate(out)), vec![]),
            (true, _) => {
                (format!("Messages flow: {about}{}, but {}", rate(out), dead(pulse.dead)), vec![DEAD])
            }
            (false, 0) => ("All is quiet: nothing waits to be delivered".to_owned(), vec![]),
            (false, _) => (format!("Nothing waits, but {}", dead(pulse.dead)), vec![DEAD]),
        };
    }
    if pulse.lag.is_none() {
        return match pulse.halted_sources.number {
            0 if pulse.lag_is_unknown() => (format!("{waits}, the first of them for their time"), vec![]),
            0 => (format!("{waits} for {its} time; nothing is late"), vec![]),
            _ => (format!("{waits}, behind dead ones or for {its} time; nothing else is late"), vec![]),
        };
    }
    if lag >= thresholds.lag_degraded {
        return match out > STILL {
            true => (
                format!("Messages are late: {waits}, {oldest}, while {about}{} go out", rate(out)),
                vec![LAG],
            ),
            false => (format!("Nothing moves: {waits}, {oldest}{}", keeper(facts)), vec![LAG]),
        };
    }
    let flow = match out > STILL {
        true => format!("Messages flow: {about}{}, the oldest waits {}", rate(out), span(lag)),
        false => format!("{waits}, {oldest}"),
    };
    match pulse.dead.number {
        0 => (flow, vec![]),
        _ => (format!("{flow}; {}", dead(pulse.dead)), vec![DEAD]),
    }
}

/// What keeps messages from moving, as far as it can be seen from here.
fn keeper(facts: &Facts) -> String {
    let relays = relays(facts);
    if let Some(row) = relays.iter().find(|row| row.report.trouble.is_some()) {
        return format!("; the relay on {} is in trouble", row.node.name);
    }
    let works = relays_in_office(facts);
    match (relays.is_empty(), works.is_empty()) {
        (true, true) => "; no relay is to be seen".to_owned(),
        (false, true) => "; relays stand by and none is in office".to_owned(),
        (_, false) => String::new(),
    }
}

fn dead(dead: Count) -> String {
    count_of(dead, "message is dead", "messages are dead")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::cluster::{ClusterLook, Revision};
    use tenure_core::event::Position;
    use tenure_core::observe::Runners;
    use tenure_core::outbox::Pulse;
    use tenure_core::time::StoreTime;
    use tokio::time::Instant;

    use super::*;
    use crate::rates::Rates;
    use crate::sampler::Slow;

    fn snapshot(pending: u64, dead: u64, lag: Option<u64>, out: f64) -> Snapshot {
        let now = StoreTime::from_micros(1_000_000);
        let pulse = Pulse {
            now,
            newest: None,
            pending: Count::up_to(10_000, pending),
            retrying: Count::default(),
            dead: Count::exactly(dead),
            halted_sources: Count::default(),
            lag: lag.map(Duration::from_secs),
            lag_is_least: pending > 10_000,
        };
        let slow = Slow {
            graves: vec![],
            more_causes: false,
            subscriptions: vec![],
            head: Position::START,
            stall: None,
            daemons: 0,
            more_daemons: false,
            nowhere: vec![],
            wanted: false,
        };
        let facts = Facts {
            pulse,
            rates: Rates { delivered: Some(out), ..Rates::default() },
            look: ClusterLook { now, revision: Revision(0), leader: None, nodes: vec![] },
            runners: Runners { rows: vec![], more: false, now },
            leases: vec![],
            leases_at: now,
            changes: vec![],
            slow: Arc::new(slow),
            gaps: vec![],
        };
        Snapshot {
            number: 1,
            facts: Some(Arc::new(facts)),
            taken: Some(Instant::now()),
            ..Snapshot::default()
        }
    }

    fn told_of(snapshot: &Snapshot) -> Verdict {
        super::told(snapshot, &HealthThresholds::default(), |_| health::Facts::default())
    }

    fn told(pending: u64, dead: u64, lag: Option<u64>, out: f64) -> (Tone, String) {
        let verdict = told_of(&snapshot(pending, dead, lag, out));
        (verdict.tone, verdict.sentence)
    }

    #[tokio::test]
    async fn the_sentence_says_whether_messages_flow() {
        for (facts, tone, sentence) in [
            ((0, 0, None, 0.0), Tone::Good, "All is quiet: nothing waits to be delivered"),
            ((0, 0, None, 212.0), Tone::Good, "Messages flow: 212/s, and nothing waits"),
            ((7, 0, Some(2), 212.0), Tone::Good, "Messages flow: 212/s, the oldest waits 2.0 s"),
            ((7, 0, Some(2), 0.0), Tone::Good, "7 messages wait, the oldest for 2.0 s"),
            ((0, 1, None, 0.0), Tone::Warn, "Nothing waits, but 1 message is dead"),
            ((3, 0, None, 0.0), Tone::Good, "3 messages wait for their time; nothing is late"),
            (
                (1, 220, None, 0.0),
                Tone::Bad,
                "220 messages are dead; 1 message waits for its time; nothing is late",
            ),
            (
                (1_204, 0, Some(360), 0.0),
                Tone::Bad,
                "Nothing moves: 1,204 messages wait, the oldest for 6 min; no relay is to be seen",
            ),
            (
                (20_000, 200, Some(90), 50.0),
                Tone::Bad,
                "200 messages are dead; messages are late: 10,000+ messages wait, the oldest for at least 1 min 30 s, \
                 while 50/s go out",
            ),
        ] {
            let (pending, dead, lag, out) = facts;
            assert_eq!(told(pending, dead, lag, out), (tone, sentence.to_owned()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_known_is_never_told_as_well() {
        assert_eq!(told_of(&Snapshot::default()).word, "unknown");
        let snapshot = snapshot(0, 0, None, 1.0);
        assert_eq!(told_of(&snapshot).word, "healthy");
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(told_of(&snapshot).word, "unknown");
        let away = Snapshot {
            away: Some((std::time::SystemTime::UNIX_EPOCH, "cannot be reached".into())),
            ..snapshot
        };
        assert_eq!((told_of(&away).word, told_of(&away).tone), ("away", Tone::Bad));
    }
}

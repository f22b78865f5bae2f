//! How things stand in one sentence, for someone who was woken by it: whether messages flow, and if not, what keeps them.

use std::time::Duration;

use tenure_core::observe::{RunnerKind, RunnerRow};
use tenure_core::outbox::{Count, Health, HealthThresholds, Level, Pulse, Stats};

use crate::sampler::{Facts, Snapshot};
use crate::view::number::{grouped, of as count_of, rate};
use crate::view::state::{Tone, level};
use crate::view::time::span;

/// A snapshot that is older than this says nothing about now.
const OLD: Duration = Duration::from_secs(30);
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
pub(crate) fn of(snapshot: &Snapshot, thresholds: &HealthThresholds) -> Verdict {
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
        (Some(facts), None, Some(age)) if age <= OLD => judge(facts, thresholds),
        (Some(_), None, _) => {
            unknown("What is known is old: the database has not answered for a while", vec![])
        }
        (None, None, _) => unknown("Nothing is known yet: the database has not answered so far", vec![]),
    }
}

fn judge(facts: &Facts, thresholds: &HealthThresholds) -> Verdict {
    let pulse = &facts.pulse;
    let mut health = Health::of(&stats(pulse), thresholds);
    cluster(facts, &mut health);
    let tone = Tone::of(health.level);
    Verdict {
        tone,
        word: level(health.level),
        sentence: sentence(facts, thresholds),
        reasons: reasons(facts, health),
    }
}

/// The sentence: what moves, what waits, and what is wrong first of all.
fn sentence(facts: &Facts, thresholds: &HealthThresholds) -> String {
    let Facts { pulse, rates, .. } = facts;
    let out = rates.delivered.unwrap_or_default();
    let about = if rates.is_derived { "about " } else { "" };
    let lag = pulse.lag.unwrap_or_default();
    let waits = count_of(pulse.pending, "message waits", "messages wait");
    let at_least = if pulse.lag_is_least { "at least " } else { "" };
    let oldest = format!("the oldest for {at_least}{}", span(lag));
    if pulse.pending.number == 0 {
        return match (out > STILL, pulse.dead.number) {
            (true, 0) => format!("Messages flow: {about}{}, and nothing waits", rate(out)),
            (true, _) => format!("Messages flow: {about}{}, but {}", rate(out), dead(pulse.dead)),
            (false, 0) => "All is quiet: nothing waits to be delivered".to_owned(),
            (false, _) => format!("Nothing waits, but {}", dead(pulse.dead)),
        };
    }
    if pulse.lag.is_none() {
        return match pulse.halted_sources.number {
            0 => format!("{waits} for their time; nothing is late"),
            _ => format!("{waits}, behind dead ones or for their time; nothing else is late"),
        };
    }
    if lag >= thresholds.lag_degraded {
        return match out > STILL {
            true => format!("Messages are late: {waits}, {oldest}, while {about}{} go out", rate(out)),
            false => format!("Nothing moves: {waits}, {oldest}{}", keeper(facts)),
        };
    }
    let flow = match out > STILL {
        true => format!("Messages flow: {about}{}, the oldest waits {}", rate(out), span(lag)),
        false => format!("{waits}, {oldest}"),
    };
    match pulse.dead.number {
        0 => flow,
        _ => format!("{flow}; {}", dead(pulse.dead)),
    }
}

/// What keeps messages from moving, as far as it can be seen from here.
fn keeper(facts: &Facts) -> String {
    let relays = relays(facts);
    if let Some(row) = relays.iter().find(|row| row.report.trouble.is_some()) {
        return format!("; the relay on {} is in trouble", row.node.name);
    }
    let held = facts.leases.iter().any(|lease| is_relay_lease(lease) && lease.is_held(facts.leases_at));
    match (relays.is_empty(), held) {
        (true, false) => "; no relay is to be seen".to_owned(),
        (true, true) | (false, true) => String::new(),
        (false, false) if relays.iter().all(|row| row.report.state == "standing by") => {
            "; relays stand by and none is in office".to_owned()
        }
        (false, false) => String::new(),
    }
}

/// The relays that report.
pub(crate) fn relays(facts: &Facts) -> Vec<&RunnerRow> {
    let is_relay = |row: &&RunnerRow| matches!(row.report.kind, RunnerKind::Relay | RunnerKind::Parts);
    facts.runners.rows.iter().filter(is_relay).collect()
}

/// Whether a lease stands for the office of a relay.
pub(crate) fn is_relay_lease(lease: &tenure_core::lease::LeaseRecord) -> bool {
    lease.kind.as_deref() == Some("outbox") || lease.name.as_str() == "outbox"
}

fn reasons(facts: &Facts, health: Health) -> Vec<String> {
    let mut reasons = health.reasons;
    let limit = 4;
    let troubled = facts.runners.rows.iter().filter_map(|row| Some((row, row.report.trouble.as_deref()?)));
    for (row, trouble) in troubled.take(limit) {
        let trouble: String = trouble.chars().take(200).collect();
        reasons.push(format!("{} {} on {}: {trouble}", row.report.kind, row.report.name, row.node.name));
    }
    reasons
}

fn cluster(facts: &Facts, health: &mut Health) {
    let worse = |health: &mut Health, to: Level, reason: String| {
        health.level = health.level.max(to);
        health.reasons.push(reason);
    };
    let alive = facts.look.nodes.iter().any(|standing| standing.is_alive(facts.look.now));
    if alive && facts.look.leads().is_none() {
        worse(health, Level::Degraded, "nodes are there, but nobody leads".to_owned());
    }
    let nowhere = facts.slow.nowhere.len();
    if nowhere > 0 {
        let level = if alive { Level::Degraded } else { Level::Unhealthy };
        let which = if nowhere == 1 {
            "1 daemon runs".to_owned()
        } else {
            format!("{} daemons run", grouped(nowhere as u64))
        };
        worse(health, level, format!("{which} nowhere"));
    }
    if facts.runners.rows.iter().any(|row| row.report.trouble.is_some()) {
        health.level = health.level.max(Level::Degraded);
    }
}

fn dead(dead: Count) -> String {
    count_of(dead, "message is dead", "messages are dead")
}

/// As much of exact numbers as can be had from bounded ones.
fn stats(pulse: &Pulse) -> Stats {
    Stats {
        pending: pulse.pending.number,
        retrying: pulse.retrying.number,
        dead: pulse.dead.number,
        halted_sources: pulse.halted_sources.number,
        lag: pulse.lag,
        ..Stats::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::cluster::{ClusterLook, Revision};
    use tenure_core::event::Position;
    use tenure_core::observe::Runners;
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
        };
        Snapshot {
            number: 1,
            facts: Some(Arc::new(facts)),
            taken: Some(Instant::now()),
            ..Snapshot::default()
        }
    }

    fn told_of(snapshot: &Snapshot) -> Verdict {
        of(snapshot, &HealthThresholds::default())
    }

    fn told(pending: u64, dead: u64, lag: Option<u64>, out: f64) -> (Tone, String) {
        let verdict = of(&snapshot(pending, dead, lag, out), &HealthThresholds::default());
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
                (1_204, 0, Some(360), 0.0),
                Tone::Bad,
                "Nothing moves: 1,204 messages wait, the oldest for 6 min; no relay is to be seen",
            ),
            (
                (20_000, 200, Some(90), 50.0),
                Tone::Bad,
                "Messages are late: 10,000+ messages wait, the oldest for at least 1 min 30 s, while 50/s go out",
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

//! How blows fall and weather changes, and how both end.

use std::time::Duration;

use tenure_core::time::StoreTime;

use super::host::Condition;
use super::message::Answer;
use super::{Event, World};
use crate::clock::EPOCH;
use crate::faults::{Blow, Climate, Weather};

/// The longest time for which the weather of a link stays as it is.
const LONGEST_WEATHER: Duration = Duration::from_secs(8);

impl World {
    pub(super) fn change_weather(&mut self, node: usize) {
        self.hosts[node].weather = self.climate.weather(&mut self.rng);
        if self.trouble.is_some() {
            let lasts = Duration::from_micros(self.rng.u64(200_000..LONGEST_WEATHER.as_micros() as u64));
            self.schedule(lasts, Event::Weather(node));
        }
    }

    pub(super) fn fall_into_trouble(&mut self) {
        let Some(trouble) = self.trouble.clone() else { return };
        let holder = self.holder();
        if let Some(blow) = trouble.draw(holder, self.hosts.len(), &mut self.rng) {
            self.inflict(blow);
        }
        let peace = Duration::from_micros(self.rng.u64(20_000..trouble.longest_peace.as_micros() as u64));
        self.schedule(peace, Event::Trouble);
    }

    /// Lets a blow fall.
    pub(crate) fn inflict(&mut self, blow: Blow) {
        self.note_store(format_args!("-- {blow:?}"));
        self.store.tally.blows += 1;
        match blow {
            Blow::Pause(node, span) => self.pause(node, span),
            Blow::Crash { node, silent, down_for } => self.crash(node, silent, down_for),
            Blow::StepClock(node, by) => self.hosts[node].plan.clock.step_wall(by),
            Blow::Cut(node, span) => self.hosts[node].cut_until = self.now.after(span),
            Blow::Fade(node, span) => {
                self.hosts[node].weather = Weather::SLOW;
                self.schedule(span, Event::FadeOut(node, span));
            }
            Blow::BreakSession { node, told } => self.break_session(node, told),
            Blow::RestartStore => self.restart_store(),
            Blow::Resign(node, rest) => {
                if matches!(self.hosts[node].condition, Condition::Up) {
                    self.visit(node, |actor, turn| {
                        actor.resign(rest, turn);
                    });
                }
            }
            Blow::Revoke { force } => self.store.revoke(force, self.now),
            Blow::DeleteRow => self.store.meddle(None),
            Blow::Hint(node) => {
                if matches!(self.hosts[node].condition, Condition::Up) {
                    self.visit(node, |actor, _| actor.hint());
                }
            }
        }
    }

    /// A slow link is cut, if the storm still lasts.
    pub(super) fn fade_out(&mut self, node: usize, span: Duration) {
        if self.trouble.is_some() {
            self.inflict(Blow::Cut(node, span));
        }
    }

    fn break_session(&mut self, node: usize, told: bool) {
        for session in self.store.sessions.of(node, self.hosts[node].life) {
            self.store.sessions.close(session);
            if told {
                self.tell_session_ended(node, session);
            }
        }
        self.spread_news();
    }

    /// Sessions and watches are gone; their owners find a broken connection, sooner or later.
    fn restart_store(&mut self) {
        for watcher in self.store.sessions.restart() {
            let (node, life, call) = (watcher.node, watcher.life, watcher.call);
            if let Some(after) = self.hosts[node].weather.news(&mut self.rng) {
                self.schedule(
                    after,
                    Event::Answer { node, life, call, answer: Some(Box::new(Answer::NoSession)) },
                );
            }
        }
        for node in 0..self.hosts.len() {
            if let Some(session) = self.hosts[node].actor.live_session()
                && self.rng.bool()
            {
                self.tell_session_ended(node, session);
            }
        }
    }

    /// Ends all faults: links heal, stopped processes go on, dead ones start again. What is under way still arrives.
    pub(crate) fn calm_down(&mut self) {
        self.note_store(format_args!("-- calm"));
        self.trouble = None;
        self.climate = Climate::CLEAR;
        self.calm_outbox();
        for node in 0..self.hosts.len() {
            self.hosts[node].weather = Weather::CLEAR;
            self.hosts[node].cut_until = EPOCH;
            self.resume(node);
            self.restart(node);
        }
    }

    /// The node that believes that it holds the lease; the newest, should there be more.
    pub(crate) fn holder(&self) -> Option<usize> {
        self.beliefs(self.now).max_by_key(|(_, term)| *term).map(|(node, _)| node)
    }

    pub(super) fn beliefs(&self, now: StoreTime) -> impl Iterator<Item = (usize, tenure_core::lease::Term)> {
        self.hosts.iter().enumerate().filter_map(move |(node, host)| Some((node, host.belief(now)?)))
    }
}

//! What nodes told: who ran which daemon from when to when.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A daemon that ran on one process.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) process: u32,
    pub(super) generation: u64,
    pub(super) started: u64,
    pub(super) ended: Option<u64>,
}

/// Everything that was heard.
#[derive(Debug, Default)]
pub(in crate::bench) struct Journal {
    spans: BTreeMap<String, Vec<Span>>,
    joined: BTreeSet<u32>,
    silent: BTreeSet<u32>,
    /// Who leads, by what was heard last: the process and its term.
    leader: Option<(u32, u64)>,
}

impl Journal {
    /// Takes a line of a process.
    pub(super) fn hear(&mut self, process: u32, _node: &str, event: &Value) {
        let at = event["at_us"].as_u64().unwrap_or(0);
        let daemon = || event["daemon"].as_str().unwrap_or_default().to_owned();
        let generation = event["generation"].as_u64().unwrap_or(0);
        match event["event"].as_str().unwrap_or_default() {
            "joined" => {
                self.joined.insert(process);
            }
            "leads" => {
                let term = event["term"].as_u64().unwrap_or(0);
                if self.leader.is_none_or(|(_, known)| known < term) {
                    self.leader = Some((process, term));
                }
            }
            "deposed" if self.leader.is_some_and(|(leader, _)| leader == process) => self.leader = None,
            "started" => {
                let span = Span { process, generation, started: at, ended: None };
                self.spans.entry(daemon()).or_default().push(span);
            }
            "stopped" | "lost" => {
                let spans = self.spans.entry(daemon()).or_default().iter_mut();
                let open = |span: &&mut Span| {
                    span.process == process && span.generation == generation && span.ended.is_none()
                };
                if let Some(span) = spans.rev().find(open) {
                    span.ended = Some(at);
                }
            }
            _ => {}
        }
    }

    /// A process says nothing more.
    pub(super) fn silent(&mut self, process: u32) {
        self.silent.insert(process);
        if self.leader.is_some_and(|(leader, _)| leader == process) {
            self.leader = None;
        }
    }

    /// A process was killed: what ran there ran until then.
    pub(super) fn killed(&mut self, process: u32, at: u64) {
        for span in self.spans.values_mut().flatten().filter(|span| span.process == process) {
            span.ended.get_or_insert(at);
        }
    }

    pub(super) fn has_joined(&self, process: u32) -> bool {
        self.joined.contains(&process) || self.silent.contains(&process)
    }

    pub(super) fn is_silent(&self, process: u32) -> bool {
        self.silent.contains(&process)
    }

    pub(super) fn leader(&self) -> Option<u32> {
        self.leader.map(|(process, _)| process)
    }

    /// How many daemons run.
    pub(in crate::bench) fn running(&self) -> usize {
        self.spans.values().filter(|spans| spans.iter().any(|span| span.ended.is_none())).count()
    }

    /// The daemons that run on a process.
    pub(in crate::bench) fn of(&self, process: u32) -> Vec<String> {
        let here = |span: &Span| span.process == process && span.ended.is_none();
        let theirs = self.spans.iter().filter(|(_, spans)| spans.iter().any(here));
        theirs.map(|(daemon, _)| daemon.clone()).collect()
    }

    /// When a daemon was first started after a moment.
    pub(super) fn started_after(&self, daemon: &str, at: u64) -> Option<u64> {
        let spans = self.spans.get(daemon)?.iter();
        spans.map(|span| span.started).filter(|started| *started > at).min()
    }

    /// When the last daemon of a process ended.
    pub(super) fn last_end(&self, process: u32) -> Option<u64> {
        let theirs = self.spans.values().flatten().filter(|span| span.process == process);
        theirs.filter_map(|span| span.ended).max()
    }

    /// How often a daemon ran twice at once.
    pub(super) fn overlaps(&self) -> usize {
        let mut count = 0;
        for spans in self.spans.values() {
            let mut spans = spans.clone();
            spans.sort_by_key(|span| span.started);
            let mut until = 0;
            for span in spans {
                count += usize::from(span.started < until);
                until = until.max(span.ended.unwrap_or(u64::MAX));
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(event: &str, at: u64) -> Value {
        json!({ "event": event, "daemon": "d", "generation": 1, "at_us": at })
    }

    #[test]
    fn two_that_run_one_daemon_at_once_are_found() {
        let mut journal = Journal::default();
        journal.hear(1, "a", &told("started", 10));
        journal.hear(1, "a", &told("stopped", 20));
        journal.hear(2, "b", &told("started", 20));
        assert_eq!((journal.overlaps(), journal.running()), (0, 1));
        assert_eq!(journal.of(2), ["d"]);
        assert_eq!(journal.started_after("d", 10), Some(20));
        journal.hear(3, "c", &told("started", 25));
        assert_eq!(journal.overlaps(), 1, "the second has not stopped");
        journal.killed(2, 24);
        assert_eq!(journal.overlaps(), 0, "it was dead by then");
        assert_eq!(journal.last_end(2), Some(24));
    }
}

//! What is shown meanwhile: a few lines on a terminal that are drawn anew, one line a second elsewhere, objects for programs.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure::Database;

use super::ledger::Ledger;
use super::nodes::Nodes;
use crate::args::DemoArgs;
use crate::output::{self, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Json,
    Drawn,
    Lines,
}

pub(super) struct View {
    manner: Manner,
    seconds: u32,
    shown_at: Option<Instant>,
    /// How many lines were drawn last.
    drawn: usize,
    delivered: Option<(Instant, u64)>,
    settings: serde_json::Value,
}

impl View {
    pub(super) fn new(json: bool, args: &DemoArgs) -> Self {
        let manner = match () {
            () if json => Manner::Json,
            () if io::stdout().is_terminal() => Manner::Drawn,
            () => Manner::Lines,
        };
        let settings = json!({
            "nodes": args.nodes, "seconds": args.seconds, "rate": args.rate,
            "kill_every_ms": u64::try_from(args.kill_every.as_millis()).unwrap_or(u64::MAX),
        });
        Self { manner, seconds: args.seconds, shown_at: None, drawn: 0, delivered: None, settings }
    }

    pub(super) fn begin(&self, file: &Path) {
        if self.manner != Manner::Json {
            output::line(format_args!(
                "Two libraries lend each other's books. Nodes: {}, over {}; those in office are killed again and again.",
                self.settings["nodes"],
                file.display()
            ));
        }
    }

    /// Shows how it goes, now and then.
    pub(super) async fn show(
        &mut self,
        elapsed: Duration,
        database: &Database,
        nodes: &Nodes,
    ) -> Result<(), Failure> {
        let every =
            if self.manner == Manner::Drawn { Duration::from_millis(250) } else { Duration::from_secs(1) };
        if self.shown_at.is_some_and(|at| at.elapsed() < every) {
            return Ok(());
        }
        self.shown_at = Some(Instant::now());
        let stats = database.outbox_admin().stats().await?;
        let rate = self.rate(stats.dispatched);
        let failovers = nodes.failovers();
        let last = failovers.last().map(|span| span.as_millis());
        match self.manner {
            Manner::Json => output::event(&json!({
                "event": "status", "elapsed_ms": elapsed.as_millis() as u64, "term": nodes.term(),
                "pending": stats.pending, "delivered": stats.dispatched, "dead": stats.dead, "rate": rate,
                "failovers": failovers.len(), "last_failover_ms": last.map(|ms| ms as u64),
            })),
            Manner::Lines => output::line(format_args!(
                "{:>3} s  term {}  {} delivered ({rate}/s)  {} waiting  {} dead  failovers: {}{}",
                elapsed.as_secs(),
                nodes.term().map_or_else(|| "-".into(), |term| term.to_string()),
                stats.dispatched,
                stats.pending,
                stats.dead,
                failovers.len(),
                last.map_or_else(String::new, |ms| format!(", the last took {ms} ms")),
            )),
            Manner::Drawn => {
                let mut lines = vec![format!(
                    "{:>3} of {} s   {} delivered ({rate}/s)   {} waiting   {} dead",
                    elapsed.as_secs().min(self.seconds.into()),
                    self.seconds,
                    stats.dispatched,
                    stats.pending,
                    stats.dead
                )];
                for node in nodes.shown() {
                    let relays =
                        nodes.term().filter(|_| node.relays).map(|term| format!("relays, term {term}"));
                    let routes = node.routes.then(|| "routes".to_owned());
                    let offices: Vec<_> = relays.into_iter().chain(routes).collect();
                    let office = if offices.is_empty() { "standing by".into() } else { offices.join("; ") };
                    let pid = node.pid.map_or_else(|| "-".into(), |pid| pid.to_string());
                    lines.push(format!("  {:<8} pid {pid:<8} {office}", node.name));
                }
                lines.push(format!(
                    "  {} killed and replaced{}",
                    failovers.len(),
                    last.map_or_else(String::new, |ms| format!(", the last within {ms} ms"))
                ));
                self.draw(&lines);
            }
        }
        Ok(())
    }

    fn rate(&mut self, delivered: u64) -> u64 {
        let now = Instant::now();
        let (at, before) = self.delivered.replace((now, delivered)).unwrap_or((now, delivered));
        let seconds = now.duration_since(at).as_secs_f64().max(0.001);
        (delivered.saturating_sub(before) as f64 / seconds).round() as u64
    }

    fn draw(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in lines {
            text.push_str(&format!("\x1b[2K{line}\n"));
        }
        self.drawn = lines.len();
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes());
        let _ = stdout.flush();
    }

    pub(super) fn end(&self, ledger: &Ledger) {
        if self.manner == Manner::Json {
            let mut result = json!(ledger);
            result["event"] = "result".into();
            result["settings"] = self.settings.clone();
            result["exit_code"] = u8::from(!ledger.is_clean()).into();
            // Behind what was told before; and that it could be written is seen.
            output::finish();
            output::line(result);
            return;
        }
        let span = |pick: fn(&[u64]) -> Option<u64>| {
            pick(&ledger.failovers_ms).map_or_else(|| "-".into(), |ms| format!("{ms} ms"))
        };
        let rows = [
            ("loans requested", ledger.loans.to_string()),
            ("  returned", ledger.returned.to_string()),
            ("  refused, the book was out", ledger.refused.to_string()),
            ("commands committed", ledger.committed.to_string()),
            ("commands applied", ledger.applied.to_string()),
            ("duplicates suppressed", ledger.duplicates_suppressed.to_string()),
            ("not finished in time", ledger.unfinished.to_string()),
            ("lost", ledger.lost.to_string()),
            ("doubled", ledger.doubled.to_string()),
            ("out of order", ledger.out_of_order.to_string()),
            ("failovers", ledger.failovers_ms.len().to_string()),
            ("  quickest", span(|all| all.iter().min().copied())),
            ("  slowest", span(|all| all.iter().max().copied())),
        ];
        output::line("");
        for (what, count) in rows {
            output::line(format_args!("{what:<30}{count:>10}"));
        }
        output::line(if ledger.is_clean() {
            "\nNothing was lost, nothing took effect twice, nothing came out of order."
        } else {
            match ledger.unfinished {
                0 => {
                    "\nThis is a bug in Tenure. Please report it, with the file of `tenure demo --keep DIRECTORY`."
                }
                _ => {
                    "\nNot everything came to its end in time: too little disk, or too slow a machine for this rate?"
                }
            }
        });
    }
}

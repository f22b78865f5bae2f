//! What a relay shows while it works: one line on a terminal, objects for programs, a line in the log now and then.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tenure::core::contract::OutboxAdmin;
use tenure::{RelayStatus, Role, Stop};

use super::shows_live;
use super::work::Status;
use crate::args::{Global, RelayArgs};
use crate::outbox::span;
use crate::output;

/// To whom it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// A person at a terminal.
    Line,
    /// A program.
    Json,
    /// Whoever reads the log.
    Log,
    /// Nobody.
    Silent,
}

impl Manner {
    pub(super) fn of(global: &Global, args: &RelayArgs) -> Self {
        match () {
            () if args.quiet => Self::Silent,
            () if shows_live(global, args) => Self::Line,
            // Messages have standard output for themselves.
            () if global.json && !args.to.starts_with("stdout:") => Self::Json,
            () => Self::Log,
        }
    }

    fn every(self) -> Duration {
        match self {
            Self::Line | Self::Json => Duration::from_secs(1),
            Self::Log | Self::Silent => Duration::from_secs(10),
        }
    }
}

/// Tells again and again, until `stop` is given.
pub(super) async fn tell(status: Status, admin: Arc<dyn OutboxAdmin>, manner: Manner, stop: Stop) {
    let (mut before, mut at) = (status(), Instant::now());
    let mut told: Option<RelayStatus> = None;
    loop {
        tokio::select! {
            () = stop.stopped() => break,
            () = tokio::time::sleep(manner.every()) => {}
        }
        let (now, seconds) = (status(), at.elapsed().as_secs_f64().max(0.001));
        let rate = (now.delivered - before.delivered) as f64 / seconds;
        match manner {
            Manner::Silent => {}
            Manner::Line => draw(&now, rate, &*admin).await,
            Manner::Json if told.as_ref() == Some(&now) => {}
            Manner::Json => {
                let mut event = json!(now);
                event["event"] = "status".into();
                event["rate"] = rate.round().into();
                output::event(&event);
            }
            Manner::Log if now.delivered == before.delivered && now.transient == before.transient => {}
            Manner::Log => tracing::info!(
                delivered = now.delivered - before.delivered,
                failed = now.transient - before.transient,
                dead = now.dead - before.dead,
                rate = rate.round(),
                "relayed"
            ),
        }
        told = Some(now.clone());
        (before, at) = (now, Instant::now());
    }
    if manner == Manner::Line {
        let _ = writeln!(std::io::stderr());
    }
}

async fn draw(status: &RelayStatus, rate: f64, admin: &dyn OutboxAdmin) {
    let role = match status.role {
        Role::Leading { term } => format!("leading, term {term}"),
        Role::Parts { parts } => format!("{parts} parts"),
        Role::Standby => "standing by".into(),
        Role::Alone => "alone".into(),
        Role::Stopped => "stopped".into(),
    };
    // A standby reads no rows, and so knows no lag.
    let lag = match status.role {
        Role::Leading { .. } | Role::Parts { .. } | Role::Alone => match admin.stats().await {
            Ok(stats) => format!(
                "  {} pending  lag {}  {} dead",
                stats.pending,
                stats.lag.map_or_else(|| "none".into(), span),
                stats.dead
            ),
            Err(_) => String::new(),
        },
        _ => String::new(),
    };
    let trouble = status.trouble.as_deref().map_or_else(String::new, |trouble| {
        format!("  ! {}", trouble.chars().filter(|c| !c.is_control()).take(80).collect::<String>())
    });
    let line = format!(
        "\r\x1b[2K{role}  {rate:.0}/s  {} delivered  {} in flight{lag}{trouble}",
        status.delivered, status.in_flight
    );
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(line.as_bytes());
    let _ = stderr.flush();
}

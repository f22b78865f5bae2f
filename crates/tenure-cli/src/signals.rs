//! The signals that are forwarded to the command.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::output::Failure;

const FORWARDED: [Signal; 6] =
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];

/// The signals that come here instead of ending the process.
pub(crate) struct Signals {
    streams: Vec<(Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    /// Catches them from now on, except those that we were started to ignore, as by `nohup`: the command ignores them too.
    pub(crate) fn catch() -> Result<Self, Failure> {
        let ignored = ignored();
        let caught = FORWARDED.into_iter().filter(|which| ignored & bit(*which) == 0);
        let streams = caught.map(|which| Ok((which, signal(SignalKind::from_raw(which as i32))?)));
        let failed = |error: io::Error| Failure::Failed(format!("cannot catch signals: {error}"));
        Ok(Self { streams: streams.collect::<io::Result<_>>().map_err(failed)? })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (which, stream) in &mut self.streams {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*which);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Forgets what has come so far.
    pub(crate) fn forget(&mut self) {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for (_, stream) in &mut self.streams {
            while let Poll::Ready(Some(())) = stream.poll_recv(&mut context) {}
        }
    }

    /// The next signal that asks to end.
    pub(crate) async fn ending(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if is_ending(signal) {
                return signal;
            }
        }
    }
}

/// Whether a signal asks to end.
pub(crate) fn is_ending(signal: Signal) -> bool {
    !matches!(signal, Signal::SIGUSR1 | Signal::SIGUSR2)
}

/// The exit code of a process that a signal ended.
pub(crate) fn code_of(signal: Signal) -> u8 {
    128 + u8::try_from(signal as i32).unwrap_or(0)
}

/// The signals that this process ignores, as a mask; none where the system does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn bit(signal: Signal) -> u64 {
    1 << (signal as i32 - 1)
}

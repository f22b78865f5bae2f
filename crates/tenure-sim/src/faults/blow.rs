//! Blows: what befalls a node, its session, its clock, its link, the store or the row.

use std::time::Duration;

use fastrand::Rng;

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// SIGSTOP for a while: nothing is done, clocks run on, a write may be half done.
    Pause(usize, Duration),
    /// The process dies and starts again later. Loudly: the kernel ends its connections at once. Silently: the machine
    /// is gone, and the store finds out by the silence.
    Crash { node: usize, silent: bool, down_for: Duration },
    /// Someone sets the wall clock, by so many microseconds.
    StepClock(usize, i64),
    /// The link is cut for a while.
    Cut(usize, Duration),
    /// The link gets slow, and after a while it is cut for as long.
    Fade(usize, Duration),
    /// The store ends the node's session. The node is told, or finds out by itself.
    BreakSession { node: usize, told: bool },
    /// The store's server restarts: sessions are gone, rows are not.
    RestartStore,
    /// The node gives the lease up and rests for a while.
    Resign(usize, Duration),
    /// An operator has the holder out of office.
    Revoke { force: bool },
    /// Someone deletes the row with a database shell.
    DeleteRow,
    /// Someone tells a contender to look now.
    Hint(usize),
}

/// Which blows a world knows, how often they fall and on whom.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    /// Weights of the kinds, in the order of [`draw`]; zero: not in this world.
    weights: [u32; KINDS],
    /// The longest time between two blows.
    pub(crate) longest_peace: Duration,
    /// How often a blow falls on the holder, in a thousand.
    on_holder: u32,
}

const KINDS: usize = 12;

/// How often each kind falls when it is enabled: what breaks presence and what silences a holder tells most.
const USUAL: [u32; KINDS] = [4, 3, 2, 1, 4, 6, 1, 4, 1, 1, 1, 4];

impl Trouble {
    pub(crate) fn swarm(rng: &mut Rng) -> Self {
        let mut weights = USUAL;
        for weight in &mut weights {
            if rng.bool() {
                *weight = 0;
            }
        }
        // Forced revocations and deleted rows suspend the rule of one believer: keep them out of most worlds.
        for rare in [9, 10] {
            if rng.u32(0..3) > 0 {
                weights[rare] = 0;
            }
        }
        Self {
            weights,
            longest_peace: Duration::from_millis(rng.u64(1500..9000)),
            on_holder: rng.u32(400..950),
        }
    }

    /// Draws the next blow; `None` when this world knows none.
    pub(crate) fn draw(&self, holder: Option<usize>, nodes: usize, rng: &mut Rng) -> Option<Blow> {
        let sum: u32 = self.weights.iter().sum();
        if sum == 0 {
            return None;
        }
        let mut point = rng.u32(0..sum);
        let kind = self.weights.iter().position(|weight| {
            let hit = point < *weight;
            point = point.saturating_sub(*weight);
            hit
        })?;
        let target =
            holder.filter(|_| rng.u32(0..1000) < self.on_holder).unwrap_or_else(|| rng.usize(0..nodes));
        Some(draw(kind, target, rng))
    }
}

fn draw(kind: usize, node: usize, rng: &mut Rng) -> Blow {
    let span = |from: u64, to: u64, rng: &mut Rng| Duration::from_micros(rng.u64(from * 1000..to * 1000));
    let told = rng.bool();
    match kind {
        0 => Blow::Pause(node, if rng.bool() { span(100, 2000, rng) } else { span(1000, 15_000, rng) }),
        1 => Blow::Crash { node, silent: told, down_for: span(50, 8000, rng) },
        2 => Blow::Hint(node),
        3 => Blow::StepClock(node, rng.i64(-7_200_000_000..7_200_000_000)),
        4 => Blow::Cut(node, if rng.bool() { span(100, 2500, rng) } else { span(1000, 12_000, rng) }),
        5 => Blow::BreakSession { node, told },
        6 => Blow::RestartStore,
        7 => Blow::Resign(node, span(1, 3000, rng)),
        8 => Blow::Revoke { force: false },
        9 => Blow::Revoke { force: true },
        10 => Blow::DeleteRow,
        _ => Blow::Fade(node, span(500, 9000, rng)),
    }
}

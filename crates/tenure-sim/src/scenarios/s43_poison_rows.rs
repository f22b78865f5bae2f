//! 43: rows that cannot be read stand at the head, more than any batch holds. They are dead at once, everything else flows.

use std::time::Duration;

use tenure_core::memory::PlainRow;
use tenure_core::outbox::{RelaySettings, State};

use super::post::{arrives, id, letter, send, settings, world};
use super::seconds;
use crate::report::Failure;
use crate::world::outbox::{Draft, Ending};

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let settings = RelaySettings { read_ahead: 8, batch: 4, run: 4, ..settings() };
    let mut world = world(seed, settings, |_| {});
    let poison = |number: i64| {
        let (source, topic) =
            (["a", "b"].get(number as usize % 3).map(|name| (*name).to_owned()), String::new());
        let message_id = Some(id("poison", number).to_string());
        Draft::Plain(PlainRow { message_id, source, topic, kind: "Type".into(), ..PlainRow::default() })
    };
    let mut drafts: Vec<_> = (0..40).map(poison).collect();
    drafts.push(letter("a", 1));
    world.transact(drafts, Ending::Commit, Duration::from_micros(100));
    send(&mut world, "c", 1..=3);
    world.run_until_held(seconds(5))?;
    arrives(&mut world, id("c", 3), seconds(3))?;
    arrives(&mut world, id("a", 1), seconds(3))?;
    world.run_until("no_lag", seconds(3), |world| world.outbox().has_no_lag(world.now))?;
    for number in 0..40 {
        let id = id("poison", number);
        let (state, attempts) = (world.outbox().state_of(&id), world.outbox().attempts_at(&id));
        world.expect("dead_at_once", (state, attempts) == (Some(State::Dead), 1), || {
            format!("{state:?} after {attempts} attempts")
        })?;
    }
    Ok(())
}

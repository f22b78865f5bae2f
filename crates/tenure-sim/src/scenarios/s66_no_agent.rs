//! 66: no node has the agent for a daemon. It stays where it is, nowhere, with a reason; nothing goes round.

use tenure_core::cluster::{DaemonName, DaemonSpec, DaemonState};

use super::{fleet, seconds};
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut world = fleet::at_rest(fleet::plan(seed, 3, 3))?;
    let odd = DaemonName::new("odd/1").unwrap_or_else(|error| unreachable!("a valid name: {error:?}"));
    fleet::declare(&mut world, DaemonSpec::new(odd.clone()));
    world.run_for(seconds(5))?;
    let (row, before) = (world.row(&odd), world.revision());
    let right = row.as_ref().is_some_and(|row| {
        row.state == DaemonState::Unassigned && row.moves == 0 && row.reason.contains("no node has an agent")
    });
    world.expect("it_has_a_reason", right, || format!("{row:?}"))?;
    world.run_for(seconds(70))?;
    world.expect("nothing_goes_round", world.revision() == before, || "something changed".into())
}

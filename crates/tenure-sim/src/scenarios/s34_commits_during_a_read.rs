//! 34: commits land between the questions of which a page is made. Nothing is skipped.

use std::time::Duration;

use super::seconds;
use crate::events::EventsWorld;
use crate::plan::{EventsPlan, SubscriptionPlan, Writing};
use crate::report::Failure;

pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let pause = Duration::from_millis(5);
    let mut world = EventsWorld::new(EventsPlan {
        writers: 4,
        writing: Writing { pause, streams: 4, any: 1000, new: 0, sends: 0 },
        subscriptions: vec![SubscriptionPlan::plain()],
        // One step in twenty takes seconds, in appends and in looks.
        slow_step: 300,
        patience: seconds(60),
        ..EventsPlan::calm(seed)
    });
    world.run_for(seconds(20))?;
    world.calm_down();
    world.run_until("everyone_is_done", seconds(20), EventsWorld::is_quiet)?;
    world.run_until("it_is_read", seconds(20), EventsWorld::readers_are_there)?;
    let (visible, handled) = (world.tally.visible, world.tally.handled);
    world.expect("each_once", visible == handled && visible > 20, || format!("{handled} of {visible}"))
}

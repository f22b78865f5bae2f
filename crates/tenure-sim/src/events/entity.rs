//! Two tiny entities: a counter that refuses what is too much, and a process that sends to counters.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::entity::{Aggregate, Dispatch, Process, Reaction, Rejection};

/// What a counter holds at most.
const FULL: u64 = 60;

/// How many messages an entity here remembers: few, so that the inbox is asked.
const WINDOW: usize = 3;

/// A sum with a limit, that can be emptied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter {
    pub(crate) sum: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum CounterCommand {
    Add {
        amount: u64,
    },
    /// Nothing happens, and it is remembered.
    Touch,
    Empty,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum CounterEvent {
    Added { amount: u64 },
    Emptied,
}

impl Aggregate for Counter {
    const KIND: &'static str = "counter";
    type Command = CounterCommand;
    type Event = CounterEvent;

    fn handle(&self, command: CounterCommand) -> Result<Vec<CounterEvent>, Rejection> {
        match command {
            CounterCommand::Add { amount } if self.sum + amount > FULL => {
                Err(format!("{amount} on top of {} is too much", self.sum).into())
            }
            CounterCommand::Add { amount } if amount > 3 => Ok(vec![
                CounterEvent::Added { amount: amount / 2 },
                CounterEvent::Added { amount: amount - amount / 2 },
            ]),
            CounterCommand::Add { amount } => Ok(vec![CounterEvent::Added { amount }]),
            CounterCommand::Touch => Ok(Vec::new()),
            CounterCommand::Empty => Ok(vec![CounterEvent::Emptied]),
        }
    }

    fn apply(&mut self, event: &CounterEvent) {
        match event {
            CounterEvent::Added { amount } => self.sum += amount,
            CounterEvent::Emptied => self.sum = 0,
        }
    }

    fn window() -> usize {
        WINDOW
    }

    fn to_snapshot(&self) -> Option<String> {
        Some(self.sum.to_string())
    }

    fn from_snapshot(text: &str) -> Option<Self> {
        text.parse().ok().map(|sum| Self { sum })
    }
}

/// Sends an amount to two counters, and after a while to the first one again; one errand at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flow {
    busy: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FlowCommand {
    Start {
        from: u64,
        to: u64,
        amount: u64,
    },
    /// Its own timeout.
    Finish {
        from: u64,
        amount: u64,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FlowEvent {
    Started,
    Finished,
}

impl Process for Flow {
    const KIND: &'static str = "flow";
    type Command = FlowCommand;
    type Event = FlowEvent;

    fn handle(&self, command: FlowCommand) -> Result<Reaction<FlowEvent>, Rejection> {
        let add = |to: u64, amount| {
            Dispatch::to_aggregate::<Counter>(to.to_string(), &CounterCommand::Add { amount })
        };
        match command {
            FlowCommand::Start { .. } if self.busy => Err("it is busy".into()),
            FlowCommand::Start { from, to, amount } => {
                let finish = FlowCommand::Finish { from, amount };
                let finish = Dispatch::to_process::<Self>("0", &finish).after(Duration::from_secs(1));
                Ok(Reaction::event(FlowEvent::Started)
                    .send(add(from, amount))
                    .send(finish)
                    .send(add(to, amount)))
            }
            FlowCommand::Finish { from, amount } => {
                Ok(Reaction::event(FlowEvent::Finished).send(add(from, amount)))
            }
        }
    }

    fn apply(&mut self, event: &FlowEvent) {
        self.busy = matches!(event, FlowEvent::Started);
    }

    fn window() -> usize {
        WINDOW
    }
}

//! Accounts, and transfers between them: what the tests of entities are about.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::core::memory::MemoryStore;
use tenure::entity::{Aggregate, Caller, Dispatch, Process, Reaction, Rejection};
use tenure::event::{Recorded, StreamName, StreamRead, Types, Version};
use tenure::{Database, Events, HandleError, SteadyStoreClock};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) balance: i64,
    pub(crate) frozen: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum AccountCommand {
    Deposit {
        amount: i64,
    },
    Withdraw {
        amount: i64,
    },
    /// Freezes it; nothing happens if it is frozen.
    Freeze,
    Thaw,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum AccountEvent {
    Deposited { amount: i64 },
    Withdrawn { amount: i64 },
    Refused { amount: i64 },
    Frozen,
    Thawed,
}

impl Aggregate for Account {
    const KIND: &'static str = "account";
    type Command = AccountCommand;
    type Event = AccountEvent;

    fn handle(&self, command: AccountCommand) -> Result<Vec<AccountEvent>, Rejection> {
        Ok(match command {
            AccountCommand::Deposit { .. } if self.frozen => return Err("the account is frozen".into()),
            AccountCommand::Deposit { amount } => vec![AccountEvent::Deposited { amount }],
            AccountCommand::Withdraw { amount } if amount > self.balance => {
                vec![AccountEvent::Refused { amount }]
            }
            AccountCommand::Withdraw { amount } => vec![AccountEvent::Withdrawn { amount }],
            AccountCommand::Freeze if self.frozen => vec![],
            AccountCommand::Freeze => vec![AccountEvent::Frozen],
            AccountCommand::Thaw => vec![AccountEvent::Thawed],
        })
    }

    fn apply(&mut self, event: &AccountEvent) {
        match event {
            AccountEvent::Deposited { amount } => self.balance += amount,
            AccountEvent::Withdrawn { amount } => self.balance -= amount,
            AccountEvent::Refused { .. } => {}
            AccountEvent::Frozen => self.frozen = true,
            AccountEvent::Thawed => self.frozen = false,
        }
    }

    fn to_snapshot(&self) -> Option<String> {
        tenure::json::to_string(self).ok()
    }

    fn from_snapshot(text: &str) -> Option<Self> {
        tenure::json::from_str(text).ok()
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Transfer {
    pub(crate) stage: &'static str,
    to: String,
    amount: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum TransferCommand {
    Start {
        from: String,
        to: String,
        amount: i64,
    },
    Withdrawn,
    Refused,
    /// A timeout.
    Remind,
    /// What no process may do.
    SendOnly,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum TransferEvent {
    Started { to: String, amount: i64 },
    Moved,
    Failed,
    Reminded,
}

impl Process for Transfer {
    const KIND: &'static str = "transfer";
    type Command = TransferCommand;
    type Event = TransferEvent;

    fn handle(&self, command: TransferCommand) -> Result<Reaction<TransferEvent>, Rejection> {
        Ok(match command {
            TransferCommand::Start { from, to, amount } if self.stage.is_empty() => {
                let withdraw = AccountCommand::Withdraw { amount };
                let remind = Dispatch::to_process::<Self>("reminded", &TransferCommand::Remind);
                Reaction::event(TransferEvent::Started { to, amount })
                    .send(remind.after(Duration::from_millis(1)))
                    .send(Dispatch::to_aggregate::<Account>(from, &withdraw))
            }
            TransferCommand::Withdrawn if self.stage == "started" => {
                let deposit = AccountCommand::Deposit { amount: self.amount };
                Reaction::event(TransferEvent::Moved)
                    .send(Dispatch::to_aggregate::<Account>(&self.to, &deposit))
            }
            TransferCommand::Refused if self.stage == "started" => Reaction::event(TransferEvent::Failed),
            TransferCommand::Remind => Reaction::event(TransferEvent::Reminded),
            TransferCommand::SendOnly => Reaction::nothing()
                .send(Dispatch::to_aggregate::<Account>("a", &AccountCommand::Deposit { amount: 1 })),
            _ => Reaction::nothing(),
        })
    }

    fn apply(&mut self, event: &TransferEvent) {
        match event {
            TransferEvent::Started { to, amount } => {
                (self.stage, self.to, self.amount) = ("started", to.clone(), *amount);
            }
            TransferEvent::Moved => self.stage = "moved",
            TransferEvent::Failed => self.stage = "failed",
            TransferEvent::Reminded => {}
        }
    }
}

/// Which transfer an event of an account concerns: the correlation is its id.
pub(crate) fn route(event: &Recorded) -> Result<Option<(String, TransferCommand)>, HandleError> {
    let (Some(_), Some(transfer)) = (event.stream.id_of("account"), event.metadata.correlation.clone())
    else {
        return Ok(None);
    };
    let known = Types::<AccountEvent>::new().decode(&event.kind, event.schema, &event.body);
    Ok(match known.map_err(HandleError::poison)? {
        AccountEvent::Withdrawn { .. } => Some((transfer, TransferCommand::Withdrawn)),
        AccountEvent::Refused { .. } => Some((transfer, TransferCommand::Refused)),
        _ => None,
    })
}

pub(crate) fn database() -> Database {
    Database::new(MemoryStore::new(Arc::new(SteadyStoreClock::start())))
}

pub(crate) fn by_message(number: u128) -> Caller {
    let message_id = Some(uuid::Uuid::from_u128(number).into());
    Caller { message_id, ..Caller::default() }
}

pub(crate) async fn stream_of(events: &Events, stream: &str) -> Vec<Recorded> {
    let stream = StreamName::new(stream).unwrap();
    events.read_stream(&StreamRead::forward(stream, Version(1), 10_000)).await.unwrap().events
}

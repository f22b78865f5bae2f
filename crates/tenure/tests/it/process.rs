//! Processes, the dispatcher and routes, together: a transfer from one account to another.

use std::sync::Arc;
use std::time::Duration;

use tenure::entity::Caller;
use tenure::{
    Aggregates, Database, Dispatcher, Events, NewMessage, NodeName, Processes, Relay, RelaySettings, Stop,
    Subscription, SubscriptionSettings, routes,
};

use crate::bank::{Account, AccountCommand, Transfer, TransferCommand, database, route, stream_of};

struct Bank {
    accounts: Aggregates<Account>,
    transfers: Processes<Transfer>,
    events: Events,
    stop: Stop,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Bank {
    fn open(database: &Database) -> Self {
        let events = Events::new(database.events()).with_outbox();
        let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
        let transfers = Processes::<Transfer>::new(events.clone()).unwrap();
        let sink = Dispatcher::new().with(&accounts).with(&transfers);
        let node = NodeName::new("n").unwrap();
        let relay = Relay::new(database.outbox(), Arc::new(sink), node, RelaySettings::default()).unwrap();
        let routes = routes("transfers", &transfers, route);
        let settings = SubscriptionSettings::default();
        let routed =
            Subscription::new("transfers", events.clone(), database.checkpoints(), routes, settings).unwrap();
        let stop = Stop::new();
        let (relaying, routing) = (stop.clone(), stop.clone());
        let tasks = vec![
            tokio::spawn(async move { relay.run(&relaying).await.unwrap() }),
            tokio::spawn(async move { routed.run(&routing).await.unwrap() }),
        ];
        Self { accounts, transfers, events, stop, tasks }
    }

    async fn close(self) {
        self.stop.stop();
        for task in self.tasks {
            task.await.unwrap();
        }
    }

    async fn until_stage(&self, id: &str, stage: &str) {
        for _ in 0..2000 {
            if self.transfers.state(id).await.unwrap().0.stage == stage {
                return;
            }
            // passes time: relay and routes work in tasks of their own
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{:?} never came to {stage}", self.transfers.state(id).await.unwrap());
    }
}

fn start(from: &str, to: &str, amount: i64) -> TransferCommand {
    TransferCommand::Start { from: from.into(), to: to.into(), amount }
}

fn story(id: &str) -> Caller {
    Caller { correlation: Some(id.into()), ..Caller::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b8_b11_b13_a_process_goes_its_way_by_dispatches_and_routes() {
    let database = database();
    let bank = Bank::open(&database);
    let _ = bank.accounts.tell("a", AccountCommand::Deposit { amount: 10 }).await.unwrap();
    // Asking returns when it is committed, not when it is delivered.
    let _ = bank.transfers.tell_as("1", start("a", "b", 7), &story("1")).await.unwrap();
    bank.until_stage("1", "moved").await;
    let _ = bank.transfers.tell_as("2", start("a", "b", 7), &story("2")).await.unwrap();
    bank.until_stage("2", "failed").await;
    for _ in 0..2000 {
        if bank.accounts.state("b").await.unwrap().0.balance == 7 {
            break;
        }
        // passes time: the last deposit is on its way
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bank.accounts.state("a").await.unwrap().0.balance, 3);
    assert_eq!(bank.accounts.state("b").await.unwrap().0.balance, 7);
    // Both timeouts came, outside of the order.
    for _ in 0..2000 {
        if stream_of(&bank.events, "transfer-reminded").await.len() == 2 {
            break;
        }
        // passes time: delayed dispatches
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let reminded = stream_of(&bank.events, "transfer-reminded").await;
    assert_eq!(reminded.len(), 2);
    let withdrawn = &stream_of(&bank.events, "account-a").await[1];
    assert_eq!(withdrawn.metadata.correlation.as_deref(), Some("1"), "the story goes on");
    let dispatch = tenure::core::outbox::deterministic_id("transfer-1", 1, 1);
    assert_eq!(withdrawn.metadata.message_id, Some(dispatch), "the dispatch's id is in the event's metadata");
    bank.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b15_what_cannot_be_dispatched_is_dead_with_its_reason() {
    let database = database();
    let bank = Bank::open(&database);
    let to = |message: NewMessage| message.with_header("tenure-to", "a");
    let messages = [
        (to(NewMessage::json("nobody", "Deposit", "{}")), "nothing of the kind `nobody`"),
        (to(NewMessage::json("account", "Explode", "{}")), "`Explode` is unknown"),
        (NewMessage::json("account", "Freeze", "null"), "tenure-to"),
        (to(NewMessage::json("account", "Deposit", r#"{"amount":"much"}"#)), "cannot be read"),
        (
            to(NewMessage::json("account", "Freeze", "null").with_header("tenure-schema", "2")),
            "schema version 2",
        ),
        (to(NewMessage::json("account", "Freeze", "null").with_header("tenure-schema", "x")), "no number"),
    ];
    let only: Vec<_> = messages.iter().map(|(message, _)| message.clone()).collect();
    let ids = database.outbox().enqueue(&only, &Default::default()).await.unwrap();
    for (enqueued, (_, reason)) in ids.iter().zip(&messages) {
        let mut last = None;
        for _ in 0..2000 {
            let shown =
                database.outbox_admin().show(&enqueued.id.to_string(), usize::MAX).await.unwrap().unwrap();
            last = shown.summary.last_error;
            if last.is_some() {
                break;
            }
            // passes time: the relay works in a task of its own
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(last.as_ref().is_some_and(|last| last.contains(reason)), "{last:?} is not {reason}");
    }
    bank.close().await;
}

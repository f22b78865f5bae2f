//! The kit for users' own tests, used as a user would.
#![cfg(feature = "testing")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::entity::Dispatch;
use tenure::sink::Handlers;
use tenure::testing::{Call, Fault, Faults, aggregate, process};
use tenure::{Aggregates, Events, NewMessage, NodeName, Relay, RelaySettings, Reply, Stop, Verdict};

use crate::bank::{
    Account, AccountCommand, AccountEvent, Transfer, TransferCommand, TransferEvent, database, stream_of,
};

#[test]
fn given_when_then() {
    let withdraw = AccountCommand::Withdraw { amount: 3 };
    aggregate::<Account>()
        .given([AccountEvent::Deposited { amount: 5 }])
        .when(withdraw.clone())
        .then_events([AccountEvent::Withdrawn { amount: 3 }])
        .then_state(|account| assert_eq!(account.balance, 2));
    aggregate::<Account>()
        .given([AccountEvent::Frozen])
        .when(AccountCommand::Deposit { amount: 1 })
        .then_rejected("frozen");
    aggregate::<Account>().given([AccountEvent::Frozen]).when(AccountCommand::Freeze).then_nothing();
    let start = TransferCommand::Start { from: "a".into(), to: "b".into(), amount: 3 };
    let remind = Dispatch::to_process::<Transfer>("reminded", &TransferCommand::Remind);
    process::<Transfer>()
        .when(start)
        .then_events([TransferEvent::Started { to: "b".into(), amount: 3 }])
        .then_sends([
            remind.after(Duration::from_millis(1)),
            Dispatch::to_aggregate::<Account>("a", &withdraw),
        ]);
}

#[test]
fn what_is_not_met_fails_the_test() {
    let wrong: [fn(); 5] =
        [
            || drop(aggregate::<Account>().when(AccountCommand::Freeze).then_nothing()),
            || drop(aggregate::<Account>().when(AccountCommand::Freeze).then_rejected("")),
            || drop(aggregate::<Account>().when(AccountCommand::Freeze).then_events([AccountEvent::Thawed])),
            || {
                drop(
                    process::<Transfer>()
                        .when(TransferCommand::Remind)
                        .then_sends([Dispatch::to_aggregate::<Account>("a", &AccountCommand::Freeze)]),
                )
            },
            || {
                drop(process::<Transfer>().when(TransferCommand::SendOnly).then_sends([
                    Dispatch::to_aggregate::<Account>("a", &AccountCommand::Deposit { amount: 1 }),
                ]))
            },
        ];
    for (at, wrong) in wrong.into_iter().enumerate() {
        assert!(std::panic::catch_unwind(wrong).is_err(), "{at}");
    }
}

/// A relay that dies between sending and marking: the message comes again.
#[tokio::test]
async fn s40_a_crash_between_send_and_mark_delivers_again() {
    let (database, faults) = (database(), Faults::new());
    let message = NewMessage::json("t", "Happened", "{}");
    database.outbox().enqueue(&[message], &Default::default()).await.unwrap();
    let seen = Arc::new(AtomicU32::new(0));
    let relay = |faults: &Faults| {
        let seen = seen.clone();
        let sink = Handlers::new().on("Happened", move |_| {
            let seen = seen.clone();
            Box::pin(async move {
                seen.fetch_add(1, Ordering::SeqCst);
                Verdict::Accepted
            })
        });
        let node = NodeName::new("n").unwrap();
        Relay::new(faults.outbox(database.outbox()), Arc::new(sink.unwrap()), node, RelaySettings::default())
            .unwrap()
    };
    faults.next(Call::Record, Fault::Before);
    let dying = relay(&faults);
    let task = tokio::spawn(async move { dying.run(&Stop::new()).await });
    while !faults.is_over() {
        tokio::task::yield_now().await;
    }
    task.abort();
    let _ = task.await;
    let stop = Stop::new();
    let (next, ending) = (relay(&Faults::new()), stop.clone());
    let task = tokio::spawn(async move { next.run(&ending).await });
    while database.outbox_admin().stats().await.unwrap().pending > 0 {
        tokio::task::yield_now().await;
    }
    stop.stop();
    task.await.unwrap().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn s28_an_append_whose_answer_was_lost_is_repeated_and_there_once() {
    let (database, faults) = (database(), Faults::new());
    let events = Events::new(faults.events(database.events()));
    let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
    faults.next(Call::Append, Fault::After).next(Call::Append, Fault::Before);
    let reply = accounts.tell("a", AccountCommand::Deposit { amount: 5 }).await.unwrap();
    assert!(matches!(reply, Reply::Accepted { .. }) && faults.is_over());
    assert_eq!(stream_of(&events, "account-a").await.len(), 1);
    assert_eq!(accounts.state("a").await.unwrap().0.balance, 5);
    // When it stays away, the caller is told so; nothing is assumed.
    for _ in 0..4 {
        faults.next(Call::Append, Fault::Before);
    }
    assert!(accounts.tell("a", AccountCommand::Deposit { amount: 5 }).await.unwrap_err().is_transient());
    let _ = accounts.tell("a", AccountCommand::Deposit { amount: 1 }).await.unwrap();
    assert_eq!(accounts.state("a").await.unwrap().0.balance, 6);
}

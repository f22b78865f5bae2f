//! Aggregates at work.

use std::sync::Arc;

use tenure::core::entity::PlanError;
use tenure::core::observe::METER;
use tenure::event::{Append, Expected, NewEvent, Snapshot, StreamName, Version};
use tenure::{Aggregates, EntitySettings, Events, Processes, Reply, TellError};

use crate::bank::{Account, AccountCommand, Transfer, TransferCommand, by_message, database, stream_of};

fn deposit(amount: i64) -> AccountCommand {
    AccountCommand::Deposit { amount }
}

fn accepted(version: i64, duplicate: bool) -> Reply {
    Reply::Accepted { version: Version(version), duplicate }
}

#[tokio::test]
async fn b20_a_command_takes_effect_and_the_state_follows() {
    let events = Events::new(database().events());
    let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
    assert_eq!(accounts.tell("a", deposit(5)).await.unwrap(), accepted(1, false));
    assert_eq!(accounts.tell("a", deposit(2)).await.unwrap(), accepted(2, false));
    assert_eq!(accounts.tell("a", AccountCommand::Freeze).await.unwrap(), accepted(3, false));
    let Reply::Rejected(rejection) = accounts.tell("a", deposit(1)).await.unwrap() else {
        panic!("it is frozen")
    };
    assert!(rejection.reason().contains("frozen"));
    assert_eq!(
        accounts.tell("a", AccountCommand::Freeze).await.unwrap(),
        accepted(3, false),
        "nothing to do"
    );
    assert_eq!(stream_of(&events, "account-a").await.len(), 3);
    // Another node knows the same.
    let elsewhere = Aggregates::<Account>::new(events).unwrap();
    let expected = Account { balance: 7, frozen: true };
    assert_eq!(elsewhere.state("a").await.unwrap(), (expected, Version(3)));
}

#[tokio::test]
async fn b14_a_command_to_an_id_that_cannot_be_is_counted_as_failed() {
    let accounts = Aggregates::<Account>::new(Events::new(database().events())).unwrap();
    let failed = || METER.entity_commands.get(3);
    // Others of this process fail too, but not so often.
    let (before, many) = (failed(), 1_000);
    for _ in 0..many {
        accounts.tell(&"x".repeat(1_000), deposit(5)).await.unwrap_err();
    }
    assert!(failed() >= before + many, "{before} became {}", failed());
}

#[tokio::test]
async fn b3_s55_a_message_takes_effect_once_in_the_window_and_beyond_it() {
    let events = Events::new(database().events());
    let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
    let caller = by_message(7);
    assert_eq!(accounts.tell_as("a", deposit(5), &caller).await.unwrap(), accepted(1, false));
    assert_eq!(accounts.tell_as("a", deposit(5), &caller).await.unwrap(), accepted(1, true));
    // After a restart the window is made from the events' metadata.
    let restarted = Aggregates::<Account>::new(events.clone()).unwrap();
    assert_eq!(restarted.tell_as("a", deposit(5), &caller).await.unwrap(), accepted(1, true));
    // A snapshot forgets the window; the inbox does not.
    let stream = StreamName::new("account-a").unwrap();
    let body = tenure::core::outbox::Body::Text(r#"{"balance":5,"frozen":false}"#.into());
    let snapshot = Snapshot { stream, version: Version(1), kind: "account".into(), schema: 1, body };
    events.save_snapshot(&snapshot).await.unwrap();
    let from_snapshot = Aggregates::<Account>::new(events.clone()).unwrap();
    assert_eq!(from_snapshot.tell_as("a", deposit(5), &caller).await.unwrap(), accepted(1, true));
    assert_eq!(stream_of(&events, "account-a").await.len(), 1);
}

#[tokio::test]
async fn b3_a_message_that_changes_nothing_is_remembered_too() {
    let events = Events::new(database().events());
    let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
    let caller = by_message(7);
    let _ = accounts.tell("a", AccountCommand::Freeze).await.unwrap();
    assert_eq!(accounts.tell_as("a", AccountCommand::Freeze, &caller).await.unwrap(), accepted(1, false));
    let _ = accounts.tell("a", AccountCommand::Thaw).await.unwrap();
    // Now it would change something; but it has had its turn.
    let again = accounts.tell_as("a", AccountCommand::Freeze, &caller).await.unwrap();
    assert!(matches!(again, Reply::Accepted { duplicate: true, .. }), "{again:?}");
    assert_eq!(stream_of(&events, "account-a").await.len(), 2);
}

#[tokio::test]
async fn s56_a_refused_message_is_refused_again_for_the_same_reason() {
    let events = Events::new(database().events());
    let accounts = Aggregates::<Account>::new(events.clone()).unwrap();
    let caller = by_message(7);
    let _ = accounts.tell("a", AccountCommand::Freeze).await.unwrap();
    let first = accounts.tell_as("a", deposit(5), &caller).await.unwrap();
    let _ = accounts.tell("a", AccountCommand::Thaw).await.unwrap();
    let elsewhere = Aggregates::<Account>::new(events.clone()).unwrap();
    for accounts in [&accounts, &elsewhere] {
        assert_eq!(accounts.tell_as("a", deposit(5), &caller).await.unwrap(), first);
    }
    assert!(matches!(first, Reply::Rejected(_)));
    assert_eq!(accounts.state("a").await.unwrap().0.balance, 0);
}

#[tokio::test]
async fn s57_the_same_message_with_another_content_is_an_error() {
    let accounts = Aggregates::<Account>::new(Events::new(database().events())).unwrap();
    let mut caller = by_message(7);
    caller.fingerprint = Some(uuid::Uuid::from_u128(1));
    // One that emits nothing, so that only the inbox knows it.
    let _ = accounts.tell("a", AccountCommand::Freeze).await.unwrap();
    let _ = accounts.tell_as("a", AccountCommand::Freeze, &caller).await.unwrap();
    caller.fingerprint = Some(uuid::Uuid::from_u128(2));
    let error = accounts.tell_as("a", AccountCommand::Thaw, &caller).await.unwrap_err();
    assert!(matches!(error, TellError::Differs { .. }), "{error}");
    assert!(accounts.state("a").await.unwrap().0.frozen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s29_s53_nodes_that_tell_at_once_lose_nothing_and_double_nothing() {
    let database = database();
    let node = || {
        let settings = EntitySettings { conflicts: 1000, ..EntitySettings::default() };
        Aggregates::<Account>::new(Events::new(database.events())).unwrap().with_settings(settings).unwrap()
    };
    let nodes: Vec<_> = (0..4).map(|_| Arc::new(node())).collect();
    let mut tasks = Vec::new();
    for message in 0..200u128 {
        // Each message comes to two nodes.
        for at in 0..2 {
            let accounts = nodes[(message as usize + at) % nodes.len()].clone();
            tasks.push(tokio::spawn(async move {
                accounts.tell_as("a", deposit(1), &by_message(message)).await.unwrap()
            }));
        }
    }
    let mut duplicates = 0;
    for task in tasks {
        match task.await.unwrap() {
            Reply::Accepted { duplicate, .. } => duplicates += u32::from(duplicate),
            Reply::Rejected(rejection) => panic!("{rejection}"),
        }
    }
    assert_eq!(duplicates, 200);
    assert_eq!(nodes[0].state("a").await.unwrap(), (Account { balance: 200, frozen: false }, Version(200)));
}

#[tokio::test]
async fn b12_s27_a_process_without_an_outbox_fails_at_once_and_writes_nothing() {
    let database = database();
    let transfers = Processes::<Transfer>::new(Events::new(database.events())).unwrap();
    let start = TransferCommand::Start { from: "a".into(), to: "b".into(), amount: 1 };
    let error = transfers.tell("1", start).await.unwrap_err().to_string();
    assert!(error.contains("without an outbox"), "{error}");
    assert!(stream_of(&Events::new(database.events()), "transfer-1").await.is_empty());
    let with = Processes::<Transfer>::new(Events::new(database.events()).with_outbox()).unwrap();
    let error = with.tell("1", TransferCommand::SendOnly).await.unwrap_err();
    assert!(matches!(error, TellError::Plan(PlanError::SendsWithoutEvent { .. })), "{error}");
}

#[tokio::test]
async fn an_event_that_a_newer_program_wrote_is_named_and_the_command_may_come_again() {
    let events = Events::new(database().events());
    let stream = StreamName::new("account-a").unwrap();
    let newer = NewEvent::json(tenure::new_id(), "Merged", r#"{"with":"b"}"#);
    let _ = events.append(&Append::new(stream, Expected::NONE, vec![newer])).await.unwrap();
    let accounts = Aggregates::<Account>::new(events).unwrap();
    let error = accounts.tell("a", deposit(1)).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("`Merged`"), "{error}");
}

#[tokio::test]
async fn a_snapshot_spares_events_and_one_that_does_not_decode_is_ignored() {
    let events = Events::new(database().events());
    let settings = EntitySettings { snapshot_every: 10, ..EntitySettings::default() };
    let node = || Aggregates::<Account>::new(events.clone()).unwrap().with_settings(settings).unwrap();
    let accounts = node();
    for _ in 0..25 {
        let _ = accounts.tell("a", deposit(1)).await.unwrap();
    }
    let stream = StreamName::new("account-a").unwrap();
    let kept = events.load_snapshot(&stream).await.unwrap().unwrap();
    assert_eq!(kept.version, Version(20));
    let expected = (Account { balance: 25, frozen: false }, Version(25));
    assert_eq!(node().state("a").await.unwrap(), expected);
    // It is really used: this one says something else.
    let wrong = |body: &str, version| {
        let body = tenure::core::outbox::Body::Text(body.into());
        Snapshot { body, version: Version(version), ..kept.clone() }
    };
    events.save_snapshot(&wrong(r#"{"balance":1000,"frozen":false}"#, 21)).await.unwrap();
    assert_eq!(node().state("a").await.unwrap().0.balance, 1004);
    events.save_snapshot(&wrong("rubbish", 22)).await.unwrap();
    assert_eq!(node().state("a").await.unwrap(), expected);
    let other_schema = Snapshot { schema: 9, ..wrong(r#"{"balance":1000,"frozen":false}"#, 23) };
    events.save_snapshot(&other_schema).await.unwrap();
    assert_eq!(node().state("a").await.unwrap(), expected);
    // One ahead of its stream, as after a restored backup.
    events.save_snapshot(&wrong(r#"{"balance":1000,"frozen":false}"#, 99)).await.unwrap();
    assert_eq!(node().state("a").await.unwrap(), expected);
}

/// What a node has in memory may be old. It must not refuse, nor find nothing to do, because of that.
#[tokio::test]
async fn an_old_state_in_memory_neither_refuses_nor_idles() {
    let database = database();
    let node = || Aggregates::<Account>::new(Events::new(database.events())).unwrap();
    for by in [by_message(1), tenure::entity::Caller::default()] {
        let (ann, bob) = (node(), node());
        let id = format!("{:?}", by.message_id.is_some());
        let _ = ann.tell(&id, AccountCommand::Freeze).await.unwrap();
        let _ = bob.tell(&id, AccountCommand::Thaw).await.unwrap();
        assert_eq!(
            ann.tell_as(&id, deposit(5), &by).await.unwrap(),
            accepted(3, false),
            "she knew it frozen"
        );
    }
    let (ann, bob) = (node(), node());
    let _ = ann.tell("idle", AccountCommand::Freeze).await.unwrap();
    let _ = bob.tell("idle", AccountCommand::Thaw).await.unwrap();
    assert_eq!(ann.tell("idle", AccountCommand::Freeze).await.unwrap(), accepted(3, false));
    assert!(bob.state("idle").await.unwrap().0.frozen);
}

#[tokio::test]
async fn s57_another_content_is_told_also_by_one_that_remembers_the_message() {
    let accounts = Aggregates::<Account>::new(Events::new(database().events())).unwrap();
    let mut caller = by_message(7);
    caller.fingerprint = Some(uuid::Uuid::from_u128(1));
    let _ = accounts.tell_as("a", deposit(5), &caller).await.unwrap();
    caller.fingerprint = Some(uuid::Uuid::from_u128(2));
    let error = accounts.tell_as("a", deposit(6), &caller).await.unwrap_err();
    assert!(matches!(error, TellError::Differs { .. }) && !error.is_transient(), "{error}");
}

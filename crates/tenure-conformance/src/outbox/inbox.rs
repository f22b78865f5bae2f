//! The inbox: what took effect takes none again, and what is remembered is committed with the effect.

use std::time::Duration;

use tenure_core::outbox::{Accept, Body, Consumer, Message, MessageId, Retention, Sequence};
use tenure_core::time::StoreTime;

use super::backend::OutboxBackend;
use super::desk::{Desk, message, unique_id};

pub(crate) fn consumer(name: &str) -> Consumer {
    Consumer::new(name).expect("a consumer")
}

fn received(id: MessageId, body: &str) -> Message {
    Message {
        id,
        source: None,
        sequence: Sequence::default(),
        topic: "orders".into(),
        kind: "OrderPlaced".into(),
        body: Body::Text(body.into()),
        content_type: None,
        headers: Default::default(),
        created_at: StoreTime::from_micros(0),
        attempt: 1,
        term: None,
    }
}

/// Accepts in a transaction of its own.
async fn accept(backend: &dyn OutboxBackend, by: &Consumer, id: MessageId) -> Accept {
    let mut transaction = backend.begin().await;
    let answer = transaction.accept(by, id).await.expect("an answer");
    transaction.commit().await.expect("committed");
    answer
}

async fn accept_message(backend: &dyn OutboxBackend, by: &Consumer, message: &Message) -> Accept {
    let mut transaction = backend.begin().await;
    let answer = transaction.accept_message(by, message).await.expect("an answer");
    transaction.commit().await.expect("committed");
    answer
}

/// A message takes effect once for each consumer, however often it comes.
pub async fn s53_a_message_is_fresh_once_for_each_consumer(backend: &dyn OutboxBackend) {
    let (ann, bob, id) = (consumer("ann"), consumer("Ann"), unique_id());
    assert_eq!(accept(backend, &ann, id).await, Accept::Fresh);
    for _ in 0..3 {
        assert_eq!(accept(backend, &ann, id).await, Accept::Duplicate);
    }
    assert_eq!(accept(backend, &bob, id).await, Accept::Fresh, "each consumer has a set of its own");
    assert_eq!(accept(backend, &ann, unique_id()).await, Accept::Fresh);
    let mut transaction = backend.begin().await;
    let id = unique_id();
    assert_eq!(transaction.accept(&ann, id).await.expect("an answer"), Accept::Fresh);
    assert_eq!(transaction.accept(&ann, id).await.expect("an answer"), Accept::Duplicate);
    transaction.rollback().await;
}

/// The same message at the same time on two nodes: one effect.
pub async fn s53_of_two_who_accept_at_once_one_finds_it_fresh(backend: &dyn OutboxBackend) {
    let by = consumer("twins");
    for _ in 0..5 {
        let id = unique_id();
        let handle = async || loop {
            let mut transaction = backend.begin().await;
            // A store may refuse one of the two; that one comes again, as any delivery does.
            let Ok(answer) = transaction.accept(&by, id).await else {
                transaction.rollback().await;
                continue;
            };
            if answer == Accept::Fresh {
                transaction.apply(&id.to_string()).await;
                // Lets the other one in between.
                tokio::task::yield_now().await;
            }
            if transaction.commit().await.is_ok() {
                return answer;
            }
        };
        let (a, b) = tokio::join!(handle(), handle());
        let mut answers = [a == Accept::Fresh, b == Accept::Fresh];
        answers.sort_unstable();
        assert_eq!(answers, [false, true], "one is fresh, the other a duplicate");
        let effects = backend.effects().await;
        assert_eq!(effects.iter().filter(|effect| **effect == id.to_string()).count(), 1);
    }
}

/// The receiver dies after its effect and before the end: neither is there, and the message is fresh again.
pub async fn s54_mark_and_effect_are_there_together_or_not_at_all(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("crashes"), unique_id());
    for crash in [true, true, false] {
        let mut transaction = backend.begin().await;
        assert_eq!(transaction.accept(&by, id).await.expect("an answer"), Accept::Fresh);
        transaction.apply("lent").await;
        match crash {
            true => transaction.rollback().await,
            false => transaction.commit().await.expect("committed"),
        }
    }
    assert_eq!(backend.effects().await, ["lent"]);
    assert_eq!(accept(backend, &by, id).await, Accept::Duplicate);
}

/// The memory is durable: many others, another connection, a restart make no difference.
pub async fn s55_a_duplicate_is_known_for_as_long_as_it_is_kept(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("long"), unique_id());
    assert_eq!(accept(backend, &by, id).await, Accept::Fresh);
    let mut transaction = backend.begin().await;
    for _ in 0..300 {
        let _ = transaction.accept(&by, unique_id()).await.expect("an answer");
    }
    transaction.commit().await.expect("committed");
    let desk = Desk::open(backend).await;
    let retention = Retention { inbox: Some(Duration::from_secs(600)), ..Retention::default() };
    assert_eq!(desk.store.sweep(None, &retention, None).await.expect("an answer").inbox, 0);
    assert_eq!(accept(backend, &by, id).await, Accept::Duplicate);
}

async fn refuse(backend: &dyn OutboxBackend, by: &Consumer, id: MessageId, reason: &str) -> Accept {
    let mut transaction = backend.begin().await;
    let answer = transaction.refuse(by, id, reason).await.expect("an answer");
    transaction.commit().await.expect("committed");
    answer
}

/// A refusal is final: the same answer, the same words, no effect.
pub async fn s56_a_refusal_is_repeated(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("refuses"), unique_id());
    let mut transaction = backend.begin().await;
    assert_eq!(transaction.accept(&by, id).await.expect("an answer"), Accept::Fresh);
    transaction.apply("half of it").await;
    transaction.rollback().await;
    let refused = Accept::Refused { reason: "no such 'book' – 東京".into() };
    assert_eq!(refuse(backend, &by, id, "no such 'book' – 東京").await, refused);
    assert_eq!(accept(backend, &by, id).await, refused);
    assert_eq!(accept_message(backend, &by, &received(id, "{}")).await, refused);
    assert_eq!(accept(backend, &consumer("another"), id).await, Accept::Fresh);
    // Refused without having been accepted before.
    let id = unique_id();
    assert_eq!(refuse(backend, &by, id, "closed").await, Accept::Refused { reason: "closed".into() });
    assert_eq!(accept(backend, &by, id).await, Accept::Refused { reason: "closed".into() });
    assert_eq!(backend.effects().await, [] as [String; 0]);
}

/// Of two refusals the first one stands, with its words: every retry gets the same answer.
pub async fn s56_a_refusal_stands_with_its_first_reason(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("firm"), unique_id());
    let first = Accept::Refused { reason: "closed".into() };
    assert_eq!(refuse(backend, &by, id, "closed").await, first);
    assert_eq!(refuse(backend, &by, id, "sold out").await, first);
    let mut transaction = backend.begin().await;
    assert_eq!(transaction.refuse(&by, id, "in another way").await.expect("an answer"), first);
    transaction.rollback().await;
    assert_eq!(accept(backend, &by, id).await, first);
    let other = consumer("other");
    assert_eq!(
        refuse(backend, &other, id, "sold out").await,
        Accept::Refused { reason: "sold out".into() },
        "each consumer has its own"
    );
}

/// A refusal that was rolled back was not made.
pub async fn s56_a_refusal_counts_once_it_is_committed(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("hesitates"), unique_id());
    let mut transaction = backend.begin().await;
    let refused = Accept::Refused { reason: "no".into() };
    assert_eq!(transaction.refuse(&by, id, "no").await.expect("an answer"), refused);
    transaction.rollback().await;
    assert_eq!(accept(backend, &by, id).await, Accept::Fresh);
}

/// What took effect has taken effect: nobody can refuse it afterwards.
pub async fn s56_what_took_effect_cannot_be_refused_later(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("too-late"), unique_id());
    assert_eq!(accept(backend, &by, id).await, Accept::Fresh);
    assert_eq!(refuse(backend, &by, id, "after all, no").await, Accept::Duplicate);
    assert_eq!(accept(backend, &by, id).await, Accept::Duplicate);
}

/// Another content under an id that took effect is an error of the sender's, and is told as such.
pub async fn s57_another_content_under_one_id_is_told(backend: &dyn OutboxBackend) {
    let (by, id) = (consumer("contents"), unique_id());
    assert_eq!(accept_message(backend, &by, &received(id, "{}")).await, Accept::Fresh);
    let again = Message { attempt: 7, term: Some(3), ..received(id, "{}") };
    assert_eq!(accept_message(backend, &by, &again).await, Accept::Duplicate);
    assert_eq!(accept_message(backend, &by, &received(id, "{\"a\":1}")).await, Accept::Differs);
    let topic = Message { topic: "others".into(), ..received(id, "{}") };
    assert_eq!(accept_message(backend, &by, &topic).await, Accept::Differs);
    assert_eq!(accept(backend, &by, id).await, Accept::Duplicate, "who knows only the id");
    let id = unique_id();
    assert_eq!(accept(backend, &by, id).await, Accept::Fresh);
    assert_eq!(
        accept_message(backend, &by, &received(id, "x")).await,
        Accept::Duplicate,
        "nothing to compare"
    );
}

/// What a message caused to be sent is sent once, however often the message comes.
pub async fn s58_a_duplicate_sends_nothing_again(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let (by, id) = (consumer("process"), unique_id());
    for round in 0..3 {
        let mut transaction = backend.begin().await;
        let answer = transaction.accept(&by, id).await.expect("an answer");
        if answer == Accept::Fresh {
            transaction.enqueue(&[message(1), message(2)]).await.expect("enqueued");
        }
        assert_eq!(answer == Accept::Fresh, round == 0);
        transaction.commit().await.expect("committed");
    }
    assert_eq!(desk.stats().await.pending, 2);
}

/// What is old enough is forgotten, in bounded steps, the rest is not.
pub async fn s50_an_inbox_forgets_what_is_old_in_bounded_steps(backend: &dyn OutboxBackend) {
    let desk = Desk::open(backend).await;
    let by = consumer("forgets");
    let mut transaction = backend.begin().await;
    for _ in 0..25 {
        let _ = transaction.accept(&by, unique_id()).await.expect("an answer");
    }
    transaction.commit().await.expect("committed");
    backend.pass(Duration::from_millis(1_100)).await;
    let young = unique_id();
    assert_eq!(accept(backend, &by, young).await, Accept::Fresh);
    let keep = Duration::from_secs(1);
    let retention = Retention { inbox: Some(keep), batch: 10, ..Retention::default() };
    let (mut resume, mut forgotten) = (None, 0);
    for _ in 0..10 {
        let swept = desk.store.sweep(None, &retention, resume).await.expect("an answer");
        assert!(swept.inbox <= 10, "{swept:?}");
        forgotten += swept.inbox;
        resume = swept.resume;
        if resume.is_none() {
            break;
        }
    }
    assert_eq!((forgotten, resume), (25, None));
    let for_ever = Retention { inbox: None, ..Retention::default() };
    assert_eq!(desk.store.sweep(None, &for_ever, None).await.expect("an answer").inbox, 0);
}

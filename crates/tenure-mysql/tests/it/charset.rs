//! A user's connection that speaks another character set than sqlx does.

use sqlx::Executor as _;
use tenure_core::outbox::{Accept, Consumer, deterministic_id};

use crate::bed::on_both;
use crate::sandbox::{Sandbox, Server};

on_both!(what_is_written_in_another_character_set_is_read_as_it_was_meant);

async fn what_is_written_in_another_character_set_is_read_as_it_was_meant(server: Server) {
    let Some(sandbox) = Sandbox::new(server).await else { return };
    let inbox = sandbox.store().await.inbox(Default::default()).unwrap();
    let consumer = Consumer::new("billing").unwrap();
    let (mut latin, mut usual) = (sandbox.user().await, sandbox.user().await);
    latin.execute("SET NAMES latin1").await.unwrap();
    for reason in ["too small", "zu groß: 12 €", "太大"] {
        let id = deterministic_id(reason, 1, 0);
        latin.execute("START TRANSACTION").await.unwrap();
        let noted = inbox.refuse(&mut latin, &consumer, id, reason).await.unwrap();
        assert_eq!(noted, Accept::Refused { reason: reason.to_owned() });
        latin.execute("COMMIT").await.unwrap();
        usual.execute("START TRANSACTION").await.unwrap();
        let answer = inbox.accept(&mut usual, &consumer, id).await.unwrap();
        usual.execute("ROLLBACK").await.unwrap();
        assert_eq!(answer, Accept::Refused { reason: reason.to_owned() });
    }
}

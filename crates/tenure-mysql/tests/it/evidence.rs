//! Evidence counts only if the server that holds the row agrees.

use std::time::Duration;

use tenure_core::contract::{LeaseStore as _, Watch};
use tenure_core::lease::{Acquire, Announced, Claim, Evidence, Flag, Grant, Renewal};

use crate::bed::{Bed, claim, granted, name, on_both, unique};
use crate::sandbox::Server;

const LONG: Duration = Duration::from_secs(60);

on_both!(evidence_from_another_server_deposes_nobody);

/// A claim by someone who believes that the holder's session has ended.
fn deposing(grant: &Grant, session: tenure_core::id::Unique) -> Claim {
    Claim { evidence: Some(Evidence { term: grant.term, session }), ..claim("job", LONG) }
}

/// The contender's watch was answered by another server (an old primary, a replica), where no flag is ever up.
async fn evidence_from_another_server_deposes_nobody(server: Server) {
    let Some(bed) = Bed::new(server).await else { return };
    let (holder, contender) = (bed.sql().await, bed.sql().await);
    let grant = granted(holder.try_acquire(&claim("job", LONG)).await.unwrap());
    let session = holder.presence().unwrap().open(unique(), LONG).await.unwrap();
    let flag = Flag { lease: name("job"), term: grant.term, session: session.id() };
    session.raise(&flag).await.unwrap();
    let presence = Some(Announced { session: session.id(), trust: Duration::from_millis(100) });
    holder.renew(&grant, &Renewal { number: 1, presence }).await.unwrap();
    let before = contender.observe(&grant.name).await.unwrap();

    let answer = contender.try_acquire(&deposing(&grant, session.id())).await.unwrap();
    assert!(matches!(answer, Acquire::Held(_)), "the holder lives: {answer:?}");
    assert_eq!(contender.observe(&grant.name).await.unwrap(), before, "nothing has changed");

    session.close().await;
    assert_eq!(contender.presence().unwrap().watch(&flag, LONG).await.unwrap(), Watch::Fallen);
    let new = granted(contender.try_acquire(&deposing(&grant, session.id())).await.unwrap());
    assert!(new.term > grant.term);
}

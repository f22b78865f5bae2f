//! Evidence counts only if the server that holds the row agrees.

use std::time::Duration;

use tenure_core::StoreError;
use tenure_core::contract::{LeaseStore as _, Presence as _, Watch};
use tenure_core::lease::{Acquire, Announced, Claim, Evidence, Flag, Grant, Renewal, Term};
use tenure_postgres::{PostgresOptions, PostgresStore};

use crate::sandbox::{Mode, Sandbox, claim, granted, name, unique};

const LONG: Duration = Duration::from_secs(60);

/// A claim by someone who believes that the holder's session has ended.
fn deposing(grant: &Grant, session: tenure_core::id::Unique) -> Claim {
    Claim { evidence: Some(Evidence { term: grant.term, session }), ..claim("job", LONG) }
}

/// The contender's watch was answered by another server (an old primary, a standby), where no flag is ever up.
#[tokio::test]
async fn evidence_from_another_server_deposes_nobody() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (holder, contender) = (sandbox.store().await, sandbox.store().await);
    let grant = granted(holder.try_acquire(&claim("job", LONG)).await.unwrap());
    let session = holder.open(unique(), LONG).await.unwrap();
    session.raise(&Flag { lease: name("job"), term: grant.term, session: session.id() }).await.unwrap();
    let presence = Some(Announced { session: session.id(), trust: Duration::from_millis(100) });
    holder.renew(&grant, &Renewal { number: 1, presence }).await.unwrap();
    let before = contender.observe(&grant.name).await.unwrap();

    let mut contenders = vec![contender.clone()];
    if let Some(pooled) = sandbox.pooled() {
        contenders.push(pooled.store().await);
    }
    for contender in &contenders {
        let answer = contender.try_acquire(&deposing(&grant, session.id())).await.unwrap();
        assert!(matches!(answer, Acquire::Held(_)), "the holder lives: {answer:?}");
        assert_eq!(contender.observe(&grant.name).await.unwrap(), before, "nothing has changed");
    }

    assert_eq!(sandbox.terminate("presence").await, 1);
    let flag = Flag { lease: name("job"), term: grant.term, session: session.id() };
    assert_eq!(contender.watch(&flag, LONG).await.unwrap(), Watch::Fallen);
    let new = granted(contender.try_acquire(&deposing(&grant, session.id())).await.unwrap());
    assert!(new.term > grant.term);
}

/// On a standby every flag seems to be down, and one that is raised there means nothing to anybody. The address may lead
/// to one after the start, so each link asks. A role sees a function of our own instead of the server's.
#[tokio::test]
async fn nobody_watches_or_raises_a_flag_on_a_standby() {
    let Some(sandbox) = Sandbox::new(Mode::Direct).await else { return };
    let (client, role) = (sandbox.superuser().await, format!("{}standby", sandbox.prefix));
    let sql = format!(
        "CREATE ROLE {role} LOGIN SUPERUSER; CREATE SCHEMA {role}; \
         ALTER ROLE {role} SET search_path = {role}, pg_catalog, public; \
         CREATE FUNCTION {role}.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT false'"
    );
    client.batch_execute(&sql).await.unwrap();
    let (_, address) = sandbox.url.rsplit_once('@').unwrap();
    let mut options = PostgresOptions::from_url(&format!("postgres://{role}@{address}")).unwrap();
    options.naming = sandbox.options().naming;
    let store = PostgresStore::connect(options).await.unwrap();
    let sql = format!(
        "CREATE OR REPLACE FUNCTION {role}.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'"
    );
    client.batch_execute(&sql).await.unwrap();

    let flag = Flag { lease: name("job"), term: Term::FIRST, session: unique() };
    let watched = store.watch(&flag, Duration::from_millis(50)).await;
    assert!(matches!(watched, Err(StoreError::ReadOnly { .. })), "{watched:?}");
    let opened = store.open(unique(), LONG).await;
    assert!(matches!(opened, Err(StoreError::ReadOnly { .. })), "{opened:?}");
    drop(store);
    client.batch_execute(&format!("DROP SCHEMA {role} CASCADE; DROP ROLE {role}")).await.unwrap();
}

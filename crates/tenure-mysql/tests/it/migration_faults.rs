//! Migrations over a driver that does as it is told: what becomes of the session and of its lock when something goes wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tenure_core::StoreError;
use tenure_core::contract::{Capabilities, Migrated, Presence, Schema as _};
use tenure_core::lease::Flag;
use tenure_core::naming::Naming;
use tenure_sql::{
    Answer, Call, Driver, Fault, FaultKind, Lent, Migration, Session, SqlStore, Texts, Turn,
    include_statements,
};

const TEXTS: Texts = include_statements!("../../sql/");

const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    description: "one table",
    needed: true,
    tables: &["schema"],
    sql: "CREATE TABLE {schema} (version int);\n",
}];

/// A server without any tables, which can be told to fail.
#[derive(Debug, Default)]
struct Fake {
    /// So many notes of a version are undone for a deadlock.
    deadlocks: AtomicUsize,
    unlock_fails: bool,
    lent: AtomicUsize,
    given_back: Arc<AtomicUsize>,
    notes: Arc<AtomicUsize>,
}

struct FakeSession {
    deadlock: bool,
    given_back: Arc<AtomicUsize>,
    notes: Arc<AtomicUsize>,
}

#[async_trait]
impl Session for FakeSession {
    async fn run(&mut self, call: &Call<'_>) -> Result<Answer, Fault> {
        if call.sql.contains("CREATE TABLE") && self.deadlock {
            return Err(Fault::new(FaultKind::Deadlock, "a deadlock"));
        }
        if !call.params.is_empty() && call.sql.contains("INSERT") {
            self.notes.fetch_add(1, Ordering::SeqCst);
        }
        Ok(Answer::default())
    }
}

impl Lent for FakeSession {
    fn give_back(self: Box<Self>) {
        self.given_back.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Driver for Fake {
    fn backend(&self) -> &'static str {
        "fake"
    }

    fn label(&self) -> &str {
        "fake"
    }

    async fn lend(&self, _: Turn) -> Result<Box<dyn Lent>, StoreError> {
        self.lent.fetch_add(1, Ordering::SeqCst);
        let fewer = |left: usize| left.checked_sub(1);
        // The first session only looks.
        let looks = self.lent.load(Ordering::SeqCst) == 1;
        let deadlock =
            !looks && self.deadlocks.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok();
        let (given_back, notes) = (Arc::clone(&self.given_back), Arc::clone(&self.notes));
        Ok(Box::new(FakeSession { deadlock, given_back, notes }))
    }

    async fn flag_is_down(&self, _: &mut dyn Session, _: &Flag) -> Result<bool, Fault> {
        Ok(false)
    }

    fn presence(&self) -> Option<&dyn Presence> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            store: "fake".into(),
            presence: false,
            silence: false,
            fence_in_transaction: true,
            notes: Vec::new(),
        }
    }

    async fn lock_migration(&self, _: &mut dyn Session) -> Result<(), Fault> {
        Ok(())
    }

    async fn unlock_migration(&self, _: &mut dyn Session) -> Result<(), Fault> {
        if self.unlock_fails { Err(Fault::new(FaultKind::Other, "not now")) } else { Ok(()) }
    }
}

fn store(fake: &Arc<Fake>) -> SqlStore {
    SqlStore::new(Arc::clone(fake) as Arc<dyn Driver>, &TEXTS, MIGRATIONS, Naming::default(), ('`', '`'))
}

const DONE: Migrated = Migrated { from: 0, to: 1 };

#[tokio::test]
async fn a_session_that_may_still_have_the_lock_is_closed() {
    for (unlock_fails, given_back) in [(false, 2), (true, 1)] {
        let fake = Arc::new(Fake { unlock_fails, ..Fake::default() });
        assert_eq!(store(&fake).migrate().await.unwrap(), DONE, "what was done is done");
        assert_eq!(fake.lent.load(Ordering::SeqCst), 2);
        assert_eq!(fake.given_back.load(Ordering::SeqCst), given_back, "unlocking fails: {unlock_fails}");
    }
}

#[tokio::test]
async fn a_migration_that_met_a_deadlock_is_begun_anew_but_not_for_ever() {
    let fake = Arc::new(Fake { deadlocks: 2.into(), ..Fake::default() });
    assert_eq!(store(&fake).migrate().await.unwrap(), DONE);
    assert_eq!(fake.notes.load(Ordering::SeqCst), 1);
    let fake = Arc::new(Fake { deadlocks: 1000.into(), ..Fake::default() });
    let error = store(&fake).migrate().await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    assert!(fake.lent.load(Ordering::SeqCst) < 10);
}

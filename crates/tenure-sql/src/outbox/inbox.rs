//! The inbox: which messages took effect, written in the transaction of their effect.

use std::sync::Arc;

use tenure_core::StoreError;
use tenure_core::lease::SettingsError;
use tenure_core::outbox::{Accept, Consumer, InboxSettings, Message, MessageId, fingerprint, shorten};

use crate::driver::{Call, Session};
use crate::fault::{Fault, FaultKind};
use crate::limits::RESTLESS_TRIES;
use crate::store::{Shared, SqlStore};
use crate::value::Value;

/// Tells messages that took effect from those that did not, in transactions. Each database's crate wraps it for its own
/// driver.
#[derive(Debug, Clone)]
pub struct Inbox {
    shared: Arc<Shared>,
    settings: InboxSettings,
}

impl SqlStore {
    /// What accepts messages in transactions; cheap to clone. Refused when it would forget a message that may still come
    /// again.
    pub fn inbox(&self, settings: InboxSettings) -> Result<Inbox, SettingsError> {
        settings.validate()?;
        Ok(Inbox { shared: Arc::clone(&self.shared), settings })
    }
}

impl Inbox {
    /// How long it remembers, and for whom.
    pub fn settings(&self) -> &InboxSettings {
        &self.settings
    }

    /// Asks whether a message is new to this consumer, and notes it.
    pub async fn accept(
        &self,
        session: &mut dyn Session,
        consumer: &Consumer,
        id: MessageId,
    ) -> Result<Accept, StoreError> {
        self.take(session, consumer, id, None).await
    }

    /// The same, and tells a message with another content under the same id.
    pub async fn accept_message(
        &self,
        session: &mut dyn Session,
        consumer: &Consumer,
        message: &Message,
    ) -> Result<Accept, StoreError> {
        self.take(session, consumer, message.id, Some(fingerprint(message).to_string())).await
    }

    /// Notes a refusal, unless the message was settled before. Answers what stands.
    pub async fn refuse(
        &self,
        session: &mut dyn Session,
        consumer: &Consumer,
        id: MessageId,
        reason: &str,
    ) -> Result<Accept, StoreError> {
        let reason = shorten(reason);
        let params = vec![consumer.as_str().into(), id.to_string().into(), reason.as_str().into()];
        let note = Call::new(&self.shared.statements.inbox_refuse, params);
        self.note(session, note, consumer, id, None, Accept::Refused { reason }).await
    }

    async fn take(
        &self,
        session: &mut dyn Session,
        consumer: &Consumer,
        id: MessageId,
        print: Option<String>,
    ) -> Result<Accept, StoreError> {
        let params = vec![consumer.as_str().into(), id.to_string().into(), print.clone().into()];
        let note = Call::new(&self.shared.statements.inbox_accept, params);
        self.note(session, note, consumer, id, print, Accept::Fresh).await
    }

    /// Writes a note, and answers `fresh` if it is the first one; else what stands.
    async fn note(
        &self,
        session: &mut dyn Session,
        note: Call<'_>,
        consumer: &Consumer,
        id: MessageId,
        print: Option<String>,
        fresh: Accept,
    ) -> Result<Accept, StoreError> {
        let explain = |fault: Fault| fault.into_error(self.shared.label());
        for _ in 0..RESTLESS_TRIES {
            match session.run(&note).await {
                Ok(answer) if answer.changed > 0 => return Ok(fresh.counted()),
                // A database may leave out what is there instead of refusing it.
                Ok(_) => {}
                Err(fault) if fault.kind == FaultKind::Duplicate => {}
                Err(fault) => return Err(explain(fault)),
            }
            let params: Vec<Value> = vec![consumer.as_str().into(), id.to_string().into()];
            let read = Call::new(&self.shared.statements.inbox_read, params);
            let answer = session.run(&read).await.map_err(explain)?;
            if let Some(row) = answer.rows.into_iter().next() {
                return Ok(self.shared.reader().before(&row)?.judge(print.as_deref()));
            }
        }
        let message = "the note of this message comes and goes".into();
        Err(StoreError::Busy { store: self.shared.label().to_owned(), message })
    }
}

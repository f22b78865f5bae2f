//! The inbox: the receiver's durable set of messages that took effect.
//!
//! A message is accepted in the same transaction as the writes that it causes: both are there, or neither is. A message
//! that comes again is a duplicate for as long as its row is kept, which must be longer than any sender may try.

use std::time::Duration;

use uuid::Uuid;

use super::{Message, RetryPolicy};
use crate::id::{NameError, check_name};
use crate::lease::SettingsError;
use crate::observe::METER;

/// The longest name of a consumer, in bytes.
const CONSUMER_MAX_BYTES: usize = 200;

/// Who receives: each consumer has a set of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Consumer(String);

impl Consumer {
    /// Accepts any text of 1 to 200 bytes without control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        check_name("consumer", &text, CONSUMER_MAX_BYTES)?;
        Ok(Self(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The inbox's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "only a fresh message may take effect"]
pub enum Accept {
    /// It has not been seen: apply it, in this transaction.
    Fresh,
    /// It took effect before: do nothing, and answer that it is accepted.
    Duplicate,
    /// It was refused before: do nothing, and answer the same refusal.
    Refused {
        /// What was said then.
        reason: String,
    },
    /// A message with the same id and another content took effect before. This is an error of the sender's.
    Differs,
}

impl Accept {
    /// The answer to a message that was settled before: by the fingerprint that was noted then, where there was one, and
    /// the reason of a refusal.
    pub fn again<T: PartialEq + ?Sized>(then: Option<&T>, now: Option<&T>, refused: Option<String>) -> Self {
        let differs = then.zip(now).is_some_and(|(then, now)| then != now);
        let answer = match refused {
            _ if differs => Self::Differs,
            Some(reason) => Self::Refused { reason },
            None => Self::Duplicate,
        };
        answer.counted()
    }

    /// The same answer, counted among those of this process.
    pub fn counted(self) -> Self {
        let slot = match self {
            Self::Fresh => 0,
            Self::Duplicate => 1,
            Self::Refused { .. } => 2,
            Self::Differs => 3,
        };
        METER.inbox_accepts.add(slot, 1);
        self
    }
}

/// What stands for a message's content, by which a duplicate is told from another message under the same id.
pub fn fingerprint(message: &Message) -> Uuid {
    const CONTENTS: Uuid = Uuid::from_u128(0x0f1b_7f2c_53f8_4c0d_9a6e_7465_6e75_7265);
    let mut bytes = Vec::with_capacity(message.body.as_bytes().len() + 64);
    for part in [message.topic.as_bytes(), message.kind.as_bytes(), message.body.as_bytes()] {
        // With its length before it, no two lists of parts have the same bytes.
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    Uuid::new_v5(&CONTENTS, &bytes)
}

/// How long an inbox remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxSettings {
    /// How long a message's id is kept after it was accepted. 30 days.
    pub keep: Duration,
    /// How the senders try again.
    pub retry: RetryPolicy,
    /// How long one delivery may take on the sender's side.
    pub deadline: Duration,
}

impl Default for InboxSettings {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            retry: RetryPolicy::default(),
            deadline: Duration::from_secs(30),
        }
    }
}

impl InboxSettings {
    /// Refuses to forget a message that may still come again. To be called at start.
    pub fn validate(&self) -> Result<(), SettingsError> {
        self.retry.validate()?;
        let horizon = self.retry.horizon(self.deadline);
        SettingsError::unless(self.keep > horizon, || {
            format!(
                "inbox keep {:?} is not above the retry horizon {horizon:?} ({} attempts with pauses of up to {:?}): a \
                 message could come again after it was forgotten, and take effect twice",
                self.keep, self.retry.max_attempts, self.retry.cap
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s55_an_inbox_that_forgets_before_the_last_retry_is_refused() {
        InboxSettings::default().validate().unwrap();
        let horizon = RetryPolicy::default().horizon(Duration::from_secs(30));
        let error = InboxSettings { keep: horizon, ..Default::default() }.validate().unwrap_err().to_string();
        assert!(error.contains("inbox keep") && error.contains("retry horizon"), "{error}");
        InboxSettings { keep: horizon + Duration::from_nanos(1), ..Default::default() }.validate().unwrap();
    }
}

//! However often a message is delivered, it takes effect once.

use std::collections::HashSet;

use tenure_core::outbox::MessageId;

use super::Invariant;
use crate::oracle::{Fact, Moment};

/// No message takes effect twice.
#[derive(Debug, Default)]
pub struct EffectAtMostOnce {
    applied: HashSet<MessageId>,
}

impl Invariant for EffectAtMostOnce {
    fn name(&self) -> &'static str {
        "effect_at_most_once"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            if let Fact::Effect { id } = fact
                && !self.applied.insert(*id)
            {
                return Err(format!("message {id} took effect twice"));
            }
        }
        Ok(())
    }
}

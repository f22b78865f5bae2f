//! What was appended at an expected version stands right behind it.

use std::collections::HashMap;

use tenure_core::event::Expected;

use super::Invariant;
use crate::oracle::{EventFact, Fact, Moment};

/// Nobody comes between an append and the version that it expected.
#[derive(Debug, Default)]
pub struct ExpectedVersionHolds {
    begun: HashMap<u64, Expected>,
}

impl Invariant for ExpectedVersionHolds {
    fn name(&self) -> &'static str {
        "expected_version_holds"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            match fact {
                Fact::Event(EventFact::Begun { transaction, append }) => {
                    self.begun.insert(*transaction, append.expected);
                }
                Fact::Event(EventFact::Visible { transaction, event }) => {
                    // The first of its events; the others follow it, which is another invariant.
                    if let Some(Expected::Exact(version)) = self.begun.remove(transaction)
                        && event.version != version.plus(1)
                    {
                        return Err(format!(
                            "an append to {} expected version {version} and begins at {}",
                            event.stream, event.version
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

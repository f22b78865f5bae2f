//! The events of a stream are numbered from 1 without a gap, and their positions rise with their versions.

use std::collections::HashMap;

use tenure_core::event::{Position, StreamName, Version};

use super::Invariant;
use crate::oracle::{EventFact, Fact, Moment};

/// A stream grows at its end only.
#[derive(Debug, Default)]
pub struct StreamVersionsWithoutGaps {
    ends: HashMap<StreamName, (Version, Position)>,
}

impl Invariant for StreamVersionsWithoutGaps {
    fn name(&self) -> &'static str {
        "stream_versions_without_gaps"
    }

    fn check(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        for fact in moment.facts {
            let Fact::Event(EventFact::Visible { event, .. }) = fact else { continue };
            let end = self.ends.entry(event.stream.clone()).or_default();
            if event.version != end.0.plus(1) || event.position <= end.1 {
                return Err(format!(
                    "{} ends at version {} (position {}), and version {} (position {}) follows",
                    event.stream, end.0, end.1, event.version, event.position
                ));
            }
            *end = (event.version, event.position);
        }
        Ok(())
    }
}

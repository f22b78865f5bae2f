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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::event::{Metadata, Recorded};
    use tenure_core::outbox::Body;
    use uuid::Uuid;

    use super::*;
    use crate::clock::EPOCH;

    #[test]
    fn a_gap_a_double_and_a_lower_position_are_seen() {
        let check = |places: &[(i64, i64)]| {
            let visible = |(version, position): &(i64, i64)| {
                let event = Arc::new(Recorded {
                    position: Position(*position),
                    stream: StreamName::new("s").unwrap(),
                    version: Version(*version),
                    id: Uuid::from_u128(1),
                    kind: "K".into(),
                    schema: 1,
                    body: Body::Text("1".into()),
                    metadata: Metadata::default(),
                    recorded_at: EPOCH,
                });
                Fact::Event(EventFact::Visible { transaction: 1, event })
            };
            let facts: Vec<_> = places.iter().map(visible).collect();
            let moment = Moment { now: EPOCH, facts: &facts, believers: &[], runners: &[] };
            StreamVersionsWithoutGaps::default().check(&moment).is_ok()
        };
        assert!(check(&[(1, 3), (2, 9)]));
        assert!(!check(&[(1, 3), (3, 9)]) && !check(&[(1, 3), (1, 9)]) && !check(&[(1, 3), (2, 2)]));
    }
}

//! Rows of checkpoints, and of what was put aside.

use tenure_core::StoreError;
use tenure_core::event::{Position, StreamName, Version};
use tenure_core::outbox::Count;
use tenure_core::subscription::{Aside, Checkpoint, PARKED_COUNT_MAX, Parked, Progress, SubscriptionName};

use super::{Columns, Reader};

impl Reader<'_> {
    /// How far a subscription has come; without a row, it has never moved. The columns are `position` and `rewinds`.
    pub fn checkpoint(self, row: Option<&impl Columns>) -> Result<Checkpoint, StoreError> {
        let Some(row) = row else { return Ok(Checkpoint::default()) };
        let position = Position(self.need(row.number("position"), "position")?);
        Ok(Checkpoint {
            position,
            rewinds: self.fits(self.need(row.number("rewinds"), "rewinds")?, "rewinds")?,
        })
    }

    /// A subscription in a list. The columns are `name`, `position`, `moved_us` and `parked`.
    pub fn progress(self, row: &impl Columns) -> Result<Progress, StoreError> {
        let name = SubscriptionName::new(self.need(row.text("name"), "name")?);
        Ok(Progress {
            name: name.map_err(|error| self.corrupt(format!("column name: {error}")))?,
            position: Position(self.need(row.number("position"), "position")?),
            moved_at: self.need(row.moment("moved_us"), "moved_at")?,
            parked: Count::up_to(
                PARKED_COUNT_MAX.into(),
                self.fits(self.need(row.number("parked"), "parked")?, "parked")?,
            ),
        })
    }

    /// What was put aside. The columns are `position`, `stream`, `version`, `type`, `attempts`, `parked_us` and `reason`.
    pub fn parked(self, row: &impl Columns) -> Result<Parked, StoreError> {
        let position = Position(self.need(row.number("position"), "position")?);
        // Of an event whose row does not tell it, nothing stands there.
        let stream = self.maybe(row.text("stream"), "stream")?.filter(|name| !name.is_empty());
        let stream = stream.map(StreamName::new).transpose();
        Ok(Parked {
            aside: Aside {
                position,
                stream: stream.map_err(|error| self.corrupt(format!("column stream: {error}")))?,
                version: Version(self.need(row.number("version"), "version")?),
                kind: self.need(row.text("type"), "type")?,
                attempts: self.fits(self.need(row.number("attempts"), "attempts")?, "attempts")?,
                reason: self.need(row.text("reason"), "reason")?,
            },
            parked_at: self.need(row.moment("parked_us"), "parked_at")?,
        })
    }
}

//! The outbox in numbers: all of them, or those that cost the same however much is in it.

use tenure_core::StoreError;
use tenure_core::outbox::{PULSE_MAX, Pulse, Stats};
use tenure_core::time::StoreTime;

use super::cells::Cells;
use super::unit::Stop;
use crate::driver::{Answer, Call, Session, Turn};
use crate::store::Shared;

/// Up to how many messages are counted one by one.
const COUNT_MAX: u32 = 100_000;

impl Shared {
    /// Exact numbers, but for what is finished.
    pub(super) async fn stats(&self) -> Result<Stats, StoreError> {
        let mut lent = self.lend(Turn::Work).await?;
        let outcome = self.stats_on(&mut *lent).await;
        self.end_reading(lent, outcome).await
    }

    /// Bounded numbers: each counted up to `at_most`.
    pub(super) async fn pulse(&self, at_most: u32) -> Result<Pulse, StoreError> {
        let at_most = at_most.min(PULSE_MAX);
        // One more than is counted tells whether there are more.
        let bound = [(at_most + 1).into()];
        let rows = self.rows(Turn::Work, &self.statements.outbox_pulse, bound).await?;
        self.reader().pulse(self.only(&rows)?, at_most)
    }

    async fn stats_on(&self, session: &mut dyn Session) -> Result<Stats, Stop> {
        let statements = &self.statements;
        let calls = [
            Call::new(&statements.stats_total, vec![(COUNT_MAX + 1).into()]),
            Call::new(&statements.stats_pending, []),
            Call::new(&statements.stats_dead, []),
        ];
        let mut answers = session.run_all(&calls).await?.into_iter();
        let mut cells = self.only_cells(answers.next())?;
        let (few, span) = (cells.whole()?, cells.whole()?);
        let estimated = few > i64::from(COUNT_MAX);
        let mut cells = self.only_cells(answers.next())?;
        let (pending, delayed, retrying) = (cells.whole()?, cells.whole()?, cells.whole()?);
        let (oldest, now) = (cells.moment()?, cells.moment()?);
        let mut cells = self.only_cells(answers.next())?;
        let (dead, discarded, halted) = (cells.whole()?, cells.whole()?, cells.whole()?);
        let total = if estimated { span } else { few };
        Ok(Stats {
            pending: amount(pending),
            delayed: amount(delayed),
            retrying: amount(retrying),
            dead: amount(dead),
            discarded: amount(discarded),
            dispatched: amount(total - pending - dead - discarded),
            dispatched_is_estimate: estimated,
            halted_sources: amount(halted),
            lag: oldest.zip(now).map(|(oldest, now): (StoreTime, StoreTime)| oldest.until(now)),
        })
    }

    /// The values of the one row of an answer.
    fn only_cells(&self, answer: Option<Answer>) -> Result<Cells<'_>, StoreError> {
        let row = answer.and_then(|answer| answer.rows.into_iter().next());
        Ok(Cells::of(row.ok_or_else(|| self.no_row())?, self.reader()))
    }
}

fn amount(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

//! The ledger: what was committed, against what took effect.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use library_loans::{Loan, LoanEvent};
use serde::Serialize;
use tenure::core::outbox::{LIST_MAX, Selection, Sequence, State, deterministic_id};
use tenure::entity::Process;
use tenure::event::{Position, Recorded};
use tenure::{Database, Events};

use crate::output::Failure;

/// How many events are read at once.
const PAGE: u32 = 1000;

/// What came of it all.
#[derive(Debug, Default, Serialize)]
pub(super) struct Ledger {
    /// Loans whose request was acknowledged.
    pub(super) loans: usize,
    /// Of those, how many ended with the book brought back.
    pub(super) returned: usize,
    /// Of those, how many ended with the book being with someone else.
    pub(super) refused: usize,
    /// Commands that were committed to the outbox.
    pub(super) committed: usize,
    /// Commands that took effect.
    pub(super) applied: usize,
    /// Commands and routed events that came again, and did nothing.
    pub(super) duplicates_suppressed: usize,
    /// Commands that were still waiting at the end, or loans that waited for them.
    pub(super) unfinished: usize,
    /// Commands without an effect, and acknowledged loans that came to no end.
    pub(super) lost: usize,
    /// Effects beyond the first of a command.
    pub(super) doubled: usize,
    /// Effects before that of an earlier command of the same loan.
    pub(super) out_of_order: usize,
    /// How long nobody was in office after each kill.
    pub(super) failovers_ms: Vec<u64>,
}

impl Ledger {
    pub(super) fn is_clean(&self) -> bool {
        self.unfinished == 0 && self.lost == 0 && self.doubled == 0 && self.out_of_order == 0
    }
}

/// A command in the outbox: its loan, and its place there. A timeout has no place.
#[derive(Default)]
struct Command {
    place: Option<(String, Sequence)>,
    effects: usize,
    /// Whether it is still to be delivered.
    waits: bool,
}

/// The commands that follow from what happened to a loan: what must have been sent, whatever the outbox says.
fn owed(events: &[Recorded]) -> impl Iterator<Item = String> {
    let types = Loan::events();
    events.iter().filter(|event| event.stream.id_of(Loan::KIND).is_some()).flat_map(move |event| {
        let count = match types.decode(&event.kind, event.schema, &event.body) {
            Ok(LoanEvent::Requested { .. } | LoanEvent::Approved | LoanEvent::Lent) => 1,
            Ok(LoanEvent::Returned) => 2,
            Ok(LoanEvent::Refused) | Err(_) => 0,
        };
        (0..count).map(|index| deterministic_id(event.stream.as_str(), event.version.0, index).to_string())
    })
}

/// Whether everything has come to its end: nothing is pending, and every loan is over.
pub(super) async fn is_settled(database: &Database, loans: usize) -> Result<bool, Failure> {
    let stats = database.outbox_admin().stats().await?;
    if stats.pending > 0 {
        return Ok(false);
    }
    let events = all_events(database).await?;
    Ok(ends(&events).len() >= loans)
}

pub(super) async fn draw_up(
    database: &Database,
    journal: &Path,
    asked: &[String],
    failovers: &[Duration],
) -> Result<Ledger, Failure> {
    let mut commands = commands(database).await?;
    let events = all_events(database).await?;
    // One that is not there at all is lost.
    for id in owed(&events) {
        commands.entry(id).or_default();
    }
    let mut routed: HashMap<String, usize> = HashMap::new();
    let ends = ends(&events);
    let (mut out_of_order, mut last): (usize, HashMap<String, Sequence>) = (0, HashMap::new());
    for event in &events {
        let Some(id) = event.metadata.message_id.map(|id| id.to_string()) else { continue };
        let Some(command) = commands.get_mut(&id) else {
            // By a route: it has no row in the outbox, and an effect all the same.
            *routed.entry(id).or_default() += 1;
            continue;
        };
        command.effects += 1;
        if let Some((source, sequence)) = &command.place
            && let Some(before) = last.insert(source.clone(), *sequence)
            && before > *sequence
        {
            out_of_order += 1;
        }
    }
    let endless = asked.iter().filter(|id| !ends.contains_key(id.as_str())).count();
    let without = |waits: bool| {
        commands.values().filter(|command| command.effects == 0 && command.waits == waits).count()
    };
    let (waiting, without_effect) = (without(true), without(false));
    // While commands wait, it cannot be told what else is late and what is lost.
    let (late, lost) = if waiting > 0 { (endless, 0) } else { (0, endless) };
    Ok(Ledger {
        loans: asked.len(),
        returned: ends.values().filter(|end| **end == LoanEvent::Returned).count(),
        refused: ends.values().filter(|end| **end == LoanEvent::Refused).count(),
        committed: commands.len(),
        applied: commands.len() - without_effect - waiting,
        duplicates_suppressed: duplicates(journal),
        unfinished: waiting + late,
        lost: without_effect + lost,
        doubled: commands
            .values()
            .map(|command| command.effects)
            .chain(routed.into_values())
            .map(|effects| effects.saturating_sub(1))
            .sum(),
        out_of_order,
        failovers_ms: failovers
            .iter()
            .map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
            .collect(),
    })
}

/// Every command that was ever committed, by its id.
async fn commands(database: &Database) -> Result<HashMap<String, Command>, Failure> {
    let (mut commands, mut before) = (HashMap::new(), None);
    loop {
        let selection = Selection { before, limit: LIST_MAX, ..Selection::default() };
        let page = database.outbox_admin().list(&selection).await?;
        before = page.more_before;
        for message in page.messages {
            let place = message.source.map(|source| (source, message.sequence));
            let waits = message.state == State::Pending;
            commands.insert(message.id, Command { place, effects: 0, waits });
        }
        if before.is_none() {
            return Ok(commands);
        }
    }
}

async fn all_events(database: &Database) -> Result<Vec<Recorded>, Failure> {
    let events = Events::new(database.events());
    let (mut all, mut after) = (Vec::new(), Position::START);
    loop {
        let page = events.read_all(after, PAGE).await?;
        if let Some(row) = page.unreadable.first() {
            return Err(Failure::Failed(row.to_string()));
        }
        if page.events.is_empty() {
            return Ok(all);
        }
        after = page.read_to;
        all.extend(page.events);
    }
}

/// How each loan ended that did.
fn ends(events: &[Recorded]) -> HashMap<&str, LoanEvent> {
    let types = Loan::events();
    let end = |event: &Recorded| types.decode(&event.kind, event.schema, &event.body).ok();
    let over = |event: &LoanEvent| matches!(event, LoanEvent::Returned | LoanEvent::Refused);
    let loans = events.iter().filter_map(|event| Some((event.stream.id_of(Loan::KIND)?, event)));
    loans.filter_map(|(id, event)| Some((id, end(event).filter(over)?))).collect()
}

/// What nodes have seen again.
fn duplicates(journal: &Path) -> usize {
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    // A line that was cut by a kill is not counted.
    text.matches('\n').count()
}

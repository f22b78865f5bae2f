//! What the loops of other processes are worth: whether their process is still heard of, and whether the table of leases
//! bears out what they said last.

use tenure_core::id::Node;
use tenure_core::lease::LeaseRecord;
use tenure_core::observe::{RunnerKind, RunnerRow};
use tenure_core::time::StoreTime;

use crate::sampler::Facts;

/// The kind of lease under which an outbox is relayed.
const RELAY_KIND: &str = "outbox";

/// What a report is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Heard<'a> {
    /// Its process is heard of.
    Lately,
    /// It is not, since then.
    NotSince(StoreTime),
    /// It said that it holds a lease, which by the table it does not any more.
    OutOfOffice(&'a LeaseRecord),
}

/// What a report is worth.
pub(crate) fn heard<'a>(facts: &'a Facts, row: &RunnerRow) -> Heard<'a> {
    if !row.is_heard(facts.runners.now, Some(&facts.look)) {
        return Heard::NotSince(row.seen_at);
    }
    let says_so = ["leading", "held", "running, term"].iter().any(|word| row.report.state.starts_with(word));
    match facts.leases.iter().find(|lease| is_named(row, lease)) {
        Some(lease) if says_so && !holds(facts, lease, &row.node) => Heard::OutOfOffice(lease),
        _ => Heard::Lately,
    }
}

/// The relays that report, and are heard of.
pub(crate) fn relays(facts: &Facts) -> Vec<&RunnerRow> {
    let rows = facts.runners.rows.iter();
    rows.filter(|row| is_relay(row) && matches!(heard(facts, row), Heard::Lately)).collect()
}

/// Who relays, as far as it can be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Office<'a> {
    /// By the lease that it holds.
    Lease(&'a LeaseRecord),
    /// By what it says itself: it needs no lease, or one that is not among those that were read.
    Says(&'a RunnerRow),
}

/// Who relays: by the leases of relays, whatever they are called, and by what relays say of themselves.
pub(crate) fn relays_in_office(facts: &Facts) -> Vec<Office<'_>> {
    let relays = relays(facts);
    let all = facts.runners.rows.iter().filter(|row| is_relay(row));
    let named: Vec<_> = all.filter(|row| row.report.kind == RunnerKind::Relay).collect();
    let is_office = |lease: &&LeaseRecord| {
        let of_relay = lease.kind.as_deref() == Some(RELAY_KIND)
            || lease.name.as_str() == RELAY_KIND
            || named.iter().any(|row| is_named(row, lease));
        of_relay && lease.is_held(facts.leases_at)
    };
    let leases: Vec<_> = facts.leases.iter().filter(is_office).collect();
    let works = |row: &&&RunnerRow| {
        let state = row.report.state.as_str();
        let at_work = state == "at work" || state.starts_with("on ") || state.starts_with("leading");
        at_work && !leases.iter().any(|lease| is_named(row, lease) && holds(facts, lease, &row.node))
    };
    let says: Vec<_> = relays.iter().filter(works).map(|row| Office::Says(row)).collect();
    leases.into_iter().map(Office::Lease).chain(says).collect()
}

fn is_relay(row: &RunnerRow) -> bool {
    matches!(row.report.kind, RunnerKind::Relay | RunnerKind::Parts)
}

fn holds(facts: &Facts, lease: &LeaseRecord, node: &Node) -> bool {
    lease.is_held(facts.leases_at) && lease.node.incarnation == node.incarnation
}

/// Whether a loop is called by the name of a lease, the number of a second one of the same name left out.
fn is_named(row: &RunnerRow, lease: &LeaseRecord) -> bool {
    let of_lease = matches!(
        row.report.kind,
        RunnerKind::Relay | RunnerKind::Lease | RunnerKind::Election | RunnerKind::Singleton
    );
    let name = row.report.name.as_str();
    let bare = name.rsplit_once(" (").filter(|(_, rest)| rest.ends_with(')')).map_or(name, |(bare, _)| bare);
    of_lease && (name == lease.name.as_str() || bare == lease.name.as_str())
}

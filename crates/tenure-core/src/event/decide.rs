//! What a store decides about an append, the same on every database.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Append, AppendAnswer, AppendProblem, Appended, Expected, NewEvent, Position, Version};
use crate::mutation::{Rule, off};
use crate::outbox::Body;

/// What stands in the stream where the events of an append would have come to stand, had it happened before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The event's id.
    pub id: Uuid,
    /// Its version.
    pub version: Version,
    /// What it is.
    pub kind: String,
    /// What it says.
    pub body: Body,
}

/// What becomes of an append, by the stream's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The events follow this version.
    Follow(Version),
    /// The stream has another version. It may be that this append has happened before: see [`same_events`].
    Conflict(Version),
}

/// Judges an append by the version that the stream has, which must not change until it is written.
pub fn judge(expected: Expected, actual: Version) -> Judgement {
    match expected {
        Expected::Any => Judgement::Follow(actual),
        Expected::Exact(version) if version == actual => Judgement::Follow(actual),
        Expected::Exact(_) if off(Rule::ExpectedVersion) => Judgement::Follow(actual),
        Expected::Exact(_) => Judgement::Conflict(actual),
    }
}

/// Whether what stands in the stream are the events of this append, in their order: then it has happened before. An error
/// names an id that is taken by another event.
///
/// `seen` are the events of the stream that have one of the append's ids, by version. With [`Expected::Any`] it is to be
/// asked only if one of the ids is taken, in this stream or another: there is no other version to try it with.
pub fn same_events(append: &Append, seen: &[Seen]) -> Result<bool, Uuid> {
    let Some(first) = append.events.first() else { return Ok(false) };
    let in_order = seen.len() == append.events.len()
        && append.events.iter().zip(seen).all(|(event, seen)| event.id == seen.id);
    match append.expected {
        Expected::Any if !in_order => return Err(seen.first().map_or(first.id, |seen| seen.id)),
        Expected::Exact(_) if !in_order => return Ok(false),
        _ => {}
    }
    let in_place = |at: usize, seen: &Seen| match append.expected {
        Expected::Exact(version) => seen.version == version.plus(at + 1),
        Expected::Any => true,
    };
    for (at, (event, seen)) in append.events.iter().zip(seen).enumerate() {
        if !in_place(at, seen) {
            return Ok(false);
        }
        if !says_the_same(event, seen) {
            return Err(event.id);
        }
    }
    Ok(true)
}

/// An event that stands where one of an append's may have come to stand before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its stream, which need not be the append's: ids are taken in all of them.
    pub stream: String,
    /// Its position.
    pub position: Position,
    /// What it is.
    pub seen: Seen,
}

/// What is said of an append that cannot be made: it was made before, or something else came first. `standing` are the
/// events, by version, that have one of its ids or stand in its place; `actual` is the stream's version.
pub fn not_again(
    append: &Append,
    mut standing: Vec<Standing>,
    actual: Version,
) -> Result<AppendAnswer, AppendProblem> {
    let ids: HashSet<Uuid> = append.events.iter().map(|event| event.id).collect();
    standing.retain(|row| row.stream == append.stream.as_str() && ids.contains(&row.seen.id));
    let last = standing.last().map(|row| (row.seen.version, row.position));
    let seen: Vec<Seen> = standing.into_iter().map(|row| row.seen).collect();
    let repeated = same_events(append, &seen).map_err(|id| AppendProblem::OtherContent { id })?;
    Ok(match last {
        Some((version, position)) if repeated => {
            AppendAnswer::Appended(Appended { version, position: Some(position), repeated })
        }
        _ => AppendAnswer::Conflict { actual },
    })
}

fn says_the_same(event: &NewEvent, seen: &Seen) -> bool {
    event.kind == seen.kind && event.body == seen.body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StreamName;

    fn append(expected: Expected, ids: &[u128]) -> Append {
        let events = ids.iter().map(|id| NewEvent::json(Uuid::from_u128(*id), "K", "1")).collect();
        Append::new(StreamName::new("s").unwrap(), expected, events)
    }

    fn seen(id: u128, version: i64, payload: &str) -> Seen {
        let body = Body::Text(payload.into());
        Seen { id: Uuid::from_u128(id), version: Version(version), kind: "K".into(), body }
    }

    #[test]
    fn only_the_expected_version_is_followed() {
        assert_eq!(judge(Expected::Any, Version(4)), Judgement::Follow(Version(4)));
        assert_eq!(judge(Expected::Exact(Version(4)), Version(4)), Judgement::Follow(Version(4)));
        assert_eq!(judge(Expected::Exact(Version(3)), Version(4)), Judgement::Conflict(Version(4)));
        assert_eq!(judge(Expected::Exact(Version(5)), Version(4)), Judgement::Conflict(Version(4)), "a gap");
        assert_eq!(judge(Expected::NONE, Version(0)), Judgement::Follow(Version(0)));
    }

    #[test]
    fn s28_a_retry_is_known_by_its_ids_and_their_places() {
        let there = [seen(1, 5, "1"), seen(2, 6, "1")];
        assert_eq!(same_events(&append(Expected::Exact(Version(4)), &[1, 2]), &there), Ok(true));
        assert_eq!(same_events(&append(Expected::Any, &[1, 2]), &there), Ok(true));
        assert_eq!(
            same_events(&append(Expected::Exact(Version(3)), &[1, 2]), &there),
            Ok(false),
            "elsewhere"
        );
        assert_eq!(same_events(&append(Expected::Exact(Version(4)), &[1, 3]), &there), Ok(false));
        assert_eq!(same_events(&append(Expected::Exact(Version(4)), &[1]), &there), Ok(false));
        assert_eq!(same_events(&append(Expected::Exact(Version(4)), &[]), &[]), Ok(false));
    }

    #[test]
    fn an_id_that_is_taken_cannot_be_appended_at_any_version() {
        let id = Uuid::from_u128;
        assert_eq!(same_events(&append(Expected::Any, &[1]), &[]), Err(id(1)), "in another stream");
        assert_eq!(same_events(&append(Expected::Any, &[1, 2]), &[seen(2, 1, "1")]), Err(id(2)), "a part");
        let turned = [seen(2, 1, "1"), seen(1, 2, "1")];
        assert_eq!(same_events(&append(Expected::Any, &[1, 2]), &turned), Err(id(2)), "in another order");
    }

    #[test]
    fn s57_the_same_id_with_another_content_is_told() {
        let there = [seen(1, 5, "2")];
        assert_eq!(same_events(&append(Expected::Exact(Version(4)), &[1]), &there), Err(Uuid::from_u128(1)));
    }
}

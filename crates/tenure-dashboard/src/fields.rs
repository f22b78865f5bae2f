//! The parameters that pages and API have in common, and what is made of them.

use std::str::FromStr;
use std::time::SystemTime;

use tenure_core::outbox::{CauseId, Filter, RowId, State};

use crate::limits::PAGE_MAX;
use crate::params::{Param, Params};
use crate::problem::Problem;

pub(crate) const STATES: [&str; 4] = ["pending", "dispatched", "dead", "discarded"];

pub(crate) const STATE: Param = Param::word("state", &STATES, "where the messages stand");
pub(crate) const TOPIC: Param = Param::text("topic", 500, "where the messages go");
pub(crate) const SOURCE: Param = Param::text("source", 500, "what orders the messages");
pub(crate) const TYPE: Param = Param::text("type", 500, "what the messages are");
pub(crate) const ID: Param = Param::text("id", 100, "the id of a message, without regard to case");
pub(crate) const FROM: Param = Param::moment(
    "from",
    "enqueued at this moment or later: `2026-11-15T09:30:00Z`, `2026-11-15 09:30`, `2026-11-15` (UTC where no zone is told), or `-15m`, \
     `-2h`, `-7d` back from now",
);
pub(crate) const UNTIL: Param =
    Param::moment("until", "enqueued before this moment, which is written as `from` is");
pub(crate) const CAUSE: Param = Param::text("cause", 16, "dead of this cause: 16 hexadecimal digits");
pub(crate) const BEFORE: Param =
    Param::number("before", 1, i64::MAX as u64, "go on before this number: `next` of the answer before");
pub(crate) const AFTER: Param =
    Param::text("after", 500, "go on after this name: `next` of the answer before");
pub(crate) const POSITION_AFTER: Param =
    Param::number("after", 0, i64::MAX as u64, "go on after this position: `next` of the answer before");
pub(crate) const CAUSE_AFTER: Param =
    Param::text("after", 16, "go on after this cause: `next` of the answer before");
pub(crate) const PREFIX: Param = Param::text("prefix", 500, "the beginning of the names, byte by byte");
pub(crate) const NAME: Param = Param::text("name", 500, "the name");
pub(crate) const NODE: Param = Param::text("node", 200, "the name of a node");
pub(crate) const LIMIT: Param = Param::number("limit", 1, PAGE_MAX as u64, "how many at most");
pub(crate) const STREAM: Param = Param::text("stream", 500, "the name of a stream");
pub(crate) const CORRELATION: Param = Param::text("correlation", 250, "what all events of one story share");
pub(crate) const SUBSCRIPTION: Param = Param::text("subscription", 500, "the name of a subscription");
pub(crate) const ACTOR: Param = Param::text("actor", 200, "who did it");
pub(crate) const ACTION: Param = Param::text("action", 100, "what was done");
pub(crate) const SUBJECT: Param = Param::text("subject", 500, "to what");

/// Which messages are meant, by every parameter of a filter.
pub(crate) fn filter(params: &Params, now: SystemTime) -> Result<Filter, Problem> {
    let state = params.word(&STATE)?.map(State::from_str).transpose();
    Ok(Filter {
        state: state.map_err(|why| Problem::invalid("state", why))?,
        topic: params.text(&TOPIC)?,
        source: params.text(&SOURCE)?,
        kind: params.text(&TYPE)?,
        id: params.text(&ID)?,
        from: params.moment(&FROM, now)?,
        until: params.moment(&UNTIL, now)?,
        cause: cause(params, &CAUSE)?,
    })
}

/// A cause.
pub(crate) fn cause(params: &Params, param: &Param) -> Result<Option<CauseId>, Problem> {
    params.parse::<CauseId>(param, "cause: 16 hexadecimal digits")
}

/// Which dead messages a change is for. One that names nothing at all has to say so.
pub(crate) fn dead(params: &Params, now: SystemTime, all: bool) -> Result<Filter, Problem> {
    let filter = filter(params, now)?;
    if !matches!(filter.state, None | Some(State::Dead)) {
        return Err(Problem::invalid("state", "is dead: only dead messages can be retried or discarded"));
    }
    let nothing = Filter { state: filter.state, ..Filter::default() } == filter;
    if nothing && !all {
        return Err(Problem::Malformed(
            "nothing says which messages are meant: give `cause`, `topic`, `source`, `type`, `id`, `from` or `until`, or \
             `all` if all dead messages are",
        ));
    }
    Ok(Filter { state: Some(State::Dead), ..filter })
}

/// From where a list of rows goes on.
pub(crate) fn before(params: &Params) -> Result<Option<RowId>, Problem> {
    Ok(params.number(&BEFORE)?.and_then(|number| i64::try_from(number).ok()).map(RowId))
}

/// How many rows.
pub(crate) fn limit(params: &Params, otherwise: u32) -> Result<u32, Problem> {
    let limit = params.number(&LIMIT)?.and_then(|number| u32::try_from(number).ok());
    Ok(limit.unwrap_or(otherwise))
}

/// A name of ours, as a store takes it.
pub(crate) fn name<T, E: std::fmt::Display>(
    param: &Param,
    text: Option<String>,
    make: impl FnOnce(String) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    // What is wrong with a name does not say the name again.
    text.map(make).transpose().map_err(|error| Problem::invalid(param.name, format!("is no name: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_everything_has_to_be_said() {
        let now = SystemTime::UNIX_EPOCH;
        let of = |text: &str, all| dead(&Params::form(text.as_bytes()).unwrap(), now, all);
        assert!(of("", false).is_err() && of("state=dead", false).is_err() && of("topic=", false).is_err());
        assert!(
            of("", true).is_ok()
                && of("topic=a", false).is_ok()
                && of("cause=00000000000000ff", false).is_ok()
        );
        assert!(of("state=pending&topic=a", true).is_err());
        assert_eq!(of("topic=a", false).unwrap().state, Some(State::Dead));
        assert!(of("cause=xyz", false).is_err());
    }

    #[test]
    fn states_are_those_of_the_core() {
        assert_eq!(STATES, State::ALL.map(State::as_str));
    }
}

//! Rows of nodes and daemons, as the words of the core, and back.
//!
//! What no version of Tenure wrote is reported with its table and key, and never guessed at.

use rusqlite::types::Value;
use tenure_core::cluster::{Daemon, DaemonName, DaemonSpec, Group, JsonColumn, Member, Revision};
use tenure_core::id::NodeName;
use tenure_core::lease::Term;
use tenure_core::time::StoreTime;

use crate::error::Fault;
use crate::rows::{Columns, need, node, nonsense, parse};

/// How much of a key is repeated in a message.
const KEY_MAX_CHARS: usize = 60;

/// The node that a row stands for, if there is one; its columns are those of `cluster_nodes.sql`, from `at` on.
pub(super) fn member(row: &impl Columns, at: usize) -> Result<Option<Member>, Fault> {
    let Some(name) = row.text(at)? else { return Ok(None) };
    named("nodes", &name, || read_member(row, at)).map(Some)
}

fn read_member(row: &impl Columns, at: usize) -> Result<Member, Fault> {
    let (text, number) = (|place| row.text(at + place), |place| row.integer(at + place));
    Ok(Member {
        node: node(text(0)?, text(1)?, text(3)?, number(4)?)?,
        term: term(number(2)?, "term")?,
        labels: json(text(5)?, "labels")?,
        version: need(text(6)?, "version")?,
        capacity: fits(number(7)?, "capacity")?,
        leads: need(number(8)?, "leads")? != 0,
        agents: json(text(9)?, "agents")?,
        leaving: need(number(10)?, "leaving")? != 0,
        joined_at: StoreTime::from_micros(need(number(11)?, "joined_at")?),
        revision: Revision(fits(number(12)?, "revision")?),
    })
}

/// The values of `nodes_write.sql`.
pub(super) fn member_values(member: &Member) -> Result<[Value; 13], Fault> {
    let node = &member.node;
    Ok([
        node.name.as_str().to_owned().into(),
        node.incarnation.to_string().into(),
        member.term.as_column().into(),
        node.machine.clone().into(),
        node.pid.into(),
        member.labels.to_column().into(),
        member.version.clone().into(),
        member.capacity.into(),
        member.leads.into(),
        member.agents.to_column().into(),
        member.leaving.into(),
        member.joined_at.as_micros().into(),
        whole(member.revision.0)?,
    ])
}

/// Reads the columns of `daemons_columns.sql`.
pub(super) fn daemon(row: &impl Columns) -> Result<Daemon, Fault> {
    let name = need(row.text(0)?, "daemon")?;
    named("assignments", &name, || read_daemon(row, &name))
}

fn read_daemon(row: &impl Columns, name: &str) -> Result<Daemon, Fault> {
    let (text, number) = (|at| row.text(at), |at| row.integer(at));
    let moment = |micros: Option<i64>| micros.map(StoreTime::from_micros);
    Ok(Daemon {
        spec: DaemonSpec {
            name: DaemonName::new(name).map_err(|_| nonsense("daemon"))?,
            weight: fits(number(9)?, "weight")?,
            labels: json(text(10)?, "labels")?,
            group: match text(11)? {
                Some(name) => Some(Group { name, layout: fits(number(12)?, "layout")? }),
                None => None,
            },
        },
        state: parse(text(1)?, "state")?,
        place: match node_name(text(2)?, "node")? {
            Some(node) => Some((node, term(number(3)?, "node_term")?)),
            None => None,
        },
        generation: number(4)?.map(|number| term(Some(number), "generation")).transpose()?,
        next: node_name(text(5)?, "next_node")?,
        deadline: moment(number(6)?),
        reason: need(text(7)?, "reason")?,
        since: StoreTime::from_micros(need(number(8)?, "since")?),
        paused_by: text(13)?,
        pinned_to: node_name(text(14)?, "pinned_to")?,
        retired: need(number(15)?, "retired")? != 0,
        failures: fits(number(16)?, "failures")?,
        avoids: json(text(17)?, "avoids")?,
        moves: fits(number(18)?, "moves")?,
        revision: Revision(fits(number(19)?, "revision")?),
    })
}

/// The values of `daemons_write.sql`.
pub(super) fn daemon_values(daemon: &Daemon) -> Result<[Value; 20], Fault> {
    let node = |name: Option<&NodeName>| -> Value { name.map(|name| name.as_str().to_owned()).into() };
    let group = daemon.spec.group.as_ref();
    Ok([
        daemon.name().as_str().to_owned().into(),
        daemon.state.as_str().to_owned().into(),
        node(daemon.node()),
        daemon.place.as_ref().map(|(_, term)| term.as_column()).into(),
        daemon.generation.map(Term::as_column).into(),
        node(daemon.next.as_ref()),
        daemon.deadline.map(StoreTime::as_micros).into(),
        daemon.reason.clone().into(),
        daemon.since.as_micros().into(),
        daemon.spec.weight.into(),
        daemon.spec.labels.to_column().into(),
        group.map(|group| group.name.clone()).into(),
        group.map(|group| group.layout).into(),
        daemon.paused_by.clone().into(),
        node(daemon.pinned_to.as_ref()),
        daemon.retired.into(),
        daemon.failures.into(),
        daemon.avoids.to_column().into(),
        whole(daemon.moves)?,
        whole(daemon.revision.0)?,
    ])
}

/// The number of the last change.
pub(super) fn revision(number: Option<i64>) -> Result<Revision, Fault> {
    named("cluster", "1", || fits(number, "revision")).map(Revision)
}

/// The row that every change holds is gone: a number that was given out could be given out again.
pub(super) fn no_cluster() -> Fault {
    Fault::Corrupt("table cluster, row 1: it is missing; restore it from a backup".into())
}

/// A number as SQLite holds it.
pub(super) fn whole(number: u64) -> Result<Value, Fault> {
    i64::try_from(number).map(Value::from).map_err(|_| Fault::Failed("numbers have run out".into()))
}

/// Says of what is wrong with a row which one it is.
fn named<T>(table: &str, key: &str, read: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let name = |message: &dyn std::fmt::Display| {
        let key: String = key.chars().take(KEY_MAX_CHARS).flat_map(char::escape_debug).collect();
        Fault::Corrupt(format!("table {table}, row {key}: {message}"))
    };
    read().map_err(|fault| match fault {
        Fault::Corrupt(message) => name(&message),
        // A column of another type; the driver's words hold its place and type, not its value.
        Fault::Sqlite(error) => name(&error),
        other => other,
    })
}

fn json<T: JsonColumn>(text: Option<String>, column: &str) -> Result<T, Fault> {
    T::from_column(&need(text, column)?).ok_or_else(|| nonsense(column))
}

fn fits<T: TryFrom<i64>>(number: Option<i64>, column: &str) -> Result<T, Fault> {
    T::try_from(need(number, column)?).map_err(|_| nonsense(column))
}

fn term(number: Option<i64>, column: &str) -> Result<Term, Fault> {
    Term::from_column(need(number, column)?).ok_or_else(|| nonsense(column))
}

fn node_name(text: Option<String>, column: &str) -> Result<Option<NodeName>, Fault> {
    text.map(|text| NodeName::new(text).map_err(|_| nonsense(column))).transpose()
}

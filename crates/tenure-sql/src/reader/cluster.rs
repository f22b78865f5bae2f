//! Rows of nodes and daemons, as the words of the core.
//!
//! What no version of Tenure wrote is reported with its table and key, and never guessed at.

use tenure_core::StoreError;
use tenure_core::cluster::{Daemon, DaemonName, DaemonSpec, Group, JsonColumn, Member, Revision};
use tenure_core::id::{Node, NodeName};
use tenure_core::lease::Term;
use tenure_core::time::StoreTime;

use super::{Columns, Reader};

impl Reader<'_> {
    /// The node that a row stands for, if there is one.
    pub fn member(self, row: &impl Columns) -> Result<Option<Member>, StoreError> {
        let Some(name) = self.maybe(row.text("member"), "name")? else { return Ok(None) };
        self.named("nodes", &name, self.read_member(row, &name)).map(Some)
    }

    fn read_member(self, row: &impl Columns, name: &str) -> Result<Member, StoreError> {
        let (text, number) = (|column| row.text(column), |column| row.number(column));
        let incarnation = self.need(text("member_incarnation"), "incarnation")?;
        Ok(Member {
            node: Node {
                name: self.node_name(name.to_owned(), "name")?,
                incarnation: self.unique(incarnation, "incarnation")?,
                machine: self.need(text("member_machine"), "machine")?,
                pid: self.fits(self.need(number("member_pid"), "pid")?, "pid")?,
            },
            term: self.term_in(self.need(number("member_term"), "term")?, "term")?,
            labels: self.json(text("labels"), "labels")?,
            version: self.need(text("version"), "version")?,
            capacity: self.fits(self.need(number("capacity"), "capacity")?, "capacity")?,
            leads: self.need(number("leads"), "leads")? != 0,
            agents: self.json(text("agents"), "agents")?,
            leaving: self.need(number("leaving"), "leaving")? != 0,
            joined_at: StoreTime::from_micros(self.need(number("joined_us"), "joined_at")?),
            revision: Revision(self.fits(self.need(number("member_revision"), "revision")?, "revision")?),
        })
    }

    /// The daemon that a row stands for.
    pub fn daemon(self, row: &impl Columns) -> Result<Daemon, StoreError> {
        let name = self.need(row.text("daemon"), "daemon")?;
        self.named("assignments", &name, self.read_daemon(row, &name))
    }

    fn read_daemon(self, row: &impl Columns, name: &str) -> Result<Daemon, StoreError> {
        let (text, number) = (|column| row.text(column), |column| row.number(column));
        let state = self.need(text("state"), "state")?;
        let name = DaemonName::new(name).map_err(|error| self.corrupt(format!("column daemon: {error}")))?;
        let moment = |column, called| {
            self.maybe(number(column), called).map(|micros| micros.map(StoreTime::from_micros))
        };
        Ok(Daemon {
            spec: DaemonSpec {
                name,
                weight: self.fits(self.need(number("weight"), "weight")?, "weight")?,
                labels: self.json(text("labels"), "labels")?,
                group: match self.maybe(text("group_name"), "group_name")? {
                    Some(name) => {
                        let layout = self.need(number("layout"), "layout")?;
                        Some(Group { name, layout: self.fits(layout, "layout")? })
                    }
                    None => None,
                },
            },
            state: state.parse().map_err(|error| self.corrupt(format!("column state: {error}")))?,
            place: match self.maybe_node(text("node"), "node")? {
                Some(node) => {
                    let term = self.need(number("node_term"), "node_term")?;
                    Some((node, self.term_in(term, "node_term")?))
                }
                None => None,
            },
            generation: match self.maybe(number("generation"), "generation")? {
                Some(generation) => Some(self.term_in(generation, "generation")?),
                None => None,
            },
            next: self.maybe_node(text("next_node"), "next_node")?,
            deadline: moment("deadline_us", "deadline")?,
            reason: self.need(text("reason"), "reason")?,
            since: StoreTime::from_micros(self.need(number("since_us"), "since")?),
            paused_by: self.maybe(text("paused_by"), "paused_by")?,
            pinned_to: self.maybe_node(text("pinned_to"), "pinned_to")?,
            retired: self.need(number("retired"), "retired")? != 0,
            failures: self.fits(self.need(number("failures"), "failures")?, "failures")?,
            avoids: self.json(text("avoids"), "avoids")?,
            moves: self.fits(self.need(number("moves"), "moves")?, "moves")?,
            revision: Revision(self.fits(self.need(number("revision"), "revision")?, "revision")?),
        })
    }

    /// The number of a change, in a column that is never empty.
    pub fn revision(self, row: &impl Columns, column: &str) -> Result<Revision, StoreError> {
        let read = self.need(row.number(column), "revision").and_then(|number| self.fits(number, "revision"));
        self.named("cluster", "1", read).map(Revision)
    }

    /// The row that every change holds is gone: a number that was given out could be given out again.
    pub fn no_cluster(self) -> StoreError {
        self.corrupt("table cluster, row 1: it is missing; restore it from a backup".into())
    }

    /// What a column holds is not repeated: only a reader of the row itself is to see that.
    fn json<T: JsonColumn>(
        self,
        text: Result<Option<String>, String>,
        column: &str,
    ) -> Result<T, StoreError> {
        T::from_column(&self.need(text, column)?)
            .ok_or_else(|| self.corrupt(format!("column {column} holds nothing that Tenure wrote")))
    }

    fn node_name(self, text: String, column: &str) -> Result<NodeName, StoreError> {
        NodeName::new(text).map_err(|error| self.corrupt(format!("column {column}: {error}")))
    }

    fn maybe_node(
        self,
        text: Result<Option<String>, String>,
        column: &str,
    ) -> Result<Option<NodeName>, StoreError> {
        self.maybe(text, column)?.map(|name| self.node_name(name, column)).transpose()
    }

    fn term_in(self, number: i64, column: &str) -> Result<Term, StoreError> {
        Term::from_column(number).ok_or_else(|| self.corrupt(format!("column {column} holds {number}")))
    }
}

//! The cluster: who is there, who leads, which daemon runs where, and why.
//!
//! A node is a lease ([`node_lease`]) plus a row that says what the node can do; a daemon's placement is a row plus a
//! lease ([`DaemonName::lease`]) that the leader grants instead of the holder taking it. So a death is noticed as that of
//! any holder is, a node's trust in itself is that of any holder, and a daemon's [`Fence`](crate::lease::Fence) is
//! checked as any other: its term is the daemon's *generation*.
//!
//! ```text
//!  unassigned ──assign──▶ assigning ──acknowledge──▶ active ──revoke──▶ revoking ──confirm──▶ unassigned, or
//!      ▲                      │ no answer in time,      │ its node is over   │ no answer        assigning at the next
//!      └──────────────────────┴─────────────────────────┴────────────────────┘ in time          node, or gone
//! ```
//!
//! Every change is an [`Order`], decided by [`decide()`] inside one transaction that holds the cluster's row: all changes
//! of a cluster happen one after another, and each gets the next [`Revision`]. So whoever has read up to a revision has
//! missed nothing below it, on every database.
//!
//! | file | what it holds |
//! |---|---|
//! | `name` | daemons and families, agents, the names of leases |
//! | `member`, `daemon`, `column` | the two rows, and what is text in them |
//! | `order`, `decide` | what may be asked of a store, and what becomes of it |
//! | `plan` | where daemons should run: a pure function, with a reason for each move |
//! | `host` | what a node does about the daemons that are assigned to it |
//! | `coordinator` | what the leader knows, and when it acts |
//! | `settings` | how long, how often, how many |

mod column;
mod coordinator;
mod daemon;
mod decide;
mod host;
mod look;
mod member;
mod name;
mod order;
mod plan;
mod settings;

pub use self::column::JsonColumn;
pub use self::coordinator::{Coordinator, PAGE, Wanted};
pub use self::daemon::{Avoid, Daemon, DaemonSpec, DaemonState, Group, NotAState};
pub use self::decide::{Decided, Rows, Writes, decide};
pub use self::host::{Action, End, Host};
pub use self::look::{ClusterLook, Cursor, DaemonFilter, Revision, Standing};
pub use self::member::{Labels, Member, MemberError};
pub use self::name::{
    Agents, DAEMON_LEASE_PREFIX, DAEMON_NAME_MAX_BYTES, DaemonName, LEADER_LEASE, MEMBER_NAME_MAX_BYTES,
    NODE_LEASE_PREFIX, node_lease,
};
pub use self::order::{Answer, Deadlines, Order, Placement, Refusal, Steering, Verdict};
pub use self::plan::{Picture, plan};
pub use self::settings::ClusterSettings;

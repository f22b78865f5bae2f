//! Leases by a consumer group on a topic with one partition.
//!
//! The group of a lease gives the partition to one of its members; that member writes a claim to the topic, whose offset is
//! the term; and it holds the lease once the coordinator has taken a commit under the member's generation. A renewal is such
//! a commit again.
//!
//! ```text
//!   claim ──▶ join ──▶ waits for the partition ──▶ claim record ──▶ commit ──▶ granted ──▶ renew = commit
//!                │            ▲      │                                            │
//!                │            │      └ rejoins at once when the topic says        │ released, not renewed
//!                │            │        that the holder has left                   ▼
//!                └ Held ──────┘                                              LeaveGroup, then a record of the end
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`KafkaLeaseOptions`]: names, times, how they must fit together |
//! | `store`, `vacancy`, `answer` | [`KafkaLeases`]: the contract, its hints, and what is told by what stands on the topic |
//! | `member`, `group`, `state` | a membership: its threads, what the group tells it, what is known of it |
//! | `topic`, `tail`, `publish`, `record` | the topic: made, read, written, and what stands on it |

mod answer;
mod group;
mod member;
mod options;
mod publish;
mod record;
mod state;
mod store;
mod tail;
mod topic;
mod vacancy;

pub use options::{DEFAULT_GROUP, DEFAULT_TOPIC, KafkaLeaseOptions};
pub use store::KafkaLeases;

//! Tenure's leases as `Lease` objects of Kubernetes (`coordination.k8s.io/v1`).
//!
//! A lease is one object, changed by compare-and-swap on its `resourceVersion`. There is no clock that all share: a record
//! that has not changed for its own recorded duration, by the clock of the one who looks, has expired. Times in the
//! object are for people; no decision compares them.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure_kubernetes::{KubernetesOptions, KubernetesStore};
//!
//! let options = KubernetesOptions::from_url("kubernetes://shop")?;
//! let store = KubernetesStore::connect(options).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A Lease says who should work. It does not stop one who was deposed and does not know it yet: only a fence that the
//! protected store checks does that.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`KubernetesOptions`] and the URL |
//! | `decide` | what a claim, a renewal and a release come to; no I/O |
//! | `sight` | what this process has seen of each object and since when; no I/O |
//! | `names` | what the object of a lease is called |
//! | `object` | between the object and our words |
//! | `requests` | the requests, each with an end |
//! | `store`, `vacancy` | the contracts |
//! | `error`, `clock` | what went wrong, in words that help; the steady clock |

mod clock;
mod decide;
mod error;
mod names;
mod object;
mod options;
mod requests;
mod sight;
mod store;
mod vacancy;

pub use options::KubernetesOptions;
pub use store::KubernetesStore;

//! From a URL to a place that grants leases, which need not be a database.
//!
//! A place that keeps nothing but leases protects nothing by itself: [`FencedLeases`](crate::FencedLeases) brings its leases
//! together with the database that they are for.

use std::sync::Arc;

use tenure_core::contract::LeaseStore;

use crate::open::{OpenError, OpenOptions, open};

/// Schemes of places that grant leases and keep nothing else, each with the feature that brings it.
const LEASES_ONLY: [&str; 3] = ["etcd", "kubernetes", "kafka"];

/// Opens the place that `url` names: `etcd://`, `kubernetes://`, `kafka://`, or a database as [`open`] does. Of a database the
/// schema is neither checked nor changed.
///
/// The connections live on the heartbeat thread, so that a blocked runtime does not stop them.
pub async fn open_leases(url: &str, options: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    match url.split_once(':').ok_or(OpenError::NoScheme)?.0 {
        "etcd" => open_etcd(url, options).await,
        "kubernetes" => open_kubernetes(url, options).await,
        "kafka" => open_kafka(url, options).await,
        _ => Ok(open(url, options).await?.leases()),
    }
}

/// Whether `url` names a place that grants leases and keeps nothing else, so that [`open`] does not know it.
pub fn grants_leases_only(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| LEASES_ONLY.contains(&scheme))
}

async fn open_etcd(_: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    Err(OpenError::LeftOut { scheme: "etcd", feature: "etcd" })
}

async fn open_kubernetes(_: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    Err(OpenError::LeftOut { scheme: "kubernetes", feature: "kubernetes" })
}

async fn open_kafka(_: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    Err(OpenError::LeftOut { scheme: "kafka", feature: "kafka" })
}

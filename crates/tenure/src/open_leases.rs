//! From a URL to a place that grants leases, which need not be a database.
//!
//! A place that keeps nothing but leases protects nothing by itself: [`FencedLeases`](crate::FencedLeases) brings its leases
//! together with the database that they are for.

use std::sync::Arc;

use tenure_core::contract::LeaseStore;

use crate::open::{OpenError, OpenOptions, open};
#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "kafka"))]
use crate::open::{bad_url, on_heartbeat_thread};

/// Schemes of places that grant leases and keep nothing else, each with the feature that brings it.
const LEASES_ONLY: [&str; 4] = ["etcd", "etcds", "kubernetes", "kafka"];

/// Opens the place that `url` names: `etcd://`, `kubernetes://`, `kafka://`, or a database as [`open`] does. Of a database the
/// schema is neither checked nor changed.
///
/// The connections live on the heartbeat thread, so that a blocked runtime does not stop them.
pub async fn open_leases(url: &str, options: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    match url.split_once(':').ok_or(OpenError::NoScheme)?.0 {
        "etcd" | "etcds" => open_etcd(url, options).await,
        "kubernetes" => open_kubernetes(url, options).await,
        "kafka" => open_kafka(url, options).await,
        _ => Ok(open(url, options).await?.leases()),
    }
}

/// Whether `url` names a place that grants leases and keeps nothing else, so that [`open`] does not know it.
pub fn grants_leases_only(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| LEASES_ONLY.contains(&scheme))
}

#[cfg(feature = "etcd")]
async fn open_etcd(url: &str, options: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    use tenure_etcd::{EtcdOptions, EtcdStore};

    let mut etcd = EtcdOptions::from_url(url).map_err(bad_url)?;
    etcd.connect_timeout = options.connect_timeout.unwrap_or(etcd.connect_timeout);
    etcd.validate().map_err(bad_url)?;
    Ok(Arc::new(on_heartbeat_thread(EtcdStore::connect(etcd)).await?))
}

#[cfg(not(feature = "etcd"))]
async fn open_etcd(_: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    Err(OpenError::LeftOut { scheme: "etcd", feature: "etcd" })
}

#[cfg(feature = "kubernetes")]
async fn open_kubernetes(url: &str, options: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    use tenure_kubernetes::{KubernetesOptions, KubernetesStore};

    let mut kubernetes = KubernetesOptions::from_url(url).map_err(bad_url)?;
    kubernetes.timeout = options.connect_timeout.unwrap_or(kubernetes.timeout);
    kubernetes.validate().map_err(bad_url)?;
    let connect = async move {
        let store = KubernetesStore::connect(kubernetes).await?;
        store.reach().await?;
        Ok(store)
    };
    Ok(Arc::new(on_heartbeat_thread(connect).await?))
}

#[cfg(not(feature = "kubernetes"))]
async fn open_kubernetes(_: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    Err(OpenError::LeftOut { scheme: "kubernetes", feature: "kubernetes" })
}

#[cfg(feature = "kafka")]
async fn open_kafka(url: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    use tenure_kafka::{KafkaLeaseOptions, KafkaLeases};

    let kafka = KafkaLeaseOptions::from_url(url).map_err(bad_url)?;
    kafka.validate().map_err(bad_url)?;
    Ok(Arc::new(on_heartbeat_thread(KafkaLeases::connect(kafka)).await?))
}

#[cfg(not(feature = "kafka"))]
async fn open_kafka(_: &str, _: OpenOptions) -> Result<Arc<dyn LeaseStore>, OpenError> {
    Err(OpenError::LeftOut { scheme: "kafka", feature: "kafka" })
}

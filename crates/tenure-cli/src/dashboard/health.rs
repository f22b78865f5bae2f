//! What probes are told: the judgement of the library's monitor.

use async_trait::async_trait;
use serde_json::json;
use tenure::{HealthMonitor, HealthReport};
use tenure_dashboard::{HealthAnswer, HealthSource};

/// The monitor, as the dashboard asks it.
pub(super) struct Monitored(pub(super) HealthMonitor);

#[async_trait]
impl HealthSource for Monitored {
    fn live(&self) -> HealthAnswer {
        answer(&self.0.live())
    }

    async fn ready(&self) -> HealthAnswer {
        answer(&self.0.ready().await)
    }
}

fn answer(report: &HealthReport) -> HealthAnswer {
    HealthAnswer { up: report.is_up(), report: json!(report) }
}

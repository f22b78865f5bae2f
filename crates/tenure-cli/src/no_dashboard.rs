//! What stands for the dashboard in a `tenure` that was built without it.

use std::process::ExitCode;

use tenure::{HealthThresholds, Node, Stop};

use crate::args::{AccessArgs, DashboardArgs, Global};
use crate::output::Failure;

fn missing() -> Failure {
    Failure::Usage(
        "this tenure was built without the dashboard: build it with the feature `dashboard`".into(),
    )
}

pub(crate) async fn dashboard(_: &Global, _: &DashboardArgs) -> Result<ExitCode, Failure> {
    Err(missing())
}

/// Nothing that could be listened on.
pub(crate) enum Front {}

impl Front {
    pub(crate) async fn bind(_: &str, _: &AccessArgs) -> Result<Self, Failure> {
        Err(missing())
    }

    pub(crate) async fn of_samples(_: &str) -> Result<Self, Failure> {
        Err(missing())
    }

    pub(crate) fn announce(&self, _: bool) {
        match *self {}
    }

    pub(crate) async fn serve(
        self,
        _: Global,
        _: String,
        _: Node,
        _: HealthThresholds,
        _: bool,
        _: Stop,
    ) -> Result<(), Failure> {
        match self {}
    }
}

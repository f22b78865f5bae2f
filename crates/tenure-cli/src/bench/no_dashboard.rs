//! `tenure bench dashboard` in a build without the dashboard.

use std::process::ExitCode;

use crate::args::{DashboardBenchArgs, Global};
use crate::output::Failure;

pub(crate) async fn dashboard(_: &Global, _: &DashboardBenchArgs) -> Result<ExitCode, Failure> {
    Err(Failure::Usage(
        "this tenure was built without the dashboard: build it with the feature `dashboard`".into(),
    ))
}

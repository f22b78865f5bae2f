//! `tenure bench kafka` in a build without Kafka.

use std::process::ExitCode;

use crate::args::{Global, KafkaArgs};
use crate::output::Failure;

pub(crate) async fn kafka(_: &Global, _: &KafkaArgs) -> Result<ExitCode, Failure> {
    Err(Failure::Usage("this build has no support for kafka: (feature `kafka` is off)".into()))
}

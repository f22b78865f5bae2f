//! `cargo xtask sim`: the simulator, built with optimisation because it runs thousands of seeds.

use crate::Result;
use crate::cargo::{cargo, run as run_command};

/// Builds and runs the simulator with the arguments as they are.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut command = cargo(&[
        "run",
        "--quiet",
        "--profile",
        "sim",
        "--package",
        "tenure-sim",
        "--bin",
        "tenure-sim",
        "--",
    ]);
    command.args(args);
    run_command(command)
}

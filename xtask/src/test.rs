//! `cargo xtask test`: the one command of the README.
//!
//! Steps run in order and stop at the first failure; servers are stopped and the summary is printed in any case. Cheap
//! steps come first, and later ones use what earlier ones built.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::apt::{self, find_program};
use crate::cargo::{cargo, describe, root, run as run_command, run_reading, run_streaming};
use crate::report::{Done, summary, untested};
use crate::services::Services;
use crate::tally::Tally;
use crate::{Result, book, commands, scriptdom, sim, tidy};

/// Tests at a time: enough to use two cores while most wait, few enough that none is late for its own deadlines.
const TEST_THREADS: &str = "4";
const SIM_SEEDS: &str = "1000";

/// A named part of the run.
struct Step {
    name: &'static str,
    /// Steps without which this one cannot run.
    needs: &'static [&'static str],
    run: fn(&mut Run) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", needs: &[], run: |_| tell(cargo(&["fmt", "--all", "--check"])) },
    Step { name: "tidy", needs: &[], run: |_| tidy::run() },
    Step { name: "deny", needs: &[], run: Run::deny },
    Step { name: "servers", needs: &[], run: Run::servers },
    Step { name: "clippy", needs: &[], run: |_| clippy(&["--workspace", "--all-targets", "--all-features"]) },
    Step { name: "docs", needs: &[], run: |_| docs() },
    Step { name: "build", needs: &[], run: Run::build },
    Step { name: "tests", needs: &["servers", "build"], run: Run::tests },
    Step {
        name: "sim",
        needs: &[],
        run: |_| sim::run(&["--seeds", SIM_SEEDS, "--from", "1"].map(str::to_owned)),
    },
    Step { name: "features", needs: &[], run: |_| features() },
    Step { name: "commands", needs: &["build"], run: |run| commands::run(run.binary.as_deref()) },
    Step { name: "book", needs: &["build"], run: Run::book },
];

/// What steps hand on to later ones.
struct Run {
    ci: bool,
    services: Option<Services>,
    tally: Tally,
    /// The binary `tenure`, once it is built.
    binary: Option<PathBuf>,
    /// Why the step under way has nothing to run with.
    left_out: Option<String>,
}

/// Whether the environment says that nothing may be missing.
pub(crate) fn ci_from_environment() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Runs every step, or those asked for.
pub(crate) fn run(args: &[String], ci: bool) -> Result<()> {
    let steps = select(args)?;
    let mut run = Run { ci, services: None, tally: Tally::default(), binary: None, left_out: None };
    let mut done = Vec::new();
    for step in steps {
        println!("==> {}", step.name);
        let started = Instant::now();
        let failure = (step.run)(&mut run).err();
        let failed = failure.is_some();
        let left_out = run.left_out.take();
        done.push(Done { step: step.name, took: started.elapsed(), failure, left_out });
        if failed {
            break;
        }
    }
    let backends = run.services.as_ref().map(|services| services.backends.clone()).unwrap_or_default();
    println!("{}", summary(&done, &backends, &run.tally, &sqlite_version()));
    match done.iter().find(|step| step.failure.is_some()) {
        None => Ok(()),
        Some(step) => Err(format!("step `{}` failed", step.step)),
    }
}

/// The steps to run, in order, with what they need.
fn select(args: &[String]) -> Result<Vec<&'static Step>> {
    let wanted: Vec<&str> = match args {
        [] => return Ok(STEPS.iter().collect()),
        [flag, names] if flag == "--only" => names.split(',').collect(),
        _ => return Err("use: cargo xtask test [--only STEP,…]".to_owned()),
    };
    if let Some(unknown) = wanted.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("no step `{unknown}`; there are {}", known.join(", ")));
    }
    let asked = |step: &Step| wanted.contains(&step.name);
    let needed = |step: &Step| STEPS.iter().any(|other| asked(other) && other.needs.contains(&step.name));
    Ok(STEPS.iter().filter(|step| asked(step) || needed(step)).collect())
}

impl Run {
    /// Vulnerabilities, licences and sources of the dependencies, as `deny.toml` has them, where that can be checked. Where it
    /// cannot, the summary says so: a machine without the program is no failure of the code.
    fn deny(&mut self) -> Result<()> {
        if find_program("cargo-deny").is_none() {
            let why = "cargo-deny is not on the path: advisories, licences and sources of the dependencies ARE NOT CHECKED \
                       (`cargo install cargo-deny --locked`)";
            println!("xtask: {why}");
            self.left_out = Some(why.to_owned());
            return Ok(());
        }
        tell(cargo(&["deny", "check"]))
    }

    fn servers(&mut self) -> Result<()> {
        let services = Services::start()?;
        for backend in &services.backends {
            if let Ok(against) = &backend.against {
                println!("{}: {against}", backend.name);
            }
        }
        let missing = services.missing().join(", ");
        self.services = Some(services);
        let browser = apt::missing_browser().join(", ");
        if !browser.is_empty() {
            println!(
                "xtask: NO BROWSER: {browser} is not installed, and the scenes of the dashboard in one are left out"
            );
        }
        match (self.ci, missing.is_empty(), browser.is_empty()) {
            (true, false, _) => Err(format!("CI needs every backend; missing: {missing}")),
            (true, _, false) => Err(format!(
                "CI needs a browser for the tests of the dashboard; missing: {browser} (apt-get install them, or see above why \
                 that failed)"
            )),
            _ => Ok(()),
        }
    }

    /// Builds the tests, and learns which program comes from which package.
    fn build(&mut self) -> Result<()> {
        let args =
            ["test", "--workspace", "--all-features", "--no-run", "--message-format=json-render-diagnostics"];
        let command = cargo(&args);
        println!("{}", describe(&command));
        run_reading(command, |line| {
            if let Some((program, package)) = self.tally.built(line)
                && package == "tenure-cli"
                && program.ends_with("/tenure")
            {
                self.binary = Some(PathBuf::from(program));
            }
        })
    }

    fn book(&mut self) -> Result<()> {
        let binary = self.binary.as_deref();
        book::check(binary.ok_or("the binary `tenure` was not built; it has no test that needs it")?, false)
    }

    fn tests(&mut self) -> Result<()> {
        let mut command = cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            command.env("RUST_TEST_THREADS", TEST_THREADS);
        }
        if self.ci {
            // Tests that would leave something out must not.
            command.env("CI", "true");
        }
        if let Some(services) = &self.services {
            command.envs(services.variables.iter().cloned());
        }
        if std::env::var_os(scriptdom::VARIABLE).is_none() {
            // Not to be had everywhere: without it, the statements are read by another grammar alone.
            match scriptdom::python() {
                Ok(python) => drop(command.env(scriptdom::VARIABLE, python)),
                Err(reason) => eprintln!("xtask: NO GRAMMAR OF MICROSOFT'S: {reason}"),
            }
        }
        println!("{}", describe(&command));
        let ran = run_streaming(command, |line| self.tally.line(line));
        self.tally.finish(ran.is_ok());
        ran?;
        if self.tally.ignored > 0 {
            // A doc test marked `ignore` counts here; a test so marked is refused by the tidy step.
            println!("xtask: {} examples in the docs are not compiled", self.tally.ignored);
        }
        let backends =
            self.services.as_ref().map(|services| services.backends.as_slice()).unwrap_or_default();
        let untested = untested(backends, &self.tally).join(", ");
        match (untested.is_empty(), self.ci) {
            (true, _) => Ok(()),
            (false, true) => Err(format!("no test names {untested}")),
            (false, false) => {
                eprintln!("xtask: NO TEST NAMES {}", untested.to_uppercase());
                Ok(())
            }
        }
    }
}

fn tell(command: Command) -> Result<()> {
    println!("{}", describe(&command));
    run_command(command)
}

fn clippy(what: &[&str]) -> Result<()> {
    let mut command = cargo(&["clippy"]);
    command.args(what).args(["--", "-D", "warnings"]);
    tell(command)
}

fn docs() -> Result<()> {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    tell(command)
}

/// What a user builds has other features than what the tests build.
fn features() -> Result<()> {
    clippy(&["-p", "tenure", "--no-default-features"])?;
    clippy(&["-p", "tenure"])?;
    clippy(&["-p", "tenure", "--features", "otlp"])?;
    clippy(&["-p", "tenure-cli"])?;
    clippy(&["-p", "tenure-cli", "--features", "otlp"])
}

/// SQLite has no server: its version is that of the crate that brings it.
fn sqlite_version() -> String {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap_or_default();
    let after = lock.split("name = \"libsqlite3-sys\"\nversion = \"").nth(1).unwrap_or_default();
    let version = after.split('"').next().unwrap_or_default();
    format!("on the SQLite bundled with libsqlite3-sys {version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(args: &[&str]) -> Result<Vec<&'static str>> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        select(&args).map(|steps| steps.iter().map(|step| step.name).collect())
    }

    #[test]
    fn without_arguments_every_step_runs() {
        assert_eq!(names(&[]).unwrap().len(), STEPS.len());
    }

    #[test]
    fn chosen_steps_keep_their_order_and_bring_what_they_need() {
        assert_eq!(names(&["--only", "tests,fmt"]).unwrap(), ["fmt", "servers", "build", "tests"]);
    }

    #[test]
    fn an_unknown_step_or_option_is_refused() {
        assert!(names(&["--only", "lint"]).unwrap_err().contains("no step `lint`"));
        assert!(names(&["--fast"]).is_err());
    }

    #[test]
    fn needs_come_earlier() {
        for (at, step) in STEPS.iter().enumerate() {
            for need in step.needs {
                assert!(
                    STEPS[..at].iter().any(|earlier| earlier.name == *need),
                    "{} needs {need}",
                    step.name
                );
            }
        }
    }
}

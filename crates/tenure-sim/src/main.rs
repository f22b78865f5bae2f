//! `tenure-sim`: runs seeds, prints what fails and how to see it again.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use std::time::Instant;

use tenure_sim::scenarios::Scenario;
use tenure_sim::{Failure, Rule, Tally, find_without, run, run_cluster, run_without};

const HELP: &str = "\
Runs the deterministic simulator.

Usage: tenure-sim [--seeds N] [--from S] [--rule NAME] [--scenario NUMBER] [--cluster]
       tenure-sim --rules [--seeds N] [--from S]

  --seeds N          how many seeds (1000)
  --from S           the first seed (0)
  --rule NAME        switch this safety rule off: the run is expected to fail
  --scenario NUMBER  a directed scenario instead of chaos
  --cluster          the chaos of a cluster alone
  --rules            for every safety rule, how many seeds it takes to notice that it is missing

Example: tenure-sim --seeds 10000 --from 5000";

/// What to do.
struct Options {
    seeds: u64,
    from: u64,
    rule: Option<Rule>,
    scenario: Option<Scenario>,
    cluster: bool,
    all_rules: bool,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(None) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Some(options)) if options.all_rules => rules(&options),
        Ok(Some(options)) => seeds(&options),
        Err(message) => {
            eprintln!("{message}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options =
        Options { seeds: 1000, from: 0, rule: None, scenario: None, cluster: false, all_rules: false };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--seeds" => options.seeds = number(&argument, &value()?)?,
            "--from" => options.from = number(&argument, &value()?)?,
            "--rule" => options.rule = Some(rule(&value()?)?),
            "--scenario" => options.scenario = Some(scenario(&value()?)?),
            "--cluster" => options.cluster = true,
            "--rules" => options.all_rules = true,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unknown argument {argument}")),
        }
    }
    Ok(Some(options))
}

fn number(argument: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{argument} needs a number, not `{text}`"))
}

fn rule(text: &str) -> Result<Rule, String> {
    let names = || Rule::ALL.map(|rule| format!("{rule:?}")).join(", ");
    let found = Rule::ALL.into_iter().find(|rule| format!("{rule:?}").eq_ignore_ascii_case(text));
    found.ok_or_else(|| format!("there is no rule `{text}`; there are {}", names()))
}

fn scenario(text: &str) -> Result<Scenario, String> {
    let numbers = || Scenario::ALL.map(|scenario| scenario.number.to_string()).join(", ");
    let found = text.parse().ok().and_then(Scenario::numbered);
    found.ok_or_else(|| format!("there is no scenario `{text}`; there are {}", numbers()))
}

/// Runs seeds until one fails.
fn seeds(options: &Options) -> ExitCode {
    let (begun, mut tally) = (Instant::now(), Tally::default());
    for seed in range(options) {
        match one(options, seed) {
            Ok(seen) => tally += seen,
            Err(failure) => {
                println!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} seeds from {} in {seconds:.1} s, {:.0} seeds/s",
        options.seeds,
        options.from,
        options.seeds as f64 / seconds
    );
    if options.scenario.is_none() {
        println!("{tally}");
    }
    ExitCode::SUCCESS
}

fn one(options: &Options, seed: u64) -> Result<Tally, Failure> {
    match (options.scenario, options.rule) {
        (Some(scenario), None) => scenario.run(seed).map(|()| Tally::default()),
        (Some(scenario), Some(rule)) => scenario.run_without(rule, seed).map(|()| Tally::default()),
        (None, Some(rule)) => run_without(rule, seed).map(|report| report.tally),
        (None, None) if options.cluster => run_cluster(seed).map(|report| report.tally),
        (None, None) => run(seed).map(|report| report.tally),
    }
}

/// Prints how soon the absence of each rule is noticed.
fn rules(options: &Options) -> ExitCode {
    println!("{:<22} {:>6}  noticed by", "rule switched off", "seeds");
    let mut missed = false;
    for rule in tenure_sim::simulated_rules() {
        let name = format!("{rule:?}");
        match find_without(rule, range(options)) {
            Some(failure) => {
                println!("{name:<22} {:>6}  {}", failure.seed - options.from + 1, failure.invariant)
            }
            None => {
                missed = true;
                println!("{name:<22} {:>6}  not noticed", options.seeds);
            }
        }
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn range(options: &Options) -> std::ops::Range<u64> {
    options.from..options.from.saturating_add(options.seeds)
}

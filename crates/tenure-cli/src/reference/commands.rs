//! Every command with its options, as clap knows them.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::cell;
use crate::args::Cli;

pub(super) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = String::from(
        "# Commands\n\nWhat `tenure --help` says, in one place. An option may also be given by the environment variable beside it; the command \
         line wins. Exit codes: 0 done, 1 failed, 2 wrong usage; `tenure run` returns the exit code of its command.\n\n\
         ## Options of every command\n\n",
    );
    page.push_str(&table(root.get_arguments().filter(|arg| arg.is_global_set())));
    page.push_str(
        "\n`TENURE_LOG` sets the level of log lines (`warn`; for `relay` `info`), also by module: `info,tenure=debug`.\n",
    );
    for command in shown(&root) {
        add(&mut page, command, "tenure", 2);
    }
    page
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn add(page: &mut String, command: &Command, before: &str, level: usize) {
    let name = format!("{before} {}", command.get_name());
    page.push_str(&format!("\n{} {name}\n\n", "#".repeat(level)));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        page.push_str(&format!("{}\n\n", prose(&about.to_string())));
    }
    let own = command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    let own: Vec<&Arg> = own.filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())).collect();
    if !own.is_empty() {
        page.push_str(&table(own.into_iter()));
    }
    if let Some(after) = command.get_after_help() {
        page.push_str(&format!("\n```text\n{}\n```\n", after.to_string().trim_end()));
    }
    for inner in shown(command) {
        add(page, inner, &name, (level + 1).min(4));
    }
}

/// What stands in angle brackets would be taken for HTML.
fn prose(text: &str) -> String {
    text.replace('<', "&lt;")
}

fn table<'a>(args: impl Iterator<Item = &'a Arg>) -> String {
    let mut text = String::from("| option | environment | default | |\n|---|---|---|---|\n");
    for arg in args.filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())) {
        let help =
            arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!(
            "| {} | {} | {} | {}{} |\n",
            spelled(arg),
            arg.get_env().map_or_else(String::new, |name| format!("`{}`", name.to_string_lossy())),
            default(arg),
            cell(&help),
            words(arg),
        ));
    }
    text
}

/// As it is typed.
fn spelled(arg: &Arg) -> String {
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let names = arg.get_value_names().unwrap_or_default();
    let fallback = arg.get_id().as_str().to_uppercase();
    let value = if takes { names.first().map_or(fallback, ToString::to_string) } else { String::new() };
    let text = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long} {value}"),
        (None, Some(long)) => format!("--{long} {value}"),
        (Some(short), None) => format!("-{short} {value}"),
        (None, None) => value,
    };
    format!("`{}`", text.trim_end())
}

fn default(arg: &Arg) -> String {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return String::new();
    }
    let values = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let values = values.collect::<Vec<_>>().join(",");
    if values.is_empty() { String::new() } else { format!("`{}`", cell(&values)) }
}

/// The words that it takes, where there are only some.
fn words(arg: &Arg) -> String {
    let words = arg.get_possible_values();
    if words.is_empty() || !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
        return String::new();
    }
    let words = words.iter().filter(|word| !word.is_hide_set()).map(|word| format!("`{}`", word.get_name()));
    format!(" ({})", words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_has_its_section() {
        let page = page();
        for command in shown(&Cli::command()) {
            assert!(
                page.contains(&format!("\n## tenure {}\n", command.get_name())),
                "{}",
                command.get_name()
            );
        }
        assert!(page.contains("| `--ttl DURATION` | `TENURE_TTL` | `6s` |"), "{page}");
        assert!(!page.contains("cluster-node") && !page.contains("tenure reference"));
    }
}

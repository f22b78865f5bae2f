//! What the user sees: text for people, JSON for programs, colour only on a terminal.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use tenure::core::id::NameError;
use tenure::core::lease::SettingsError;
use tenure::{LeaseError, OpenError, StoreError};

use crate::outlet;
use crate::secrets::without_passwords;

/// How long the exit waits for a reader that reads nothing.
const EXIT_PATIENCE: Duration = Duration::from_secs(2);

/// Why a command failed: what went wrong, and whether the caller used it wrongly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line, or a value in it, is wrong: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Everything else: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// The store is away and may come back: exit code 1, unless someone waits for it.
    #[error("{0}")]
    Away(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) | Self::Away(_) => ExitCode::from(1),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::UnknownScheme { .. } | OpenError::NoScheme | OpenError::BadUrl(_) => {
                Self::Usage(error.to_string())
            }
            OpenError::Store(error) => error.into(),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unreachable { .. } | StoreError::Busy { .. } => Self::Away(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<LeaseError> for Failure {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Name(_) | LeaseError::Settings(_) => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Whether a result could not be written: a full disk, say.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard output. A reader that went away (`tenure … | head`) is no error.
pub(crate) fn line(text: impl fmt::Display) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}")
        && error.kind() != io::ErrorKind::BrokenPipe
        && !UNWRITTEN.swap(true, Ordering::SeqCst)
    {
        note(format_args!("the result cannot be written: {error}"));
    }
}

/// The exit code, unless what was to be told could not be written.
pub(crate) fn told(code: ExitCode) -> ExitCode {
    if UNWRITTEN.load(Ordering::SeqCst) { ExitCode::from(1) } else { code }
}

/// Writes a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
    line(text);
    Ok(())
}

/// Writes a line of JSON to standard output, without waiting for a reader.
pub(crate) fn event(value: &serde_json::Value) {
    outlet::stdout().put(format!("{value}\n").into_bytes());
}

/// Writes a line to standard error, without waiting for a reader.
pub(crate) fn note(text: impl fmt::Display) {
    let text = text.to_string();
    outlet::stderr().put(format!("tenure: {}\n", without_passwords(&text)).into_bytes());
}

/// Sees everything written before the process ends.
pub(crate) fn finish() {
    outlet::flush(EXIT_PATIENCE);
}

/// Tells what is wrong with the command line, or shows the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render();
    let text = if colour(&io::stderr()) { text.ansi().to_string() } else { text.to_string() };
    let _ = write!(io::stderr().lock(), "{}", without_passwords(&text));
    if wants_json(std::env::args_os()) {
        let plain = error.render().to_string();
        let told = plain.split("\n\nUsage:").next().unwrap_or(&plain).trim();
        let told = told.strip_prefix("error: ").unwrap_or(told);
        event(&serde_json::json!({ "error": without_passwords(told), "exit_code": 2 }));
    }
    ExitCode::from(2)
}

/// Whether a command line that could not be read asks for JSON; what stands behind `--` is somebody else's.
fn wants_json(arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// What others wrote, fit for a terminal: a character that would act on the text, instead of standing in it, is shown by its name, as
/// on the pages of the dashboard. One that turns the direction of what follows could make a reason read as its opposite.
pub(crate) fn seen(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        match c {
            '\n' | '\r' | '\t' => seen.push(' '),
            c if c.is_control() || turns => seen.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => seen.push(c),
        }
    }
    seen
}

/// A table of text, its columns as wide as their widest cell.
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| seen(cell)).collect());
    }

    pub(crate) fn print(&self) {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).chain([self.head[column].len()]).max().unwrap_or(0)
            })
            .collect();
        let padded = |cells: &[&str]| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let (bold, plain) = if colour(&io::stdout()) { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        line(format_args!("{bold}{}{plain}", padded(&self.head)));
        for row in &self.rows {
            line(padded(&row.iter().map(String::as_str).collect::<Vec<_>>()));
        }
    }
}

fn colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_act_on_the_terminal() {
        assert_eq!(seen("a\u{202e}b\u{1b}[31m\u{2066}c\u{0}"), "a⟨U+202E⟩b⟨U+001B⟩[31m⟨U+2066⟩c⟨U+0000⟩");
        assert_eq!(seen("Zoë\n→ 2"), "Zoë → 2");
        let mut table = Table::new(&["A"]);
        table.row(vec!["x\u{202e}y".into()]);
        assert_eq!(table.rows, [["x⟨U+202E⟩y"]]);
    }
}

//! `tenure reference`: the pages of the book that say what the code says, made from the code.
//!
//! The commands come from clap's own tree, the tables from the migrations, the options from their `Default` and from the
//! comments beside their fields. So a page cannot drift from the program: `cargo xtask book` compares them, and a number in
//! prose that has a mark is compared too ([`numbers`]).

mod api;
mod commands;
mod limits;
mod metrics;
mod numbers;
mod options;
mod shapes;
mod tables;

use std::path::Path;
use std::process::ExitCode;

use crate::args::ReferenceArgs;
use crate::output::{self, Failure};

/// Where the pages are, in a work tree.
const PAGES: &str = "docs/reference";
/// What every page says first, for whoever would edit it.
const MADE: &str = "<!-- Made by `cargo xtask book --write` from the code. Edit that. -->\n";

/// A page that was made.
struct Page {
    /// Its file in [`PAGES`].
    file: &'static str,
    text: String,
}

pub(crate) fn reference(args: &ReferenceArgs) -> Result<ExitCode, Failure> {
    let (root, write) = match (&args.write, &args.check) {
        (Some(root), _) => (root, true),
        (None, Some(root)) => (root, false),
        (None, None) => return Err(Failure::Usage("give --write DIR or --check DIR".into())),
    };
    let groups = options::groups(root)?;
    let pages = [
        Page { file: "cli.md", text: commands::page() },
        Page { file: "options.md", text: options::page(&groups) },
        Page { file: "tables.md", text: tables::page()? },
        Page { file: "json.md", text: shapes::page() },
        Page { file: "api.md", text: api::page() },
        Page { file: "metrics.md", text: metrics::page() },
        Page { file: "limits.md", text: limits::page() },
    ];
    let mut wrong = Vec::new();
    for page in pages {
        let path = root.join(PAGES).join(page.file);
        let text = format!("{MADE}{}", page.text);
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        if there == text {
            continue;
        }
        if write {
            put(&path, &text)?;
            output::line(format_args!("{PAGES}/{} is written", page.file));
        } else {
            wrong.push(format!(
                "{PAGES}/{} is not what the code says{}",
                page.file,
                first_difference(&there, &text)
            ));
        }
    }
    wrong.extend(numbers::check(root, &groups)?);
    if wrong.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Failed(wrong.join("\n")))
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(path, text)?)
}

/// Where two texts part, for people.
fn first_difference(there: &str, made: &str) -> String {
    let mut lines = there.lines().zip(made.lines()).enumerate();
    match lines.find(|(_, (there, made))| there != made) {
        Some((at, (there, made))) => format!(": line {} says `{there}`, the code `{made}`", at + 1),
        None => ": one of them ends sooner".to_owned(),
    }
}

/// A text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

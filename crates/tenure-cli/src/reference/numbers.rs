//! Numbers in prose that are defaults of the code: `<!-- = relay.batch -->1,024` is compared with `RelaySettings::batch`.

use std::path::{Path, PathBuf};

use super::options::{Group, span};
use crate::output::Failure;

const MARK: &str = "<!-- = ";

/// What is wrong with the marked numbers of a work tree's documents.
pub(super) fn check(root: &Path, groups: &[Group]) -> Result<Vec<String>, Failure> {
    let mut wrong = Vec::new();
    for path in documents(&root.join("docs"))?.into_iter().chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        for (at, line) in text.lines().enumerate() {
            wrong.extend(problems(line, groups).into_iter().map(|what| format!("{name}:{}: {what}", at + 1)));
        }
    }
    Ok(wrong)
}

fn documents(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(all) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(documents(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn problems(line: &str, groups: &[Group]) -> Vec<String> {
    let marks = line.split(MARK).skip(1).filter_map(|rest| rest.split_once(" -->"));
    marks.filter_map(|(key, after)| problem(key.trim(), after, groups)).collect()
}

fn problem(key: &str, after: &str, groups: &[Group]) -> Option<String> {
    let found = key.split_once('.').and_then(|(group, field)| {
        let group = groups.iter().find(|known| known.key == group)?;
        group.fields.iter().find(|known| known.name == field)
    });
    let Some(field) = found else { return Some(format!("there is no option {key}")) };
    let said = said(after);
    let same = match (span(&field.default), span(&said)) {
        (Some(default), Some(said)) => default == said,
        _ => {
            let bare = said.split(' ').next().unwrap_or_default().replace(',', "");
            bare == field.default || size(&said).is_some_and(|size| size.to_string() == field.default)
        }
    };
    (!same).then(|| format!("{key} is {}, the text says `{said}`", field.default))
}

/// A number with its unit, or a word, at the beginning of a text.
fn said(text: &str) -> String {
    let digits = text.find(|character: char| !character.is_ascii_digit() && !".,".contains(character));
    let number = text[..digits.unwrap_or(text.len())].trim_end_matches(['.', ',']);
    let rest = &text[number.len()..];
    let gap = if rest.starts_with(' ') && !number.is_empty() { 1 } else { 0 };
    let word: String = rest[gap..].chars().take_while(|character| character.is_alphabetic()).collect();
    format!("{number}{}{word}", " ".repeat(if word.is_empty() { 0 } else { gap }))
}

/// A number of bytes.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "KiB" => 1024,
        "MiB" => 1024 * 1024,
        _ => return None,
    };
    number.parse::<u64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_the_code_s_are_found() {
        let groups =
            super::super::options::groups(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
        let wrong = |line: &str| problems(line, &groups).len();
        assert_eq!(
            wrong("waits <!-- = relay.deadline -->30 s, reads <!-- = relay.read_ahead -->8,192 rows"),
            0
        );
        assert_eq!(wrong("<!-- = limits.payload -->1 MiB; <!-- = retention.dispatched -->30 days."), 0);
        assert_eq!(
            wrong("waits <!-- = relay.deadline -->31 s, reads <!-- = relay.read_ahead -->8,191 rows"),
            2
        );
        assert_eq!(wrong("<!-- = relay.nothing -->1"), 1);
    }
}

//! The book holds together: each page of docs/ is in its table of contents, and links lead somewhere.

use std::collections::BTreeSet;

use super::Finding;
use super::files::File;

const SUMMARY: &str = "docs/SUMMARY.md";
/// What the book is built from. Nothing outside comes into it.
const BOOK: &str = "docs/";

/// Every page of docs/ stands in the table of contents: one that does not is never found, nor built.
pub(crate) fn every_page_is_listed(files: &[File]) -> Vec<Finding> {
    let pages = files.iter().filter(|file| file.path.starts_with("docs/") && file.path.ends_with(".md"));
    let mut pages = pages.filter(|file| file.path != SUMMARY).peekable();
    if pages.peek().is_none() {
        return Vec::new();
    }
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        return vec![Finding::error(SUMMARY, 0, "the book has no table of contents")];
    };
    let listed: BTreeSet<String> =
        links(&summary.text).into_iter().filter_map(|(_, link)| resolve(SUMMARY, path_of(link))).collect();
    let unlisted = pages.filter(|page| !listed.contains(&page.path));
    unlisted.map(|page| Finding::error(&page.path, 0, format!("the page is not in {SUMMARY}"))).collect()
}

/// Every relative link of a document leads to a file or folder that is there, and its anchor to a heading.
pub(crate) fn lead_somewhere(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, link) in links(&file.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = (path_of(link), link.split_once('#').map(|(_, anchor)| anchor));
            let target = if path.is_empty() { Some(file.path.clone()) } else { resolve(&file.path, path) };
            let Some(target) = target else {
                findings.push(Finding::error(
                    &file.path,
                    line,
                    format!("`{link}` leads out of the repository"),
                ));
                continue;
            };
            if file.path.starts_with(BOOK) && !format!("{target}/").starts_with(BOOK) {
                let what = format!(
                    "`{link}` leads out of {BOOK}: in the built book there is nothing behind it; name the file instead"
                );
                findings.push(Finding::error(&file.path, line, what));
            }
            let there = files.iter().find(|file| file.path == target);
            let folder = format!("{}/", target.trim_end_matches('/'));
            if there.is_none() && !files.iter().any(|file| file.path.starts_with(&folder)) {
                findings.push(Finding::error(&file.path, line, format!("`{link}` leads nowhere")));
            }
            if let (Some(there), Some(anchor)) = (there, anchor)
                && there.path.ends_with(".md")
                && !anchors(&there.text).contains(anchor)
            {
                findings.push(Finding::error(
                    &file.path,
                    line,
                    format!("`{link}`: there is no such heading"),
                ));
            }
        }
    }
    findings
}

/// Every picture of the book is shown somewhere.
pub(crate) fn no_orphan_pictures(files: &[File]) -> Vec<Finding> {
    let is_picture = |file: &&File| file.path.starts_with("docs/") && file.path.ends_with(".png");
    let shown = |name: &str| files.iter().any(|file| file.path.ends_with(".md") && file.text.contains(name));
    let orphans = files.iter().filter(is_picture).filter(|file| !shown(file.name()));
    orphans.map(|file| Finding::error(&file.path, 0, "no document shows the picture")).collect()
}

fn path_of(link: &str) -> &str {
    link.split('#').next().unwrap_or(link)
}

/// A path from the root of the repository; `None` when it leads out of it.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The lines of a document that are not within a block of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let start = line.trim_start();
        match fence {
            Some(mark) if start.starts_with(mark) => {
                fence = None;
                None
            }
            Some(_) => None,
            None => {
                fence = ["````", "```"].into_iter().find(|mark| start.starts_with(mark));
                fence.is_none().then_some((at + 1, line))
            }
        }
    })
}

/// The targets of links and pictures.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, line) in prose(text) {
        let mut rest = line;
        while let Some(start) = rest.find("](") {
            let before = &rest[..start];
            let after = &rest[start + 2..];
            let Some(end) = after.find(')') else { break };
            // What stands in backticks is shown, not linked.
            if before.matches('`').count().is_multiple_of(2) {
                found.push((at, after[..end].split_whitespace().next().unwrap_or_default()));
            }
            rest = &after[end..];
        }
    }
    found
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(title) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase();
        let again = (1..).map(|number| format!("{slug}-{number}"));
        if let Some(free) = std::iter::once(slug.clone()).chain(again).find(|slug| !all.contains(slug)) {
            all.insert(free);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(findings: &[Finding]) -> Vec<(&str, usize)> {
        findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect()
    }

    #[test]
    fn a_page_that_is_not_listed_is_found() {
        let summary = File::new(SUMMARY, "# Summary\n\n- [A](a.md)\n- [B](guides/b.md)\n");
        let files = [
            summary,
            File::new("docs/a.md", ""),
            File::new("docs/guides/b.md", ""),
            File::new("docs/c.md", ""),
        ];
        assert_eq!(paths(&every_page_is_listed(&files)), [("docs/c.md", 0)]);
        assert_eq!(paths(&every_page_is_listed(&files[1..2])), [(SUMMARY, 0)]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "[a](b.md) [b](../README.md#the-end)\n[c](none.md)\n[d](b.md#no)\n[e](../../x)\n[f](#own)\n`[g](h)`\n```\n[i](j)\n```\n[k](../src)\n[l](https://x.example/none)\n";
        let files = [
            File::new("notes/a.md", text),
            File::new("notes/b.md", "# B\n"),
            File::new("README.md", "## The end!\n"),
            File::new("src/lib.rs", ""),
        ];
        let found = lead_somewhere(&files);
        assert_eq!(
            paths(&found),
            [("notes/a.md", 2), ("notes/a.md", 3), ("notes/a.md", 4), ("notes/a.md", 5)]
        );
    }

    #[test]
    fn a_link_out_of_the_book_is_found() {
        let text = "[a](b.md)\n[b](../README.md)\n[c](../crates)\n[d](kubernetes)\n";
        let files = [
            File::new("docs/a.md", text),
            File::new("docs/b.md", ""),
            File::new("docs/kubernetes/x.yaml", ""),
            File::new("README.md", "[a](docs/a.md)"),
            File::new("crates/x.rs", ""),
        ];
        assert_eq!(paths(&lead_somewhere(&files)), [("docs/a.md", 2), ("docs/a.md", 3)]);
    }

    #[test]
    fn anchors_are_as_readers_see_them() {
        let text = "# `tenure run`: a *thing*\n## One\n## One\n```\n# no\n```\n### a_b-c\n";
        let all: Vec<String> = anchors(text).into_iter().collect();
        assert_eq!(all, ["a_b-c", "one", "one-1", "tenure-run-a-thing"]);
    }

    #[test]
    fn a_picture_that_is_not_shown_is_found() {
        let files = [
            File::new("docs/a.md", "![x](pictures/a.png)"),
            File::new("docs/pictures/a.png", ""),
            File::new("docs/pictures/b.png", ""),
        ];
        assert_eq!(paths(&no_orphan_pictures(&files)), [("docs/pictures/b.png", 0)]);
    }
}

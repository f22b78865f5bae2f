//! Reads what the rules need from a `Cargo.toml`: our own, simple ones; not TOML in general.

use super::files::File;

/// A package and what it depends on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether `[lints] workspace = true` is there.
    pub(crate) workspace_lints: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// Only for tests, examples and benches.
    pub(crate) dev: bool,
}

/// The packages of the workspace.
pub(crate) fn packages(files: &[File]) -> Vec<Manifest> {
    files.iter().filter(|file| file.name() == "Cargo.toml").filter_map(parse).collect()
}

/// `None` for the manifest of the workspace, which is no package.
fn parse(file: &File) -> Option<Manifest> {
    let mut manifest = Manifest {
        path: file.path.clone(),
        name: String::new(),
        dependencies: Vec::new(),
        workspace_lints: false,
    };
    let mut section = String::new();
    for (line, text) in file.lines() {
        let text = text.trim();
        if let Some(header) = text.strip_prefix('[') {
            section = header.trim_end_matches(']').to_owned();
            // `[dependencies.tokio]` names its dependency in the header.
            if let Some((kind, name)) = section.rsplit_once('.')
                && is_dependencies(kind)
            {
                manifest.dependencies.push(Dependency { name: name.to_owned(), line, dev: is_dev(kind) });
            }
            continue;
        }
        let Some((key, value)) = text.split_once('=').filter(|_| !text.starts_with('#')) else { continue };
        let (key, value) = (key.trim(), value.trim());
        if section == "package" && key == "name" {
            manifest.name = value.trim_matches('"').to_owned();
        } else if section == "lints" && key == "workspace" {
            manifest.workspace_lints = value == "true";
        } else if is_dependencies(&section) {
            let name = renamed(value).unwrap_or_else(|| key.split('.').next().unwrap_or(key));
            manifest.dependencies.push(Dependency { name: name.to_owned(), line, dev: is_dev(&section) });
        } else if let Some((kind, _)) = section.rsplit_once('.').filter(|(kind, _)| is_dependencies(kind))
            && key == "package"
        {
            let name = value.trim_matches('"').to_owned();
            manifest.dependencies.push(Dependency { name, line, dev: is_dev(kind) });
        }
    }
    (!manifest.name.is_empty()).then_some(manifest)
}

/// `dependencies`, `build-dependencies`, `dev-dependencies`, also under `target.….`; not `workspace.dependencies`.
fn is_dependencies(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section);
    matches!(last, "dependencies" | "build-dependencies" | "dev-dependencies")
        && !section.starts_with("workspace")
}

fn is_dev(section: &str) -> bool {
    section.ends_with("dev-dependencies")
}

/// The real name in `{ package = "name", … }`.
fn renamed(value: &str) -> Option<&str> {
    let after = value.split("package").nth(1)?.trim_start().strip_prefix('=')?;
    after.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
[package]
name = "tenure-sample"
[lints]
workspace = true
[dependencies]
serde.workspace = true
# nix = "1"
core = { package = "tenure-core", version = "1" }
[target.'cfg(unix)'.dependencies]
libc = "0.2"
[dependencies.tokio]
features = []
[dev-dependencies]
proptest.workspace = true
"#;

    #[test]
    fn every_way_to_write_a_dependency_is_seen() {
        let manifest = parse(&File::new("Cargo.toml", SAMPLE)).unwrap();
        let names: Vec<_> =
            manifest.dependencies.iter().map(|found| (found.name.as_str(), found.dev)).collect();
        let expected =
            [("serde", false), ("tenure-core", false), ("libc", false), ("tokio", false), ("proptest", true)];
        assert_eq!(names, expected);
        assert!(manifest.workspace_lints && manifest.name == "tenure-sample");
    }

    #[test]
    fn the_workspace_itself_is_no_package() {
        let text = "[workspace]\nmembers = []\n[workspace.dependencies]\ntokio = \"1\"\n";
        assert_eq!(parse(&File::new("Cargo.toml", text)), None);
    }
}

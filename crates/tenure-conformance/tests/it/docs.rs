//! What `docs/writing-a-backend.md` says must be true.

use std::path::Path;

/// The example on the page is the file that is compiled and run through the suite.
#[test]
fn the_example_in_the_docs_is_the_one_that_passes_the_suite() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = read(&root.join("../../docs/writing-a-backend.md"));
    let (_, after_mark) = page.split_once("<!-- own_backend.rs -->\n").expect("the page marks the example");
    let (_, code) = after_mark.split_once("```rust\n").expect("a block of code follows the mark");
    let (code, _) = code.split_once("```\n").expect("the block ends");
    let file = read(&root.join("tests/it/own_backend.rs"));
    assert!(code == file, "copy tests/it/own_backend.rs into docs/writing-a-backend.md, below its mark");
}

/// Everyone who adds a case can rely on its name.
#[test]
fn every_case_has_a_name_of_its_own() {
    let mut names: Vec<_> = tenure_conformance::lease::CASES.iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

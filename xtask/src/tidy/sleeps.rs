//! Tests do not sleep to wait for each other.
//!
//! A sleep that synchronises is too short on a slow machine and too long on a fast one. A test waits for a signal, or
//! asks until the answer comes. Where time itself is what is tested, the line says so: `// passes time: the ttl ends`.

use super::Finding;
use super::files::{File, code};

const REASON: &str = "// passes time:";

/// Every sleep in a test says why time has to pass, on its line or on the line above.
pub(crate) fn say_why(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_crate_test()) {
        let mut above = "";
        for (line, text) in file.lines() {
            let explained = text.contains(REASON) || above.trim_start().starts_with(REASON);
            if sleeps(code(text)) && !explained {
                let what =
                    "a test that sleeps says why: `// passes time: …`; to wait for something, ask for it";
                findings.push(Finding::error(&file.path, line, what));
            }
            above = text;
        }
    }
    findings
}

/// A call of some `sleep` or `sleep_until`; a shell's `sleep 5` in a string is none.
fn sleeps(text: &str) -> bool {
    ["sleep(", "sleep_until("].iter().any(|call| {
        text.match_indices(call).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let defines = text.get(..at).is_some_and(|before| before.trim_end().ends_with("fn"));
            !defines && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, lines};
    use super::*;

    const TEST: &str = "crates/tenure/tests/it/lease.rs";

    #[test]
    fn a_sleep_without_a_reason_is_found() {
        let text =
            "tokio::time::sleep(ttl).await;\nstd::thread::sleep(ttl);\nsleep(ttl);\nsleep_until(then);\n";
        assert_eq!(lines(say_why, TEST, text), [1, 2, 3, 4]);
    }

    #[test]
    fn a_reason_on_the_line_or_above_is_enough() {
        assert!(check(say_why, TEST, "sleep(ttl).await; // passes time: the ttl ends\n").is_empty());
        assert!(check(say_why, TEST, "// passes time: the ttl ends\nsleep(ttl).await;\n").is_empty());
        assert_eq!(lines(say_why, TEST, "// passes time: once\nsleep(a);\nsleep(b);\n"), [3]);
    }

    #[test]
    fn what_only_looks_like_a_sleep_is_fine() {
        assert!(check(say_why, TEST, "Command::new(\"sleep\").arg(\"5\");\n// sleep(1)\n").is_empty());
        assert!(check(say_why, TEST, "no_sleep(1);\nasync fn sleep(d: Duration) {}\n").is_empty());
        assert!(check(say_why, "crates/tenure/src/lib.rs", "sleep(ttl);\n").is_empty());
    }
}

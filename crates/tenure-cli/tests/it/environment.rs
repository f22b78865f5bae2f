//! Flags may come by the environment, in the words that people use there.

use crate::harness::{Run, Store, tests_on};

tests_on!(sqlite:
    no_migrate_by_the_environment,
    no_presence_by_the_environment,
    restart_by_the_environment,
    a_flag_that_is_neither_yes_nor_no_is_wrong_usage,
);

const YES: [&str; 4] = ["1", "yes", "true", "on"];
const NO: [&str; 4] = ["0", "no", "false", "off"];

fn no_migrate_by_the_environment(store: &Store) {
    let code = |value: &str| Run::calm(store).env("TENURE_NO_MIGRATE", value).shell("exit 7").exit();
    for yes in YES {
        assert_eq!(code(yes), 1, "{yes}: there are no tables, and none are made");
    }
    for no in NO {
        assert_eq!(code(no), 7, "{no}");
    }
}

fn no_presence_by_the_environment(store: &Store) {
    // Without presence nobody minds a trust that would be refused.
    let code = |value: &str| {
        let run = Run::plain(store).with(&["--presence-trust", "100ms"]);
        run.env("TENURE_NO_PRESENCE", value).shell("exit 7").exit()
    };
    for yes in YES {
        assert_eq!(code(yes), 7, "{yes}");
    }
    for no in NO {
        assert_eq!(code(no), 2, "{no}");
    }
}

fn restart_by_the_environment(store: &Store) {
    let (holder, _) = Run::brisk(store).env("TENURE_RESTART", "1").holding(&["sleep", "1000"]);
    store.tenure(&["lease", "release", "job"]).ok();
    holder.until_nth("acquired", 2);
    drop(holder);
    let run = Run::brisk(store).lease("other").env("TENURE_RESTART", "0");
    let (mut holder, _) = run.holding(&["sleep", "1000"]);
    store.tenure(&["lease", "release", "other"]).ok();
    assert_eq!(holder.exit(), 1);
}

fn a_flag_that_is_neither_yes_nor_no_is_wrong_usage(store: &Store) {
    for name in ["TENURE_NO_MIGRATE", "TENURE_NO_PRESENCE", "TENURE_RESTART"] {
        let mut runner = Run::calm(store).env(name, "perhaps").shell("true");
        assert_eq!(runner.exit(), 2, "{name}");
        assert!(runner.stderr().contains("perhaps"), "{}", runner.stderr());
    }
}

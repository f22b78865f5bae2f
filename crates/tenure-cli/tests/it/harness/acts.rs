//! A record of acts: every holder of a lease writes `TERM MICROS` into one file, every few milliseconds.

use std::collections::BTreeMap;

use super::{Store, TENURE, wait_until};

/// The file that the holders of one lease write to.
pub(crate) struct Acts {
    path: String,
}

/// What was done under one term, in microseconds of the machine's steady clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Acts {
    pub(crate) fn new(store: &Store) -> Self {
        let path = store.path("acts");
        std::fs::File::create(&path).expect("a file");
        Self { path }
    }

    /// The command that acts until it is ended.
    pub(crate) fn command(&self) -> [&str; 3] {
        [TENURE, "__act", &self.path]
    }

    /// First and last act of each term so far.
    pub(crate) fn terms(&self) -> BTreeMap<u64, Span> {
        let mut terms = BTreeMap::new();
        let text = std::fs::read_to_string(&self.path).expect("the acts");
        // The last line may be half written.
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let (term, at) = line.trim_end().split_once(' ').expect("TERM MICROS");
            let (term, at): (u64, u64) = (term.parse().unwrap(), at.parse().unwrap());
            let span = terms.entry(term).or_insert(Span { first: at, last: at });
            span.last = span.last.max(at);
            span.first = span.first.min(at);
        }
        terms
    }

    /// Waits until someone acts under this term.
    pub(crate) fn wait_for_term(&self, term: u64) {
        wait_until(&format!("an act under term {term}"), || self.terms().contains_key(&term));
    }

    /// Waits until whoever acts under this term has done so for a while longer.
    pub(crate) fn wait_for_more(&self, term: u64) {
        self.wait_for_term(term);
        let before = self.terms()[&term].last;
        let moved_on = |span: &Span| span.last > before + 50_000;
        wait_until(&format!("more acts under term {term}"), || self.terms().get(&term).is_some_and(moved_on));
    }

    /// Fails if anyone acted under a term when a later one had begun.
    pub(crate) fn assert_no_overlap(&self) {
        let terms: Vec<(u64, Span)> = self.terms().into_iter().collect();
        for pair in terms.windows(2) {
            let ((former, before), (latter, after)) = (pair[0], pair[1]);
            assert!(
                before.last < after.first,
                "term {former} acted {} µs after the first act of term {latter}",
                before.last - after.first
            );
        }
    }
}

//! The SQL of events and checkpoints.
//!
//! As in the file of the same name above, names of tables and numbers are all that is spliced in. The statement that
//! appends has as many forms as there are kinds of appends, cut from one text.

use std::sync::OnceLock;
use std::time::Duration;

use tenure_core::event::{Append, Expected, PAGE_BYTES, Version};
use tenure_core::naming::Naming;

/// How long a transaction of the user's own that has appended may be idle before the server ends it: 30 seconds, unless
/// its session, role or database has a shorter limit. So long, at most, does a forgotten one hold up readers.
pub const APPEND_IDLE_MAX: Duration = Duration::from_secs(30);

/// One half of the number of the lock by which a writer shows where its positions begin, together with the number of the
/// table; the other is the position. "tenp".
const POSITION_CLASS: i32 = 0x7465_6e70;

/// The columns of an event `e`, for our own driver.
const EVENT: &str = "e.position, e.stream, e.version, e.event_id, e.type, e.schema_version, e.message_id, \
     e.correlation, e.causation, e.headers, e.recorded_at AS recorded_us, e.payload, e.payload_bytes";

/// The sequence's next number. Asked of a function that locks the sequence's page: while a call of `nextval` is being logged,
/// the row that `SELECT last_value` would show holds a number that is up to 32 too high. The row is read all the same, so
/// that a role without the right to see it is refused, and not answered with nothing.
const NEXT: &str = "(SELECT coalesce(pg_sequence_last_value('{events_sequence}'::regclass) + 1, 1) AS k FROM {events_sequence})";

/// Marks a place in a transaction of the user's own, to which what was written can be undone.
pub(super) const SAVE: &str = "SAVEPOINT tenure_append";
/// Keeps what was written since.
pub(super) const KEEP: &str = "RELEASE SAVEPOINT tenure_append";
/// Undoes what was written since.
pub(super) const UNDO: &str = "ROLLBACK TO SAVEPOINT tenure_append; RELEASE SAVEPOINT tenure_append";

/// The statements over one set of tables.
#[derive(Debug)]
pub(crate) struct Statements {
    /// Each made when it is first used: hardly any program has appends of all kinds.
    append: Vec<OnceLock<String>>,
    naming: Naming,
    pub(super) existing: String,
    pub(super) compare: String,
    pub(super) forward: String,
    pub(super) backward: String,
    pub(super) top: String,
    pub(super) top_seen: String,
    pub(super) horizon: String,
    pub(super) all: String,
    pub(super) story: String,
    pub(super) streams: String,
    pub(super) snapshot_load: String,
    pub(super) snapshot_save: String,
    pub(super) checkpoint_read: String,
    pub(super) checkpoint_advance: String,
    pub(super) checkpoint_list: String,
    pub(super) checkpoint_rewind: String,
    pub(super) parked_list: String,
    pub(super) table: String,
    pub(super) channel: String,
    /// The sequence that numbers events, as an operator would name it.
    pub(super) sequence: String,
}

impl Statements {
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| fill(naming, template);
        let stream = |onward: &str, order: &str| {
            let template = include_str!("../../sql/events_stream.sql");
            fill(&template.replace("{onward}", onward).replace("{order}", order))
        };
        Self {
            append: Shape::all().map(|_| OnceLock::new()).collect(),
            naming: naming.clone(),
            existing: fill(include_str!("../../sql/events_existing.sql")),
            compare: fill(include_str!("../../sql/outbox_compare.sql")),
            forward: stream(">=", "ASC"),
            backward: stream("<=", "DESC"),
            top: fill(include_str!("../../sql/events_top.sql")),
            top_seen: fill(include_str!("../../sql/events_top_seen.sql")),
            horizon: fill(include_str!("../../sql/events_horizon.sql")),
            all: fill(include_str!("../../sql/events_all.sql")),
            story: fill(include_str!("../../sql/events_story.sql")),
            streams: fill(include_str!("../../sql/streams_list.sql")),
            snapshot_load: fill(include_str!("../../sql/snapshot_load.sql")),
            snapshot_save: fill(include_str!("../../sql/snapshot_save.sql")),
            checkpoint_read: fill(include_str!("../../sql/checkpoint_read.sql")),
            checkpoint_advance: fill(include_str!("../../sql/checkpoint_advance.sql")),
            checkpoint_list: fill(include_str!("../../sql/checkpoint_list.sql")),
            checkpoint_rewind: fill(include_str!("../../sql/checkpoint_rewind.sql")),
            parked_list: fill(include_str!("../../sql/parked_list.sql")),
            table: naming.table("events"),
            channel: channel(naming),
            sequence: sequence(naming),
        }
    }

    /// The statement for appends of this shape.
    pub(super) fn append(&self, shape: Shape) -> &str {
        let made = self.append.get(shape.place());
        made.map_or("", |made| made.get_or_init(|| fill(&self.naming, &shape.cut(APPEND))))
    }
}

const APPEND: &str = include_str!("../../sql/events_append.sql");

/// What the stream must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    None,
    Exact,
    Any,
}

/// How many there are of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    None,
    One,
    Many,
}

impl Count {
    fn of(count: usize) -> Self {
        match count {
            0 => Self::None,
            1 => Self::One,
            _ => Self::Many,
        }
    }
}

/// What kind of append it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    follow: Follow,
    events: Count,
    dispatches: Count,
    mark: bool,
    /// Whether it is part of a transaction of the user's own.
    joined: bool,
}

impl Shape {
    pub(super) fn of(append: &Append, dispatches: usize, joined: bool) -> Self {
        let follow = match append.expected {
            Expected::Any => Follow::Any,
            Expected::Exact(Version::NONE) => Follow::None,
            Expected::Exact(_) => Follow::Exact,
        };
        let (events, dispatches) = (Count::of(append.events.len()), Count::of(dispatches));
        Self { follow, events, dispatches, mark: append.mark.is_some(), joined }
    }

    /// Every shape, in the order of their places.
    fn all() -> impl Iterator<Item = Self> {
        let follows = [Follow::None, Follow::Exact, Follow::Any];
        let counts = [Count::None, Count::One, Count::Many];
        (0..108).map(move |place| Self {
            follow: follows[place / 36],
            events: counts[place / 12 % 3],
            dispatches: counts[place / 4 % 3],
            mark: place / 2 % 2 == 1,
            joined: place % 2 == 1,
        })
    }

    fn place(self) -> usize {
        let (follow, events, dispatches) =
            (self.follow as usize, self.events as usize, self.dispatches as usize);
        (((follow * 3 + events) * 3 + dispatches) * 2 + usize::from(self.mark)) * 2 + usize::from(self.joined)
    }

    /// Whether a word of the template's holds for this shape.
    fn has(self, word: &str) -> bool {
        match word {
            "none" => self.follow == Follow::None,
            "exact" => self.follow == Follow::Exact,
            "any" => self.follow == Follow::Any,
            "events" => self.events != Count::None,
            "lone" => self.events == Count::One,
            "many" => self.events == Count::Many,
            "bare" => self.events == Count::None,
            "mark" => self.mark,
            "unmarked" => !self.mark,
            "dispatches" => self.dispatches != Count::None,
            "single" => self.dispatches == Count::One,
            "several" => self.dispatches == Count::Many,
            "joined" => self.joined,
            "own" => !self.joined,
            _ => false,
        }
    }

    /// The template without what this shape has not, and without its comments, which the server would read each time.
    fn cut(self, template: &str) -> String {
        let mut kept = String::new();
        let mut keeps = true;
        for line in template.lines().map(str::trim) {
            if let Some(words) = line.strip_prefix("-- if ") {
                keeps = words.split(' ').all(|word| self.has(word));
            } else if line == "-- end" {
                keeps = true;
            } else if keeps && !line.starts_with("--") {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        kept.replace("{any}", if self.follow == Follow::Any { "true" } else { "false" })
    }
}

/// Fills in what migrations and statements of events have besides names of tables.
pub(crate) fn fill(naming: &Naming, template: &str) -> String {
    let filled = template
        .replace("{event}", EVENT)
        .replace("{next}", NEXT)
        .replace("{page_bytes}", &PAGE_BYTES.to_string())
        .replace("{events_sequence}", &sequence(naming))
        .replace("{events_channel}", &channel(naming))
        .replace("{position_class}", &POSITION_CLASS.to_string())
        .replace("{idle_ms}", &APPEND_IDLE_MAX.as_millis().to_string());
    crate::outbox::statements::fill(naming, &filled)
}

fn sequence(naming: &Naming) -> String {
    naming.table("events_position_seq")
}

/// What the name of the channel begins with; the number of the table follows.
fn channel(naming: &Naming) -> String {
    format!("{}events_", naming.prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_its_place_and_no_mark_of_the_template_is_left() {
        for (place, shape) in Shape::all().enumerate() {
            assert_eq!(shape.place(), place);
            let text = shape.cut(APPEND);
            assert!(!text.contains("--"), "{text}");
            assert_eq!(text.contains("tenure.held_"), shape.joined && shape.has("events"), "{text}");
            assert_eq!(text.matches("AS base").count(), 1, "one way to move the stream: {text}");
            assert_eq!(
                text.matches("INSERT INTO {events}").count(),
                usize::from(shape.has("events")),
                "{text}"
            );
            assert_eq!(text.matches('(').count(), text.matches(')').count(), "{text}");
            assert!(!fill(&Naming::default(), &text).contains('{'), "{text}");
        }
    }

    /// A plain read of the sequence's row shows too high a number so seldom that no test can wait for it.
    #[test]
    fn s30_the_next_number_is_asked_of_the_function_that_locks_the_page() {
        let statements = Statements::new(&Naming::default());
        let texts = Shape::all().filter(|shape| shape.has("events")).map(|shape| statements.append(shape));
        for text in texts.chain([statements.top.as_str()]) {
            assert!(text.contains("coalesce(pg_sequence_last_value('"), "{text}");
            assert_eq!(text.matches("last_value").count(), 1, "{text}");
        }
    }

    #[test]
    fn every_word_of_the_template_is_known() {
        for words in APPEND.lines().filter_map(|line| line.trim().strip_prefix("-- if ")) {
            for word in words.split(' ') {
                assert!(Shape::all().any(|shape| shape.has(word)), "{word}");
            }
        }
    }
}

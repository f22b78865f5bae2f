//! The statements of events and checkpoints.

use tenure_core::naming::Naming;

/// The statements, with names filled in.
#[derive(Debug)]
pub(crate) struct EventStatements {
    pub(crate) write_lock: String,
    pub(crate) mark: String,
    pub(crate) stream_read: String,
    pub(crate) stream_write: String,
    pub(crate) insert: String,
    pub(crate) existing: String,
    pub(crate) known: String,
    pub(crate) stream: String,
    pub(crate) stream_back: String,
    pub(crate) all: String,
    pub(crate) story: String,
    pub(crate) streams: String,
    pub(crate) head: String,
    pub(crate) snapshot_load: String,
    pub(crate) snapshot_save: String,
    pub(crate) checkpoint_read: String,
    pub(crate) checkpoint_write: String,
    pub(crate) checkpoint_rewind: String,
    pub(crate) checkpoint_list: String,
    pub(crate) parked_add: String,
    pub(crate) parked_list: String,
    pub(crate) parked_drop: String,
}

impl EventStatements {
    /// The statements for tables of these names.
    pub(crate) fn new(naming: &Naming) -> Self {
        let fill = |template: &str| naming.fill(template);
        let events = |rest: &str| fill(&format!("{}{rest}", include_str!("../../sql/events_columns.sql")));
        Self {
            write_lock: fill(include_str!("../../sql/write_lock.sql")),
            mark: fill(include_str!("../../sql/inbox_mark.sql")),
            stream_read: fill(include_str!("../../sql/stream_read.sql")),
            stream_write: fill(include_str!("../../sql/stream_write.sql")),
            insert: fill(include_str!("../../sql/event_insert.sql")),
            existing: fill(include_str!("../../sql/events_existing.sql")),
            known: fill(include_str!("../../sql/events_known.sql")),
            stream: events(include_str!("../../sql/events_stream.sql")),
            stream_back: events(include_str!("../../sql/events_stream_back.sql")),
            all: events(include_str!("../../sql/events_all.sql")),
            story: events(include_str!("../../sql/events_story.sql")),
            streams: fill(include_str!("../../sql/streams_list.sql")),
            head: fill(include_str!("../../sql/events_head.sql")),
            snapshot_load: fill(include_str!("../../sql/snapshot_load.sql")),
            snapshot_save: fill(include_str!("../../sql/snapshot_save.sql")),
            checkpoint_read: fill(include_str!("../../sql/checkpoint_read.sql")),
            checkpoint_write: fill(include_str!("../../sql/checkpoint_write.sql")),
            checkpoint_rewind: fill(include_str!("../../sql/checkpoint_rewind.sql")),
            checkpoint_list: fill(include_str!("../../sql/checkpoint_list.sql")),
            parked_add: fill(include_str!("../../sql/parked_add.sql")),
            parked_list: fill(include_str!("../../sql/parked_list.sql")),
            parked_drop: fill(include_str!("../../sql/parked_drop.sql")),
        }
    }
}

//! Streams as a list shows them.

use serde::Serialize;

use super::{StreamName, Version};

/// The most streams that one call lists.
pub const STREAMS_MAX: u32 = 200;
/// The most events of a story that one call reads.
pub const STORY_MAX: u32 = 500;

/// A stream in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamLine {
    /// Its name.
    pub stream: StreamName,
    /// How many events it has.
    pub version: Version,
    /// Which version its snapshot shows, if it has one.
    pub snapshot: Option<Version>,
}

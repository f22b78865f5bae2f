//! Rows that no version of Tenure wrote: someone has damaged them by hand.

use std::fmt;

use super::{Position, Recorded, StreamName, Version};
use crate::id::check_name;
use crate::outbox::TYPE_MAX_BYTES;

/// An event whose row cannot be read, and what can be read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it stands among all events.
    pub position: Position,
    /// Its stream, if the row tells.
    pub stream: Option<StreamName>,
    /// Its number there, if the row tells.
    pub version: Option<Version>,
    /// What it is, if the row tells.
    pub kind: Option<String>,
    /// Why it cannot be read. Never what it says.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the event at position {}", self.position)?;
        if let (Some(stream), Some(version)) = (&self.stream, self.version) {
            write!(f, " (version {version} of {stream})")?;
        }
        write!(f, " cannot be read: {}", self.reason)
    }
}

impl Recorded {
    /// The event, if an append could have written it: what a store reads is checked before anyone acts on it.
    pub fn checked(self) -> Result<Self, String> {
        check_name("type", &self.kind, TYPE_MAX_BYTES).map_err(|error| error.to_string())?;
        if self.version <= Version::NONE {
            return Err(format!("the version is {}", self.version));
        }
        if self.schema == 0 {
            return Err("the schema's version is 0".into());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Metadata;
    use crate::outbox::Body;
    use crate::time::StoreTime;

    #[test]
    fn what_no_append_could_have_written_is_refused() {
        let event = Recorded {
            position: Position(1),
            stream: StreamName::new("s").unwrap(),
            version: Version(1),
            id: uuid::Uuid::nil(),
            kind: "K".into(),
            schema: 1,
            body: Body::Text("1".into()),
            metadata: Metadata::default(),
            recorded_at: StoreTime::from_micros(0),
        };
        assert_eq!(event.clone().checked().as_ref(), Ok(&event));
        for (wrong, part) in [
            (Recorded { kind: String::new(), ..event.clone() }, "type"),
            (Recorded { kind: "a\nb".into(), ..event.clone() }, "type"),
            (Recorded { version: Version(0), ..event.clone() }, "version is 0"),
            (Recorded { schema: 0, ..event.clone() }, "schema"),
        ] {
            let reason = wrong.checked().unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn a_row_is_named_as_far_as_it_tells() {
        let mut row = Unreadable {
            position: Position(7),
            stream: None,
            version: Some(Version(2)),
            kind: None,
            reason: "no".into(),
        };
        assert_eq!(row.to_string(), "the event at position 7 cannot be read: no");
        row.stream = Some(StreamName::new("s").unwrap());
        assert_eq!(row.to_string(), "the event at position 7 (version 2 of s) cannot be read: no");
    }
}

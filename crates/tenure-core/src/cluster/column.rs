//! What a column holds of a list: JSON, the same on every database.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Agents, Avoid, Labels};

/// A list that stands in one column, as text.
pub trait JsonColumn: Serialize + DeserializeOwned {
    /// The text that a row holds.
    fn to_column(&self) -> String {
        // Maps with texts as keys, and lists, always have one.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From what [`JsonColumn::to_column`] wrote; `None` when the text is something else.
    fn from_column(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl JsonColumn for Labels {}
impl JsonColumn for Agents {}
impl JsonColumn for Vec<Avoid> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::DaemonName;
    use crate::id::NodeName;
    use crate::time::StoreTime;

    #[test]
    fn lists_come_back_as_they_were_written() {
        let labels = Labels([("zone".to_owned(), "a\"b".to_owned())].into());
        assert_eq!(labels.to_column(), r#"{"zone":"a\"b"}"#);
        assert_eq!(Labels::from_column(&labels.to_column()), Some(labels));
        let agents =
            Agents { names: [DaemonName::new("x").unwrap()].into(), families: ["t".to_owned()].into() };
        assert_eq!(Agents::from_column(&agents.to_column()), Some(agents));
        let avoids =
            vec![Avoid { node: NodeName::new("n").unwrap(), until: StoreTime::from_micros(i64::MAX) }];
        assert_eq!(Vec::<Avoid>::from_column(&avoids.to_column()), Some(avoids));
        assert_eq!(Labels::default().to_column(), "{}");
        assert_eq!(Labels::from_column("[]"), None);
        assert_eq!(Vec::<Avoid>::from_column(r#"[{"node":"","until":1}]"#), None);
    }
}

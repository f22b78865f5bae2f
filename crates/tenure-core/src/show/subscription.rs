//! Subscriptions.

use serde::Serialize;
use serde_json::Value;

use super::schema::{Shape, object, text, truth, whole};
use crate::event::Position;
use crate::subscription::Progress;

/// How far a subscription has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubscriptionShape {
    /// How many positions it is behind the last one, at most: positions have gaps.
    pub behind: i64,
    /// When it moved last.
    pub moved_at: String,
    /// Its name.
    pub name: String,
    /// How many events it has put aside.
    pub parked: u64,
    /// Whether there are more: they were not counted further. Not told when there are none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub parked_or_more: bool,
    /// Everything up to here was handled or put aside.
    pub position: i64,
}

impl SubscriptionShape {
    /// A subscription, where the last position that was given out is `head`.
    pub fn of(progress: &Progress, head: Position) -> Self {
        Self {
            behind: head.0.saturating_sub(progress.position.0),
            moved_at: progress.moved_at.to_string(),
            name: progress.name.to_string(),
            parked: progress.parked.number,
            parked_or_more: progress.parked.or_more,
            position: progress.position.0,
        }
    }
}

impl Shape for SubscriptionShape {
    const NAME: &'static str = "Subscription";
    const MAY_LACK: &'static [&'static str] = &["parked_or_more"];
    fn schema() -> Value {
        object(vec![
            ("behind", whole()),
            ("moved_at", text()),
            ("name", text()),
            ("parked", whole()),
            ("parked_or_more", truth()),
            ("position", whole()),
        ])
    }
}

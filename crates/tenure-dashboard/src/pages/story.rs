//! A story: all events that share a correlation, and the messages that they sent; each below what caused it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use maud::{Markup, html};
use tenure_core::event::{Position, Recorded, STORY_MAX};

use super::layout::{self, Page, Place};
use super::streams::event_link;
use crate::asked::{Allowed, Asked, View};
use crate::fields;
use crate::routes::Answer;
use crate::sent::{self, Sent};
use crate::view::pager::{href, pager};
use crate::view::state;
use crate::view::text::{cell, code, cut};
use crate::view::time::ago;

/// No deeper than this is drawn; what lies below stands at the last depth.
const DEPTH_MAX: usize = 12;

/// The page.
pub(crate) async fn page(allowed: Allowed<View>) -> Answer {
    let _ = allowed.desk.sampler.snapshot(allowed.desk.limits.refresh, super::SHORT).await;
    let correlation = allowed.query.need(&fields::CORRELATION)?;
    let after = allowed
        .query
        .number(&fields::POSITION_AFTER)?
        .map_or(Position::START, |at| Position(i64::try_from(at).unwrap_or(i64::MAX)));
    let (stories, wanted) = (Arc::clone(&allowed.desk.stores.stories), correlation.clone());
    let rows =
        allowed.desk.ask("a story", async move { stories.story(&wanted, after, STORY_MAX).await }).await?;
    let next = rows.full(STORY_MAX).map(|last| last.to_string());
    let sent = sent::by(&allowed, &rows.events).await?;
    let messages: usize = sent.iter().map(Sent::len).sum();
    let tree = Tree::of(&rows.events, &sent);
    let main = html! {
        (layout::head(&html! { "Story " (code(&correlation)) }, &html! { (rows.events.len()) " events, " (messages) " messages" @if next.is_some() { " on this page" } }))
        section class="card" {
            @if rows.events.is_empty() { p class="none" { "No event has this correlation." } } @else { (branch(&allowed, &tree, &tree.roots, 0)) }
            @for row in rows.unreadable.iter().take(20) { p class="soft" { "The event at position " (row.position) " cannot be read: " (cut(&row.to_string(), 200)) } }
            (pager(&allowed, "/story", &[("correlation", &correlation)], "after", next.as_deref()))
        }
    };
    Ok(layout::page(&allowed, Page::new(Place::Streams, "Story"), &main))
}

/// What stands below an event: what followed from it, or from the message that it sent in a place.
type Below = (usize, Option<usize>);

/// Events by what caused them.
struct Tree<'a> {
    events: &'a [Recorded],
    sent: &'a [Sent],
    roots: Vec<usize>,
    below: BTreeMap<Below, Vec<usize>>,
}

impl<'a> Tree<'a> {
    /// An event is below what its causation names: an event, the message that an event handled, or one that it sent (also when
    /// that one is deleted); if that event stands before it. So there is no way round in a circle, whatever the rows say.
    fn of(events: &'a [Recorded], sent: &'a [Sent]) -> Self {
        let mut known: HashMap<String, Below> = HashMap::new();
        let (mut roots, mut below) = (Vec::new(), BTreeMap::<Below, Vec<usize>>::new());
        for (at, (event, sent)) in events.iter().zip(sent).enumerate() {
            let parent =
                event.metadata.causation.as_ref().and_then(|causation| known.get(&causation.to_lowercase()));
            match parent {
                Some(parent) => below.entry(*parent).or_default().push(at),
                None => roots.push(at),
            }
            known.insert(event.id.to_string(), (at, None));
            for (place, id) in sent::ids_of(event).enumerate() {
                known.insert(id.to_string(), (at, Some(place).filter(|place| sent.contains_key(place))));
            }
            if let Some(message) = &event.metadata.message_id {
                known.entry(message.to_string().to_lowercase()).or_insert((at, None));
            }
        }
        Self { events, sent, roots, below }
    }
}

fn branch(asked: &Asked, tree: &Tree<'_>, these: &[usize], depth: usize) -> Markup {
    let now = layout::now(asked);
    html! {
        ol class="story" {
            @for at in these {
                @let event = &tree.events[*at];
                li {
                    a href=(event_link(asked, event)) { b { (cell(&event.kind)) } }
                    " in " a href=(href(asked, "/stream", &[("name", event.stream.as_str())])) { (cell(event.stream.as_str())) } ", version " (event.version)
                    " " span class="soft" { (ago(event.recorded_at, now)) ", position " (event.position) }
                    @if !tree.sent[*at].is_empty() {
                        ol class="story" {
                            @for (place, message) in &tree.sent[*at] {
                                li {
                                    (state::message(message)) " message " a href=(href(asked, "/message", &[("id", &message.id)])) { (cell(&message.kind)) }
                                    " to " (cell(&message.topic)) " " span class="soft" { (ago(message.created_at, now)) }
                                    (followed(asked, tree, (*at, Some(*place)), depth))
                                }
                            }
                        }
                    }
                    (followed(asked, tree, (*at, None), depth))
                }
            }
        }
    }
}

/// What followed from an event or a message.
fn followed(asked: &Asked, tree: &Tree<'_>, from: Below, depth: usize) -> Markup {
    html! {
        @if let Some(children) = tree.below.get(&from) {
            @if depth < DEPTH_MAX { (branch(asked, tree, children, depth + 1)) }
            @else { p class="soft" { "… and what followed from it" } }
        }
    }
}

//! Changes of office: who took a lease, who lost it, and why.

use maud::{Markup, html};
use tenure_core::lease::{Cause, Change};
use tenure_core::time::StoreTime;

use super::layout::lease_link;
use crate::asked::Asked;
use crate::view::state::{Tone, pill};
use crate::view::table::{Column, table};
use crate::view::text::cell;
use crate::view::time::ago;

/// A few changes, one to a line.
pub(crate) fn brief(asked: &Asked, changes: &[Change], now: StoreTime, limit: usize) -> Markup {
    html! {
        ul class="items" {
            @for change in changes.iter().take(limit) {
                li {
                    (pill(tone(change.cause), change.cause.as_str()))
                    span { b { (cell(change.node.name.as_str())) } ", " (lease_link(asked, change.name.as_str())) ", term " (change.term) }
                    span class="soft" { (ago(change.at, now)) }
                }
            }
        }
        @if changes.is_empty() { p class="none" { "No lease has changed its holder yet." } }
    }
}

const fn tone(cause: Cause) -> Tone {
    match cause {
        Cause::Acquired => Tone::Good,
        Cause::Released | Cause::Resigned => Tone::Info,
        Cause::Crashed | Cause::Expired => Tone::Bad,
        _ => Tone::Warn,
    }
}

/// Changes of holder as a table.
pub(crate) fn history(asked: &Asked, changes: &[Change], now: StoreTime, limit: usize) -> Markup {
    let columns = [
        Column::short("When"),
        Column::name("Lease"),
        Column::number("Term"),
        Column::short("What"),
        Column::text("Node"),
    ];
    let rows: Vec<Vec<Markup>> = changes.iter().take(limit).map(|change| {
        vec![
            ago(change.at, now),
            lease_link(asked, change.name.as_str()),
            html! { (change.term) },
            pill(tone(change.cause), change.cause.as_str()),
            html! { (cell(change.node.name.as_str())) " " span class="soft" { (cell(&format!("{}/{}", change.node.machine, change.node.pid))) } },
        ]
    }).collect();
    table("changes of holder", &columns, &rows, "No lease has changed its holder yet.")
}

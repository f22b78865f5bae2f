//! Drawings of what was seen of late.

use std::time::Duration;

use maud::{Markup, html};

use crate::asked::Asked;
use crate::sampler::Facts;
use crate::series::Series;
use crate::view::chart::{Line, Scale, chart};
use crate::view::number::{self, rate};
use crate::view::time::span;

/// What went through, and how long the oldest waited.
pub(crate) fn charts(asked: &Asked, series: &Series, facts: &Facts) -> Markup {
    let mut through =
        vec![Line { name: "out", class: "line-1", values: series.fine(|sample| sample.delivered) }];
    through.push(Line { name: "in", class: "line-2", values: series.fine(|sample| sample.enqueued) });
    if facts.rates.failed.is_some() {
        through.push(Line { name: "failed", class: "line-3", values: series.fine(|sample| sample.failed) });
    }
    let lag = [Line { name: "oldest", class: "line-1", values: series.fine(|sample| sample.lag) }];
    let seconds = |value: f64| {
        if value <= 0.0 {
            "0 s".to_owned()
        } else {
            span(Duration::try_from_secs_f64(value).unwrap_or_default())
        }
    };
    html! {
        section class="card" { h2 { "Messages in a second" } (chart("messages in a second", asked.desk.limits.refresh, Scale::Number, &through, rate)) }
        section class="card" { h2 { "How long the oldest waits" } (chart("how long the oldest waits", asked.desk.limits.refresh, Scale::Time, &lag, seconds)) }
    }
}

/// What waited and what was dead, over a day: or since this process began to look.
pub(crate) fn day(series: &Series) -> Markup {
    let lines = [
        Line { name: "waiting", class: "line-1", values: series.coarse(|sample| sample.pending) },
        Line { name: "dead", class: "line-3", values: series.coarse(|sample| sample.dead) },
    ];
    let label = |value: f64| number::grouped(value.round() as u64);
    html! {
        section class="card" {
            h2 { "Waiting and dead" }
            (chart("waiting and dead", Duration::from_secs(60), Scale::Number, &lines, label))
            p class="soft" { "Since this process began to be looked at. Longer memory is that of the metrics." }
        }
    }
}

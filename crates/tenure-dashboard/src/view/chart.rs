//! Lines over time, drawn by the server: no script, and colours from the style sheet.

use std::fmt::Write as _;

use maud::{Markup, html};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 22.0;

/// A line; its class is one of the style sheet's.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) class: &'static str,
    /// The oldest first; `None` where nothing is known.
    pub(crate) values: Vec<Option<f64>>,
}

/// A drawing of lines that share their times. `label` writes a value, `begin` says when the left edge was.
pub(crate) fn chart(what: &str, begin: &str, lines: &[Line<'_>], label: impl Fn(f64) -> String) -> Markup {
    let known = || lines.iter().flat_map(|line| line.values.iter().flatten()).copied();
    let top = nice(known().fold(0.0, f64::max));
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (value / top).clamp(0.0, 1.0));
    let marks = [0.0, top / 2.0, top];
    let last = |line: &Line<'_>| {
        line.values.iter().rev().flatten().next().map_or("unknown".into(), |value| label(*value))
    };
    let told: Vec<String> = lines.iter().map(|line| format!("{} now {}", line.name, last(line))).collect();
    html! {
        svg class="chart" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (what) ": " (told.join(", ")) } {
            @for mark in marks {
                line class="grid-line" x1=(LEFT) x2=(WIDTH) y1=(y(mark)) y2=(y(mark)) {}
                text x=(LEFT - 6.0) y=(y(mark) + 4.0) text-anchor="end" { (label(mark)) }
            }
            text x=(LEFT) y=(HEIGHT - 5.0) { (begin) }
            text x=(WIDTH) y=(HEIGHT - 5.0) text-anchor="end" { "now" }
            @for (at, line) in lines.iter().enumerate() {
                @let (path, area) = path(&line.values, y);
                @if at == 0 { path class="area-1" d=(area) {} }
                path class=(line.class) d=(path) {}
            }
        }
        div class="legend" aria-hidden="true" { @for (line, told) in lines.iter().zip(&told) { span class=(line.class) { (told) } } }
    }
}

/// The path of a line, and the area below it. A gap in what is known is a gap in the line.
fn path(values: &[Option<f64>], y: impl Fn(f64) -> f64) -> (String, String) {
    let step = (WIDTH - LEFT) / (values.len().max(2) - 1) as f64;
    let (mut line, mut area) = (String::new(), String::new());
    let mut begun: Option<f64> = None;
    for (at, value) in values.iter().enumerate() {
        let x = LEFT + step * at as f64;
        match (value, begun) {
            (Some(value), None) => {
                let _ = write!(line, "M{x:.1} {:.1}", y(*value));
                let _ = write!(area, "M{x:.1} {:.1}L{x:.1} {:.1}", y(0.0), y(*value));
                begun = Some(x);
            }
            (Some(value), Some(_)) => {
                let _ = write!(line, "L{x:.1} {:.1}", y(*value));
                let _ = write!(area, "L{x:.1} {:.1}", y(*value));
                begun = Some(x);
            }
            (None, Some(end)) => {
                let _ = write!(area, "L{end:.1} {:.1}Z", y(0.0));
                begun = None;
            }
            (None, None) => {}
        }
    }
    if let Some(end) = begun {
        let _ = write!(area, "L{end:.1} {:.1}Z", y(0.0));
    }
    (line, area)
}

/// The next of 1, 2, 5, 10, 20 … above a number, so that half of it can be read as well.
fn nice(number: f64) -> f64 {
    if !number.is_finite() || number <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(number.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 10.0];
    steps.iter().map(|step| step * power).find(|step| *step >= number).unwrap_or(power * 10.0)
}

/// A bar that begins somewhere and has some length, both as parts of the whole.
pub(crate) fn bar(tone: &str, from: f64, length: f64, label: &str) -> Markup {
    let from = if from.is_finite() { from.clamp(0.0, 0.985) } else { 0.0 };
    let length = if length.is_finite() { length.clamp(0.015, 1.0 - from) } else { 0.015 };
    html! {
        svg class="track" viewBox="0 0 200 12" preserveAspectRatio="none" role="img" aria-label=(label) {
            rect class="ground" x="0" y="5" width="200" height="2" {}
            rect class=(tone) x={ (format!("{:.1}", from * 200.0)) } y="1" width={ (format!("{:.1}", length * 200.0)) } height="10" rx="1" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_what_is_known_is_a_gap_in_the_line() {
        let (line, area) = path(&[Some(1.0), Some(2.0), None, Some(3.0)], |value| value);
        assert_eq!(line.matches('M').count(), 2);
        assert_eq!(area.matches('Z').count(), 2);
        assert_eq!(path(&[], |value| value).0, "");
        assert_eq!(path(&[None, None], |value| value).0, "");
    }

    #[test]
    fn the_scale_is_round_and_above_all() {
        for (number, top) in
            [(0.0, 1.0), (0.3, 0.4), (1.0, 1.0), (3.0, 4.0), (17.0, 20.0), (9_999.0, 10_000.0)]
        {
            assert!((nice(number) - top).abs() < top / 1e6, "{number}: {}", nice(number));
        }
        assert!((nice(f64::NAN) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_drawing_has_no_style_of_its_own_and_says_what_it_shows() {
        let lines =
            [Line { name: "out", class: "line-1", values: vec![Some(1.0), None, Some(f64::INFINITY)] }];
        let text = chart("rate", "10 min ago", &lines, |value| format!("{value:.0}/s")).into_string();
        assert!(!text.contains("style") && text.contains("aria-label=\"rate: out now"), "{text}");
        assert!(!bar("good", f64::NAN, f64::NAN, "x").into_string().contains("NaN"));
    }
}

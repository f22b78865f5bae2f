//! A small reader of HTML: enough to see every element and attribute that a browser would.

use std::collections::BTreeSet;

/// Elements that our pages are made of. `script` and `style` are checked apart.
const ELEMENTS: &str = "html head meta title link script body header nav main footer section article aside div span p a h1 h2 h3 h4 \
    ul ol li dl dt dd table caption thead tbody tr th td form label input button select option textarea fieldset legend pre code \
    time strong em small details summary output br hr svg g path line rect circle text polyline polygon desc abbr b i kbd meter progress bdi dialog img noscript";

/// Attributes that our pages have.
const ATTRIBUTES: &str = "lang charset name content rel href type src defer id class role for method action value required autocomplete \
    hidden title scope colspan rowspan datetime open disabled checked selected placeholder maxlength minlength min max step pattern size \
    tabindex accesskey width height viewBox viewbox d x y x1 y1 x2 y2 cx cy r rx ry points fill stroke stroke-width stroke-linecap \
    stroke-linejoin stroke-dasharray text-anchor font-size transform preserveAspectRatio preserveaspectratio focusable xmlns opacity vector-effect \
    inputmode spellcheck autocapitalize autofocus multiple rows cols download list low high optimum color-scheme media headers alt http-equiv";

/// What is wrong with a page.
pub(crate) fn problems(html: &str) -> Vec<String> {
    let elements: BTreeSet<&str> = ELEMENTS.split_whitespace().collect();
    let attributes: BTreeSet<&str> = ATTRIBUTES.split_whitespace().collect();
    let mut problems = Vec::new();
    for tag in tags(html) {
        if !elements.contains(tag.name.as_str()) {
            problems.push(format!("element <{}>", tag.name));
        }
        if tag.name == "script"
            && !tag
                .attributes
                .iter()
                .any(|(name, value)| name == "src" && value.starts_with("/_tenure/assets/"))
        {
            problems.push("a script that is not ours".to_owned());
        }
        let says = |wanted: &str| {
            tag.attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        // A page may be loaded again after a while, and nothing else.
        let again = says("content").is_some_and(|content| content.bytes().all(|byte| byte.is_ascii_digit()));
        if says("http-equiv").is_some_and(|what| what != "refresh" || !again) {
            problems.push(format!("http-equiv of <{}>", tag.name));
        }
        for (name, value) in &tag.attributes {
            let known =
                attributes.contains(name.as_str()) || name.starts_with("aria-") || name.starts_with("data-");
            if !known || name.starts_with("on") || name == "style" {
                problems.push(format!("attribute {name}= of <{}>", tag.name));
            }
            let leads = matches!(name.as_str(), "href" | "src" | "action");
            let inside = value.starts_with("/_tenure") || value.starts_with('#') || value.starts_with('?');
            if leads && !inside {
                problems.push(format!("{name}={value:?} of <{}> leads elsewhere", tag.name));
            }
        }
    }
    problems
}

/// The elements of a page and the names of their attributes, in their order.
pub(crate) fn bones(html: &str) -> Vec<String> {
    let bone = |tag: Tag| {
        let names: Vec<String> = tag.attributes.into_iter().map(|(name, _)| name).collect();
        format!("{} {}", tag.name, names.join(" "))
    };
    tags(html).into_iter().map(bone).collect()
}

struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

/// Every opening tag, as a browser's tokenizer finds them.
fn tags(html: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let starts = rest.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
        if !starts {
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
        let mut tag = Tag { name: rest[..end].to_ascii_lowercase(), attributes: Vec::new() };
        rest = &rest[end..];
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() || rest.starts_with('>') {
                break;
            }
            let end =
                rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(rest.len());
            let name = rest[..end.max(1)].to_ascii_lowercase();
            rest = &rest[end.max(1)..];
            let mut value = String::new();
            if let Some(after) = rest.trim_start().strip_prefix('=') {
                rest = after.trim_start();
                let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
                let body = if quote.is_some() { &rest[1..] } else { rest };
                let end = match quote {
                    Some(quote) => body.find(quote),
                    None => body.find(|c: char| c.is_whitespace() || c == '>'),
                };
                value = body[..end.unwrap_or(body.len())].to_owned();
                rest = &body[end.map_or(body.len(), |end| end + usize::from(quote.is_some()))..];
            }
            tag.attributes.push((name, value));
        }
        tags.push(tag);
    }
    tags
}

#[test]
fn what_is_wrong_is_found() {
    for (wrong, what) in [
        ("<p onclick=x>", "onclick"),
        ("<p/onclick=x>", "onclick"),
        ("<p style='x'>", "style"),
        ("<script>1</script>", "script"),
        ("<a href=javascript:1>", "leads elsewhere"),
        ("<a href='//evil.test'>", "leads elsewhere"),
        ("<img src=x>", "leads elsewhere"),
        ("<meta http-equiv=refresh content=0;url=//evil.test>", "http-equiv"),
        ("<iframe>", "element <iframe>"),
        ("<P ONCLICK=x>", "onclick"),
    ] {
        let found = problems(wrong);
        assert!(found.iter().any(|problem| problem.contains(what)), "{wrong}: {found:?}");
    }
    assert!(
        problems("<!DOCTYPE html><p title=\"<b>\">a &lt;script&gt; 1 < 2 </p><a href='/_tenure/x'>")
            .is_empty()
    );
}

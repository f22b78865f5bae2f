//! Parameters of queries, forms and JSON bodies, each within bounds.
//!
//! A [`Param`] is a name with its bounds. Handlers read by it, and the API's document is written from it, so the two cannot
//! differ. What is wrong is told by the name of the parameter; what was sent is not sent back.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tenure_core::moment;
use tenure_core::time::StoreTime;

use crate::problem::Problem;

/// The most parameters that one request has.
const PARAMS_MAX: usize = 64;

/// A parameter and its bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    /// What it stands for, for the API's document.
    pub(crate) what: &'static str,
    pub(crate) bounds: Bounds,
    pub(crate) needed: bool,
}

/// What a parameter may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bounds {
    /// A text of at most so many bytes, without control characters.
    Text(usize),
    /// A whole number.
    Number(u64, u64),
    /// A moment as RFC 3339 writes it, or a span back from now: `-15m`.
    Moment,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Yes or no: `true`, `yes`, `on`, `1`.
    Yes,
}

impl Param {
    pub(crate) const fn text(name: &'static str, max_bytes: usize, what: &'static str) -> Self {
        Self { name, what, bounds: Bounds::Text(max_bytes), needed: false }
    }

    pub(crate) const fn number(name: &'static str, from: u64, to: u64, what: &'static str) -> Self {
        Self { name, what, bounds: Bounds::Number(from, to), needed: false }
    }

    pub(crate) const fn moment(name: &'static str, what: &'static str) -> Self {
        Self { name, what, bounds: Bounds::Moment, needed: false }
    }

    pub(crate) const fn word(name: &'static str, words: &'static [&'static str], what: &'static str) -> Self {
        Self { name, what, bounds: Bounds::Word(words), needed: false }
    }

    pub(crate) const fn yes(name: &'static str, what: &'static str) -> Self {
        Self { name, what, bounds: Bounds::Yes, needed: false }
    }

    /// Whether a text is one that it may hold: a link with any other would lead to an error.
    pub(crate) fn takes(&self, text: &str) -> bool {
        let fits = matches!(self.bounds, Bounds::Text(max) if text.len() <= max);
        fits && !text.is_empty() && !text.chars().any(char::is_control)
    }

    /// The same, and it has to be there.
    pub(crate) const fn needed(mut self) -> Self {
        self.needed = true;
        self
    }
}

/// What a request brought, as pairs of texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    pairs: Vec<(String, String)>,
    /// Names that were given as null, which is as not at all.
    nulls: Vec<String>,
    /// Test-only: bounds do not count.
    unbounded: bool,
}

impl Params {
    /// Reads a query or a form.
    pub(crate) fn form(text: &[u8]) -> Result<Self, Problem> {
        let pairs: Vec<_> = form_urlencoded::parse(text).take(PARAMS_MAX + 1).collect();
        if pairs.len() > PARAMS_MAX {
            return Err(Problem::Malformed("the request has more than 64 parameters"));
        }
        let owned = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
            (name.into_owned(), value.into_owned())
        };
        Ok(Self { pairs: pairs.into_iter().map(owned).collect(), ..Self::default() })
    }

    /// Reads a JSON object of texts, numbers and booleans; the fields of an object `filter` count as its own.
    pub(crate) fn json(text: &[u8]) -> Result<Self, Problem> {
        let wrong = || Problem::Malformed("the body is no JSON object of texts, numbers and booleans");
        let Ok(Field::Object(fields)) = serde_json::from_slice(text) else { return Err(wrong()) };
        let mut all = Vec::new();
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("filter", Field::Object(filter)) => all.extend(filter),
                (_, value) => all.push((name, value)),
            }
        }
        if all.len() > PARAMS_MAX {
            return Err(Problem::Malformed("the request has more than 64 parameters"));
        }
        let mut params = Self::default();
        for (name, value) in all {
            match value {
                Field::Plain(text) => params.pairs.push((name, text)),
                Field::Null => params.nulls.push(name),
                Field::Object(_) => return Err(wrong()),
            }
        }
        Ok(params)
    }

    #[must_use]
    pub(crate) const fn unbounded(mut self, unbounded: bool) -> Self {
        self.unbounded = unbounded;
        self
    }

    /// Whether there is a name that is in none of the lists. A change with a misspelt filter must not become a change without
    /// one.
    pub(crate) fn unknown(&self, known: &[Param], others: &[&str]) -> bool {
        let is_known = |name: &str| known.iter().any(|param| param.name == name) || others.contains(&name);
        let names = self.pairs.iter().map(|(name, _)| name).chain(&self.nulls);
        names.into_iter().any(|name| !is_known(name))
    }

    /// Refuses texts that say nothing, and what is neither true nor false where it has to be. A program with a variable that is
    /// not set, or a `dry_run` that is not, must not change more than it names. Forms have empty fields, and boxes that are `on`.
    pub(crate) fn exact(&self, known: &[Param]) -> Result<(), Problem> {
        for param in known {
            if matches!(param.bounds, Bounds::Yes) && self.nulls.iter().any(|name| name == param.name) {
                return Err(Problem::invalid(param.name, "is true or false"));
            }
            let values = self.pairs.iter().filter(|(name, _)| name == param.name);
            for (_, value) in values {
                if value.is_empty() {
                    return Err(Problem::invalid(param.name, "is empty: leave it out, or give it a value"));
                }
                if matches!(param.bounds, Bounds::Yes) && !matches!(value.as_str(), "true" | "false") {
                    return Err(Problem::invalid(param.name, "is true or false"));
                }
            }
        }
        Ok(())
    }

    /// Whether a name is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(its, _)| its == name)
    }

    /// The raw value of a name, if it is there once and is not empty.
    pub(crate) fn raw(&self, name: &'static str) -> Result<Option<&str>, Problem> {
        let mut values = self.pairs.iter().filter(|(its, _)| its == name).map(|(_, value)| value.as_str());
        let value = values.next();
        if values.next().is_some() {
            return Err(Problem::invalid(name, "is given twice"));
        }
        Ok(value.filter(|value| !value.is_empty()))
    }

    /// A text. An empty one is as none.
    pub(crate) fn text(&self, param: &Param) -> Result<Option<String>, Problem> {
        let Some(value) = self.raw(param.name)? else { return missing(param) };
        let max = if let Bounds::Text(max) = param.bounds { max } else { 100 };
        if value.len() > max && !self.unbounded {
            return Err(Problem::invalid(param.name, format!("is longer than {max} bytes")));
        }
        if value.chars().any(char::is_control) {
            return Err(Problem::invalid(param.name, "holds a control character"));
        }
        Ok(Some(value.to_owned()))
    }

    /// A text that has to be there.
    pub(crate) fn need(&self, param: &Param) -> Result<String, Problem> {
        self.text(param)?.ok_or_else(|| Problem::invalid(param.name, "is missing"))
    }

    /// Something that is read from a text.
    pub(crate) fn parse<T: std::str::FromStr>(
        &self,
        param: &Param,
        what: &str,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(param)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Problem::invalid(param.name, format!("is no {what}")))
    }

    /// A number within its bounds.
    pub(crate) fn number(&self, param: &Param) -> Result<Option<u64>, Problem> {
        let Some(value) = self.raw(param.name)? else { return missing(param) };
        let (from, to) = if let Bounds::Number(from, to) = param.bounds { (from, to) } else { (0, u64::MAX) };
        let plain = value.len() <= 20 && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = value.parse::<u64>().ok().filter(|_| plain);
        match number {
            Some(number) if (from..=to).contains(&number) || self.unbounded => Ok(Some(number)),
            _ => Err(Problem::invalid(param.name, format!("is a whole number from {from} to {to}"))),
        }
    }

    /// A moment.
    pub(crate) fn moment(&self, param: &Param, now: SystemTime) -> Result<Option<StoreTime>, Problem> {
        let Some(value) = self.raw(param.name)? else { return missing(param) };
        let now = StoreTime::from_micros(i64::try_from(micros_of(now)).unwrap_or(i64::MAX));
        let read = moment::read(value, now).map(Some);
        read.ok_or_else(|| Problem::invalid(param.name, format!("is {}", moment::LOOKS)))
    }

    /// One of the words of the parameter.
    pub(crate) fn word(&self, param: &Param) -> Result<Option<&'static str>, Problem> {
        let Some(value) = self.raw(param.name)? else { return missing(param) };
        let words = if let Bounds::Word(words) = param.bounds { words } else { &[] };
        let word = words.iter().find(|word| **word == value);
        word.map(|word| Some(*word))
            .ok_or_else(|| Problem::invalid(param.name, format!("is one of {}", words.join(", "))))
    }

    /// Yes or no; no where it is not there.
    pub(crate) fn yes(&self, param: &Param) -> Result<bool, Problem> {
        match self.raw(param.name)? {
            None | Some("false" | "no" | "off" | "0") => Ok(false),
            Some("true" | "yes" | "on" | "1") => Ok(true),
            Some(_) => Err(Problem::invalid(param.name, "is yes or no")),
        }
    }
}

fn missing<T>(param: &Param) -> Result<Option<T>, Problem> {
    match param.needed {
        true => Err(Problem::invalid(param.name, "is missing")),
        false => Ok(None),
    }
}

/// A field of a JSON body. Of an object all fields are kept, also one that is there twice, which a map would hide.
enum Field {
    Null,
    Plain(String),
    Object(Vec<(String, Field)>),
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a text, a number or a boolean")
    }

    fn visit_unit<E>(self) -> Result<Field, E> {
        Ok(Field::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Field, E> {
        Ok(Field::Plain(yes.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Field, E> {
        Ok(Field::Plain(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Field, E> {
        Ok(Field::Plain(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Field, E> {
        Ok(Field::Plain(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Field, E> {
        Ok(Field::Plain(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Field, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Field::Object(fields))
    }
}

fn micros_of(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: Param = Param::text("t", 5, "a text");
    const NUMBER: Param = Param::number("n", 1, 200, "a number");
    const MOMENT: Param = Param::moment("m", "a moment");
    const WORD: Param = Param::word("w", &["red", "blue"], "a colour");
    const YES: Param = Param::yes("y", "or no");

    fn query(text: &str) -> Params {
        Params::form(text.as_bytes()).unwrap()
    }

    #[test]
    fn bounds_hold_to_the_byte() {
        assert_eq!(query("t=abcde").text(&TEXT).unwrap().unwrap(), "abcde");
        assert_eq!(query("t=%C3%A9%C3%A9").text(&TEXT).unwrap().unwrap(), "éé");
        for wrong in ["t=abcdef", "t=%C3%A9%C3%A9%C3%A9", "t=a%00", "t=a%0d%0a", "t=a&t=b", "t=%7F"] {
            let error = query(wrong).text(&TEXT).unwrap_err().to_string();
            assert!(error.starts_with("`t` ") && !error.contains("abcdef"), "{error}");
        }
        for (good, number) in [("n=1", 1), ("n=200", 200), ("n=007", 7)] {
            assert_eq!(query(good).number(&NUMBER).unwrap(), Some(number));
        }
        for wrong in [
            "n=0",
            "n=201",
            "n=-1",
            "n=%2B1",
            "n=1.0",
            "n=1e2",
            "n=x",
            "n=99999999999999999999999",
            "n=1&n=1",
        ] {
            assert!(query(wrong).number(&NUMBER).is_err(), "{wrong}");
        }
        assert_eq!(query("w=red").word(&WORD).unwrap(), Some("red"));
        assert!(query("w=green").word(&WORD).is_err() && query("w=RED").word(&WORD).is_err());
        assert!(
            query("y=on").yes(&YES).unwrap()
                && !query("").yes(&YES).unwrap()
                && query("y=maybe").yes(&YES).is_err()
        );
    }

    #[test]
    fn what_is_not_there_is_none_unless_it_is_needed() {
        for empty in ["", "t=", "other=1"] {
            assert_eq!(query(empty).text(&TEXT).unwrap(), None);
            assert!(query(empty).text(&TEXT.needed()).is_err());
            assert!(query(empty).need(&TEXT).is_err());
            assert_eq!(query(empty).number(&NUMBER).unwrap(), None);
        }
    }

    #[test]
    fn moments_are_told_or_counted_back() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let at = |text: &str| {
            query(&format!("m={text}")).moment(&MOMENT, now).ok().flatten().map(StoreTime::as_micros)
        };
        assert_eq!(at("1970-01-01T00:00:01Z"), Some(1_000_000));
        assert_eq!(at("-15m"), Some((1_000_000 - 900) * 1_000_000));
        for wrong in
            ["-", "-m", "-15", "-15w", "-999999999999s", "-9999999999d", "15m", "--15m", "-1é", "-12d", "now"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn json_is_as_a_form() {
        let body = br#"{"filter": {"t": "abc"}, "n": 7, "y": true, "w": null}"#;
        let params = Params::json(body).unwrap();
        assert_eq!(params.text(&TEXT).unwrap().unwrap(), "abc");
        assert_eq!(params.number(&NUMBER).unwrap(), Some(7));
        assert!(params.yes(&YES).unwrap());
        assert!(!params.unknown(&[TEXT, NUMBER, YES, WORD], &[]));
        assert!(params.unknown(&[TEXT, NUMBER, WORD], &[]) && params.unknown(&[TEXT, NUMBER, YES], &[]));
        for wrong in
            ["", "[]", "7", "{\"t\": []}", "{\"filter\": {\"t\": {}}}", "{\"t\": \"a\"", "{\"filter\": 7.5e"]
        {
            assert!(Params::json(wrong.as_bytes()).is_err(), "{wrong}");
        }
        for twice in
            [r#"{"filter": {"n": 1}, "n": 2}"#, r#"{"n": 1, "n": 2}"#, r#"{"filter": {"n": 1, "n": 1}}"#]
        {
            assert!(Params::json(twice.as_bytes()).unwrap().number(&NUMBER).is_err(), "{twice}");
        }
        assert_eq!(Params::json(br#"{"n": 1.0}"#).unwrap().raw("n").unwrap(), Some("1"));
        assert!(Params::json(br#"{"n": 1.5, "m": -1}"#).unwrap().number(&NUMBER).is_err());
        assert!(Params::json(format!("{}{}", "[".repeat(60_000), "]".repeat(60_000)).as_bytes()).is_err());
    }

    #[test]
    fn what_says_nothing_is_refused_where_programs_ask_for_changes() {
        let known = [TEXT, NUMBER, YES];
        let exact = |body: &str| Params::json(body.as_bytes()).unwrap().exact(&known);
        for good in
            [r"{}", r#"{"t": "a", "n": 7, "y": true}"#, r#"{"y": false}"#, r#"{"y": "true", "t": null}"#]
        {
            assert!(exact(good).is_ok(), "{good}");
        }
        for wrong in [
            r#"{"t": ""}"#,
            r#"{"n": ""}"#,
            r#"{"y": ""}"#,
            r#"{"y": null}"#,
            r#"{"y": "yes"}"#,
            r#"{"y": 1}"#,
            r#"{"filter": {"t": ""}}"#,
        ] {
            assert!(exact(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn there_are_not_too_many() {
        assert!(Params::form("a=1&".repeat(64).as_bytes()).is_ok());
        assert!(Params::form("a=1&".repeat(65).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_reading_panic(text in prop::collection::vec(any::<u8>(), 0..300)) {
            for params in [Params::form(&text), Params::json(&text)].into_iter().flatten() {
                let now = SystemTime::UNIX_EPOCH;
                let _ = (params.text(&TEXT), params.number(&NUMBER), params.moment(&MOMENT, now), params.word(&WORD), params.yes(&YES));
            }
        }

        #[test]
        fn no_span_or_moment_makes_reading_panic(text in "[-0-9a-zTZ:.+é]{0,30}") {
            let params = Params { pairs: vec![("m".into(), text)], ..Params::default() };
            let _ = params.moment(&MOMENT, SystemTime::now());
        }

        #[test]
        fn a_text_comes_through_as_it_was(text in "[^\\p{Cc}]{1,100}") {
            let long = Param::text("t", 1_000, "a text");
            let encoded: String = form_urlencoded::Serializer::new(String::new()).append_pair("t", &text).finish();
            prop_assert_eq!(query(&encoded).text(&long).unwrap().unwrap(), text);
        }
    }
}

//! The registry of types: from an enum of the user's to the rows of the store and back, through versions of schemas.
//!
//! An event or command is an enum of serde's plain kind. The name of its variant is the type, what the variant holds is the
//! payload, as JSON:
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use tenure_core::event::{Types, encode};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! enum BookEvent {
//!     Lent { to: String },
//!     Returned,
//! }
//!
//! let lent = encode(&BookEvent::Lent { to: "ada".into() }).unwrap();
//! assert_eq!((lent.kind.as_str(), lent.payload.as_str()), ("Lent", r#"{"to":"ada"}"#));
//!
//! // In version 1 the field was called `reader`.
//! let types = Types::<BookEvent>::new().version("Lent", 2).upcast("Lent", 1, |mut payload| {
//!     if let Some(reader) = payload.as_object_mut().and_then(|payload| payload.remove("reader")) {
//!         payload["to"] = reader;
//!     }
//!     payload
//! });
//! let old = types.decode_text("Lent", 1, r#"{"reader":"ada"}"#).unwrap();
//! assert_eq!(old, BookEvent::Lent { to: "ada".into() });
//! ```
//!
//! Nothing else is ever decoded: a type that the enum does not have is an error that names it, and never a panic.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::outbox::Body;

/// A value as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Its type: the name of the variant.
    pub kind: String,
    /// What the variant holds, as JSON.
    pub payload: String,
}

/// Encodes a variant of an enum.
pub fn encode<T: Serialize>(value: &T) -> Result<Encoded, DecodeError> {
    let odd = || DecodeError::NoVariant { of: std::any::type_name::<T>() };
    let (kind, payload) = match serde_json::to_value(value) {
        Ok(Value::String(kind)) => (kind, Value::Null),
        Ok(Value::Object(map)) if map.len() == 1 => map.into_iter().next().ok_or_else(odd)?,
        Ok(_) => return Err(odd()),
        Err(error) => {
            let kind = std::any::type_name::<T>().to_owned();
            return Err(DecodeError::Unreadable { kind, message: error.to_string() });
        }
    };
    Ok(Encoded { kind, payload: payload.to_string() })
}

/// Why a stored value is not one of the user's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The enum has no such variant: a newer program wrote it, or another one.
    #[error("the type `{kind}` is unknown to this program")]
    UnknownType {
        /// The type.
        kind: String,
    },
    /// A newer program wrote it.
    #[error("the type `{kind}` has schema version {found}, this program knows up to {known}")]
    NewerSchema {
        /// The type.
        kind: String,
        /// The version that was found.
        found: u32,
        /// The newest version that is known.
        known: u32,
    },
    /// Nothing brings it to the version that is known.
    #[error("nothing was registered that makes version {} of the type `{kind}` from version {from}", .from.saturating_add(1))]
    NoUpcaster {
        /// The type.
        kind: String,
        /// The version that it has.
        from: u32,
    },
    /// The payload is not what the type says.
    #[error("the payload of type `{kind}` cannot be read: {message}")]
    Unreadable {
        /// The type.
        kind: String,
        /// What the parser said, which may name fields, but repeats no payload.
        message: String,
    },
    /// The value is no variant of an enum, so it has no type.
    #[error(
        "a value of {of} is not stored as an enum's variant: use an enum with serde's default representation"
    )]
    NoVariant {
        /// The Rust type.
        of: &'static str,
    },
}

type Upcast = Arc<dyn Fn(Value) -> Value + Send + Sync>;

/// The types of one enum, with their versions, and what makes new versions of old ones.
pub struct Types<T> {
    versions: HashMap<String, u32>,
    upcasts: HashMap<(String, u32), Upcast>,
    names: HashMap<String, String>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Types<T> {
    fn clone(&self) -> Self {
        let (versions, upcasts) = (self.versions.clone(), self.upcasts.clone());
        Self { versions, upcasts, names: self.names.clone(), of: PhantomData }
    }
}

impl<T> fmt::Debug for Types<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Types")
            .field("versions", &self.versions)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl<T> Default for Types<T> {
    fn default() -> Self {
        let (versions, upcasts) = (HashMap::new(), HashMap::new());
        Self { versions, upcasts, names: HashMap::new(), of: PhantomData }
    }
}

impl<T> Types<T> {
    /// Every type has version 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says which version of a type's schema this program writes and reads.
    #[must_use]
    pub fn version(mut self, kind: impl Into<String>, version: u32) -> Self {
        self.versions.insert(kind.into(), version.max(1));
        self
    }

    /// Makes the version after `from` of a payload that has version `from`.
    #[must_use]
    pub fn upcast(
        mut self,
        kind: impl Into<String>,
        from: u32,
        upcast: impl Fn(Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.upcasts.insert((kind.into(), from), Arc::new(upcast));
        self
    }

    /// Reads a type that was called otherwise, in all its versions, as the one that it is called now.
    #[must_use]
    pub fn renamed(mut self, old: impl Into<String>, new: impl Into<String>) -> Self {
        self.names.insert(old.into(), new.into());
        self
    }

    /// The version of a type's schema that this program writes.
    pub fn schema_of(&self, kind: &str) -> u32 {
        self.versions.get(kind).copied().unwrap_or(1)
    }
}

impl<T: DeserializeOwned> Types<T> {
    /// Reads a stored value.
    pub fn decode(&self, kind: &str, schema: u32, body: &Body) -> Result<T, DecodeError> {
        match body {
            Body::Text(text) => self.decode_text(kind, schema, text),
            Body::Bytes(_) => {
                let message = "it is bytes, and no JSON".into();
                Err(DecodeError::Unreadable { kind: kind.into(), message })
            }
        }
    }

    /// Reads a stored value whose payload is JSON.
    pub fn decode_text(&self, kind: &str, schema: u32, payload: &str) -> Result<T, DecodeError> {
        let kind = self.names.get(kind).map_or(kind, String::as_str);
        let known = self.schema_of(kind);
        if schema > known {
            return Err(DecodeError::NewerSchema { kind: kind.into(), found: schema, known });
        }
        let unreadable =
            |error: serde_json::Error| DecodeError::Unreadable { kind: kind.into(), message: shown(&error) };
        let mut payload: Value = serde_json::from_str(payload).map_err(unreadable)?;
        for from in schema..known {
            let upcast = self.upcasts.get(&(kind.to_owned(), from));
            payload = upcast.ok_or_else(|| DecodeError::NoUpcaster { kind: kind.into(), from })?(payload);
        }
        // A variant that holds nothing is content with null, and one that holds null needs it.
        let variant = Value::Object(Map::from_iter([(kind.to_owned(), payload)]));
        serde_json::from_value(variant).map_err(|error| {
            if error.to_string().starts_with(&format!("unknown variant `{kind}`")) {
                return DecodeError::UnknownType { kind: kind.into() };
            }
            unreadable(error)
        })
    }
}

/// What a parser says, as far as it cannot quote what stands in the payload.
fn shown(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match error.classify() {
        // The name of a field is the program's own word.
        _ if text.starts_with("missing field `") => text,
        Category::Data => "something in it has another type or name than is expected".into(),
        Category::Eof => "it ends too early".into(),
        Category::Syntax | Category::Io => {
            format!("it is no JSON, at line {}, column {}", error.line(), error.column())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Thing {
        Unit,
        One(u32),
        Two(u32, String),
        Named { a: u32 },
        Wrapped(Vec<u8>),
        Maybe(Option<String>),
        Empty(()),
        Inner(Inner),
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Inner {
        A,
    }

    #[derive(Serialize)]
    struct NoEnum {
        a: u32,
        b: u32,
    }

    #[test]
    fn every_kind_of_variant_comes_back() {
        let all = [
            Thing::Unit,
            Thing::One(1),
            Thing::Two(1, "x".into()),
            Thing::Named { a: 2 },
            Thing::Wrapped(vec![1]),
            Thing::Maybe(None),
            Thing::Maybe(Some("x".into())),
            Thing::Empty(()),
            Thing::Inner(Inner::A),
        ];
        for thing in all {
            let encoded = encode(&thing).unwrap();
            assert_eq!(Types::<Thing>::new().decode_text(&encoded.kind, 1, &encoded.payload), Ok(thing));
        }
        assert!(encode(&NoEnum { a: 1, b: 2 }).unwrap_err().to_string().contains("NoEnum"));
        assert!(encode(&7).is_err());
    }

    #[test]
    fn b15_an_unknown_type_is_named_and_never_a_panic() {
        let types = Types::<Thing>::new();
        let unknown = types.decode_text("Newer", 1, "{}").unwrap_err();
        assert_eq!(unknown, DecodeError::UnknownType { kind: "Newer".into() });
        let newer = types.decode_text("One", 2, "1").unwrap_err().to_string();
        assert!(newer.contains("`One`") && newer.contains("version 2"), "{newer}");
        for rubbish in ["", "{", "\"", "[[[", "nul", "1e999"] {
            assert!(types.decode_text("One", 1, rubbish).is_err(), "{rubbish}");
        }
        assert!(types.decode("One", 1, &Body::Bytes(vec![1])).is_err());
    }

    #[test]
    fn a_secret_in_a_payload_is_not_in_the_error() {
        for (kind, payload) in [
            ("One", "\"hunter2\""),
            ("Inner", "\"hunter2\""),
            ("One", "hunter2"),
            ("Named", r#"{"hunter2":1}"#),
        ] {
            let error = Types::<Thing>::new().decode_text(kind, 1, payload).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && error.contains(kind), "{error}");
        }
    }

    #[test]
    fn old_versions_are_brought_up_step_by_step() {
        let types = Types::<Thing>::new()
            .version("Named", 3)
            .upcast("Named", 1, |payload| serde_json::json!({ "b": payload["c"] }))
            .upcast("Named", 2, |payload| serde_json::json!({ "a": payload["b"] }))
            .renamed("Called", "Named");
        assert_eq!(types.decode_text("Named", 1, r#"{"c":5}"#), Ok(Thing::Named { a: 5 }));
        assert_eq!(types.decode_text("Named", 2, r#"{"b":5}"#), Ok(Thing::Named { a: 5 }));
        assert_eq!(types.decode_text("Called", 3, r#"{"a":5}"#), Ok(Thing::Named { a: 5 }));
        let gap = Types::<Thing>::new().version("Named", 2);
        let missing = gap.decode_text("Named", 1, "{}").unwrap_err();
        assert_eq!(missing, DecodeError::NoUpcaster { kind: "Named".into(), from: 1 });
        assert!(missing.to_string().contains("version 2 of the type `Named` from version 1"));
    }
}

//! The file as it stands: the shapes that serde reads, before any meaning.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFilter {
    pub(super) version: u64,
    pub(super) about: String,
    pub(super) base: Option<String>,
    pub(super) default: Option<RawFallback>,
    pub(super) mismatch: Option<RawFallback>,
    #[serde(default)]
    pub(super) without: Vec<RawWithout>,
    #[serde(default)]
    pub(super) without_guarantees: Vec<RawUnkept>,
    #[serde(default)]
    pub(super) groups: Vec<RawGroup>,
    #[serde(default)]
    pub(super) guarantees: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFallback {
    pub(super) action: String,
    pub(super) errno: Option<String>,
    pub(super) reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWithout {
    pub(super) call: String,
    pub(super) reason: String,
}

/// A sentence of the base that the filter does not keep.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUnkept {
    pub(super) guarantee: String,
    pub(super) reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGroup {
    pub(super) group: String,
    pub(super) action: String,
    pub(super) errno: Option<String>,
    pub(super) reason: String,
    pub(super) calls: Vec<RawEntry>,
}

/// A name alone, or a name with more.
pub(super) enum RawEntry {
    Bare(String),
    Full(RawCall),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    pub(super) call: String,
    pub(super) when: Option<Vec<RawCondition>>,
    pub(super) errno: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCondition {
    pub(super) arg: String,
    pub(super) mask: Option<RawNumber>,
    pub(super) eq: Option<RawNumber>,
    pub(super) ne: Option<RawNumber>,
    pub(super) lt: Option<RawNumber>,
    pub(super) le: Option<RawNumber>,
    pub(super) gt: Option<RawNumber>,
    pub(super) ge: Option<RawNumber>,
    #[serde(rename = "in")]
    pub(super) one_of: Option<Vec<RawNumber>>,
}

/// A number, or an expression of names and numbers joined by `|`, with `~` before one for all other bits.
pub(super) enum RawNumber {
    Positive(u64),
    Negative(i64),
    Expression(String),
}

// Not `#[serde(untagged)]`: that buffers, so that a key that is there twice would pass, and its messages name no place.
impl<'de> Deserialize<'de> for RawEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entry;
        impl<'de> Visitor<'de> for Entry {
            type Value = RawEntry;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of a system call, or an object with `call`")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<RawEntry, E> {
                Ok(RawEntry::Bare(name.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawEntry, A::Error> {
                RawCall::deserialize(MapAccessDeserializer::new(map)).map(RawEntry::Full)
            }
        }
        deserializer.deserialize_any(Entry)
    }
}

impl<'de> Deserialize<'de> for RawNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = RawNumber;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an integer, or a string such as \"PROT_READ|PROT_WRITE\" or \"0x10\"")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<RawNumber, E> {
                Ok(RawNumber::Positive(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<RawNumber, E> {
                Ok(RawNumber::Negative(value))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawNumber, E> {
                Ok(RawNumber::Expression(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

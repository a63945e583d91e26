//! The text of a structure as a tree of objects. Only children are taken apart; everything else stays text, so that a list of a
//! million numbers costs no more than reading over it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Keys whose value is a structure, at the root.
const WRAPPERS: [&str; 2] = ["nexus_structure", "hdf_structure"];

/// Groups in each other at most, not counting one that is empty. serde_json reads 128 levels, of which each group takes two.
pub const DEEPEST: usize = 48;

/// An object with its keys in their order.
#[derive(Debug)]
pub(super) struct Object<'j>(pub(super) Vec<(Cow<'j, str>, Item<'j>)>);

/// What a key has.
#[derive(Debug)]
pub(super) enum Item<'j> {
    /// Anything but the children.
    Text(&'j RawValue),
    /// The children of a group.
    Children(Vec<Element<'j>>),
    /// No list where children should be: what it is.
    NoChildren(&'static str),
    /// Children deeper than they may be. They have been read over.
    TooDeep,
    /// A structure in an envelope.
    Wrapped(Element<'j>),
}

/// What is in a list of children.
#[derive(Debug)]
pub(super) enum Element<'j> {
    /// As it should be.
    Object(Object<'j>),
    /// Something else: what it is.
    Other(&'static str),
}

impl<'j> Object<'j> {
    /// The text of the value of a key.
    pub(super) fn text(&self, key: &str) -> Option<&'j RawValue> {
        self.0.iter().find_map(|(found, item)| match item {
            Item::Text(text) if found == key => Some(*text),
            _ => None,
        })
    }

    /// A key that is there twice.
    pub(super) fn repeated(&self) -> Option<&str> {
        repeated(self.0.iter().map(|(key, _)| key.as_ref()))
    }
}

/// A name that is there twice.
pub(super) fn repeated<'n>(names: impl ExactSizeIterator<Item = &'n str> + Clone) -> Option<&'n str> {
    /// So few names are compared with one another.
    const FEW: usize = 8;
    if names.len() <= FEW {
        let mut rest = names;
        while let Some(name) = rest.next() {
            if rest.clone().any(|other| other == name) {
                return Some(name);
            }
        }
        return None;
    }
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Reads a whole text.
///
/// # Errors
/// If it is no JSON.
pub(super) fn read(json: &str) -> Result<Element<'_>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let root = ElementSeed { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(root)
}

/// The keys of an object of which all values stay text.
///
/// # Errors
/// If it is no object, or a key is no text.
pub(super) fn entries(json: &RawValue) -> Result<Vec<(Cow<'_, str>, &RawValue)>, serde_json::Error> {
    struct Entries;
    impl<'j> Visitor<'j> for Entries {
        type Value = Vec<(Cow<'j, str>, &'j RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(key) = map.next_key_seed(TextSeed)? {
                entries.push((key, map.next_value()?));
            }
            Ok(entries)
        }
    }
    serde_json::Deserializer::from_str(json.get()).deserialize_map(Entries)
}

/// A text, without a copy where it has no escapes.
///
/// # Errors
/// If it is something else.
pub(super) fn text(json: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    TextSeed.deserialize(&mut serde_json::Deserializer::from_str(json))
}

struct TextSeed;

impl<'j> DeserializeSeed<'j> for TextSeed {
    type Value = Cow<'j, str>;

    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'j> Visitor<'j> for TextSeed {
    type Value = Cow<'j, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'j str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[derive(Clone, Copy)]
struct ElementSeed {
    depth: usize,
}

impl<'j> DeserializeSeed<'j> for ElementSeed {
    type Value = Element<'j>;

    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<Element<'j>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is no object, or no list, as an error says it.
macro_rules! others {
    ($value:ty, $other:path) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("JSON")
        }

        fn visit_bool<E: Error>(self, _: bool) -> Result<$value, E> {
            Ok($other("a boolean"))
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<$value, E> {
            Ok($other("a number"))
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<$value, E> {
            Ok($other("a number"))
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<$value, E> {
            Ok($other("a number"))
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<$value, E> {
            Ok($other("text"))
        }
    };
}

impl<'j> Visitor<'j> for ElementSeed {
    type Value = Element<'j>;

    others!(Element<'j>, Element::Other);

    fn visit_unit<E: Error>(self) -> Result<Element<'j>, E> {
        Ok(Element::Other("null"))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Element<'j>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Element::Other("a list"))
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Element<'j>, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key_seed(TextSeed)? {
            let item = if key == "children" {
                map.next_value_seed(ChildrenSeed(self))?
            } else if self.depth == 0 && WRAPPERS.contains(&key.as_ref()) {
                // One step down, so that envelopes in envelopes come to an end.
                Item::Wrapped(map.next_value_seed(Self { depth: 1 })?)
            } else {
                Item::Text(map.next_value()?)
            };
            entries.push((key, item));
        }
        Ok(Element::Object(Object(entries)))
    }
}

/// The children of an object at this depth.
struct ChildrenSeed(ElementSeed);

impl<'j> DeserializeSeed<'j> for ChildrenSeed {
    type Value = Item<'j>;

    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<Item<'j>, D::Error> {
        if self.0.depth > DEEPEST {
            deserializer.deserialize_ignored_any(IgnoredAny)?;
            return Ok(Item::TooDeep);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'j> Visitor<'j> for ChildrenSeed {
    type Value = Item<'j>;

    others!(Item<'j>, Item::NoChildren);

    fn visit_unit<E: Error>(self) -> Result<Item<'j>, E> {
        Ok(Item::Children(Vec::new()))
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Item<'j>, A::Error> {
        let seed = ElementSeed { depth: self.0.depth + 1 };
        let mut children = Vec::new();
        while let Some(child) = list.next_element_seed(seed)? {
            children.push(child);
        }
        Ok(Item::Children(children))
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Item<'j>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Item::NoChildren("an object"))
    }
}

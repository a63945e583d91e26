//! JSON objects that are declared once: the struct that is written, and its fields for `docs/http-api.md`.

/// A field of a JSON object, as it is declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Its identifier.
    pub(crate) name: &'static str,
    /// Its type in Rust.
    pub(crate) of: &'static str,
    /// What it tells serde.
    pub(crate) serde: &'static str,
    /// What it means, in one paragraph.
    pub(crate) help: &'static str,
}

impl Field {
    /// Its name as it is written.
    pub(crate) fn written(&self) -> &'static str {
        self.name.trim_start_matches("r#")
    }

    /// Whether its fields stand in its place.
    pub(crate) fn is_flat(&self) -> bool {
        self.serde.contains("flatten")
    }

    /// Whether it can be left out: by who writes it, or who wants something.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.serde.contains("skip_serializing_if") || self.serde.contains("default")
    }

    /// `of`, which is its type, as it is where it is there: what an answer leaves out instead of being null is never null.
    pub(crate) fn never_null<'a>(&self, of: &'a str) -> &'a str {
        let some = of.strip_prefix("Option<").and_then(|of| of.strip_suffix('>'));
        some.filter(|_| self.serde.contains("is_none") || self.serde.contains("default")).unwrap_or(of)
    }
}

/// A struct whose fields are known to the document.
pub(crate) trait JsonObject {
    /// Its name.
    const NAME: &'static str;
    /// What it is, in one paragraph.
    const HELP: &'static str;
    /// Its fields.
    const FIELDS: &'static [Field];
}

/// A struct of public fields, and its [`JsonObject`]. Every field has a comment, and at most one `#[serde(…)]` behind it.
macro_rules! json_object {
    (
        $(#[doc = $help:literal])+
        #[derive($($derived:ident),+)]
        $(#[serde($($of_all:tt)+)])?
        $visibility:vis struct $name:ident $(<$life:lifetime>)? {
            $(
                $(#[doc = $field_help:literal])+
                $(#[serde($($serde:tt)+)])?
                $field_visibility:vis $field:ident: $of:ty,
            )+
        }
    ) => {
        $(#[doc = $help])+
        #[derive($($derived),+)]
        $(#[serde($($of_all)+)])?
        $visibility struct $name $(<$life>)? {
            $(
                $(#[doc = $field_help])+
                $(#[serde($($serde)+)])?
                $field_visibility $field: $of,
            )+
        }

        impl $(<$life>)? $crate::json_object::JsonObject for $name $(<$life>)? {
            const NAME: &'static str = stringify!($name);
            const HELP: &'static str = concat!($($help),+);
            const FIELDS: &'static [$crate::json_object::Field] = &[$(
                $crate::json_object::Field {
                    name: stringify!($field),
                    of: stringify!($of),
                    serde: concat!($($(stringify!($serde), " "),+)?),
                    help: concat!($($field_help),+),
                },
            )+];
        }
    };
}

pub(crate) use json_object;

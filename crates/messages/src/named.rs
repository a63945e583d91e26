//! States and types that a schema has numbers for.

/// Declares an enum of named numbers: reading a number that has no name is a refusal.
macro_rules! named {
    ($(#[$outer:meta])* pub enum $name:ident: $type:ident { $($variant:ident $number:literal $text:literal $(#[$inner:meta])*),+ $(,)? }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = $text] $(#[$inner])* $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// As it is written.
            pub fn number(self) -> $type {
                match self { $($name::$variant => $number,)+ }
            }

            /// For people.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            pub(crate) fn read(
                schema: $crate::Schema,
                field: &'static str,
                number: $type,
            ) -> Result<Self, $crate::Refused> {
                match number {
                    $($number => Ok($name::$variant),)+
                    found => Err($crate::Refused::UnknownValue { schema, field, found: found.into() }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

pub(crate) use named;

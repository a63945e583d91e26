//! The schemas by their identifiers.

macro_rules! schemas {
    ($($variant:ident, $id:literal, $written:literal, $describe:literal;)+) => {
        /// A schema of messages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Schema {
            $(#[doc = $describe] $variant,)+
        }

        impl Schema {
            /// All schemas.
            pub const ALL: &'static [Schema] = &[$(Schema::$variant,)+];

            /// The identifier: bytes 4 to 7 of a message.
            pub fn id(self) -> &'static str {
                match self { $(Schema::$variant => $id,)+ }
            }

            /// The schema with this identifier.
            pub fn from_id(id: &[u8; 4]) -> Option<Self> {
                Self::ALL.iter().copied().find(|schema| schema.id().as_bytes() == id)
            }

            /// True if evforge writes such messages; it reads all of them.
            pub fn is_written(self) -> bool {
                match self { $(Schema::$variant => $written,)+ }
            }

            /// What is in such a message, for people.
            pub fn describe(self) -> &'static str {
                match self { $(Schema::$variant => $describe,)+ }
            }
        }
    };
}

schemas! {
    Ev42, "ev42", true, "Events of one pulse, as in 2018, with data of the facility.";
    Ev43, "ev43", false, "Events of several pulses, before ev44.";
    Ev44, "ev44", true, "Events of one or several pulses.";
    An44, "an44", false, "Events with weights.";
    F142, "f142", true, "A value of a log with its alarm, before f144.";
    F144, "f144", true, "A value of a log.";
    Al00, "al00", true, "An alarm of a log.";
    Ep00, "ep00", true, "The state of a connection to a control system, before ep01.";
    Ep01, "ep01", true, "The state of a connection to a control system.";
    Da00, "da00", true, "Named arrays with axes and units: histograms, results, device values.";
    Hs00, "hs00", false, "A histogram, before hs01.";
    Hs01, "hs01", true, "A histogram.";
    Ar51, "ar51", true, "A packet of readout as it was received.";
    Tdct, "tdct", true, "Times at which a chopper passed its zero.";
    Se00, "se00", true, "Samples of a channel of the sample environment.";
    Senv, "senv", false, "Samples of a channel of the sample environment, before se00; two layouts.";
    Ad00, "ad00", false, "A frame of an area detector.";
    Mo01, "mo01", false, "Monitor data of a Gd-GEM, as in 2018: histograms, a track, or hits.";
    Pl72, "pl72", true, "The start of a run.";
    S6s4t, "6s4t", true, "The end of a run.";
    Answ, "answ", true, "What a file writer answers to a command.";
    Wrdn, "wrdn", true, "A file is written.";
    X5f2, "x5f2", true, "The state of a program.";
    Json, "json", true, "A text in JSON.";
    Pu00, "pu00", true, "What ISIS sends of a pulse: vetoes, period, proton charge.";
    Un00, "un00", true, "The unit of a log (ISIS).";
    Vc00, "vc00", true, "Which vetoes are in use, and their names (ISIS).";
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.id())
    }
}

impl serde::Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_four_bytes_and_lead_back() {
        for schema in Schema::ALL {
            let id: &[u8; 4] = schema.id().as_bytes().try_into().unwrap();
            assert_eq!(Schema::from_id(id), Some(*schema));
        }
        assert_eq!(Schema::from_id(b"NDAr"), None);
        assert_eq!(Schema::ALL.iter().filter(|schema| !schema.is_written()).count(), 6);
    }
}

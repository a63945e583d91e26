//! Which events are marked by vetoes: a da00 that comes directly before its events (`docs/kafka.md`, "Vetoes").

use evforge_messages::{Array, Da00, Data};
use serde::{Deserialize, Serialize};

use super::dtype::scalar_at;
use super::module::{ModuleError, NotWritten};

/// Sources whose marks wait at the same time, at most. Of more the oldest are left out.
const MOST_WAITING: usize = 64;

/// Marks that wait for their events: those of a source come directly before them, but other sources may come in between.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WaitingMarks(Vec<Marks>);

impl WaitingMarks {
    pub(super) fn put(&mut self, marks: Marks) {
        if self.0.len() >= MOST_WAITING {
            self.0.remove(0);
        }
        self.0.push(marks);
    }

    /// Those of a source, which wait no longer.
    pub(super) fn take(&mut self, source: &str) -> Option<Marks> {
        let place = self.0.iter().position(|marks| marks.source == source)?;
        Some(self.0.remove(place))
    }
}

/// Bits of a mark.
const MOST_VETOES: usize = 8;

/// The vetoes of a configuration.
#[derive(Debug)]
pub(super) struct Vetoes {
    names: Vec<String>,
}

/// The marks of the events of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Marks {
    source: String,
    message_id: i64,
    bytes: Vec<u8>,
}

impl Vetoes {
    pub(super) fn new(names: Vec<String>) -> Result<Self, ModuleError> {
        if names.len() > MOST_VETOES
            || names.iter().any(|name| name.is_empty() || name.contains(['\n', '\0']))
        {
            let what =
                format!("vetoes: found {names:?}, expected at most {MOST_VETOES} names of one line each");
            return Err(ModuleError::Settings(what));
        }
        Ok(Self { names })
    }

    /// The names of the bits, a line each.
    pub(super) fn names(&self) -> String {
        self.names.join("\n")
    }

    /// The marks of a message.
    pub(super) fn marks(&self, array: &Da00<'_>) -> Result<Marks, NotWritten> {
        let Some(message_id) = array.variable("message_id").and_then(|variable| variable.numbers()) else {
            return Err(NotWritten::kind("a da00 without message_id: it marks no events"));
        };
        let id = scalar_at(message_id, 0).map(|id| id.to_f64() as i64);
        let id = if let Array::Int64(ids) = message_id { ids.first() } else { id };
        let (Some(id), Some(marks)) = (id, array.variable("veto").and_then(|variable| variable.numbers()))
        else {
            return Err(NotWritten::kind("a da00 without veto: it marks no events"));
        };
        let Array::UInt8(marks) = marks else {
            return Err(NotWritten::kind(format!(
                "marks of type {} where uint8 is expected",
                marks.type_name()
            )));
        };
        if let Some(Data::Text(found)) = array.variable("veto_names").map(|variable| variable.data)
            && found != self.names().as_bytes()
        {
            let found = String::from_utf8_lossy(found).replace('\n', ", ");
            let expected = self.names.join(", ");
            return Err(NotWritten::kind(format!("vetoes {found} where the configuration has {expected}")));
        }
        Ok(Marks { source: array.source_name.to_owned(), message_id: id, bytes: marks.to_vec() })
    }
}

impl Marks {
    /// True if they are those of the events of a message of their source.
    pub(super) fn belong_to(&self, message_id: i64, events: usize) -> bool {
        self.message_id == message_id && self.bytes.len() == events
    }

    /// A mark for each event.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

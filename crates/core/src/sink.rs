//! Where events go: files, messages, pictures.

use crate::event::EventBatch;
use crate::ledger::DetectorLedger;

/// Why a sink could not do its work, in words for a person.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// A consumer of events. A sink runs on a thread of its own; one that fails does not stop the others.
pub trait EventSink: Send {
    /// What this sink is, for messages: "events in run.csv".
    fn name(&self) -> String;

    /// Takes a batch of events, in the order of their emission.
    ///
    /// # Errors
    /// If they cannot be stored or passed on. The caller counts them as lost to this sink.
    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError>;

    /// Takes note of the state of the input, about once a second. Does nothing by default.
    ///
    /// # Errors
    /// If it cannot be stored or passed on.
    fn observe(&mut self, _ledger: &DetectorLedger) -> Result<(), SinkError> {
        Ok(())
    }

    /// The input has ended: brings everything to where it belongs.
    ///
    /// # Errors
    /// If the result is not complete.
    fn finish(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError>;

    /// The input has failed before its end, or this sink has: leaves nothing behind that looks whole, and keeps what it
    /// has. Says what it left, if anything. Called instead of [`EventSink::finish`], and after any other call that has
    /// failed, `finish` included; nothing else is called after it. Does nothing by default.
    fn abandon(&mut self) -> Option<String> {
        None
    }
}

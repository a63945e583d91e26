//! A sink that keeps what it is given, for the tests.

use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::{EventSink, SinkError};
use std::sync::{Arc, Mutex};

/// Keeps all events and pulses.
#[derive(Clone, Default)]
pub(crate) struct Keep(Arc<Mutex<EventLog>>);

impl Keep {
    /// The events and pulses so far.
    pub(crate) fn log(&self) -> EventLog {
        self.0.lock().expect("nobody has panicked").clone()
    }
}

impl EventSink for Keep {
    fn name(&self) -> String {
        "events in memory".into()
    }
    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        self.0.lock().map_err(|error| error.to_string())?.take(events);
        Ok(())
    }
    fn finish(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
        Ok(())
    }
}

//! What the tests share: a sink that keeps what it is given, and packets straight into a detector.
#![allow(dead_code)]

use evforge_core::detector::{form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::sink::{EventSink, SinkError};
use evforge_pipeline::config::Config;
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

/// The events and pulses of packets, and the ledger at the end.
pub(crate) fn form_packets(config: &Config, packets: &[Vec<u8>]) -> (EventLog, DetectorLedger) {
    let mut detector = config.build_detector().expect("a configuration that was read");
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum::<usize>().max(1));
    assert!(packets.iter().all(|packet| slab.push(packet, packet.len(), PacketOrigin::default())));
    let (mut events, mut log) = (EventBatch::new(64), EventLog::default());
    let mut deliver = |events: &mut EventBatch| {
        log.take(events);
        events.clear();
    };
    form(detector.as_mut(), &slab.batch(), &mut events, &mut deliver);
    form_rest(detector.as_mut(), &mut events, &mut deliver);
    (log, detector.ledger())
}

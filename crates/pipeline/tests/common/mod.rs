//! What the tests share: a sink that keeps what it is given, and packets straight into a detector.
#![allow(dead_code)]

pub(crate) mod ess_records;

use evforge_config::Config;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_outputs::QueueSettings;
use std::sync::{Arc, Mutex};

/// Keeps all events and pulses.
#[derive(Clone, Default)]
pub(crate) struct Keep(Arc<Mutex<(EventLog, u64)>>);

impl Keep {
    /// The events and pulses so far.
    pub(crate) fn log(&self) -> EventLog {
        self.0.lock().expect("nobody has panicked").0.clone()
    }
}

impl Keep {
    /// As an output of a run.
    pub(crate) fn output(&self) -> (String, Box<dyn Output>, QueueSettings) {
        ("kept".to_owned(), Box::new(self.clone()), QueueSettings::COMPLETE)
    }
}

impl Output for Keep {
    fn name(&self) -> String {
        "events in memory".into()
    }
    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        let (log, events) = &mut *self.0.lock().expect("nobody has panicked");
        log.take_pulsed(batch);
        *events += batch.len() as u64;
        Ok(Taken::Yes)
    }
    fn progress(&self) -> OutputProgress {
        let committed = self.0.lock().expect("nobody has panicked").1;
        OutputProgress { committed, ..OutputProgress::default() }
    }
    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
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

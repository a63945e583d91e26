//! The events that packets make when nothing goes wrong.

use evforge_config::Config;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::Event;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_net::clock::SystemClock;
use evforge_outputs::QueueSettings;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

struct Packets {
    packets: Vec<Vec<u8>>,
    next: usize,
}

impl PacketSource for Packets {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        while let Some(packet) = self.packets.get(self.next) {
            if !slab.push(packet, packet.len(), PacketOrigin::default()) {
                return Ok(Fill::More);
            }
            self.next += 1;
        }
        Ok(Fill::End)
    }
    fn path(&self) -> &Path {
        Path::new("memory")
    }
    fn packets(&self) -> u64 {
        self.next as u64
    }
    fn position(&self) -> u64 {
        self.next as u64
    }
    fn total_bytes(&self) -> Option<u64> {
        None
    }
    fn stage(&self) -> &'static str {
        "memory"
    }
    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::default()
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Event>>>);

impl Output for Kept {
    fn name(&self) -> String {
        "memory".into()
    }
    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        self.0.lock().unwrap().extend(batch.iter());
        Ok(Taken::Yes)
    }
    fn progress(&self) -> OutputProgress {
        OutputProgress { committed: self.0.lock().unwrap().len() as u64, ..OutputProgress::default() }
    }
    fn finish(&mut self, _state: &Arc<RunState>) -> Result<(), OutputError> {
        Ok(())
    }
}

/// The events of these packets with the shipped configuration of a capture: time and pixel, in their order.
pub(crate) fn events(capture: &str, packets: &[Vec<u8>]) -> Vec<(u64, u32)> {
    let config = Config::read(&evforge_testkit::own_data::configuration_path(capture), &[]).unwrap();
    let kept = Kept::default();
    let stop = AtomicBool::new(false);
    let run = CaptureRun {
        config: &config,
        input: Box::new(Packets { packets: packets.to_vec(), next: 0 }),
        outputs: vec![("memory".into(), Box::new(kept.clone()), QueueSettings::COMPLETE)],
        samples: None,
        stop: &stop,
        monitor: MonitorTap::default(),
        packets: PacketTap::default(),
        control: RunControl::default(),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
    };
    run.run(|_| {}).unwrap();
    let events = kept.0.lock().unwrap();
    events.iter().map(|event| (event.time_ns, event.pixel_id)).collect()
}

//! What the tests of the producer share: batches.

use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::{Frame, FrameState, ProtonCharge};
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings, PulsedBatch};
use evforge_core::time::ManualClock;
use std::sync::Arc;

/// Batches of at most this many events (time in ms, pixel), with pulses every 100 ms and a calendar that begins at 5 s.
pub(crate) fn batches(events: &[(u64, u32)], most: usize) -> Vec<Arc<PulsedBatch>> {
    let train = PulseTrain::from_millihertz(10_000, 0).expect("10 Hz");
    // The calendar is anchored to the first time: an event of time 0, which has a batch of its own, makes it 5 s.
    let clock = Arc::new(ManualClock::starting_at(5_000_000_000));
    let mut stage = PulseStage::new(PulseStageSettings::new(train, CalendarRule::Live(clock)));
    let mut made = Vec::new();
    let mut batch = EventBatch::new(1);
    let _ = batch.push(Event { time_ns: 0, pixel_id: 1 });
    stage.hand_on(&batch, None, &mut |_| ());
    for events in events.chunks(most) {
        let mut batch = EventBatch::new(most);
        for &(time_ms, pixel_id) in events {
            let _ = batch.push(Event { time_ns: time_ms * 1_000_000, pixel_id });
        }
        stage.hand_on(&batch, None, &mut |batch| made.push(Arc::new(batch)));
    }
    made
}

/// Frames (time in ms, period, events) in batches that have at most this many events, begun with the frame; their calendar begins
/// at 5 s.
pub(crate) fn frame_batches(frames: &[(u64, Option<u32>, u64)], most: u64) -> Vec<Arc<PulsedBatch>> {
    let told = PulseStageSettings {
        is_told: true,
        ..PulseStageSettings::new(PulseTrain::default(), CalendarRule::Readout)
    };
    let mut stage = PulseStage::new(told);
    let mut made = Vec::new();
    for &(time_ms, period, events) in frames {
        let time_ns = 5_000_000_000 + time_ms * 1_000_000;
        let (state, charge) = (FrameState::Complete, Some(ProtonCharge { uah: 0.5 }));
        let frame = Frame { period, vetoes: 2, charge, state, ..Frame::default() };
        for first in (0..events.max(1)).step_by(most as usize) {
            let mut batch = EventBatch::new(most as usize);
            let _ = batch.begin_frame(time_ns, frame);
            for number in first..events.min(first + most) {
                let _ = batch.push(Event { time_ns: time_ns + number, pixel_id: 1 });
            }
            stage.hand_on(&batch, None, &mut |batch| made.push(Arc::new(batch)));
        }
    }
    made
}

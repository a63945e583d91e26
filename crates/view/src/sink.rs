//! The output that a run feeds.

use crate::accumulator::{Accumulator, InputState};
use crate::event_memory::ChunkWriter;
use crate::live_view::LiveView;
use crate::spectrum::SpectrumBins;
use evforge_core::counter::CounterSnapshot;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::{PulseOrigin, PulsedBatch, TimeOffset};
use evforge_core::run_state::RunState;
use std::sync::Arc;

evforge_core::counters! {
    /// Counters of a live view.
    pub struct ViewCounters: "view" {
        pictured: Information, Events, "Events counted for the pictures, those of beam monitors included.";
        outside_geometry: Information, Events, "Events whose pixel is neither of the geometry nor of a beam monitor: in no picture.";
        without_time_of_flight: Information, Events, "Events before the first pulse, or before the pulse that the readout gave them: in the image, not in the spectrum.";
        beyond_spectrum: Information, Events, "Events beyond the spectrum, which is one period long: in the image, not in the spectrum.";
        in_memory: Now, Events, "Events in memory now, for regions, slices and windows that are asked for later.";
        connections: Now, Times, "Connections open now.";
        connections_refused: Information, Times, "Connections turned away because too many were open.";
        connections_timed_out: Information, Times, "Connections cut because they asked for nothing, or took nothing, for too long.";
    }
}

/// Counts events for the pictures of a [`LiveView`]. Never fails and never waits for a browser; it goes on counting after
/// the view has been shut down.
#[derive(Debug)]
pub struct LiveSink {
    counts: Arc<Accumulator>,
    memory: ChunkWriter,
    bins: SpectrumBins,
    name: String,
    /// Frames have told their charge.
    has_frame_charge: bool,
    /// The view, if it lives and ends with this output.
    view: Option<Arc<LiveView>>,
}

impl LiveSink {
    pub(crate) fn new(counts: Arc<Accumulator>, bins: SpectrumBins, name: String) -> Self {
        let memory = ChunkWriter::new(Arc::clone(&counts.memory));
        Self { counts, memory, bins, name, has_frame_charge: false, view: None }
    }

    /// The same, with the view that it feeds: it is shut down when this output is dropped, unless somebody else has it, too.
    #[must_use]
    pub fn owning(self, view: impl Into<Arc<LiveView>>) -> Self {
        Self { view: Some(view.into()), ..self }
    }

    /// Shows counts that are kept elsewhere instead of counting events: those of all pixels, the first one first, and how
    /// many there are in all. The picture is made again when there are more of them.
    pub fn set_counts(&mut self, counts: impl Iterator<Item = u64>, all: u64) {
        self.counts.set_pixels(counts, all);
    }

    /// Shows these values of all pixels, the first one first, and of all bins in the place of what was shown
    /// ([`ViewOptions::content`](crate::ViewOptions::content)).
    pub fn replace(&mut self, pixels: impl Iterator<Item = u64>, bins: impl Iterator<Item = u64>) {
        self.counts.replace(pixels, bins);
    }

    /// Adds proton charge, in units of 1e-12 µAh, that came with what was taken before: windows can be told per charge then. It is
    /// known from the first time on, be it 0. Where frames bring their charge ([`PulsedBatch::frames`]) that is counted, and this is not.
    pub fn add_charge(&mut self, charge: u128) {
        if self.has_frame_charge {
            return;
        }
        self.counts.add_charge(charge);
        self.memory.add_charge(charge);
    }

    /// Says how many there are in all of what is counted elsewhere.
    pub fn set_events(&mut self, all: u64) {
        self.counts.count_events(all.saturating_sub(self.counts.events()));
    }
}

impl LiveView {
    /// A sink for the only stream.
    pub fn sink(&self) -> LiveSink {
        self.sink_for("")
    }

    /// A sink for one of several streams, whose sources the page shows with the stream's name in front. The
    /// picture is the sum of all sinks; each takes 8 bytes per pixel.
    pub fn sink_for(&self, stream: &str) -> LiveSink {
        let shared = self.shared();
        let counts = shared.add_stream(stream);
        let name = format!("live view at http://{}", self.address());
        LiveSink::new(counts, shared.bins, name)
    }
}

impl Output for LiveSink {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        for &pixel in batch.pixel_ids() {
            self.counts.count_pixel(pixel);
        }
        for (pulse, range) in batch.by_pulse() {
            let has_flight = pulse.origin != PulseOrigin::None;
            let offsets = batch.offsets_ns().get(range.clone()).unwrap_or_default();
            for (&offset, &pixel) in offsets.iter().zip(batch.pixel_ids().get(range).unwrap_or_default()) {
                let bin = match offset {
                    TimeOffset::TOO_LONG => Some(u64::MAX),
                    offset => {
                        let since = u64::try_from(offset).ok().filter(|_| has_flight);
                        since.map(|since| since / self.bins.width_ns)
                    }
                };
                self.counts.count_bin(pixel, bin);
            }
        }
        self.counts.count_pulses(batch.pulses_begun());
        if let Some(charge) = self.memory.add(batch) {
            self.has_frame_charge = true;
            self.counts.add_charge(charge);
        }
        self.counts.count_events(batch.len() as u64);
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        self.memory.close_if_old();
        Ok(())
    }

    fn observe(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        self.counts.set_state(state);
        Ok(())
    }

    fn progress(&self) -> OutputProgress {
        // Counted by the same thread, which asks: the difference is exact.
        let left_out = self.counts.outside_geometry();
        OutputProgress { committed: self.counts.events() - left_out, left_out, ..OutputProgress::default() }
    }

    fn counters(&self) -> CounterSnapshot {
        let clients = self.view.as_deref().map(LiveView::clients).unwrap_or_default();
        CounterSnapshot::of(&ViewCounters {
            pictured: self.counts.pictured(),
            outside_geometry: self.counts.outside_geometry(),
            without_time_of_flight: self.counts.before_first_pulse(),
            beyond_spectrum: self.counts.beyond_spectrum(),
            in_memory: self.counts.memory.events(),
            connections: clients.connections,
            connections_refused: clients.connections_refused,
            connections_timed_out: clients.connections_timed_out,
        })
    }

    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        self.memory.close();
        self.counts.set_state(state);
        self.counts.set_input(InputState::Ended);
        Ok(())
    }

    fn abandon(&mut self) -> Option<String> {
        self.memory.close();
        self.counts.set_input(InputState::Failed);
        Some("the page shows the events up to there".into())
    }
}

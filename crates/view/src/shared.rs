//! What the sinks, the server and the owner of a view share.

use crate::accumulator::{Accumulator, InputState, ObservedState};
use crate::advice::Advice;
use crate::beam::{self, BeamBoard, Charge};
use crate::client_counts::ClientCounters;
use crate::error::ViewError;
use crate::event_memory::EventMemory;
use crate::feed_view;
use crate::frame::Picture;
use crate::history::{History, SeriesHistory, Totals};
use crate::ledger;
use crate::lock::{lock, unix_ms};
use crate::looks::board::Board;
use crate::looks::limits::MOST_AT_WORK;
use crate::looks::pictured::Pictured;
use crate::options::ViewOptions;
use crate::protocol::{
    API_VERSION, GeometryState, Hello, Limits, Now, PROTOCOL_VERSION, SpectrumState, State, StreamState,
};
use crate::signs::signs;
use crate::spectrum::SpectrumBins;
use crate::views::{self, ViewState};
use evforge_metrics::{Format, Host, Section, run_metrics, text};
use evforge_picture::Image;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;

/// Everything but the sockets. No lock is held while waiting for anything.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ViewOptions,
    pub(crate) bins: SpectrumBins,
    pub(crate) pictured: Pictured,
    /// What the page offers to look at.
    views: Vec<ViewState>,
    /// What browsers want to see.
    pub(crate) board: Arc<Board>,
    pub(crate) instance: String,
    pub(crate) started_ms: u64,
    /// When the input was first seen to have ended; 0 before.
    ended_ms: AtomicU64,
    streams: Mutex<Vec<Arc<Accumulator>>>,
    pub(crate) history: Mutex<History>,
    pub(crate) series: SeriesHistory,
    pub(crate) beam: BeamBoard,
    pub(crate) advice: Advice,
    /// Of all runs that are shown one after the other.
    pub(crate) clients: Arc<ClientCounters>,
    pub(crate) host: Host,
    /// How many looks are counted for scripts at a time.
    pub(crate) at_work: Semaphore,
}

impl Shared {
    /// # Errors
    /// If the views are of pictures that are not there.
    pub(crate) fn new(options: ViewOptions, clients: Arc<ClientCounters>) -> Result<Self, ViewError> {
        let bins = match &options.content {
            Some((_, bins)) => SpectrumBins::steps(*bins),
            None => SpectrumBins::new(&options.pulses, options.time_of_flight_bin_ns),
        };
        let has_events = options.counts_events && options.content.is_none();
        let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let started_ms = unix_ms();
        let pictured = Pictured::new(options.pictures(), &options.geometry, bins, has_events);
        let views = views::offered(options.views.as_ref(), &options.detector, &pictured)?;
        Ok(Self {
            bins,
            pictured,
            views,
            board: Arc::default(),
            instance: format!("{:x}-{:x}", nanoseconds, std::process::id()),
            started_ms,
            ended_ms: AtomicU64::new(0),
            streams: Mutex::default(),
            history: Mutex::new(History::new(Instant::now())),
            series: SeriesHistory::new(started_ms),
            beam: BeamBoard::default(),
            advice: Advice::new(options.advice.clone()),
            clients,
            host: Host::default(),
            at_work: Semaphore::new(MOST_AT_WORK),
            options,
        })
    }

    pub(crate) fn add_stream(&self, name: &str) -> Arc<Accumulator> {
        let (pixels, parts) = (self.pictured.set().pixel_count(), self.pictured.parts());
        let memory = Arc::new(EventMemory::new(self.options.event_memory));
        let accumulator = Arc::new(Accumulator::new(name.to_owned(), pixels, parts, self.bins.count, memory));
        lock(&self.streams).push(Arc::clone(&accumulator));
        accumulator
    }

    pub(crate) fn streams(&self) -> Vec<Arc<Accumulator>> {
        lock(&self.streams).clone()
    }

    /// Events counted by all sinks.
    pub(crate) fn events(&self) -> u64 {
        self.streams().iter().map(|stream| stream.events()).sum()
    }

    /// How often the pictures of sinks were replaced as a whole.
    pub(crate) fn replaced(&self) -> u64 {
        self.streams().iter().map(|stream| *stream.whole()).sum()
    }

    /// All pictures now, for a script.
    pub(crate) fn picture_now(&self) -> Picture {
        // Scripts compare contents, not numbers: the number of events modulo 2^32 changes with the picture.
        let number = self.events() as u32;
        let mut images = self.pictured.set().images();
        let mut spectrum = vec![0; self.bins.count];
        for stream in self.streams() {
            let _whole = stream.whole();
            self.pictured.set().add(&mut images, stream.pixels());
            for part in 0..stream.spectrum_count() {
                add_to(&mut spectrum, stream.spectrum(part));
            }
        }
        Picture { number, images, spectrum }
    }

    /// One picture now: that of all events since the start.
    pub(crate) fn image(&self, picture: usize) -> Image {
        let [nx, ny] = self.pictured.size(picture, 0);
        let places = self.pictured.places(picture, None);
        let mut counts = vec![0; nx as usize * ny as usize];
        for stream in self.streams() {
            let _whole = stream.whole();
            for (&place, count) in places.iter().zip(stream.pixels()) {
                // Nowhere lies beyond every picture.
                if let Some(sum) = counts.get_mut(place as usize) {
                    *sum += count;
                }
            }
        }
        Image { nx, ny, counts }
    }

    /// Counts per bin of a part of the pixels, since the start.
    pub(crate) fn spectrum(&self, part: usize) -> Vec<u64> {
        let mut spectrum = vec![0; self.bins.count];
        for stream in self.streams() {
            let _whole = stream.whole();
            add_to(&mut spectrum, stream.spectrum(part));
        }
        spectrum
    }

    /// Pulses since the start.
    pub(crate) fn pulses(&self) -> u64 {
        self.streams().iter().map(|stream| stream.pulses()).sum()
    }

    /// Proton charge since the start; none where none was told.
    pub(crate) fn charge(&self) -> Option<Charge> {
        self.streams().iter().filter_map(|stream| stream.charge()).reduce(Charge::wrapping_add)
    }

    /// Events of each beam monitor since the start.
    pub(crate) fn monitor_events(&self) -> Vec<u64> {
        let streams = self.streams();
        let of = |(_, pixels): &(String, std::ops::Range<usize>)| {
            streams.iter().map(|stream| stream.events_in(pixels)).sum()
        };
        self.pictured.monitors().iter().map(of).collect()
    }

    /// The newest events of all streams.
    pub(crate) fn memories(&self) -> Vec<Arc<EventMemory>> {
        self.streams().iter().map(|stream| Arc::clone(&stream.memory)).collect()
    }

    /// The clock by which windows are measured: it stands still from when the input has ended.
    pub(crate) fn clock_ms(&self) -> u64 {
        let now = unix_ms();
        let streams = self.streams();
        if streams.is_empty() || streams.iter().any(|stream| stream.input() == InputState::Running) {
            return now;
        }
        match self.ended_ms.compare_exchange(0, now, Relaxed, Relaxed) {
            Ok(_) => now,
            Err(ended) => ended,
        }
    }

    /// Numbers, ages and ledger now.
    pub(crate) fn now(&self) -> Now {
        let streams = self.streams();
        let now = Instant::now();
        let observed: Vec<(&str, Arc<ObservedState>)> = streams
            .iter()
            .filter_map(|stream| stream.state().map(|state| (stream.stream.as_str(), state)))
            .collect();
        let states: Vec<_> = observed.iter().map(|(name, state)| (*name, &**state)).collect();
        let last_event = streams.iter().filter_map(|stream| stream.last_event_at()).max();
        let (feed, ledger) = (feed_view::of(&streams, now), ledger::join(&states, now));
        let outputs = ledger::outputs(&states);
        Now {
            time_ms: unix_ms(),
            input: input_name(&streams),
            signs: signs(&streams, now),
            advice: self.advice.told(),
            feed,
            events: streams.iter().map(|stream| stream.events()).sum(),
            outside_geometry: streams.iter().map(|stream| stream.outside_geometry()).sum(),
            before_first_pulse: streams.iter().map(|stream| stream.before_first_pulse()).sum(),
            beyond_spectrum: streams.iter().map(|stream| stream.beyond_spectrum()).sum(),
            last_event_ms: last_event.map(|at| now.saturating_duration_since(at).as_millis() as u64),
            ledger,
            outputs,
            alarms: ledger::alarms(&states),
            memory_ms: streams.iter().filter_map(|stream| stream.memory.oldest_ms()).max(),
            beam: beam::is_any(&self.beam, &streams),
            clients: self.clients.connected(),
        }
    }

    /// The totals from which the rate is made.
    pub(crate) fn totals(&self, now: &Now) -> Totals {
        let packets = now.ledger.as_ref().map(|ledger| &ledger.packets);
        Totals {
            events: now.events,
            received: packets.map(|packets| packets.received),
            lost: packets.and_then(|packets| packets.lost.or(packets.lost_at_least)),
        }
    }

    pub(crate) fn state(&self) -> State {
        let now = Instant::now();
        let streams = self.streams();
        let stream_state = |stream: &Arc<Accumulator>| StreamState {
            name: stream.stream.clone(),
            input: input_name(std::slice::from_ref(stream)),
            feed: feed_view::of(std::slice::from_ref(stream), now),
            events: stream.events(),
            counters: stream
                .state()
                .map(|state| ledger::counters(&state.run.ledger.counters))
                .unwrap_or_default(),
            ledger: stream.state().and_then(|state| ledger::join(&[("", &state)], now)),
        };
        State {
            api: API_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            instance: self.instance.clone(),
            title: self.options.title.clone(),
            started_ms: self.started_ms,
            now: self.now(),
            known: beam::known(&self.beam, &streams),
            streams: streams.iter().map(stream_state).collect(),
            browsers: self.clients.snapshot(),
        }
    }

    /// Everything that is counted, as text. Reads the host, which takes some milliseconds.
    pub(crate) fn metrics(&self, format: Format) -> String {
        let options = &self.options;
        let of_stream = |stream: &Arc<Accumulator>| {
            let state = stream.state().map(|state| Arc::clone(&state.run)).or(options.at_start.clone())?;
            let name = if stream.stream.is_empty() { &options.title } else { &stream.stream };
            Some(Section::of_run(name, &options.detector, run_metrics(&state)))
        };
        let mut sections: Vec<Section> = self.streams().iter().filter_map(of_stream).collect();
        sections.push(Section::of_host(self.host.readings()));
        text(&sections, format)
    }

    /// The greeting, and the number of the first point of the rate that is not in it.
    pub(crate) fn hello(&self) -> (Hello, u64) {
        let options = &self.options;
        let geometry = &options.geometry;
        let history = lock(&self.history);
        let hello = Hello {
            r#type: "hello",
            protocol: PROTOCOL_VERSION,
            instance: self.instance.clone(),
            version: env!("CARGO_PKG_VERSION"),
            title: options.title.clone(),
            started_ms: self.started_ms,
            geometry: GeometryState {
                nx: geometry.nx(),
                ny: geometry.ny(),
                nz: geometry.nz(),
                panels: geometry.panels(),
            },
            pictures: self.pictured.states(),
            views: self.views.clone(),
            spectrum: SpectrumState {
                bin_ns: self.bins.width_ns,
                bins: self.bins.count,
                period_ns: self.bins.period_ns,
            },
            content: options.content.as_ref().map(|(content, _)| content.clone()),
            selections: self.pictured.has_events(),
            limits: Limits::OF_LOOKS,
            vetoes: options.vetoes.clone(),
            flight_path_m: options.flight_path_m,
            two_theta_deg: options.scattering_angle_deg,
            interval_ms: options.picture_interval.as_millis() as u64,
            window: options.window,
            monitor: options.monitor.is_some(),
            points: history.since(0),
        };
        (hello, history.next_number())
    }
}

fn add_to(sums: &mut [u64], counts: impl Iterator<Item = u64>) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

/// The state of the input of several streams: the worst of them.
fn input_name(streams: &[Arc<Accumulator>]) -> &'static str {
    match streams.iter().map(|stream| stream.input()).max() {
        Some(InputState::Failed) => "failed",
        Some(InputState::Ended) => "ended",
        _ if streams.iter().all(|stream| stream.events() == 0 && stream.state().is_none()) => "waiting",
        _ => "running",
    }
}

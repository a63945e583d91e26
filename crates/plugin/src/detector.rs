//! A detector whose events a library forms.

use crate::accounts::{Accounts, HostCounts, name_of};
use crate::declared::PluginCounters;
use crate::event_buffer::EventBuffer;
use crate::library::{Functions, PluginLibrary};
use crate::packets::PacketColumn;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, Progress};
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::monitor::MonitorData;
use evforge_core::packet::PacketBatch;
use evforge_plugin_interface::layout::{self, Description, Handle, RawEvents};
use std::ffi::c_char;
use std::ptr::NonNull;

/// Room for the text of a problem, with the 0 at its end.
const PROBLEM_BYTES: usize = 1024;
/// Events that one packet may make.
const MOST_EVENTS_PER_PACKET: u32 = 1 << 24;
/// Sources that a detector may have.
const MOST_SOURCES: u32 = 4096;

/// Why a library makes no detector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The library does not take the settings; its own words.
    #[error("the library refuses the settings: {0}")]
    Settings(String),
    /// What the library says of the detector is invalid.
    #[error("what the library describes is invalid: {0}")]
    Description(String),
}

/// The functions of one detector of a library, as safe calls.
#[derive(Debug)]
struct Instance {
    functions: &'static Functions,
    handle: NonNull<Handle>,
    problem: [c_char; PROBLEM_BYTES],
}

// SAFETY: the header says that a detector may be used from one thread after the other. There is one owner, which
// calls with `&mut`, or with `&` for what only reads; it is not `Sync`.
unsafe impl Send for Instance {}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create` of this library and is not used after this.
        unsafe { (self.functions.destroy)(self.handle.as_ptr()) }
    }
}

/// What a call that may fail has returned.
struct Answer {
    code: i32,
    progress: layout::Progress,
    written: RawEvents,
}

/// Which of the functions that hand out events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Ingest,
    PublishClosed,
    Close,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::PublishClosed => "publish_closed",
            Self::Close => "close",
        }
    }
}

impl Instance {
    fn create(library: &'static PluginLibrary, settings: &str) -> Result<Self, CreateError> {
        let functions = library.functions();
        let mut problem = [0; PROBLEM_BYTES];
        // SAFETY: called as the header says, with places that are as large as they are said to be.
        let handle = unsafe {
            (functions.create)(settings.as_ptr().cast(), settings.len(), problem.as_mut_ptr(), PROBLEM_BYTES)
        };
        match NonNull::new(handle) {
            Some(handle) => Ok(Self { functions, handle, problem }),
            None => Err(CreateError::Settings(words(&problem))),
        }
    }

    fn description(&self) -> Description {
        // 56 bytes do not need 32 bits.
        let struct_size = size_of::<Description>() as u32;
        let mut description = Description { struct_size, ..Description::default() };
        // SAFETY: called as the header says, with a place of the size that is in it.
        unsafe { (self.functions.describe)(self.handle.as_ptr(), &raw mut description) };
        description
    }

    /// Calls one of the functions that hand out events; none if the library does not have it.
    fn call(&mut self, call: Call, packets: &[layout::Packet], mut written: RawEvents) -> Option<Answer> {
        let Self { functions, handle, problem } = self;
        let mut progress = layout::Progress::default();
        problem[0] = 0;
        let (handle, events, came) = (handle.as_ptr(), &raw mut written, &raw mut progress);
        let place = problem.as_mut_ptr();
        let code = match call {
            // SAFETY: called as the header says. The packets' bytes, the columns of events and the place for a problem
            // outlive the call and are as large as is said.
            Call::Ingest => unsafe {
                (functions.ingest)(
                    handle,
                    packets.as_ptr(),
                    packets.len(),
                    events,
                    came,
                    place,
                    PROBLEM_BYTES,
                )
            },
            Call::PublishClosed | Call::Close => {
                let release = if call == Call::Close { functions.close } else { functions.publish_closed };
                // SAFETY: as for `ingest`.
                unsafe { release?(handle, events, came, place, PROBLEM_BYTES) }
            }
        };
        Some(Answer { code, progress, written })
    }

    fn counters(&self, values: &mut [u64]) {
        // SAFETY: called as the header says, with as many places as counters are declared.
        unsafe { (self.functions.counters)(self.handle.as_ptr(), values.as_mut_ptr(), values.len()) }
    }

    fn sources(&self, sources: &mut [layout::Source]) -> usize {
        let Some(function) = self.functions.sources else { return 0 };
        // SAFETY: called as the header says, with as many places as are said.
        unsafe { function(self.handle.as_ptr(), sources.as_mut_ptr(), sources.len()) }
    }
}

/// The words of a library.
fn words(problem: &[c_char]) -> String {
    let text = name_of(problem);
    if text.trim().is_empty() { "it does not say why".to_owned() } else { text }
}

/// A plugin. See the [crate] for what is checked.
#[derive(Debug)]
pub struct PluginDetector {
    library: &'static PluginLibrary,
    instance: Instance,
    geometry: LogicalGeometry,
    memory_bound: usize,
    packets: PacketColumn,
    buffer: EventBuffer,
    accounts: Accounts,
    counters: PluginCounters,
    /// Packets that the library has taken.
    taken: u64,
    /// The library has said that it has more events.
    more: bool,
    /// The library has nothing more for the present pause or end of the input.
    released: bool,
    /// The end of the input has been dealt with.
    closed: bool,
    failure: Option<String>,
}

impl PluginDetector {
    /// Makes a detector of a library. `settings` are those of the configuration, as TOML.
    ///
    /// # Errors
    /// If the library refuses the settings, or describes a detector that cannot be.
    pub fn new(library: &'static PluginLibrary, settings: &str) -> Result<Self, CreateError> {
        let instance = Instance::create(library, settings)?;
        let description = instance.description();
        let Description { nx, ny, nz, panels, events_per_packet, sources, tells_pulses, .. } = description;
        let geometry = LogicalGeometry::new(nx, ny, nz, panels)
            .map_err(|error| CreateError::Description(error.to_string()))?;
        for (what, found, most) in [
            ("events_per_packet", events_per_packet, MOST_EVENTS_PER_PACKET),
            ("sources", sources, MOST_SOURCES),
        ] {
            if found > most {
                return Err(CreateError::Description(format!("{what} is {found}, expected at most {most}")));
            }
        }
        let buffer = EventBuffer::new(events_per_packet as usize, tells_pulses != 0);
        let accounts = Accounts::new(library.counters(), sources as usize);
        let own = PacketColumn::memory_bound() + buffer.memory_bound() + accounts.memory_bound();
        let mut detector = Self {
            library,
            instance,
            geometry,
            memory_bound: own.saturating_add(usize::try_from(description.memory_bound).unwrap_or(usize::MAX)),
            packets: PacketColumn::new(),
            buffer,
            accounts,
            counters: PluginCounters::default(),
            taken: 0,
            more: false,
            released: false,
            closed: false,
            failure: None,
        };
        detector
            .audit(HostCounts::default())
            .map_err(|problem| CreateError::Description(format!("before the first packet, {problem}")))?;
        Ok(detector)
    }

    /// The library.
    pub fn library(&self) -> &'static PluginLibrary {
        self.library
    }

    /// Asks for counters and sources, and keeps them if they can be.
    fn audit(&mut self, host: HostCounts) -> Result<(), String> {
        let (values, sources) = self.accounts.ask();
        self.instance.counters(values);
        let count = self.instance.sources(sources);
        self.accounts.accept(count, host)
    }

    /// Deals with the answer to a call that was given `given` packets: how many of them have been taken.
    fn settle(&mut self, call: Call, given: usize, answer: &Answer) -> usize {
        let progress = answer.progress;
        self.more = progress.more != 0 && answer.code == 0;
        let possible = self.settle_answer(given, answer);
        let reported = (answer.code != 0)
            .then(|| format!("reported a failure (code {}): {}", answer.code, words(&self.instance.problem)));
        let failure = match (reported, &possible) {
            (Some(words), Ok(_)) => Some(words),
            (Some(words), Err(problem)) => Some(format!("{words}; and it {problem}")),
            (None, Ok(_)) => None,
            (None, Err(problem)) => Some(problem.clone()),
        };
        if let Some(problem) = failure {
            let library = self.library.path().display();
            self.failure = Some(format!("{library}: {} {problem}", call.name()));
            self.more = false;
        }
        possible.unwrap_or_else(|_| {
            self.counters.events_refused += self.buffer.possible(&answer.written) as u64;
            0
        })
    }

    /// Checks an answer and takes over what it brings. What a failed call did before it failed counts, too.
    fn settle_answer(&mut self, given: usize, answer: &Answer) -> Result<usize, String> {
        let Answer { code, progress, written } = answer;
        let (taken, more) = (progress.taken, progress.more != 0);
        if taken > given {
            return Err(format!("took {taken} packets; it was given {given}"));
        }
        // Or it could be called without end.
        if *code == 0
            && more
            && let Some(left) = self.buffer.left(written)
        {
            return Err(format!("said that it has no room; there was room for {left} more events"));
        }
        if *code == 0 && !more && taken < given {
            return Err(format!("took {taken} of {given} packets without saying that it has no room"));
        }
        let host = HostCounts {
            taken: self.taken + taken as u64,
            events: self.counters.events.saturating_add(written.used as u64),
        };
        self.buffer.accept(written, self.geometry)?;
        if let Err(problem) = self.audit(host) {
            self.buffer.forget();
            return Err(format!("left impossible counts: {problem}"));
        }
        (self.taken, self.counters.events) = (host.taken, host.events);
        Ok(taken)
    }

    /// Gives the library packets of `packets` from index `from` on: how many it has taken.
    fn hand_over(&mut self, packets: &PacketBatch<'_>, from: usize) -> usize {
        let given = self.packets.describe(packets, from);
        let count = given.len();
        let Some(answer) = self.instance.call(Call::Ingest, given, self.buffer.room()) else { return 0 };
        let taken = self.settle(Call::Ingest, count, &answer);
        self.counters.packets_received += taken as u64;
        taken
    }

    /// Has the library hand out events without packets. Returns true if there are more than found room.
    fn release(&mut self, call: Call, events: &mut EventBatch) -> bool {
        loop {
            if !self.buffer.drain(events) {
                return true;
            }
            if std::mem::take(&mut self.released) || self.failure.is_some() {
                return false;
            }
            let room = self.buffer.room();
            if let Some(answer) = self.instance.call(call, &[], room) {
                self.settle(call, 0, &answer);
            }
            self.released = !self.more;
        }
    }
}

impl Detector for PluginDetector {
    fn ingest(&mut self, packets: &PacketBatch<'_>, from: usize, events: &mut EventBatch) -> Progress {
        let mut taken = from.min(packets.len());
        self.packets.forget();
        loop {
            if !self.buffer.drain(events) {
                return Progress { taken, full: true };
            }
            if self.failure.is_some() {
                let rest = (packets.len() - taken) as u64;
                self.counters.packets_received += rest;
                self.counters.packets_after_failure += rest;
                return Progress { taken: packets.len(), full: false };
            }
            if taken == packets.len() && !self.more {
                return Progress { taken, full: false };
            }
            taken += self.hand_over(packets, taken);
        }
    }

    fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        self.release(Call::PublishClosed, events)
    }

    fn close(&mut self, events: &mut EventBatch) -> bool {
        if self.closed {
            return !self.buffer.drain(events);
        }
        let more = self.release(Call::Close, events);
        self.closed = !more;
        more
    }

    fn ledger(&self) -> DetectorLedger {
        let mut sources = self.accounts.source_ledgers();
        if sources.is_empty() && self.counters.packets_received > 0 {
            sources.push(SourceLedger::unnumbered("all packets".to_owned(), self.counters.packets_received));
        }
        let (infos, values) = self.accounts.counters();
        let counters = CounterSnapshot::of(&self.counters).and_declared(infos, values);
        DetectorLedger { sources, counters, ..DetectorLedger::default() }
    }

    fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }

    fn tells_pulses(&self) -> bool {
        self.buffer.tells_pulses()
    }

    fn memory_bound(&self) -> usize {
        self.memory_bound
    }

    /// Does nothing: version 1 of the interface has no monitor data.
    fn set_monitoring(&mut self, _on: bool) {}

    fn monitor(&self) -> Option<&MonitorData> {
        None
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

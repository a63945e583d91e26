//! What a detector in Rust implements.

use crate::layout::{self, Pulse, RawEvents, Source};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::net::{Ipv6Addr, SocketAddr};

pub use crate::layout::Description;

/// The declaration of a counter.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Counter(layout::Counter);

/// A counter of one law, or of none: its `name` (a to z, 0 to 9 and `_`), one of [`unit`](crate::unit), of
/// [`role`](crate::role) and of [`law`](crate::law), and a sentence for people.
pub const fn counter(name: &'static CStr, unit: u32, role: u32, law: u32, help: &'static CStr) -> Counter {
    let (name, help) = (name.as_ptr(), help.as_ptr());
    Counter(layout::Counter { name, help, unit, role, law, next_law: layout::law::NONE })
}

impl Counter {
    /// This counter as one that stands on the right of its law and on the left of `next_law`.
    #[must_use]
    pub const fn joining(self, next_law: u32) -> Self {
        Self(layout::Counter { role: layout::role::JOINS, next_law, ..self.0 })
    }
}

/// One packet, borrowed for a call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    packet: layout::Packet,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> Packet<'a> {
    /// The payload.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: only the host's packets become a `Packet`, for the length of a call: their bytes are there and
        // do not change until it returns.
        unsafe { std::slice::from_raw_parts(self.packet.bytes, self.packet.length as usize) }
    }

    /// True if the packet had more bytes on the wire than are here.
    #[inline]
    pub fn is_cut(&self) -> bool {
        self.packet.original_length > self.packet.length
    }

    /// The sender; none where the input does not say.
    pub fn source(&self) -> Option<SocketAddr> {
        let address = Ipv6Addr::from(self.packet.source_address);
        let known = !address.is_unspecified();
        known.then(|| SocketAddr::new(address.to_canonical(), self.packet.source_port))
    }

    /// UDP port that the packet was sent to; 0 where the input does not say.
    pub fn destination_port(&self) -> u16 {
        self.packet.destination_port
    }

    /// Arrival in nanoseconds since 1970; none without a stamp.
    pub fn arrival_ns(&self) -> Option<u64> {
        (self.packet.arrival_clock != layout::arrival_clock::NONE).then_some(self.packet.arrival_ns)
    }
}

/// Room for events.
#[derive(Debug)]
pub struct Events<'a> {
    raw: &'a mut RawEvents,
}

impl<'a> Events<'a> {
    /// # Safety
    /// The columns must be as large as `raw` says, and nobody else may use them meanwhile.
    pub(crate) unsafe fn new(raw: &'a mut RawEvents) -> Self {
        Self { raw }
    }

    /// Events that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.raw.capacity - self.raw.used
    }

    /// Appends an event: its time in nanoseconds and its pixel, counted from 1. Returns false, and changes nothing, if
    /// there is no room.
    #[inline]
    #[must_use]
    pub fn push(&mut self, time_ns: u64, pixel_id: u32) -> bool {
        if self.room() == 0 {
            return false;
        }
        // SAFETY: `used` is below `capacity`, and the columns have this many places.
        unsafe {
            self.raw.times_ns.add(self.raw.used).write(time_ns);
            self.raw.pixel_ids.add(self.raw.used).write(pixel_id);
        }
        self.raw.used += 1;
        true
    }

    /// Begins a pulse, to which the events appended from here on belong. Returns false, and changes nothing, if there is
    /// no room for a pulse.
    #[must_use]
    pub fn begin_pulse(&mut self, time_ns: u64) -> bool {
        if self.raw.pulses_used == self.raw.pulse_capacity {
            return false;
        }
        let pulse = Pulse { time_ns, first_event: self.raw.used as u64 };
        // SAFETY: `pulses_used` is below `pulse_capacity`, and there are this many places.
        unsafe { self.raw.pulses.add(self.raw.pulses_used).write(pulse) };
        self.raw.pulses_used += 1;
        true
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All packets have been taken, and there are no further events.
    Done,
    /// There was no room for further events. This many packets have been taken, counted from the first one of the call;
    /// the others come again.
    More {
        /// Packets taken.
        taken: usize,
    },
}

/// Why a detector cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Packets taken before it failed: they, their counts and their events stand.
    pub taken: usize,
    /// What is wrong, in words for people.
    pub problem: String,
}

/// A detector. See `include/evforge/detector.h` for the rules, of which the types see to those on memory and
/// unwinding: a panic becomes a failure of the detector.
pub trait Detector: Sized + Send {
    /// What it is, for people.
    const NAME: &'static CStr;
    /// The counters, always in this order.
    const COUNTERS: &'static [Counter];

    /// Makes a detector. `settings` is the table `[plugin.settings]` of the configuration as TOML, a line
    /// `key = value` for each key.
    ///
    /// # Errors
    /// What is wrong with the settings, in words for people.
    fn new(settings: &str) -> Result<Self, String>;

    /// What the detector is like: at least the sides of its geometry. `struct_size` is left as it is.
    fn description(&self) -> Description;

    /// Takes packets, and appends the events that are complete.
    ///
    /// # Errors
    /// If the detector cannot go on: it is not called any more. Packets that are no good are no error.
    fn ingest(&mut self, packets: &[Packet<'_>], events: &mut Events<'_>) -> Result<Outcome, Failure>;

    /// The input pauses: appends the events that are complete but were kept back.
    ///
    /// # Errors
    /// As [`Detector::ingest`].
    fn publish_closed(&mut self, _events: &mut Events<'_>) -> Result<Outcome, Failure> {
        Ok(Outcome::Done)
    }

    /// The input has ended: appends everything that is held.
    ///
    /// # Errors
    /// As [`Detector::ingest`].
    fn close(&mut self, _events: &mut Events<'_>) -> Result<Outcome, Failure> {
        Ok(Outcome::Done)
    }

    /// Writes the value of each counter, in the order of [`Detector::COUNTERS`].
    fn counters(&self, values: &mut [u64]);

    /// Writes the sources that have sent so far, always in the same order, and returns how many there are. There is
    /// room for as many as the description says.
    fn sources(&self, _sources: &mut [Source]) -> usize {
        0
    }
}

impl Source {
    /// A source whose packets are numbered, without packets so far. Names longer than 63 bytes are cut.
    pub fn numbered(name: &str) -> Self {
        let mut source = Self { numbered: 1, ..Self::default() };
        let places = layout::SOURCE_NAME_BYTES - 1;
        for (place, byte) in source.name[..places].iter_mut().zip(name.bytes()) {
            *place = byte as std::ffi::c_char;
        }
        source
    }
}

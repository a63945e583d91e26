//! The structures of `include/evforge/detector.h`, member by member. A test compares both.

use std::ffi::c_char;

/// The version of the interface that this crate describes.
pub const INTERFACE_VERSION: u32 = 1;

/// Name of the function that a library exports, with the 0 at its end.
pub const ENTRY_POINT: &[u8] = b"evforge_detector\0";

/// Values of [`Packet::arrival_clock`].
pub mod arrival_clock {
    /// No stamp.
    pub const NONE: u32 = 0;
    /// As it is in the capture file.
    pub const CAPTURE: u32 = 1;
    /// The kernel's.
    pub const KERNEL: u32 = 2;
    /// That of the receiving process.
    pub const PROCESS: u32 = 3;
}

/// Values of [`Counter::unit`].
pub mod unit {
    /// UDP datagrams.
    pub const PACKETS: u32 = 0;
    /// Bytes of payload.
    pub const BYTES: u32 = 1;
    /// Single digitised measurements.
    pub const READOUTS: u32 = 2;
    /// Readouts placed on the detector.
    pub const HITS: u32 = 3;
    /// Groups of hits of one plane.
    pub const CLUSTERS: u32 = 4;
    /// Neutrons.
    pub const EVENTS: u32 = 5;
    /// Occurrences of what the help text says.
    pub const TIMES: u32 = 6;
}

/// Values of [`Counter::law`] and [`Counter::next_law`].
pub mod law {
    /// No law.
    pub const NONE: u32 = 0;
    /// Packets; the host counts what enters.
    pub const PACKETS: u32 = 1;
    /// Readouts.
    pub const READOUTS: u32 = 2;
    /// Hits.
    pub const HITS: u32 = 3;
    /// Events.
    pub const EVENTS: u32 = 4;
}

/// Values of [`Counter::role`].
pub mod role {
    /// In no law.
    pub const INFORMATION: u32 = 0;
    /// What came in.
    pub const ENTERS: u32 = 1;
    /// What went on.
    pub const LEAVES: u32 = 2;
    /// On the right of one law and on the left of the next.
    pub const JOINS: u32 = 3;
    /// What was thrown away.
    pub const DISCARDED: u32 = 4;
    /// What waits at this moment.
    pub const HELD: u32 = 5;
}

/// One packet. Its bytes are valid until the call returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// First byte of the payload; never null.
    pub bytes: *const u8,
    /// Bytes of the payload that are here.
    pub length: u32,
    /// Bytes that were on the wire; more than `length` if the packet was cut.
    pub original_length: u32,
    /// Arrival in nanoseconds since 1970; 0 without a stamp.
    pub arrival_ns: u64,
    /// IPv6 address of the sender; IPv4 as `::ffff:a.b.c.d`; all 0 where the input does not say.
    pub source_address: [u8; 16],
    /// UDP port of the sender; 0 where the input does not say.
    pub source_port: u16,
    /// UDP port that the packet was sent to; 0 where the input does not say.
    pub destination_port: u16,
    /// One of [`arrival_clock`].
    pub arrival_clock: u32,
}

/// The start of a pulse.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// Nanoseconds on the clock of the events.
    pub time_ns: u64,
    /// Index of its first event among those of the call.
    pub first_event: u64,
}

/// Room for events.
#[repr(C)]
#[derive(Debug)]
pub struct RawEvents {
    /// Column of times in nanoseconds.
    pub times_ns: *mut u64,
    /// Column of pixel ids, counted from 1.
    pub pixel_ids: *mut u32,
    /// Events that fit.
    pub capacity: usize,
    /// Events written; 0 at the beginning of a call.
    pub used: usize,
    /// Pulses.
    pub pulses: *mut Pulse,
    /// Pulses that fit.
    pub pulse_capacity: usize,
    /// Pulses written; 0 at the beginning of a call.
    pub pulses_used: usize,
}

/// How far a call came.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Packets dealt with, counted from the first one of the call.
    pub taken: usize,
    /// Not 0 if there was no room for further events.
    pub more: u32,
    /// 0.
    pub reserved: u32,
}

/// The declaration of a counter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name; ends with 0.
    pub name: *const c_char,
    /// One sentence for people; ends with 0.
    pub help: *const c_char,
    /// One of [`mod@unit`].
    pub unit: u32,
    /// One of [`role`].
    pub role: u32,
    /// One of [`law`].
    pub law: u32,
    /// One of [`law`].
    pub next_law: u32,
}

/// Bytes of the name of a source, with the 0 at its end.
pub const SOURCE_NAME_BYTES: usize = 64;

/// A sender, and what the numbers of its packets say.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// For people; ends with 0.
    pub name: [c_char; SOURCE_NAME_BYTES],
    /// Not 0 if its packets are numbered.
    pub numbered: u32,
    /// 0.
    pub reserved: u32,
    /// Packets sent, from the first to the last number seen.
    pub sent: u64,
    /// Packets seen, duplicates included.
    pub received: u64,
    /// Numbers not seen.
    pub lost: u64,
    /// Packets seen after one with a higher number.
    pub reordered: u64,
    /// Packets whose number had been seen.
    pub duplicated: u64,
    /// How often the numbering restarted.
    pub restarts: u64,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            name: [0; SOURCE_NAME_BYTES],
            numbered: 0,
            reserved: 0,
            sent: 0,
            received: 0,
            lost: 0,
            reordered: 0,
            duplicated: 0,
            restarts: 0,
        }
    }
}

/// What a detector is like.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Bytes of this structure, set by the host.
    pub struct_size: u32,
    /// Columns of a panel.
    pub nx: u32,
    /// Rows of a panel.
    pub ny: u32,
    /// Layers of a panel.
    pub nz: u32,
    /// Panels.
    pub panels: u32,
    /// Most events that one packet can make; 0 if no limit is known.
    pub events_per_packet: u32,
    /// Most sources that it tells of.
    pub sources: u32,
    /// Not 0 if the readout reports the pulses of the source: then every event belongs to one.
    pub tells_pulses: u32,
    /// Bytes that a detector takes at most; 0 if not known.
    pub memory_bound: u64,
}

/// One detector of a library; only the library knows what is in it.
#[repr(C)]
#[derive(Debug)]
pub struct Handle {
    _private: [u8; 0],
}

/// Makes a detector: settings, their length, place for a problem, its capacity.
pub type Create = unsafe extern "C" fn(*const c_char, usize, *mut c_char, usize) -> *mut Handle;
/// Says what a detector is like.
pub type Describe = unsafe extern "C" fn(*const Handle, *mut Description);
/// Takes packets.
pub type Ingest = unsafe extern "C" fn(
    *mut Handle,
    *const Packet,
    usize,
    *mut RawEvents,
    *mut Progress,
    *mut c_char,
    usize,
) -> i32;
/// Hands out events that were kept back or held.
pub type Release =
    unsafe extern "C" fn(*mut Handle, *mut RawEvents, *mut Progress, *mut c_char, usize) -> i32;
/// Writes the values of the counters.
pub type Counters = unsafe extern "C" fn(*const Handle, *mut u64, usize);
/// Writes the sources.
pub type Sources = unsafe extern "C" fn(*const Handle, *mut Source, usize) -> usize;
/// Ends a detector.
pub type Destroy = unsafe extern "C" fn(*mut Handle);

/// What a library offers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DetectorInterface {
    /// [`INTERFACE_VERSION`].
    pub version: u32,
    /// Bytes of this structure as the library knows it.
    pub struct_size: u32,
    /// What it is, for people; ends with 0.
    pub name: *const c_char,
    /// The counters.
    pub counter_infos: *const Counter,
    /// How many there are.
    pub counter_count: usize,
    /// Makes a detector.
    pub create: Option<Create>,
    /// Says what a detector is like.
    pub describe: Option<Describe>,
    /// Takes packets.
    pub ingest: Option<Ingest>,
    /// Hands out what was kept back; optional.
    pub publish_closed: Option<Release>,
    /// Hands out what is held at the end; optional.
    pub close: Option<Release>,
    /// Writes the values of the counters.
    pub counters: Option<Counters>,
    /// Writes the sources; optional.
    pub sources: Option<Sources>,
    /// Ends a detector.
    pub destroy: Option<Destroy>,
}

/// The function that a library exports under the name [`ENTRY_POINT`].
pub type EntryPoint = unsafe extern "C" fn(u32) -> *const DetectorInterface;

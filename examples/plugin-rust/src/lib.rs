//! A plugin, in Rust: the made-up pixel detector of `examples/plugin-c`, with the same events and
//! counters.
//!
//! ```sh
//! cargo build --release
//! evforge run --detector target/release/libpixel_stream.so --input packets.pkts --events events.csv
//! ```
//!
//! A packet is a header of 16 bytes and as many readouts of 8 bytes as it declares, all numbers little-endian:
//!
//! ```text
//! header   "PXST" | sequence u32 | readouts u32 | 0 u32
//! readout  time u32, in 10 ns, wraps | x u16 | y u16
//! ```
//!
//! Every readout on the detector is a hit, and every hit is an event.

use evforge_plugin_interface::author::Failure;
use evforge_plugin_interface::{
    Counter, Description, Detector, Events, Outcome, Packet, Source, counter, export_detector, law, role,
    unit,
};
use std::ffi::CStr;

const HEADER_BYTES: usize = 16;
const READOUT_BYTES: usize = 8;
/// The largest payload of UDP over IPv4 holds this many.
const MOST_READOUTS: usize = (65_507 - HEADER_BYTES) / READOUT_BYTES;
const TICK_NS: u64 = 10;
/// A larger step of the sequence is a sender that has restarted.
const LARGEST_STEP: u32 = 1 << 20;

#[derive(Default)]
struct Counts {
    packets_used: u64,
    packets_cut: u64,
    packets_no_header: u64,
    packets_wrong_magic: u64,
    packets_wrong_length: u64,
    packets_duplicated: u64,
    readouts: u64,
    readouts_outside: u64,
    hits: u64,
    hits_in_events: u64,
    clock_wraps: u64,
}

struct PixelStream {
    nx: u32,
    ny: u32,
    counts: Counts,
    source: Source,
    newest_sequence: u32,
    newest_tick: Option<u32>,
}

const fn discarded_packets(name: &'static CStr, help: &'static CStr) -> Counter {
    counter(name, unit::PACKETS, role::DISCARDED, law::PACKETS, help)
}

impl PixelStream {
    /// Takes one line `key = value` of the settings.
    fn take_setting(&mut self, line: &str) -> Result<(), String> {
        let parts = line.split_once('=').map(|(key, value)| (key.trim(), value.trim().parse::<u32>()));
        let (key, value) = match parts {
            Some((key @ ("nx" | "ny"), Ok(value))) => (key, value),
            _ => return Err(format!("found `{line}`, expected nx = N or ny = N")),
        };
        if !(1..=4096).contains(&value) {
            return Err(format!("{key} is {value}, expected 1 to 4096"));
        }
        *(if key == "nx" { &mut self.nx } else { &mut self.ny }) = value;
        Ok(())
    }

    /// Follows the numbers of the packets. False for a packet that has been here before.
    fn follow_sequence(&mut self, sequence: u32) -> bool {
        let source = &mut self.source;
        let step = sequence.wrapping_sub(self.newest_sequence) as i32;
        source.received += 1;
        if source.received == 1 {
            source.sent = 1;
        } else if step.unsigned_abs() > LARGEST_STEP {
            source.sent += 1;
            source.restarts += 1;
        } else if step > 0 {
            source.sent += u64::from(step.unsigned_abs());
            source.lost += u64::from(step.unsigned_abs()) - 1;
        } else if step < 0 && source.lost > 0 {
            // Behind the newest one, and some are missing: taken for one of those.
            source.lost -= 1;
            source.reordered += 1;
            return true;
        } else {
            source.duplicated += 1;
            return false;
        }
        self.newest_sequence = sequence;
        true
    }

    /// The time of a readout in nanoseconds: the clock of 32 bits, which wraps every 43 seconds, extended to 64.
    fn extended_time(&mut self, tick: u32) -> u64 {
        let mut wraps = self.counts.clock_wraps;
        match self.newest_tick {
            Some(newest) if tick.wrapping_sub(newest) as i32 <= 0 => {
                if tick > newest && wraps > 0 {
                    // From before the clock wrapped.
                    wraps -= 1;
                }
            }
            newest => {
                if newest.is_some_and(|newest| tick < newest) {
                    self.counts.clock_wraps += 1;
                    wraps += 1;
                }
                self.newest_tick = Some(tick);
            }
        }
        (wraps << 32 | u64::from(tick)).wrapping_mul(TICK_NS)
    }

    /// Takes one packet. There is room for its events.
    fn take_packet(&mut self, packet: &Packet<'_>, events: &mut Events<'_>) {
        let Some((header, readouts)) = packet.bytes().split_first_chunk::<HEADER_BYTES>() else {
            let counts = &mut self.counts;
            let reason =
                if packet.is_cut() { &mut counts.packets_cut } else { &mut counts.packets_no_header };
            *reason += 1;
            return;
        };
        let [magic, sequence, count] =
            [0, 4, 8].map(|at| [header[at], header[at + 1], header[at + 2], header[at + 3]]);
        if &magic != b"PXST" {
            self.counts.packets_wrong_magic += 1;
            return;
        }
        // The number is good even if the rest is not: a damaged packet is not a lost one.
        if !self.follow_sequence(u32::from_le_bytes(sequence)) {
            self.counts.packets_duplicated += 1;
            return;
        }
        if packet.is_cut() {
            self.counts.packets_cut += 1;
            return;
        }
        let (readouts, rest) = readouts.as_chunks::<READOUT_BYTES>();
        let count = u32::from_le_bytes(count) as usize;
        if count > MOST_READOUTS || count != readouts.len() || !rest.is_empty() {
            self.counts.packets_wrong_length += 1;
            return;
        }
        self.counts.packets_used += 1;
        self.counts.readouts += count as u64;
        for &[t0, t1, t2, t3, x0, x1, y0, y1] in readouts {
            let time_ns = self.extended_time(u32::from_le_bytes([t0, t1, t2, t3]));
            let (x, y) = (u32::from(u16::from_le_bytes([x0, x1])), u32::from(u16::from_le_bytes([y0, y1])));
            if x >= self.nx || y >= self.ny {
                self.counts.readouts_outside += 1;
                continue;
            }
            self.counts.hits += 1;
            if events.push(time_ns, y * self.nx + x + 1) {
                self.counts.hits_in_events += 1;
            }
        }
    }
}

impl Detector for PixelStream {
    const NAME: &'static CStr = c"pixel stream";

    const COUNTERS: &'static [Counter] = &[
        counter(
            c"packets_used",
            unit::PACKETS,
            role::LEAVES,
            law::PACKETS,
            c"Packets whose readouts were used.",
        ),
        discarded_packets(c"packets_cut", c"Packets of which only the beginning is here."),
        discarded_packets(c"packets_no_header", c"Packets too short for their header."),
        discarded_packets(c"packets_wrong_magic", c"Packets that do not begin with PXST."),
        discarded_packets(
            c"packets_wrong_length",
            c"Packets that have not as many readouts as they declare.",
        ),
        discarded_packets(c"packets_duplicated", c"Packets whose number had been seen."),
        counter(c"readouts", unit::READOUTS, role::ENTERS, law::READOUTS, c"Readouts in the packets used."),
        counter(
            c"readouts_outside",
            unit::READOUTS,
            role::DISCARDED,
            law::READOUTS,
            c"Readouts with a place that is not on the detector.",
        ),
        counter(c"hits", unit::HITS, role::JOINS, law::READOUTS, c"Readouts on the detector.")
            .joining(law::HITS),
        counter(c"hits_in_events", unit::HITS, role::LEAVES, law::HITS, c"Hits that became events."),
        counter(
            c"clock_wraps",
            unit::TIMES,
            role::INFORMATION,
            law::NONE,
            c"How often the clock of 32 bits wrapped.",
        ),
    ];

    fn new(settings: &str) -> Result<Self, String> {
        let mut detector = Self {
            nx: 64,
            ny: 64,
            counts: Counts::default(),
            source: Source::numbered("board"),
            newest_sequence: 0,
            newest_tick: None,
        };
        for line in settings.lines().filter(|line| !line.is_empty()) {
            detector.take_setting(line)?;
        }
        Ok(detector)
    }

    fn description(&self) -> Description {
        Description {
            nx: self.nx,
            ny: self.ny,
            nz: 1,
            panels: 1,
            events_per_packet: MOST_READOUTS as u32,
            sources: 1,
            memory_bound: size_of::<Self>() as u64,
            ..Description::default()
        }
    }

    fn ingest(&mut self, packets: &[Packet<'_>], events: &mut Events<'_>) -> Result<Outcome, Failure> {
        for (taken, packet) in packets.iter().enumerate() {
            // Every call begins with room for the events of one packet, so there is always progress.
            if events.room() < MOST_READOUTS {
                return Ok(Outcome::More { taken });
            }
            self.take_packet(packet, events);
        }
        Ok(Outcome::Done)
    }

    fn counters(&self, values: &mut [u64]) {
        let counts = &self.counts;
        let in_order = [
            counts.packets_used,
            counts.packets_cut,
            counts.packets_no_header,
            counts.packets_wrong_magic,
            counts.packets_wrong_length,
            counts.packets_duplicated,
            counts.readouts,
            counts.readouts_outside,
            counts.hits,
            counts.hits_in_events,
            counts.clock_wraps,
        ];
        for (value, count) in values.iter_mut().zip(in_order) {
            *value = count;
        }
    }

    fn sources(&self, sources: &mut [Source]) -> usize {
        match sources.first_mut() {
            Some(place) if self.source.received > 0 => {
                *place = self.source;
                1
            }
            _ => 0,
        }
    }
}

export_detector!(PixelStream);

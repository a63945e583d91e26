//! Hits to packets of CAEN digitisers: records, jadaq of June 2018, jadaq 1.3 (EFU formats of 2018, sections 3.1 and
//! 3.2).
//!
//! A digitiser keeps its hits until the program that reads it out fetches them: all of some milliseconds at a time,
//! channel by channel, so that they are not in the order of time. Where packets have a header, each belongs to one
//! digitiser; records of all digitisers share packets.

use crate::electronics::Hit;
use crate::layout::{Layout, Place};
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_core::pulse::PulseTrain;
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings::{HitOrder, ReadoutFormat, TimeBase};
use evforge_wire::caen::{Element, ElementType, JadaqEncoder, Record, RecordEncoder, SEQUENCE_BITS};
use std::net::Ipv4Addr;

/// Port that packets are sent from and to: that of the reference by default.
pub const PORT: u16 = 9000;
/// Where packets come from.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Time between two looks of the program at a digitiser, in picoseconds. Chosen, within the 20 ms that hits may be late
/// in the shipped configurations.
const FETCH_PS: u64 = 10_000_000_000;

/// Number of the run in the headers of jadaq.
const RUN: u64 = 1;
const HEADER: usize = 32;
const PICOSECONDS_PER_MILLISECOND: u64 = 1_000_000_000;

/// A digitiser.
#[derive(Clone, Debug)]
struct Digitizer {
    number: u32,
    source: Source,
    /// What its clock shows when the pulse starts: ticks, and this many picoseconds more.
    start: (u64, u64),
}

impl Digitizer {
    fn begin(&mut self, pulse: &Pulse, tick_ps: u64) {
        let start_ps = i128::from(pulse.start_ns) * 1000 + i128::from(self.source.offset_ps());
        let (start_ps, tick_ps) = (start_ps.max(0), i128::from(tick_ps));
        let ticks = u64::try_from(start_ps / tick_ps).unwrap_or(u64::MAX);
        self.start = (ticks, (start_ps % tick_ps) as u64);
    }

    #[inline]
    fn ticks(&self, time_ps: u64, tick_ps: u64) -> u64 {
        self.start.0 + (self.start.1 + time_ps) / tick_ps
    }
}

/// A hit that a digitiser keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    digitizer: u16,
    /// The channel where hits are fetched channel by channel, 0 where they are in the order of time.
    rank: u16,
    ticks: u64,
    channel: u16,
    amplitude: u16,
}

/// The digitisers of a Multi-Blade, and the program that reads them out.
#[derive(Clone, Debug)]
pub struct CaenReadout {
    format: ReadoutFormat,
    has_global_time: bool,
    in_order: bool,
    tick_ps: u64,
    pulses: PulseTrain,
    digitizers: Vec<Digitizer>,
    /// The digitiser and its channel, by channels of the layout.
    channels: Vec<Option<(u16, u16)>>,
    kept: Vec<Kept>,
    jadaq: JadaqEncoder,
    records: RecordEncoder,
}

impl CaenReadout {
    /// The digitisers that read these channels, for settings that have been checked. Where the settings want hits in
    /// the order in which they arrive, they are sent in the order of time.
    pub fn new(settings: &MultiBladeSettings, layout: &Layout, pulses: PulseTrain) -> Self {
        let numbers = settings.digitizers();
        let mut channels = vec![None; layout.channel_count()];
        for run in &settings.mapping {
            let Ok(digitizer) = numbers.binary_search(&run.digitizer) else { continue };
            for step in 0..run.channels {
                let plane = run.plane.index() as u8;
                let place = Place { module: run.cassette, plane, coordinate: run.first + step };
                let known = layout.channel(place).and_then(|channel| channels.get_mut(channel as usize));
                if let Some(channel) = known {
                    *channel = Some((digitizer as u16, run.first_channel + step));
                }
            }
        }
        let digitizer = |number| Digitizer { number, source: Source::new(0, SEQUENCE_BITS), start: (0, 0) };
        let element_type = match settings.format {
            ReadoutFormat::JadaqOfJune2018 => ElementType::OfJune2018,
            ReadoutFormat::Jadaq1_3 | ReadoutFormat::Records => ElementType::List422,
        };
        Self {
            format: settings.format,
            has_global_time: settings.time_base == TimeBase::GlobalTime,
            in_order: settings.order == HitOrder::Arrival,
            tick_ps: settings.tick.max(1),
            pulses,
            digitizers: numbers.into_iter().map(digitizer).collect(),
            channels,
            kept: Vec::new(),
            jadaq: JadaqEncoder::new(element_type),
            records: RecordEncoder::default(),
        }
    }

    /// Sends what all digitisers keep.
    fn fetch(&mut self, sent_ns: u64, packets: &mut Vec<SimulatedPacket>) {
        let mut kept = std::mem::take(&mut self.kept);
        kept.sort_unstable();
        if self.format == ReadoutFormat::Records {
            self.send_records(&kept, sent_ns, packets);
        } else {
            for of_digitizer in kept.chunk_by(|one, other| one.digitizer == other.digitizer) {
                self.send_elements(of_digitizer, sent_ns, packets);
            }
        }
        kept.clear();
        self.kept = kept;
    }

    fn send_records(&mut self, kept: &[Kept], sent_ns: u64, packets: &mut Vec<SimulatedPacket>) {
        let mut send = |bytes: &[u8]| {
            if !bytes.is_empty() {
                packets.push(SimulatedPacket::new(bytes.to_vec(), ADDRESS, PORT, sent_ns));
            }
        };
        self.records.begin();
        for hit in kept {
            let number = self.digitizers.get(usize::from(hit.digitizer)).map_or(0, |of| of.number);
            let record = Record {
                digitizer: number as u8,
                channel: hit.channel as u8,
                adc: hit.amplitude,
                time: hit.ticks as u32,
            };
            if !self.records.push(&record) {
                send(self.records.packet());
                self.records.begin();
                self.records.push(&record);
            }
        }
        send(self.records.packet());
    }

    /// Sends the hits of one digitiser.
    fn send_elements(&mut self, kept: &[Kept], sent_ns: u64, packets: &mut Vec<SimulatedPacket>) {
        let Some(earliest) = kept.iter().map(|hit| hit.ticks).min() else { return };
        let source = usize::from(kept.first().map_or(0, |hit| hit.digitizer));
        let Some(digitizer) = self.digitizers.get_mut(source) else { return };
        let (global_time, base) = if self.has_global_time {
            let ticks_per_millisecond = (PICOSECONDS_PER_MILLISECOND / self.tick_ps).max(1);
            let milliseconds = earliest / ticks_per_millisecond;
            (milliseconds, milliseconds * ticks_per_millisecond)
        } else {
            (sent_ns / 1_000_000, 0)
        };
        let is_numbered = self.format == ReadoutFormat::Jadaq1_3;
        let mut rest = kept;
        while !rest.is_empty() {
            let number = digitizer.source.count();
            self.jadaq.begin(RUN, global_time, digitizer.number, number as u32);
            let element = |hit: &Kept| Element {
                time: (hit.ticks - base) & u64::from(u32::MAX),
                channel: hit.channel,
                charge: hit.amplitude,
                baseline: 0,
            };
            let taken = rest.iter().take_while(|hit| self.jadaq.push(&element(hit))).count();
            let bytes = self.jadaq.packet().to_vec();
            let sender = Sender { source, number: is_numbered.then_some(number), header: HEADER };
            packets.push(SimulatedPacket::new(bytes, ADDRESS, PORT, sent_ns).of(sender));
            rest = rest.get(taken.max(1)..).unwrap_or_default();
        }
    }
}

impl Readout for CaenReadout {
    fn sources(&self) -> Vec<String> {
        match self.format {
            ReadoutFormat::Records => vec!["records".into()],
            ReadoutFormat::JadaqOfJune2018 | ReadoutFormat::Jadaq1_3 => {
                self.digitizers.iter().map(|of| format!("digitizer {}", of.number)).collect()
            }
        }
    }

    fn first_pulse(&self, start_ns: u64) -> u64 {
        // Clocks may step back: the first pulse is not at the start of their time.
        let of_the_world = self.pulses.locate(start_ns).map_or(1, |at| at.pulse);
        if self.has_global_time { of_the_world } else { 1 }
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        for digitizer in &mut self.digitizers {
            digitizer.begin(pulse, self.tick_ps);
        }
        let mut due_ps = FETCH_PS;
        for hit in hits {
            if hit.sent_ps >= due_ps {
                self.fetch(pulse.start_ns + due_ps / 1000, packets);
                due_ps = (hit.sent_ps / FETCH_PS + 1) * FETCH_PS;
            }
            let Some(&Some((digitizer, channel))) = self.channels.get(hit.channel as usize) else { continue };
            let Some(of) = self.digitizers.get(usize::from(digitizer)) else { continue };
            let ticks = of.ticks(hit.time_ps, self.tick_ps);
            let rank = if self.in_order { 0 } else { channel };
            self.kept.push(Kept { digitizer, rank, ticks, channel, amplitude: hit.amplitude });
        }
        self.fetch((pulse.start_ns + due_ps / 1000).min(pulse.end_ns), packets);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        let of_clock = matches!(disturbance, Disturbance::ClockStep { .. });
        match self.format {
            // There are no numbers that could be disturbed.
            ReadoutFormat::Records | ReadoutFormat::JadaqOfJune2018 if !of_clock => false,
            // Records of all digitisers come from one source.
            ReadoutFormat::Records if disturbance.source() == 0 => {
                self.digitizers.iter_mut().for_each(|of| of.source.disturb(disturbance));
                true
            }
            ReadoutFormat::Records => false,
            ReadoutFormat::JadaqOfJune2018 | ReadoutFormat::Jadaq1_3 => {
                let digitizer = self.digitizers.get_mut(disturbance.source());
                digitizer.map(|of| of.source.disturb(disturbance)).is_some()
            }
        }
    }
}

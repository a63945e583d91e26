//! Hits to the ESS readout with VMM3a records, whatever the detector (ESS readout formats, sections 1 and 2.1).
//!
//! The wiring of the settings is read backwards: [`layout`] says which channels there are, and [`EssReadout`] finds the
//! address of each. Calibrations are undone, too, so that what a receiver with the same settings makes of a record is
//! the time and the amplitude of its hit. A ring belongs to one of the output queues that the settings know of. An
//! output queue sends a packet when it is full and at the end of a pulse; one without records tells the pulse alone.

use crate::electronics::Hit;
use crate::error::SimulationError;
use crate::layout::{Layout, Place};
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Mover, Pulse, Readout, Source};
use crate::vmm_channel::{FineTime, FineTimeSense, RawAmplitude};
use evforge_core::pulse::PulseTrain;
use evforge_detect::calibration::ChannelCalibration;
use evforge_detect::ess::{EssSettings, HybridSettings, PlaceRequest, VmmSettings};
use evforge_wire::ess::{
    EssHeader, EssTime, LARGEST_PACKET, RECORD, SEQUENCE_BITS, TICKS_PER_SECOND, Vmm3aFields,
};
use evforge_wire::recognise::EssRecords;
use std::net::Ipv4Addr;

/// Port that packets are sent from and to: that of the reference by default.
pub const PORT: u16 = 9000;

/// 35221 ticks of the ESS clock are 400000 ns (section 1). A *part* is the 35221st part of a picosecond, so that a
/// tick, too, is a whole number of them.
const PARTS_PER_PICOSECOND: i64 = 35_221;
const PARTS_PER_TICK: i64 = 400_000_000;
/// A bunch crossing is two ticks: 22.72 ns (section 2.1).
const PARTS_PER_CROSSING: i64 = 2 * PARTS_PER_TICK;
/// Bunch crossings are counted in 12 bits.
const CROSSINGS: u64 = 4096;

/// A tick, in picoseconds: the step of time stamps without a fine time.
pub const TICK_PS: u64 = (PARTS_PER_TICK / PARTS_PER_PICOSECOND) as u64;

/// Nanoseconds that the fine time spans (section 2.1).
const FINE_TIME_RANGE: f64 = 60.0;
const PARTS_PER_NANOSECOND: f64 = 1000.0 * PARTS_PER_PICOSECOND as f64;
/// 10 bits.
const LARGEST_ADC: u16 = 1023;

/// The channels of a detector with this wiring. `module` says which part of the detector is reconstructed by itself;
/// masked channels are there: they are left out by the receiver.
pub fn layout(wiring: &VmmSettings, module: impl Fn(&PlaceRequest) -> u16) -> Layout {
    let requests = wiring.hybrids.iter().flat_map(|hybrid| hybrid.channels.iter().flatten());
    Layout::new(requests.map(|request| place(request, &module)).collect())
}

fn place(request: &PlaceRequest, module: impl Fn(&PlaceRequest) -> u16) -> Place {
    Place { module: module(request), plane: request.plane, coordinate: request.coordinate }
}

/// A channel as it is in a record.
#[derive(Clone, Copy, Debug)]
struct Channel {
    fibre: u8,
    fen: u8,
    vmm: u8,
    channel: u8,
    queue: u8,
    /// In parts.
    fine_time: FineTime,
    amplitude: RawAmplitude,
}

impl Channel {
    fn new(hybrid: &HybridSettings, index: usize, queue: u8, has_fine_time: bool) -> Self {
        let line = hybrid.calibration.get(index).copied().unwrap_or(ChannelCalibration::IDENTITY);
        let fine_time = if has_fine_time {
            let range = FINE_TIME_RANGE * PARTS_PER_NANOSECOND;
            FineTime::new(
                PARTS_PER_CROSSING,
                range,
                FineTimeSense::Subtracted,
                line.time,
                PARTS_PER_NANOSECOND,
            )
        } else {
            FineTime::none(PARTS_PER_TICK)
        };
        Self {
            fibre: 2 * hybrid.ring,
            fen: hybrid.fen,
            vmm: 2 * hybrid.hybrid + (index / 64) as u8,
            channel: (index % 64) as u8,
            queue,
            fine_time,
            amplitude: RawAmplitude::new(line.amplitude, LARGEST_ADC),
        }
    }

    /// The record of a hit of this channel, `time_ps` after `start`.
    #[inline]
    fn record(&self, start: &ClockAtStart, time_ps: u64, amplitude: u16) -> [u8; RECORD] {
        let since = start.parts + time_ps as i64 * PARTS_PER_PICOSECOND;
        let (crossings, tdc) = self.fine_time.split(since);
        let ticks = crossings * (self.fine_time.crossing() / PARTS_PER_TICK);
        let ticks = start.ticks.saturating_add_signed(ticks);
        Vmm3aFields {
            fibre: self.fibre,
            fen: self.fen,
            time: time_of(ticks),
            bc: (ticks / 2 % CROSSINGS) as u16,
            over_threshold: true,
            adc: self.amplitude.of(amplitude),
            tdc,
            vmm: self.vmm,
            channel: self.channel,
            ..Vmm3aFields::default()
        }
        .encode()
    }
}

/// What the clock of an output queue shows when a pulse starts: at a bunch crossing, and this many parts after it.
#[derive(Clone, Copy, Debug, Default)]
struct ClockAtStart {
    ticks: u64,
    parts: i64,
}

impl ClockAtStart {
    fn new(pulse: &Pulse, offset_ps: i64) -> Self {
        let picoseconds = (i128::from(pulse.start_ns) * 1000 + i128::from(offset_ps)).max(0);
        let parts = picoseconds * i128::from(PARTS_PER_PICOSECOND);
        let crossing = i128::from(PARTS_PER_CROSSING);
        let ticks = u64::try_from(2 * (parts / crossing)).unwrap_or(u64::MAX);
        Self { ticks, parts: (parts % crossing) as i64 }
    }

    /// The nearest tick.
    fn nearest(&self) -> EssTime {
        time_of(self.ticks + ((self.parts + PARTS_PER_TICK / 2) / PARTS_PER_TICK) as u64)
    }
}

/// The time of this many ticks since 1970. The clock stands still in the year 2106, where its seconds end.
#[inline]
fn time_of(ticks: u64) -> EssTime {
    let last = EssTime { seconds: u32::MAX, ticks: TICKS_PER_SECOND - 1 };
    EssTime::from_total_ticks(ticks).unwrap_or(last)
}

/// An output queue of the readout master.
#[derive(Clone, Debug)]
pub(crate) struct OutputQueue {
    header: EssHeader,
    source: Source,
    /// Whether a pulse has been reported.
    has_begun: bool,
    start: ClockAtStart,
    records: Vec<u8>,
    /// Packets of this pulse.
    sent: u64,
    /// When the latest of the records was sent, in nanoseconds.
    latest_ns: u64,
}

impl OutputQueue {
    pub(crate) fn new(detector_type: u8, output_queue: u8) -> Self {
        Self {
            header: EssHeader { detector_type, output_queue, ..EssHeader::default() },
            source: Source::new(0, SEQUENCE_BITS),
            has_begun: false,
            start: ClockAtStart::default(),
            records: Vec::with_capacity(LARGEST_PACKET),
            sent: 0,
            latest_ns: 0,
        }
    }

    /// As the ledger names it.
    pub(crate) fn name(&self) -> String {
        format!("output queue {}", self.header.output_queue)
    }

    /// The tick that is nearest to this many picoseconds after the start of the pulse.
    pub(crate) fn tick_after(&self, time_ps: u64) -> EssTime {
        let since = self.start.parts + time_ps as i64 * PARTS_PER_PICOSECOND;
        time_of(self.start.ticks + ((since + PARTS_PER_TICK / 2) / PARTS_PER_TICK) as u64)
    }

    /// Adds a record, which is there at `sent_ns`. A packet without room for another is sent.
    pub(crate) fn push(
        &mut self,
        source: usize,
        record: &[u8],
        sent_ns: u64,
        packets: &mut Vec<SimulatedPacket>,
    ) {
        self.records.extend(record);
        self.latest_ns = sent_ns;
        if self.header.size() + self.records.len() + record.len() > LARGEST_PACKET {
            self.send(source, packets);
        }
    }

    /// Ends a pulse: what is left is sent, and the pulse is reported even if there was nothing.
    pub(crate) fn end(&mut self, source: usize, packets: &mut Vec<SimulatedPacket>) {
        if !self.records.is_empty() || self.sent == 0 {
            self.send(source, packets);
        }
    }

    /// Lets a disturbance happen to it.
    pub(crate) fn disturb(&mut self, disturbance: Disturbance) {
        self.source.disturb(disturbance);
        // A master that has just started knows of no pulse before the first.
        self.has_begun &= !matches!(disturbance, Disturbance::Restart { .. });
    }

    /// Begins a pulse.
    pub(crate) fn begin(&mut self, pulse: &Pulse) {
        self.start = ClockAtStart::new(pulse, self.source.offset_ps());
        let time = self.start.nearest();
        self.header.previous_pulse = if self.has_begun { self.header.pulse } else { time };
        self.header.pulse = time;
        self.has_begun = true;
        self.sent = 0;
        self.latest_ns = pulse.start_ns;
    }

    fn send(&mut self, source: usize, packets: &mut Vec<SimulatedPacket>) {
        let number = self.source.count();
        self.header.sequence = number as u32;
        let mut bytes = Vec::with_capacity(self.header.size() + self.records.len());
        self.header.write_packet(&self.records, &mut bytes);
        let address = Ipv4Addr::new(10, 0, 0, self.header.output_queue + 1);
        let sender = Sender { source, number: Some(number), header: self.header.size() };
        packets.push(SimulatedPacket::new(bytes, address, PORT, self.latest_ns).of(sender));
        self.records.clear();
        self.sent += 1;
    }
}

/// The readout master of a detector with VMM3a front ends.
#[derive(Clone, Debug)]
pub struct EssReadout {
    pulses: PulseTrain,
    channels: Vec<Option<Channel>>,
    queues: Vec<OutputQueue>,
}

impl EssReadout {
    /// The readout of a detector with these channels, whose settings have been checked. `module` is that of
    /// [`layout`]. Of channels that are wired to the same place the first is read.
    pub fn new(
        settings: &EssSettings,
        wiring: &VmmSettings,
        layout: &Layout,
        module: impl Fn(&PlaceRequest) -> u16,
        pulses: PulseTrain,
    ) -> Self {
        let mut numbers = settings.output_queues.clone();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            numbers.push(0);
        }
        let mut channels = vec![None; layout.channel_count()];
        for hybrid in &wiring.hybrids {
            let queue = hybrid.ring % numbers.len() as u8;
            for (index, request) in hybrid.channels.iter().enumerate() {
                let known = request.and_then(|request| layout.channel(place(&request, &module)));
                let wired = known.and_then(|number| channels.get_mut(number as usize));
                if let Some(wired) = wired.filter(|wired| wired.is_none()) {
                    *wired = Some(Channel::new(hybrid, index, queue, wiring.fine_time));
                }
            }
        }
        let detector_type = settings.header.detector_type;
        let queues = numbers.into_iter().map(|number| OutputQueue::new(detector_type, number)).collect();
        Self { pulses, channels, queues }
    }
}

impl Readout for EssReadout {
    fn sources(&self) -> Vec<String> {
        self.queues.iter().map(OutputQueue::name).collect()
    }

    fn first_pulse(&self, start_ns: u64) -> u64 {
        self.pulses.locate(start_ns).map_or(0, |at| at.pulse)
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let first = packets.len();
        for queue in &mut self.queues {
            queue.begin(pulse);
        }
        for hit in hits {
            let Some(Some(channel)) = self.channels.get(hit.channel as usize) else { continue };
            let source = usize::from(channel.queue);
            let Some(queue) = self.queues.get_mut(source) else { continue };
            let record = channel.record(&queue.start, hit.time_ps, hit.amplitude);
            queue.push(source, &record, pulse.start_ns + hit.sent_ps / 1000, packets);
        }
        for (source, queue) in self.queues.iter_mut().enumerate() {
            queue.end(source, packets);
        }
        packets[first..].sort_by_key(|packet| packet.origin.arrival_ns);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        let Some(queue) = self.queues.get_mut(disturbance.source()) else { return false };
        queue.disturb(disturbance);
        true
    }

    fn mover(&self) -> Option<Mover> {
        Some(Mover::Ess(EssRecords::Vmm3a))
    }
}

/// Simulated front ends of the ESS readout count by the clock of the ESS.
pub(crate) fn has_ess_clock(ess: &EssSettings) -> Result<(), SimulationError> {
    if ess.header.clock.ticks_per_second == TICKS_PER_SECOND {
        return Ok(());
    }
    let problem = format!(
        "simulated front ends count {TICKS_PER_SECOND} ticks per second, and ess.clock says {}: leave it out for simulations",
        ess.header.clock.ticks_per_second
    );
    Err(SimulationError(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::FIXED_START_NS;
    use evforge_detect::calibration::Line;
    use evforge_detect::settings::SortingSettings;
    use evforge_wire::ess::{EssPacket, HeaderRules, RecordRules, Vmm3aPayload, detector_type};
    use proptest::prelude::*;

    const RULES: HeaderRules = HeaderRules::strict(detector_type::NMX, u64::MAX);

    fn settings() -> EssSettings {
        EssSettings {
            header: RULES,
            records: RecordRules::default(),
            odd_output_queue: None,
            output_queues: vec![4, 1],
            max_time_of_flight: 1,
            pulse_period: Some(0),
            sorting: SortingSettings {
                window: 1,
                forward_jump: 1,
                restart: 1,
                source_lag: 1,
                max_held_hits: 1,
                max_group_hits: 1,
                decimation: 0,
                highest_rate: None,
            },
        }
    }

    /// Two hybrids on rings 3 and 6, whose strips count down and up.
    fn wiring(fine_time: bool, calibration: Option<ChannelCalibration>) -> VmmSettings {
        let hybrid = |ring: u8, plane: u8| HybridSettings {
            ring,
            fen: ring + 1,
            hybrid: 2,
            channels: (0..128_u16)
                .map(|at| {
                    let coordinate = if plane == 0 { 200 - at } else { at };
                    let request = PlaceRequest {
                        target: plane.into(),
                        plane,
                        coordinate,
                        threshold: 0,
                        threshold_class: 0,
                    };
                    (at != 77).then_some(request)
                })
                .collect(),
            calibration: calibration.map_or_else(Vec::new, |line| vec![line; 128]),
        };
        VmmSettings {
            hybrids: vec![hybrid(3, 0), hybrid(6, 1)],
            mask: Vec::new(),
            fine_time,
            over_threshold_counts: false,
            planes: ["x", "y"],
            thresholds: Vec::new(),
        }
    }

    /// Section 2.1, as a receiver computes it: nanoseconds after the start of the pulse.
    fn time_of_record(
        time: EssTime,
        tdc: u8,
        pulse: &Pulse,
        line: Option<ChannelCalibration>,
        has_fine_time: bool,
    ) -> f64 {
        let ticks = time.total_ticks() as i128 * 400_000 - i128::from(pulse.start_ns) * 35_221;
        let line = line.unwrap_or(ChannelCalibration::IDENTITY).time;
        let [offset, slope] = [line.offset_millionths(), line.slope_millionths()].map(|of| of as f64 / 1e6);
        let fine = (34.08 - 60.0 * f64::from(tdc) / 255.0 - offset) * slope;
        ticks as f64 / 35_221.0 + if has_fine_time { fine } else { 0.0 }
    }

    proptest! {
        #[test]
        fn a_receiver_finds_the_channel_the_time_and_the_amplitude(
            number in 1_u64..1_000_000,
            mut hits in prop::collection::vec((0..254_u32, 0..71_000_000_000_u64, 0..1024_u16), 1..1000),
            fine_time: bool,
            lines in prop::option::of((-20_f64..20.0, 0.8..1.2_f64, -20_f64..20.0, 0.8..1.2_f64)),
        ) {
            let line = lines.map(|(offset, slope, time_offset, time_slope)| ChannelCalibration {
                amplitude: Line::new(offset, slope).unwrap(),
                time: Line::new(time_offset, time_slope).unwrap(),
            });
            let wiring = wiring(fine_time, line);
            let layout = layout(&wiring, |_| 0);
            prop_assert_eq!(layout.channel_count(), 254);
            let mut readout = EssReadout::new(&settings(), &wiring, &layout, |_| 0, PulseTrain::ess());
            let start_ns = PulseTrain::ess().start_ns(number).unwrap();
            let pulse = Pulse { number, start_ns, end_ns: start_ns + 71_428_571 };
            hits.sort_unstable_by_key(|(_, time_ps, _)| *time_ps);
            let hits: Vec<Hit> = hits
                .into_iter()
                .map(|(channel, time_ps, amplitude)| Hit { channel, time_ps, sent_ps: time_ps, amplitude })
                .collect();
            let mut packets = Vec::new();
            readout.pulse(&pulse, &hits, &mut packets);
            prop_assert!(packets.is_sorted_by_key(|packet| packet.origin.arrival_ns));
            let mut found = Vec::new();
            for packet in &packets {
                let packet = EssPacket::parse(&packet.bytes, &RULES).unwrap();
                prop_assert_eq!(Some(packet.pulse), EssTime::nearest(start_ns));
                for record in Vmm3aPayload::parse(packet.payload).unwrap().readouts() {
                    prop_assert!(record.is_sound(&RecordRules::default()) && !record.is_calibration());
                    let plane = u8::from(record.ring() == 6);
                    prop_assert_eq!((record.fen(), record.hybrid()), (record.ring() + 1, 2));
                    prop_assert_eq!(packet.output_queue, if plane == 0 { 4 } else { 1 });
                    let at = u16::from(record.asic()) * 64 + u16::from(record.channel());
                    let coordinate = if plane == 0 { 200 - at } else { at };
                    let channel = layout.channel(Place { module: 0, plane, coordinate }).unwrap();
                    let time = time_of_record(record.time(), record.tdc(), &pulse, line, fine_time);
                    let crossing = record.time().total_ticks() / 2 % 4096;
                    prop_assert_eq!(u64::from(record.bc()), crossing);
                    found.push((channel, time, record.adc()));
                }
            }
            prop_assert_eq!(found.len(), hits.len());
            let mut expected: Vec<_> = hits.iter().collect();
            expected.sort_by_key(|hit| hit.channel);
            found.sort_by_key(|(channel, ..)| *channel);
            for (hit, (channel, time, adc)) in expected.into_iter().zip(found) {
                prop_assert_eq!(hit.channel, channel);
                // Half a step of the TDC and what 34.08 ns is rounded by, or half a tick.
                let exactness = if fine_time { 0.16 } else { 5.7 };
                let differs = time - hit.time_ps as f64 / 1000.0;
                prop_assert!(differs.abs() < exactness, "{differs} ns");
                let line = line.unwrap_or(ChannelCalibration::IDENTITY).amplitude;
                let [offset, slope] = [line.offset_millionths(), line.slope_millionths()].map(|of| of as f64 / 1e6);
                let amplitude = (f64::from(adc) - offset) * slope;
                let reach = [0.0, 1023.0].map(|raw| (raw - offset) * slope);
                let expected = f64::from(hit.amplitude).clamp(reach[0], reach[1]);
                prop_assert!((amplitude - expected).abs() <= 0.61, "{amplitude} for {expected}");
            }
        }
    }

    #[test]
    fn queues_are_numbered_tell_every_pulse_and_can_be_disturbed() {
        let wiring = wiring(true, None);
        let layout = layout(&wiring, |_| 0);
        let train = PulseTrain::ess();
        let mut readout = EssReadout::new(&settings(), &wiring, &layout, |_| 0, train);
        assert_eq!(readout.sources(), ["output queue 1", "output queue 4"]);
        let mut told = Vec::new();
        for number in readout.first_pulse(FIXED_START_NS)..readout.first_pulse(FIXED_START_NS) + 4 {
            let start_ns = train.start_ns(number).unwrap();
            let pulse = Pulse { number, start_ns, end_ns: start_ns };
            let mut packets = Vec::new();
            readout.pulse(&pulse, &[], &mut packets);
            assert_eq!(packets.len(), 2);
            let packet = EssPacket::parse(&packets[0].bytes, &RULES).unwrap();
            let ahead = packet.pulse.nanoseconds() as i64 - start_ns as i64;
            let knows_previous = packet.pulse != packet.previous_pulse;
            assert!(packet.is_heartbeat());
            told.push((packet.sequence, knows_previous, ahead));
            let disturbance = match told.len() {
                1 => Disturbance::CounterBeforeWrap { source: 0, packets: 1 },
                2 => Disturbance::ClockStep { source: 0, by_ps: 3_000_000 },
                _ => Disturbance::Restart { source: 0 },
            };
            assert!(readout.disturb(disturbance));
        }
        let expected = [(0, false, 0), (u32::MAX, true, 0), (0, true, 3000), (0, false, 3000)];
        assert!(
            told.iter().zip(expected).all(|(of, expected)| {
                (of.0, of.1) == (expected.0, expected.1) && (of.2 - expected.2).abs() <= 6
            }),
            "{told:?}"
        );
        assert!(!readout.disturb(Disturbance::Restart { source: 2 }));
    }
}

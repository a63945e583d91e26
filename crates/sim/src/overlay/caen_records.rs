//! Captures of CAEN digitisers as records of 8 bytes (EFU formats of 2018, section 3.1), of a Multi-Blade.
//!
//! A record has one time, in ticks of its digitizer: a step is a tick, and nothing is finer. Times have 32 bits, so that
//! an overlay longer than that wraps as the digitisers do.

use super::OverlayError;
use super::format::{CaptureFormat, RecordedReadout, Separation, Shift};
use crate::layout::{Layout, Place};
use crate::packet::{Sender, SimulatedPacket};
use crate::resolvable::Limits;
use evforge_core::clock::WrappingClock;
use evforge_core::event::PixelId;
use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin};
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings::{HitOrder, ReadoutFormat};
use evforge_wire::caen::{Record, RecordEncoder, RecordPacket, TIME_BITS};
use std::collections::{BTreeMap, BTreeSet};

/// Number of a digitizer, and its channel.
type Address = (u32, u16);

/// Hits no further apart are at the same time, in picoseconds, besides a tick: large signals follow the first one of
/// their neutron within two ticks of 16 ns in the recording. Small ones come later, by what their amplitude says.
const SAME_TIME_PS: u64 = 32_000;

/// What is kept of a record: its digitizer, channel and amplitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordContent {
    digitizer: u8,
    channel: u8,
    adc: u16,
}

/// Records of the digitisers of a configured Multi-Blade.
#[derive(Clone, Debug)]
pub struct CaenRecordCapture {
    settings: MultiBladeSettings,
    places: BTreeMap<Address, Place>,
    layout: Layout,
    /// The channels of `layout`.
    addresses: Vec<Address>,
    clocks: BTreeMap<u32, WrappingClock>,
    origin: Option<PacketOrigin>,
    encoder: RecordEncoder,
    latest_step: u64,
}

impl CaenRecordCapture {
    /// For a detector with these settings.
    ///
    /// # Errors
    /// If its packets are not of records, or events are not in order of time and in nanoseconds.
    pub fn new(settings: &MultiBladeSettings) -> Result<Self, OverlayError> {
        let refuse = |problem: &str| Err(OverlayError(format!("[multiblade]: {problem}")));
        if settings.format != ReadoutFormat::Records {
            return refuse("only captures of readout = \"records\" can be overlaid");
        }
        if settings.order != HitOrder::Time || settings.raw_ticks {
            return refuse("an overlay needs order = \"time\" and times = \"nanoseconds\"");
        }
        let masked = settings.mask.iter();
        let masked = masked.flat_map(|mask| mask.channels.iter().map(|&channel| (mask.digitizer, channel)));
        let masked: BTreeSet<Address> = masked.collect();
        let mut places = BTreeMap::new();
        for run in &settings.mapping {
            let (module, plane) = (run.cassette, run.plane.index() as u8);
            for index in 0..run.channels {
                let address = (run.digitizer, run.first_channel + index);
                if !masked.contains(&address) {
                    places.insert(address, Place { module, plane, coordinate: run.first + index });
                }
            }
        }
        let layout = Layout::new(places.values().copied().collect());
        let mut addresses = vec![(0, 0); layout.channel_count()];
        for (address, place) in places.iter().rev() {
            if let Some(channel) = layout.channel(*place) {
                addresses[channel as usize] = *address;
            }
        }
        Ok(Self {
            settings: settings.clone(),
            places,
            layout,
            addresses,
            clocks: BTreeMap::new(),
            origin: None,
            encoder: RecordEncoder::default(),
            latest_step: 0,
        })
    }

    /// Sends what has been collected, if anything.
    fn send(&mut self, packets: &mut impl FnMut(SimulatedPacket)) {
        if self.encoder.packet().is_empty() {
            return;
        }
        let sent_ns = u128::from(self.latest_step) * u128::from(self.settings.tick) / 1000;
        let origin = PacketOrigin {
            arrival_ns: u64::try_from(sent_ns).unwrap_or(u64::MAX),
            arrival_clock: ArrivalClock::Capture,
            ..self.origin.unwrap_or_default()
        };
        packets(SimulatedPacket { bytes: self.encoder.packet().to_vec(), origin, sender: Sender::default() });
        self.encoder.begin();
    }
}

impl CaptureFormat for CaenRecordCapture {
    type Content = RecordContent;

    fn step_ps(&self) -> u64 {
        self.settings.tick
    }

    fn separation(&self) -> Separation {
        let window = &self.settings.window;
        let gaps = [window.max_gap_wires, window.max_gap_strips];
        Separation {
            time_ps: u64::from(window.ticks) * self.settings.tick,
            coordinates: gaps.map(|gap| u16::try_from(gap).unwrap_or(u16::MAX).saturating_add(1)),
            min_hits: [1; 2],
        }
    }

    fn limits(&self, dead_time_ps: u64) -> Limits {
        let time_ps = SAME_TIME_PS + self.settings.tick;
        Limits { dead_time_ps, time_ps, neighbours: [1, 1], min_hits: [1, 1], trigger: None }
    }

    fn extents(&self) -> [u16; 2] {
        [self.settings.wires, self.settings.strips]
    }

    fn read(&mut self, packet: &Packet<'_>, readouts: &mut Vec<RecordedReadout<RecordContent>>) -> u64 {
        let Ok(records) = RecordPacket::parse(packet.bytes) else { return 0 };
        if packet.is_cut() {
            return 0;
        }
        self.origin.get_or_insert(packet.origin);
        let mut found = 0;
        for Record { digitizer, channel, adc, time } in
            records.records().filter(|record| !record.is_end_of_run())
        {
            found += 1;
            let Some(&place) = self.places.get(&(u32::from(digitizer), u16::from(channel))) else { continue };
            let clock =
                self.clocks.entry(u32::from(digitizer)).or_insert_with(|| WrappingClock::new(TIME_BITS));
            let step = clock.extend(u64::from(time));
            let content = RecordContent { digitizer, channel, adc };
            readouts.push(RecordedReadout { place, step, fine_ps: 0, content });
        }
        found
    }

    fn amplitude(&self, readout: &RecordedReadout<RecordContent>) -> Option<u16> {
        Some(readout.content.adc).filter(|adc| *adc >= self.settings.threshold)
    }

    fn module(&self, pixel: PixelId) -> Option<u16> {
        let row = self.settings.geometry.coordinates(pixel)?.y;
        u16::try_from(row / u32::from(self.settings.wires.max(1))).ok()
    }

    fn centre(&self, pixel: PixelId) -> Option<[f64; 3]> {
        let at = self.settings.geometry.coordinates(pixel)?;
        Some([at.x, at.y, at.z].map(|value| f64::from(value) + 0.5))
    }

    fn fixed_channels(&self) -> Option<String> {
        let has_thresholds = !self.settings.channel_thresholds.is_empty();
        has_thresholds.then(|| "the configuration has thresholds of single channels".to_owned())
    }

    fn moved(
        &self,
        readout: &RecordedReadout<RecordContent>,
        by: Shift,
    ) -> Option<RecordedReadout<RecordContent>> {
        let place = readout.place.moved(by)?;
        let (digitizer, channel) = *self.addresses.get(self.layout.channel(place)? as usize)?;
        let [digitizer, channel] = [digitizer, u32::from(channel)].map(u8::try_from);
        let content =
            RecordContent { digitizer: digitizer.ok()?, channel: channel.ok()?, adc: readout.content.adc };
        Some(RecordedReadout { place, content, ..*readout })
    }

    fn moved_pixel(&self, pixel: PixelId, [wires, strips]: Shift) -> Option<PixelId> {
        let geometry = &self.settings.geometry;
        let mut at = geometry.coordinates(pixel)?;
        at.x = at.x.checked_add_signed(strips)?;
        at.y = at.y.checked_add_signed(wires)?;
        let moved = Some(geometry.pixel(at)).filter(|&moved| moved != 0)?;
        // A wire beyond the last one is of another cassette.
        (self.module(moved) == self.module(pixel)).then_some(moved)
    }

    fn write(&mut self, readout: &RecordedReadout<RecordContent>, packets: &mut impl FnMut(SimulatedPacket)) {
        let RecordContent { digitizer, channel, adc } = readout.content;
        // The field has 32 bits, and so has the digitizer's counter.
        let record = Record { digitizer, channel, adc, time: readout.step as u32 };
        self.latest_step = self.latest_step.max(readout.step);
        if !self.encoder.push(&record) {
            self.send(packets);
            self.encoder.push(&record);
        }
    }

    fn finish(&mut self, packets: &mut impl FnMut(SimulatedPacket)) {
        self.send(packets);
    }
}

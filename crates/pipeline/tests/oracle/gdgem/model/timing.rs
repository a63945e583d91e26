//! Readouts to hits: time markers, trigger time, chip time, mapping and threshold.
//!
//! EFU formats of 2018, sections 4.1 to 4.5 and the hit selection of section 4.6.

use std::collections::{BTreeMap, BTreeSet};

use super::clock::ExtendedClock;
use super::counters::Counters;
use super::decode::{Item, Packet, Readout};
use super::hit::Hit;
use super::rules::Rules;
use super::settings::{Convention, Format, Settings, Ticks};

/// Number of a chip: FEC and VMM. Where the FECs share their markers the FEC is given as 0.
type Chip = (u16, u8);

/// What the packets so far have told about time.
pub(crate) struct Timing<'a> {
    /// The settings of the run.
    settings: &'a Settings,
    /// The rules of the run.
    rules: &'a Rules,
    /// The latest marker of each chip, in marker periods.
    markers: BTreeMap<Chip, u64>,
    /// Reference only: the positions (number of the hit in its packet) that have ever seen a marker above 0.
    positions_with_marker: BTreeSet<usize>,
    /// Rule `full_time`: the extended clock of each FEC.
    clocks: BTreeMap<u16, ExtendedClock>,
}

impl<'a> Timing<'a> {
    /// The state before the first packet.
    pub(crate) fn new(settings: &'a Settings, rules: &'a Rules) -> Self {
        Self {
            settings,
            rules,
            markers: BTreeMap::new(),
            positions_with_marker: BTreeSet::new(),
            clocks: BTreeMap::new(),
        }
    }

    /// The hits of one packet, whose number in the input is `number`, in the order of their readouts.
    pub(crate) fn hits(&mut self, number: usize, packet: &Packet, counters: &mut Counters) -> Vec<Hit> {
        let stamp = self.stamp_of_packet(packet);
        let mut hits = Vec::new();
        let mut position = 0;
        for item in &packet.items {
            match item {
                Item::Marker { vmm, stamp } => self.take_marker(packet.fec, *vmm, *stamp, counters),
                Item::Readout(readout) => {
                    counters.readouts += 1;
                    let trigger_time = match self.settings.format {
                        Format::Vmm2 => Some(stamp * self.settings.arithmetic.trigger_resolution),
                        Format::Vmm3 => self.trigger_time(packet.fec, position, readout, counters),
                    };
                    position += 1;
                    if let Some(trigger_time) = trigger_time {
                        hits.extend(self.hit(number, packet.fec, readout, trigger_time, counters));
                    }
                }
            }
        }
        hits
    }

    /// VMM2: the trigger time stamp of a packet, extended with rule `full_time` (section 4.1).
    fn stamp_of_packet(&mut self, packet: &Packet) -> Ticks {
        let raw = u64::from(packet.trigger_stamp);
        if self.settings.format == Format::Vmm2 && self.rules.full_time {
            Ticks::from(self.extend(packet.fec, 32, raw))
        } else {
            Ticks::from(raw)
        }
    }

    /// Keeps a marker for the hits that follow (section 4.2).
    fn take_marker(&mut self, fec: u16, vmm: u8, stamp: u64, counters: &mut Counters) {
        counters.markers += 1;
        if self.settings.convention == Convention::Vmm3aPhysical && vmm >= 16 {
            counters.markers_ignored += 1;
            return;
        }
        let stamp = if self.rules.full_time { self.extend(fec, 42, stamp) } else { stamp & 0xffff_ffff };
        self.markers.insert(self.chip(fec, vmm), stamp);
    }

    /// The next stamp of a FEC's clock in 64 bits.
    fn extend(&mut self, fec: u16, bits: u32, raw: u64) -> u64 {
        self.clocks.entry(fec).or_insert_with(|| ExtendedClock::new(bits)).extend(raw)
    }

    /// The chip under which a marker is kept.
    fn chip(&self, fec: u16, vmm: u8) -> Chip {
        (if self.rules.markers_per_fec { fec } else { 0 }, vmm)
    }

    /// VMM3: the trigger time of a readout in ticks, from the marker of its chip and its trigger offset;
    /// `position` is the number of the readout in its packet (sections 4.2 and 4.3).
    fn trigger_time(
        &mut self,
        fec: u16,
        position: usize,
        readout: &Readout,
        counters: &mut Counters,
    ) -> Option<Ticks> {
        let Some(marker) = self.marker(fec, position, readout.vmm) else {
            counters.no_marker += 1;
            return None;
        };
        let offset = self.trigger_offset(readout.trigger_offset, counters)?;
        let arithmetic = &self.settings.arithmetic;
        let time = Ticks::from(marker) * arithmetic.marker_period + offset * arithmetic.offset_period;
        if self.rules.full_time {
            return Some(time);
        }
        // The reference keeps whole nanoseconds in 32 bits and takes them for units of the trigger
        // resolution.
        let nanoseconds = time.div_euclid(arithmetic.ticks_per_ns) & 0xffff_ffff;
        Some(nanoseconds * arithmetic.trigger_resolution)
    }

    /// The marker that applies to a readout, if it may be used at all.
    fn marker(&mut self, fec: u16, position: usize, vmm: u8) -> Option<u64> {
        let marker = self.markers.get(&self.chip(fec, vmm)).copied();
        if self.rules.marker_required {
            return marker;
        }
        let marker = marker.unwrap_or(0);
        if marker > 0 {
            self.positions_with_marker.insert(position);
        }
        self.positions_with_marker.contains(&position).then_some(marker)
    }

    /// The meaning of the 5-bit trigger offset, in offset periods (sections 4.2 and 4.3).
    fn trigger_offset(&self, raw: u8, counters: &mut Counters) -> Option<Ticks> {
        match (self.settings.convention, raw) {
            (Convention::Efu2018, _) | (Convention::Vmm3aPhysical, 0..=15) => Some(Ticks::from(raw)),
            (Convention::Vmm3aPhysical, 31) => Some(-1),
            (Convention::Vmm3aPhysical, 16) => {
                counters.latency_violation += 1;
                None
            }
            (Convention::Vmm3aPhysical, _) => {
                counters.undefined_offset += 1;
                None
            }
        }
    }

    /// A readout with a trigger time (ticks) as a hit, if it is mapped, above threshold and not before time 0
    /// (sections 4.4 to 4.6).
    fn hit(
        &self,
        number: usize,
        fec: u16,
        readout: &Readout,
        trigger_time: Ticks,
        counters: &mut Counters,
    ) -> Option<Hit> {
        let Some(chip) = self.settings.chip(fec, readout.vmm) else {
            counters.unmapped += 1;
            return None;
        };
        let threshold = self.settings.clusterers.get(chip.plane).hit_adc_threshold;
        let (adc, fine_time) = self.calibrated(fec, readout);
        if !readout.over_threshold && adc < threshold {
            counters.below_threshold += 1;
            return None;
        }
        let arithmetic = &self.settings.arithmetic;
        let hit = Hit {
            source: fec,
            packet: number,
            epoch: 0,
            plane: chip.plane,
            strip: chip.strip_offset + u32::from(readout.channel),
            adc,
            trigger_time,
            chip_time: Ticks::from(readout.bunch_crossing) * arithmetic.bunch_crossing + fine_time,
        };
        if self.rules.source_clocks && hit.time() < 0 {
            counters.before_zero += 1;
            return None;
        }
        counters.hits += 1;
        Some(hit)
    }

    /// Amplitude and fine time of a readout: (adc - offset) * slope, clipped to 0..1023, and (1.5 crossings - TDC
    /// - offset) * slope (section 4.3). Both are rounded to the nearest count and tick, halves up.
    fn calibrated(&self, fec: u16, readout: &Readout) -> (u16, Ticks) {
        let arithmetic = &self.settings.arithmetic;
        let fine_time = arithmetic.chip_time_constant + Ticks::from(readout.tdc) * arithmetic.tdc_step;
        let Some(channel) = self.settings.calibration.get(&(fec, readout.vmm, readout.channel)) else {
            return (readout.adc, fine_time);
        };
        let million = 1_000_000;
        let rounded = |millionths_of_millionths: i128| {
            (2 * millionths_of_millionths + million * million).div_euclid(2 * million * million)
        };
        let adc = (i128::from(readout.adc) * million - channel.adc_offset) * channel.adc_slope;
        let time = (fine_time * million - channel.time_offset * arithmetic.ticks_per_ns) * channel.time_slope;
        let adc = u16::try_from(rounded(adc).clamp(0, 1023)).expect("at most 1023");
        (adc, rounded(time))
    }
}

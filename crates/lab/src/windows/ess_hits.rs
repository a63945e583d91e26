//! Packets of the ESS readout with VMM3a records to hits, by the wiring and calibration of the settings.

use super::placed_hit::PlacedHit;
use evforge_core::packet::Packet;
use evforge_detect::calibration::{ChannelCalibration, Line};
use evforge_detect::ess::{EssSettings, PlaceRequest, VmmSettings};
use evforge_sim::layout::Place;
use evforge_wire::ess::{EssPacket, HeaderRules, RecordRules, Vmm3aPayload, Vmm3aReadout};
use std::collections::{HashMap, HashSet};

/// Ring, front end and hybrid.
type Address = (u8, u8, u8);

/// Nanoseconds of a fine time of 0 after the time stamp, and of its range of 255 steps, which run back (section 2.1).
const FINE_BASE_NS: f64 = 34.08;
const FINE_RANGE_NS: f64 = 60.0;
const FINE_STEPS: f64 = 255.0;
const PICOSECONDS_PER_SECOND: i128 = 1_000_000_000_000;

/// Reads packets.
#[derive(Clone, Debug)]
pub struct EssHits {
    header: HeaderRules,
    records: RecordRules,
    vmm: VmmSettings,
    /// Where the hybrids are in the settings.
    hybrids: HashMap<Address, usize>,
    /// Hybrids and channels on them that are left out.
    masked: HashSet<(Address, usize)>,
    /// Wired targets that are one module: 2 where each plane is a target.
    targets_of_module: u16,
}

impl EssHits {
    /// For a detector with this wiring.
    pub fn new(ess: &EssSettings, vmm: VmmSettings, targets_of_module: u16) -> Self {
        let hybrids = vmm.hybrids.iter().enumerate();
        let hybrids =
            hybrids.map(|(index, hybrid)| ((hybrid.ring, hybrid.fen, hybrid.hybrid), index)).collect();
        let masked = vmm.mask.iter().flat_map(|entry| {
            let first = usize::from(entry.vmm % 2) * (evforge_detect::ess::settings::HYBRID_CHANNELS / 2);
            let address = (entry.ring, entry.fen, entry.vmm / 2);
            entry.channels.iter().map(move |&channel| (address, first + usize::from(channel)))
        });
        let masked = masked.collect();
        Self { header: ess.header, records: ess.records, vmm, hybrids, masked, targets_of_module }
    }

    /// Adds the hits of a packet.
    pub fn read(&self, packet: &Packet<'_>, hits: &mut Vec<PlacedHit>) {
        let Ok(header) = EssPacket::parse(packet.bytes, &self.header) else { return };
        if packet.is_cut() || header.detector_type != self.header.detector_type {
            return;
        }
        let Ok(payload) = Vmm3aPayload::parse(header.payload) else { return };
        let sound =
            payload.readouts().filter(|readout| readout.is_sound(&self.records) && readout.is_plain());
        hits.extend(sound.filter_map(|readout| self.hit(readout)));
    }

    fn hit(&self, readout: Vmm3aReadout) -> Option<PlacedHit> {
        let address = (readout.ring(), readout.fen(), readout.hybrid());
        let channel = usize::from(readout.asic()) << 6 | usize::from(readout.channel() & 63);
        let hybrid = self.vmm.hybrids.get(*self.hybrids.get(&address)?)?;
        let request: &PlaceRequest = hybrid.channels.get(channel)?.as_ref()?;
        if self.masked.contains(&(address, channel)) {
            return None;
        }
        let lines = hybrid.calibration.get(channel).copied().unwrap_or(ChannelCalibration::IDENTITY);
        let amplitude =
            corrected(lines.amplitude, f64::from(readout.adc())).round().clamp(0.0, 1023.0) as u16;
        let passes = self.vmm.over_threshold_counts && readout.over_threshold();
        if amplitude < request.threshold && !passes {
            return None;
        }
        let time = readout.time();
        let clock = i128::from(self.records.clock.ticks_per_second.max(1));
        let mut time_ps = i128::from(time.seconds) * PICOSECONDS_PER_SECOND
            + i128::from(time.ticks) * PICOSECONDS_PER_SECOND / clock;
        if self.vmm.fine_time {
            let fine = FINE_BASE_NS - f64::from(readout.tdc()) * FINE_RANGE_NS / FINE_STEPS;
            time_ps += (corrected(lines.time, fine) * 1000.0).round() as i128;
        }
        let place = Place {
            module: request.target / self.targets_of_module.max(1),
            plane: request.plane & 1,
            coordinate: request.coordinate,
        };
        Some(PlacedHit { place, time_ps, amplitude })
    }
}

/// *(value − offset) × slope*.
fn corrected(line: Line, value: f64) -> f64 {
    (value - line.offset_millionths() as f64 / 1e6) * line.slope_millionths() as f64 / 1e6
}

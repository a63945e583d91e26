//! Readouts of SRS front-end cards to `srs_hits`.

use super::Recorder;
use crate::counters::RecordingCounters;
use crate::rows::SrsHit;
use evforge_core::clock::WrappingClock;
use evforge_core::packet::Packet;
use evforge_detect::gdgem::hit_time::HitTime;
use evforge_detect::gdgem::settings::{GdGemSettings, ReadoutFormat};
use evforge_detect::settings::SettingsError;
use evforge_wire::srs_vmm::{
    MARKER_BITS, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, VmmReadout, Word,
};
use std::collections::BTreeMap;

/// What is remembered of a card.
#[derive(Debug)]
struct Card {
    clock: WrappingClock,
    /// The marker of each chip, in ticks of the detector's time.
    markers: [Option<i64>; 32],
}

/// Takes the readouts out of packets with VMM2, VMM3 and VMM3a.
///
/// `srs_timestamp` is marker (VMM2: trigger stamp) and trigger offset by the configured clocks, in whole
/// nanoseconds; `chiptime` is the rest of the time. A hit without marker has no time and is left out.
#[derive(Debug)]
pub struct SrsRecorder {
    format: ReadoutFormat,
    time: HitTime,
    cards: BTreeMap<u16, Card>,
}

impl SrsRecorder {
    /// A recorder for the packets of a detector with these settings.
    ///
    /// # Errors
    /// If the packets are those of the triggered mode, or the clocks have no common unit (settings that have been
    /// checked do).
    pub fn new(settings: &GdGemSettings) -> Result<Self, SettingsError> {
        if settings.format == ReadoutFormat::Vmm3aTriggered {
            let problem =
                "a dump has one time stamp for each hit, the triggered mode two: it cannot be dumped";
            return SettingsError::refuse("readout", problem);
        }
        Ok(Self {
            format: settings.format,
            time: HitTime::new(&settings.time, settings.format)?,
            cards: BTreeMap::new(),
        })
    }

    fn take_vmm2(&mut self, bytes: &[u8], rows: &mut Vec<SrsHit>, counters: &mut RecordingCounters) -> bool {
        let packet = match Vmm2Packet::parse(bytes) {
            Ok(Vmm2Content::Readouts(packet)) => packet,
            Ok(Vmm2Content::EndOfFrame | Vmm2Content::NoData) => return true,
            Err(_) => return false,
        };
        let card = self.cards.entry(1).or_insert_with(|| Card::new(32));
        let base = self.time.of_trigger(card.clock.extend(packet.trigger_stamp.into()));
        for readout in packet.readouts() {
            counters.readouts_in += 1;
            put(&self.time, 1, &readout, base, rows, counters);
        }
        true
    }

    fn take_vmm3(
        &mut self,
        bytes: &[u8],
        variant: Vmm3Variant,
        rows: &mut Vec<SrsHit>,
        counters: &mut RecordingCounters,
    ) -> bool {
        let Ok(packet) = Vmm3Packet::parse(bytes, variant) else { return false };
        let card = self.cards.entry(packet.fec).or_insert_with(|| Card::new(MARKER_BITS));
        for word in packet.words() {
            match word {
                Word::Marker(marker) => {
                    if let Some(of_chip) = card.markers.get_mut(usize::from(marker.chip)) {
                        *of_chip = Some(self.time.of_marker(card.clock.extend(marker.stamp)));
                    }
                }
                Word::Readout(readout) => {
                    counters.readouts_in += 1;
                    let marker = card.markers.get(usize::from(readout.chip)).copied().flatten();
                    match (marker, self.time.of_offset(readout.trigger_offset)) {
                        (None, _) => counters.without_marker += 1,
                        (_, Err(_)) => counters.without_time += 1,
                        (Some(marker), Ok(offset)) => {
                            put(&self.time, packet.fec, &readout, marker + offset, rows, counters);
                        }
                    }
                }
            }
        }
        true
    }
}

impl Card {
    fn new(stamp_bits: u32) -> Self {
        Self { clock: WrappingClock::new(stamp_bits), markers: [None; 32] }
    }
}

/// Makes a row of a readout whose turn of the chip's counter began at `base`.
fn put(
    time: &HitTime,
    fec: u16,
    readout: &VmmReadout,
    base: i64,
    rows: &mut Vec<SrsHit>,
    counters: &mut RecordingCounters,
) {
    let Ok(base) = u64::try_from(base) else {
        counters.without_time += 1;
        return;
    };
    let Ok(fec) = u8::try_from(fec) else {
        counters.without_column += 1;
        return;
    };
    rows.push(SrsHit {
        fec,
        chip_id: readout.chip,
        srs_timestamp: time.nanoseconds(base),
        channel: readout.channel.into(),
        bcid: readout.bunch_crossing,
        tdc: readout.tdc.into(),
        adc: readout.adc,
        over_threshold: readout.over_threshold.into(),
        chiptime: (time.of_chip(readout) as f64 / time.ticks_per_ns() as f64) as f32,
    });
}

impl Recorder for SrsRecorder {
    type Row = SrsHit;

    fn take(&mut self, packet: &Packet<'_>, rows: &mut Vec<SrsHit>, counters: &mut RecordingCounters) {
        // A packet that is cut would look damaged, or as if it had fewer readouts.
        let taken = !packet.is_cut()
            && match self.format {
                ReadoutFormat::Vmm2 => self.take_vmm2(packet.bytes, rows, counters),
                ReadoutFormat::Vmm3Of2018 => {
                    self.take_vmm3(packet.bytes, Vmm3Variant::Of2018, rows, counters)
                }
                ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => {
                    self.take_vmm3(packet.bytes, Vmm3Variant::Vmm3a, rows, counters)
                }
            };
        counters.packets_rejected += u64::from(!taken);
    }
}

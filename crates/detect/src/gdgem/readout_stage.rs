//! Packets of one FEC to hits: time, digital geometry, threshold.

use super::counters::GdGemCounters;
use super::digital_geometry::{FecWiring, NoPlace, StripPlace};
use super::electronics::CHIPS;
use super::hit_time::{HitTime, OffsetProblem};
use super::monitor_channels::MonitorChannels;
use super::settings::{GdGemSettings, ReadoutFormat};
use super::trigger_markers::TriggerTimes;
use crate::calibration::{ChannelCalibration, IntegerLine};
use crate::channel_mask::{ChannelMask, MaskEntry};
use crate::hit::Hit;
use crate::settings::SettingsError;
use crate::source_clock::{AcceptedHits, SourceClock};
use crate::threshold_steps::{ThresholdClass, ThresholdSteps};
use evforge_core::clock::WrappingClock;
use evforge_core::monitor::threshold_of_readouts;
use evforge_wire::srs_vmm::{
    CHANNELS, LARGEST_ADC, LARGEST_PACKET, MARKER_BITS, TimeMarker, Vmm2Packet, Vmm3Packet, VmmReadout, Word,
};

/// Readouts that the largest packet can hold.
pub const LARGEST_READOUT_COUNT: usize = LARGEST_PACKET / 6 + 1;

/// What all FECs share.
#[derive(Debug, get_size2::GetSize)]
pub struct ReadoutRules {
    /// Ticks.
    pub time: HitTime,
    /// Thresholds that change.
    pub thresholds: ThresholdSteps,
}

impl ReadoutRules {
    /// Whether the thresholds of a packet's readouts are a matter of their times: changes wait, or the clock of the FEC does
    /// not know the time yet, so that changes must be later than what is seen now.
    #[inline]
    fn changes(&self, judge: &HitJudge<'_, impl AcceptedHits>) -> bool {
        self.thresholds.are_waiting() || !judge.clock.has_front()
    }
}

/// The clock of a FEC, and where the hits go that it accepts.
pub struct HitJudge<'a, A> {
    /// The clock.
    pub clock: &'a mut SourceClock<Hit>,
    /// Where hits go.
    pub accepted: &'a mut A,
}

impl<A: AcceptedHits> HitJudge<'_, A> {
    #[inline(always)]
    fn judge(&mut self, plane: usize, hit: Hit) {
        self.clock.judge(plane, hit, self.accepted);
    }

    /// The threshold of a readout, if thresholds may change with its time.
    #[cold]
    fn threshold_at(
        &self,
        thresholds: &mut ThresholdSteps,
        class: ThresholdClass,
        settled: u16,
        time: i64,
    ) -> u16 {
        let time = self.clock.place_of_readout(u64::try_from(time).unwrap_or(0));
        if !self.clock.has_front() {
            thresholds.note_without_front(time);
        }
        thresholds.at(class, settled, time)
    }
}

/// Everything that belongs to one FEC.
#[derive(Debug, get_size2::GetSize)]
pub struct Fec {
    /// Its number.
    pub number: u16,
    wiring: FecWiring,
    stamps: WrappingClock,
    /// Base time of each chip; none before its first marker.
    bases: [Option<i64>; CHIPS],
    /// In triggered mode: what makes the base times.
    trigger: Option<TriggerTimes>,
    /// Corrections of every channel, or none at all.
    calibration: Vec<ChannelCorrection>,
    mask: FecMask,
}

/// The masked channels of a FEC. The wiring says which they are; this counts them.
#[derive(Debug, get_size2::GetSize)]
struct FecMask {
    /// Over the channels of the detector, as the monitor counts them.
    mask: ChannelMask,
    /// The first channel of each chip, there.
    chips: [Option<usize>; CHIPS],
}

impl FecMask {
    fn new(fec: u16, settings: &GdGemSettings) -> Self {
        let channels = MonitorChannels::new(&settings.mapping);
        let entries = settings.mask.iter().filter(|entry| entry.fec == fec).flat_map(|entry| {
            let first = channels.first_of(fec, entry.chip);
            entry.channels.iter().filter_map(move |&channel| {
                Some(MaskEntry { channel: first? + usize::from(channel), reason: entry.reason.clone() })
            })
        });
        let entries: Vec<_> = entries.collect();
        let channel_count = if entries.is_empty() { 0 } else { settings.mapping.len() * CHANNELS };
        Self {
            mask: ChannelMask::new(channel_count, &entries),
            chips: std::array::from_fn(|chip| channels.first_of(fec, chip as u8)),
        }
    }

    #[cold]
    fn count(&mut self, readout: &VmmReadout) {
        if let Some(first) = self.chips.get(usize::from(readout.chip)).copied().flatten() {
            self.mask.hides(first + usize::from(readout.channel));
        }
    }
}

/// The corrections of one channel.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct ChannelCorrection {
    amplitude: IntegerLine,
    fine_time: IntegerLine,
}

/// The corrections of the channels of a FEC; none if the settings calibrate none of them.
fn corrections(
    number: u16,
    settings: &GdGemSettings,
    time: &HitTime,
) -> Result<Vec<ChannelCorrection>, SettingsError> {
    let mut chips = settings.calibration.iter().filter(|chip| chip.fec == number).peekable();
    if chips.peek().is_none() {
        return Ok(Vec::new());
    }
    let correction = |channel: &ChannelCalibration| {
        let fine_time = time.calibrated(channel.time)?;
        Ok(ChannelCorrection { amplitude: IntegerLine::of(channel.amplitude), fine_time })
    };
    let mut table = vec![correction(&ChannelCalibration::IDENTITY)?; CHIPS * CHANNELS];
    for chip in chips {
        let places = table.iter_mut().skip(usize::from(chip.chip) * CHANNELS).take(CHANNELS);
        for (place, channel) in places.zip(&chip.channels) {
            *place = correction(channel)?;
        }
    }
    Ok(table)
}

impl Fec {
    /// A FEC that has not sent anything yet. `stamp_bits` is the width of its time stamps.
    ///
    /// # Errors
    /// If a calibration is invalid.
    pub fn new(
        number: u16,
        settings: &GdGemSettings,
        time: &HitTime,
        stamp_bits: u32,
    ) -> Result<Self, SettingsError> {
        Ok(Self {
            number,
            wiring: FecWiring::new(number, settings),
            stamps: WrappingClock::new(stamp_bits),
            bases: [None; CHIPS],
            trigger: (settings.format == ReadoutFormat::Vmm3aTriggered).then(TriggerTimes::default),
            calibration: corrections(number, settings, time)?,
            mask: FecMask::new(number, settings),
        })
    }

    /// Width of the time stamps of VMM3 and VMM3a.
    pub const MARKER_BITS: u32 = MARKER_BITS;
    /// Width of the trigger stamps of VMM2.
    pub const TRIGGER_BITS: u32 = 32;

    /// Settles a threshold: it holds for all readouts that may still come.
    pub fn set_threshold(&mut self, class: ThresholdClass, adc: u16) {
        self.wiring.set_class(class, adc);
    }

    /// The threshold of a channel as its readouts have it, before they are corrected; 0 for one that is not used.
    pub fn threshold_of_readouts(&self, chip: u8, channel: u8) -> u16 {
        let Ok(StripPlace { threshold, .. }) = self.wiring.place(chip, channel) else { return 0 };
        match self.calibration.get(usize::from(chip) * CHANNELS + usize::from(channel)) {
            None => threshold,
            Some(correction) => threshold_of_readouts(threshold, LARGEST_ADC, |adc| {
                correction.amplitude.clipped(adc, LARGEST_ADC)
            }),
        }
    }

    /// Its masked channels.
    pub fn mask(&self) -> &ChannelMask {
        &self.mask.mask
    }

    /// Takes a packet of VMM2 readouts; `judge` takes the hits.
    pub fn take_vmm2(
        &mut self,
        packet: &Vmm2Packet<'_>,
        rules: &mut ReadoutRules,
        judge: &mut HitJudge<'_, impl AcceptedHits>,
        counters: &mut GdGemCounters,
    ) {
        counters.readouts += packet.len() as u64;
        let stamp = self.stamps.extend(u64::from(packet.trigger_stamp));
        let base = rules.time.of_trigger(stamp);
        let mut placed = 0;
        let changes = rules.changes(judge);
        for readout in packet.readouts() {
            placed += u64::from(if changes {
                self.place::<false, true>(&readout, base, rules, judge, counters)
            } else {
                self.place::<false, false>(&readout, base, rules, judge, counters)
            });
        }
        counters.hits += placed;
    }

    /// Takes a packet of VMM3 or VMM3a readouts and markers; `judge` takes the hits.
    pub fn take_vmm3(
        &mut self,
        packet: &Vmm3Packet<'_>,
        rules: &mut ReadoutRules,
        judge: &mut HitJudge<'_, impl AcceptedHits>,
        counters: &mut GdGemCounters,
    ) {
        match (self.calibration.is_empty(), rules.changes(judge)) {
            (true, false) => self.take_words::<false, false>(packet, rules, judge, counters),
            (false, false) => self.take_words::<true, false>(packet, rules, judge, counters),
            (true, true) => self.take_words::<false, true>(packet, rules, judge, counters),
            (false, true) => self.take_words::<true, true>(packet, rules, judge, counters),
        }
    }

    #[inline]
    fn take_words<const CALIBRATED: bool, const CHANGES: bool>(
        &mut self,
        packet: &Vmm3Packet<'_>,
        rules: &mut ReadoutRules,
        judge: &mut HitJudge<'_, impl AcceptedHits>,
        counters: &mut GdGemCounters,
    ) {
        // Counted here and added up at the end: two counters less in memory for every readout.
        let (mut readouts, mut placed) = (0, 0);
        for word in packet.words() {
            match word {
                Word::Readout(readout) => {
                    readouts += 1;
                    let Some(base) = self.bases.get(usize::from(readout.chip)).copied().flatten() else {
                        counters.no_marker += 1;
                        continue;
                    };
                    match rules.time.of_offset(readout.trigger_offset) {
                        Ok(offset) => {
                            let base = base + offset;
                            let is_placed =
                                self.place::<CALIBRATED, CHANGES>(&readout, base, rules, judge, counters);
                            placed += u64::from(is_placed);
                        }
                        Err(OffsetProblem::LatencyViolation) => counters.latency_violation += 1,
                        Err(OffsetProblem::Undefined) => counters.undefined_offset += 1,
                    }
                }
                Word::Marker(marker) => self.take_marker(marker, &rules.time, counters),
            }
        }
        counters.readouts += readouts;
        counters.hits += placed;
    }

    fn take_marker(&mut self, marker: TimeMarker, time: &HitTime, counters: &mut GdGemCounters) {
        counters.markers += 1;
        if let Some(trigger) = &mut self.trigger {
            if let Some((chip, base)) = trigger.take(marker.into(), &mut self.stamps, time, counters)
                && let Some(place) = self.bases.get_mut(usize::from(chip))
            {
                *place = base;
            }
            return;
        }
        match self.bases.get_mut(usize::from(marker.chip)) {
            Some(base) => *base = Some(time.of_marker(self.stamps.extend(marker.stamp))),
            None => counters.markers_unknown_chip += 1,
        }
    }

    /// Places a readout on its strip and hands it to the clock of its FEC. False, and counted, if it has no place.
    #[inline(always)]
    fn place<const CALIBRATED: bool, const CHANGES: bool>(
        &mut self,
        readout: &VmmReadout,
        base: i64,
        rules: &mut ReadoutRules,
        judge: &mut HitJudge<'_, impl AcceptedHits>,
        counters: &mut GdGemCounters,
    ) -> bool {
        #[cfg(test)]
        if crate::ledger_tests::vanishes() {
            return false;
        }
        let place = match self.wiring.place(readout.chip, readout.channel) {
            Ok(place) => place,
            Err(NoPlace::Unwired) => {
                counters.unmapped_channel += 1;
                return false;
            }
            Err(NoPlace::Masked) => {
                counters.masked += 1;
                self.mask.count(readout);
                return false;
            }
        };
        let channel = usize::from(readout.chip) * CHANNELS + usize::from(readout.channel);
        let (adc, chip_time) = match self.calibration.get(channel) {
            Some(correction) if CALIBRATED => (
                correction.amplitude.clipped(readout.adc, LARGEST_ADC),
                rules.time.of_calibrated_chip(readout, correction.fine_time),
            ),
            _ => (readout.adc, rules.time.of_chip(readout)),
        };
        let threshold = if CHANGES {
            let class = self.wiring.class(readout.chip, readout.channel);
            judge.threshold_at(&mut rules.thresholds, class, place.threshold, base + chip_time)
        } else {
            place.threshold
        };
        if adc < threshold && !readout.over_threshold {
            counters.below_threshold += 1;
            return false;
        }
        let Ok(time) = u64::try_from(base + chip_time) else {
            counters.before_clock_zero += 1;
            return false;
        };
        judge.judge(place.plane, Hit { time, strip: place.strip, adc });
        true
    }
}

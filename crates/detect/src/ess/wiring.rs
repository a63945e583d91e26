//! The digital geometry of VMM readout: what a channel is, and what is to be done with its readouts.

use super::former::Place;
use super::settings::{FENS, HYBRID_CHANNELS, HYBRIDS, RINGS, VmmSettings};
use super::unwired::{NotUsed, Unwired};
use crate::calibration::{ChannelCalibration, IntegerLine, MILLION};
use crate::channel_mask::{ChannelMask, MaskEntry};
use crate::threshold_steps::ThresholdClass;
use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::{ChannelGroup, MonitorPlan, NO_PLANE, threshold_of_readouts};
use evforge_wire::ess::Vmm3aReadout;

/// Largest amplitude.
pub(super) const LARGEST_ADC: u16 = 1023;

/// A channel in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub(super) struct WiredChannel {
    pub(super) target: u16,
    pub(super) coordinate: u16,
    pub(super) threshold: u16,
    state: u16,
}

const SECOND_PLANE: u16 = 1;
const UNWIRED: u16 = 2;
const MASKED: u16 = 4;

impl WiredChannel {
    const NOTHING: Self = Self { target: 0, coordinate: 0, threshold: 0, state: UNWIRED };

    /// True if its readouts become hits.
    #[inline(always)]
    pub(super) fn is_used(self) -> bool {
        self.state <= SECOND_PLANE
    }

    /// Its plane for monitor data, which masked channels are in as well.
    fn plane(self) -> u8 {
        if self.state & UNWIRED != 0 { NO_PLANE } else { (self.state & SECOND_PLANE) as u8 }
    }

    /// Where its hits are.
    #[inline(always)]
    pub(super) fn place(self) -> Place {
        Place { plane: (self.state & SECOND_PLANE) as u8, coordinate: self.coordinate }
    }
}

/// What corrects the readouts of a channel.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Correction {
    amplitude: IntegerLine,
    /// Added to the time: units at fine time 0, and for each step of it, in parts of 2^32.
    fine_base: i64,
    fine_step: i64,
}

/// Units in parts of 2^32.
const FINE_BITS: u32 = 32;

/// Fine time 0 lies 1.5 bunch crossings of 22.72 ns after the time stamp (section 2.1).
const FINE_BASE_FEMTOSECONDS: i128 = 34_080_000;
/// The fine time runs back by 60 ns in 255 steps.
const FINE_RANGE_FEMTOSECONDS: i128 = 60_000_000;
const FINE_STEPS: i128 = 255;

impl Correction {
    /// *(fine time in ns − offset) × slope*, and *(amplitude − offset) × slope*.
    fn new(calibration: &ChannelCalibration) -> Self {
        let slope = i128::from(calibration.time.slope_millionths());
        // A millionth of a nanosecond is a femtosecond.
        let offset = i128::from(calibration.time.offset_millionths());
        let scaled = |femtoseconds: i128, divisor: i128| {
            let parts = femtoseconds * slope * (1 << FINE_BITS);
            let unit = 35_221 * parts / (50_000 * 1_000_000 * divisor * i128::from(MILLION));
            i64::try_from(unit).unwrap_or(0)
        };
        Self {
            amplitude: IntegerLine::of(calibration.amplitude),
            fine_base: scaled(FINE_BASE_FEMTOSECONDS - offset, 1) + (1 << (FINE_BITS - 1)),
            fine_step: scaled(-FINE_RANGE_FEMTOSECONDS, FINE_STEPS),
        }
    }

    #[inline(always)]
    fn time(&self, fine_time: u8) -> i64 {
        (self.fine_base + self.fine_step * i64::from(fine_time)) >> FINE_BITS
    }
}

/// The table over ring, FEN, VMM and channel.
#[derive(Debug, get_size2::GetSize)]
pub(super) struct Wiring {
    /// Place of each hybrid in the tables below; [`NO_HYBRID`] if it is not configured.
    hybrids: Vec<u16>,
    channels: Vec<WiredChannel>,
    /// The threshold setting of each of the channels that are wired.
    classes: Vec<ThresholdClass>,
    /// As long as `channels`, or empty if no channel is calibrated.
    corrections: Vec<Correction>,
    /// For channels that are not calibrated; none if the fine time is not used.
    uncalibrated: Option<Correction>,
    mask: ChannelMask,
    plan: MonitorPlan,
    unwired: Unwired,
}

/// The table ends with a hybrid whose channels are not wired: this is its place.
fn slot(readout: Vmm3aReadout) -> usize {
    let fen = usize::from(readout.ring()) * usize::from(FENS) + usize::from(readout.fen());
    fen * usize::from(HYBRIDS) + usize::from(readout.hybrid())
}

impl Wiring {
    /// The wiring of settings that have been checked.
    pub(super) fn new(settings: &VmmSettings) -> Self {
        let count = settings.hybrids.len();
        let slots = usize::from(RINGS) * usize::from(FENS) * usize::from(HYBRIDS);
        let mut hybrids = vec![count as u16; slots];
        let mut channels = Vec::with_capacity((count + 1) * HYBRID_CHANNELS);
        let mut groups = Vec::with_capacity(count);
        for (index, entry) in settings.hybrids.iter().enumerate() {
            let fen = usize::from(entry.ring) * usize::from(FENS) + usize::from(entry.fen);
            hybrids[fen * usize::from(HYBRIDS) + usize::from(entry.hybrid)] = index as u16;
            channels.extend(entry.channels.iter().map(|request| match request {
                None => WiredChannel::NOTHING,
                Some(request) => WiredChannel {
                    target: request.target,
                    coordinate: request.coordinate,
                    threshold: request.threshold,
                    state: u16::from(request.plane) & SECOND_PLANE,
                },
            }));
            let name = format!("ring {}, FEN {}, hybrid {}", entry.ring, entry.fen, entry.hybrid);
            let vmm = |odd| {
                let (ring, fen) = (entry.ring.into(), entry.fen.into());
                [("ring", ring), ("fen", fen), ("vmm", 2 * u32::from(entry.hybrid) + odd)]
            };
            let unwired = entry.channels.iter().enumerate().filter(|(_, request)| request.is_none());
            let group = ChannelGroup::new(name, HYBRID_CHANNELS)
                .masked_by(HYBRID_CHANNELS / 2, &vmm(0))
                .masked_by(HYBRID_CHANNELS / 2, &vmm(1))
                .without(unwired.map(|(channel, _)| channel));
            groups.push(group);
        }
        channels.extend([WiredChannel::NOTHING; HYBRID_CHANNELS]);
        let calibrated = settings.hybrids.iter().any(|entry| !entry.calibration.is_empty());
        let identity = [ChannelCalibration::IDENTITY; HYBRID_CHANNELS];
        let corrections = settings.hybrids.iter().filter(|_| calibrated).flat_map(|entry| {
            let lines = if entry.calibration.is_empty() { &identity[..] } else { &entry.calibration };
            lines.iter().map(Correction::new)
        });
        let requests = settings.hybrids.iter().flat_map(|entry| &entry.channels);
        let mut wiring = Self {
            hybrids,
            classes: requests.map(|request| request.map_or(0, |request| request.threshold_class)).collect(),
            channels,
            corrections: corrections.collect(),
            uncalibrated: settings.fine_time.then(|| Correction::new(&ChannelCalibration::IDENTITY)),
            mask: ChannelMask::default(),
            unwired: Unwired::default(),
            plan: MonitorPlan {
                groups,
                planes: settings.planes.to_vec(),
                amplitude_bits: LARGEST_ADC.count_ones(),
                cluster_amplitude_bits: LARGEST_ADC.count_ones() + 4,
            },
        };
        wiring.hide(settings);
        wiring
    }

    /// Marks the masked channels.
    fn hide(&mut self, settings: &VmmSettings) {
        let entries = settings.mask.iter().flat_map(|entry| {
            let known = settings.hybrids.iter().position(|hybrid| {
                (hybrid.ring, hybrid.fen, hybrid.hybrid) == (entry.ring, entry.fen, entry.vmm / 2)
            });
            let first = known.map(|index| index * HYBRID_CHANNELS + usize::from(entry.vmm % 2) * 64);
            entry.channels.iter().filter_map(move |&channel| {
                Some(MaskEntry { channel: first? + usize::from(channel), reason: entry.reason.clone() })
            })
        });
        let entries: Vec<_> = entries.collect();
        for entry in &entries {
            if let Some(channel) = self.channels.get_mut(entry.channel) {
                channel.state |= MASKED;
            }
        }
        let channel_count = if entries.is_empty() { 0 } else { settings.hybrids.len() * HYBRID_CHANNELS };
        self.mask = ChannelMask::new(channel_count, &entries);
    }

    /// Index of the channel of a sound readout; one beyond the last configured hybrid if that is not configured.
    #[inline(always)]
    pub(super) fn index(&self, readout: Vmm3aReadout) -> usize {
        let hybrid = self.hybrids.get(slot(readout)).copied().unwrap_or(0);
        let channel = usize::from(readout.asic()) << 6 | usize::from(readout.channel() & 63);
        usize::from(hybrid) * HYBRID_CHANNELS + channel
    }

    /// What the channel of this index is.
    #[inline(always)]
    pub(super) fn channel(&self, index: usize) -> WiredChannel {
        self.channels.get(index).copied().unwrap_or(WiredChannel::NOTHING)
    }

    /// The threshold setting of the channel of this index.
    #[inline]
    pub(super) fn class(&self, index: usize) -> ThresholdClass {
        self.classes.get(index).copied().unwrap_or(0)
    }

    /// Gives all channels of a threshold setting another value.
    pub(super) fn set_class(&mut self, class: ThresholdClass, threshold: u16) {
        let channels = self.channels.iter_mut().zip(&self.classes);
        channels.filter(|(_, other)| **other == class).for_each(|(channel, _)| channel.threshold = threshold);
    }

    /// The corrected amplitude of a readout, and what is to be added to its time.
    #[inline(always)]
    pub(super) fn correct(&self, index: usize, readout: Vmm3aReadout) -> (u16, i64) {
        let adc = readout.adc().min(LARGEST_ADC);
        match (self.corrections.get(index), &self.uncalibrated) {
            (None, None) => (adc, 0),
            (None, Some(fine)) => (adc, fine.time(readout.tdc())),
            (Some(correction), fine) => (
                correction.amplitude.clipped(adc, LARGEST_ADC),
                if fine.is_some() { correction.time(readout.tdc()) } else { 0 },
            ),
        }
    }

    /// Why the channel of a sound readout is not used; counts it if it is masked.
    #[cold]
    pub(super) fn explain(&mut self, readout: Vmm3aReadout) -> NotUsed {
        let index = self.index(readout);
        if self.channel(index).state & MASKED != 0 {
            self.mask.hides(index);
            return NotUsed::Masked;
        }
        let none = (self.channels.len() / HYBRID_CHANNELS - 1) as u16;
        let hybrids = usize::from(HYBRIDS);
        let fen = slot(readout) / hybrids;
        let has_any = |range: std::ops::Range<usize>| {
            self.hybrids.get(range).is_some_and(|slots| slots.iter().any(|&hybrid| hybrid != none))
        };
        let ring = usize::from(readout.ring()) * usize::from(FENS) * hybrids;
        let reason = if !has_any(ring..ring + usize::from(FENS) * hybrids) {
            NotUsed::Ring
        } else if !has_any(fen * hybrids..(fen + 1) * hybrids) {
            NotUsed::Fen
        } else if !has_any(slot(readout)..slot(readout) + 1) {
            NotUsed::Hybrid
        } else {
            NotUsed::Channel
        };
        self.unwired.see(readout, reason);
        reason
    }

    /// The first readouts that nothing is wired to.
    pub(super) fn unwired(&self) -> &Unwired {
        &self.unwired
    }

    /// The channels and planes, for monitor data: a group for each hybrid.
    pub(super) fn plan(&self) -> &MonitorPlan {
        &self.plan
    }

    /// The same with the planes of the channels, and the thresholds that hold now.
    pub(super) fn monitor_plan(&self) -> MonitorPlan {
        let mut plan = self.plan.clone();
        let mut first = 0;
        for group in &mut plan.groups {
            let wired = self.channels.iter().skip(first).take(group.channels);
            group.thresholds = wired
                .clone()
                .enumerate()
                .map(|(channel, wired)| self.threshold(first + channel, *wired))
                .collect();
            group.planes = wired.map(|wired| wired.plane()).collect();
            first += group.channels;
        }
        plan
    }

    /// The threshold of a channel as its readouts have it, before they are corrected.
    fn threshold(&self, index: usize, wired: WiredChannel) -> u16 {
        match self.corrections.get(index) {
            _ if wired.state & UNWIRED != 0 => 0,
            None => wired.threshold,
            Some(correction) => threshold_of_readouts(wired.threshold, LARGEST_ADC, |adc| {
                correction.amplitude.clipped(adc, LARGEST_ADC)
            }),
        }
    }

    /// The masked channels.
    pub(super) fn masked(&self) -> Vec<MaskedChannel> {
        self.mask.ledger(&self.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Line;

    /// Section 2.1: TDC ns = 1.5 · 22.72 − 60 · TDC / 255; corr = (TDC ns − offset) · slope, added to the time.
    #[test]
    fn section_2_1_the_fine_time_is_added_to_the_time_stamp() {
        for (offset, slope) in [(0.0, 1.0), (3.25, 1.0), (-1.5, 0.9)] {
            let time = Line::new(offset, slope).unwrap();
            let correction = Correction::new(&ChannelCalibration { amplitude: Line::IDENTITY, time });
            for tdc in 0..=255_u8 {
                let ns = (34.08 - 60.0 * f64::from(tdc) / 255.0 - offset) * slope;
                let units = ns * 35_221.0 / 50_000.0;
                let found = correction.time(tdc) as f64;
                assert!((found - units).abs() <= 0.5 + 1e-6, "{tdc}: {found} for {units}");
            }
        }
        assert_eq!(super::super::ticks::nearest(FINE_BASE_FEMTOSECONDS), 24);
    }
}

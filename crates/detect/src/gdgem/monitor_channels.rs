//! What a Gd-GEM shows of its channels while it is watched: readouts and amplitudes, before any threshold.

use super::electronics::CHIPS;
use super::settings::{ChipMapping, ChipPlane};
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan, NO_PLANE};
use evforge_wire::srs_vmm::{CHANNELS, VmmReadout};

/// Bits of an amplitude.
const AMPLITUDE_BITS: u32 = 10;
/// Bits of the amplitude of a cluster: some sixteen hits.
const CLUSTER_AMPLITUDE_BITS: u32 = 14;

/// The channels of all chips that are mapped, in the order of FEC and chip.
#[derive(Debug, get_size2::GetSize)]
pub(super) struct MonitorChannels {
    /// (FEC, chip), in order.
    chips: Vec<(u16, u8)>,
    /// Channels of each without a strip or a pad.
    unwired: Vec<Vec<usize>>,
    /// The plane of each.
    chip_planes: Vec<u8>,
    /// What planes 0 and 1 are called. A third plane is shown by its channels only.
    planes: &'static [&'static str],
}

impl MonitorChannels {
    pub(super) fn new(mapping: &[ChipMapping]) -> Self {
        let mut mapping: Vec<_> = mapping.iter().collect();
        mapping.sort_by_key(|entry| (entry.fec, entry.chip));
        let unwired = |entry: &&ChipMapping| {
            let channels = (0..CHANNELS as u8).filter(|&channel| !entry.is_wired(channel));
            let mut unwired: Vec<_> = channels.map(usize::from).collect();
            unwired.shrink_to_fit();
            unwired
        };
        Self {
            chips: mapping.iter().map(|entry| (entry.fec, entry.chip)).collect(),
            unwired: mapping.iter().map(unwired).collect(),
            chip_planes: mapping.iter().map(|entry| entry.plane.index() as u8).collect(),
            planes: match mapping.iter().filter(|entry| entry.plane == ChipPlane::Pads).count() {
                0 => &["x", "y"],
                pads if pads == mapping.len() => &["pads"],
                _ => &["x, pads", "y"],
            },
        }
    }

    /// Index of the first channel of a chip.
    pub(super) fn first_of(&self, fec: u16, chip: u8) -> Option<usize> {
        self.chips.binary_search(&(fec, chip)).ok().map(|place| place * CHANNELS)
    }

    pub(super) fn plan(&self) -> MonitorPlan {
        let group = |(&(fec, chip), unwired): (&(u16, u8), &Vec<usize>)| {
            ChannelGroup::new(format!("FEC {fec}, VMM {chip}"), CHANNELS)
                .masked_by(CHANNELS, &[("fec", fec.into()), ("vmm", chip.into())])
                .without(unwired.iter().copied())
        };
        MonitorPlan {
            groups: self.chips.iter().zip(&self.unwired).map(group).collect(),
            planes: self.planes.to_vec(),
            amplitude_bits: AMPLITUDE_BITS,
            cluster_amplitude_bits: CLUSTER_AMPLITUDE_BITS,
        }
    }

    /// The same with the planes of the channels, and their thresholds: those of a FEC, a chip and a channel.
    pub(super) fn watched_plan(&self, threshold: impl Fn(u16, u8, u8) -> u16) -> MonitorPlan {
        let mut plan = self.plan();
        for ((group, &(fec, chip)), plane) in plan.groups.iter_mut().zip(&self.chips).zip(&self.chip_planes) {
            group.thresholds = (0..CHANNELS as u8).map(|channel| threshold(fec, chip, channel)).collect();
            let of_channel = |channel| if group.is_wired(channel) { *plane } else { NO_PLANE };
            group.planes = (0..CHANNELS).map(of_channel).collect();
        }
        plan
    }

    /// Collects the readouts of a packet of `fec`. Those of chips that are not mapped are left out.
    pub(super) fn watch(&self, fec: u16, readouts: impl Iterator<Item = VmmReadout>, data: &mut MonitorData) {
        let mut firsts = [None; CHIPS];
        let begin = self.chips.partition_point(|chip| *chip < (fec, 0));
        for (place, &(number, chip)) in self.chips.iter().enumerate().skip(begin) {
            if number != fec {
                break;
            }
            if let Some(first) = firsts.get_mut(usize::from(chip)) {
                *first = Some(place * CHANNELS);
            }
        }
        for readout in readouts {
            if let Some(first) = firsts.get(usize::from(readout.chip)).copied().flatten() {
                data.readout(first + usize::from(readout.channel), readout.adc);
            }
        }
    }
}

//! What a Gd-GEM shows of its channels while it is watched: readouts and amplitudes, before any threshold.

use super::electronics::CHIPS;
use super::settings::ChipMapping;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_wire::srs_vmm::{CHANNELS, VmmReadout};

/// Bits of an amplitude.
const AMPLITUDE_BITS: u32 = 10;
/// Bits of the amplitude of a cluster: some sixteen hits.
const CLUSTER_AMPLITUDE_BITS: u32 = 14;

/// The channels of all chips that are mapped, in the order of FEC and chip.
#[derive(Debug)]
pub(super) struct MonitorChannels {
    /// (FEC, chip), in order.
    chips: Vec<(u16, u8)>,
}

impl MonitorChannels {
    pub(super) fn new(mapping: &[ChipMapping]) -> Self {
        let mut chips: Vec<_> = mapping.iter().map(|entry| (entry.fec, entry.chip)).collect();
        chips.sort_unstable();
        Self { chips }
    }

    /// Index of the first channel of a chip.
    pub(super) fn first_of(&self, fec: u16, chip: u8) -> Option<usize> {
        self.chips.binary_search(&(fec, chip)).ok().map(|place| place * CHANNELS)
    }

    pub(super) fn plan(&self) -> MonitorPlan {
        let group = |&(fec, chip): &(u16, u8)| ChannelGroup {
            name: format!("FEC {fec}, VMM {chip}"),
            channels: CHANNELS,
        };
        MonitorPlan {
            groups: self.chips.iter().map(group).collect(),
            planes: vec!["x", "y"],
            amplitude_bits: AMPLITUDE_BITS,
            cluster_amplitude_bits: CLUSTER_AMPLITUDE_BITS,
        }
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

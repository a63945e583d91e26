//! A detector as it is wired: which channel is hit where, and the packets that its front-end cards send.

use evforge_detect::gdgem::GdGemSettings;
use evforge_detect::gdgem::settings::ChipPlane;
use evforge_wire::srs_vmm::{TimeMarker, Vmm3Encoder, Vmm3Variant, VmmReadout};
use std::collections::BTreeMap;

/// What is hit: a strip of a plane of a panel, or a pad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Strip { panel: u16, plane: usize, strip: u16 },
    Pad { panel: u16, column: u16, row: u16 },
}

/// FEC, chip, channel.
type Channel = (u16, u8, u8);

/// A charge that the electronics measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Charge {
    pub(crate) time_ns: f64,
    pub(crate) place: Place,
    pub(crate) adc: u16,
}

#[derive(Debug)]
pub(crate) struct Wired {
    channels: BTreeMap<Place, Channel>,
}

/// Crossings from one marker to the next.
const CROSSINGS_PER_MARKER: u64 = 16 * 4096;
const CROSSING_NS: f64 = 22.5;
/// Words of a packet, at most.
const WORDS: usize = 200;

impl Wired {
    pub(crate) fn new(settings: &GdGemSettings) -> Self {
        let mut channels = BTreeMap::new();
        for chip in &settings.mapping {
            for channel in 0..64 {
                let place = match (chip.strip(channel), chip.pad(channel)) {
                    (Some(strip), _) => Place::Strip { panel: chip.panel, plane: chip.plane.index(), strip },
                    (None, Some([column, row])) => Place::Pad { panel: chip.panel, column, row },
                    (None, None) => continue,
                };
                assert_eq!(chip.plane == ChipPlane::Pads, matches!(place, Place::Pad { .. }));
                assert_eq!(channels.insert(place, (chip.fec, chip.chip, channel)), None, "{place:?} twice");
            }
        }
        Self { channels }
    }

    /// Strips of a plane: one more than the highest.
    pub(crate) fn strips(&self, panel: u16, plane: usize) -> u16 {
        let own = self.channels.keys().filter_map(|place| match place {
            Place::Strip { panel: of, plane: on, strip } if (*of, *on) == (panel, plane) => Some(strip + 1),
            _ => None,
        });
        own.max().unwrap_or(0)
    }

    /// Everything that is wired.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.channels.keys().copied().collect()
    }

    /// The packets that the cards send, in the order of their last readouts. Charges where nothing is wired are lost.
    pub(crate) fn packets(&self, charges: &[Charge]) -> Vec<Vec<u8>> {
        self.packets_over(charges, true)
    }

    /// The same where all readouts say whether they crossed the threshold of their chip.
    pub(crate) fn packets_over(&self, charges: &[Charge], over_threshold: bool) -> Vec<Vec<u8>> {
        let mut cards: BTreeMap<u16, Vec<(u64, VmmReadout)>> = BTreeMap::new();
        let mut charges = charges.to_vec();
        charges.sort_by(|one, other| one.time_ns.total_cmp(&other.time_ns).then(one.place.cmp(&other.place)));
        for charge in &charges {
            let Some(&(fec, chip, channel)) = self.channels.get(&charge.place) else { continue };
            // The time is that of the crossing and one and a half, less the fine time.
            let crossing = (charge.time_ns / CROSSING_NS - 1.5).ceil().max(0.0);
            let tdc = ((crossing + 1.5) * CROSSING_NS - charge.time_ns) * 255.0 / 60.0;
            let crossing = crossing as u64;
            let readout = VmmReadout {
                chip,
                channel,
                bunch_crossing: (crossing % 4096) as u16,
                trigger_offset: (crossing % CROSSINGS_PER_MARKER / 4096) as u8,
                tdc: tdc.round() as u8,
                adc: charge.adc,
                over_threshold,
            };
            cards.entry(fec).or_default().push((crossing / CROSSINGS_PER_MARKER, readout));
        }
        let packets = cards.into_iter().flat_map(|(fec, readouts)| of_card(fec, &readouts));
        let mut packets: Vec<_> = packets.collect();
        packets.sort_by_key(|(last, fec, _)| (*last, *fec));
        packets.into_iter().map(|(_, _, bytes)| bytes).collect()
    }
}

/// The packets of a card, with the crossing of their last readout.
fn of_card(fec: u16, readouts: &[(u64, VmmReadout)]) -> Vec<(u64, u16, Vec<u8>)> {
    let mut packets = Vec::new();
    let mut marked = [None; 16];
    for (number, readouts) in (0..).zip(readouts.chunks(WORDS / 2)) {
        let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
        encoder.begin(number, fec, 0);
        let mut last = 0;
        for (run, readout) in readouts {
            let marked = &mut marked[usize::from(readout.chip)];
            if *marked != Some(*run) {
                let stamp = run * CROSSINGS_PER_MARKER;
                assert!(encoder.push_marker(&TimeMarker { chip: readout.chip, stamp }));
                *marked = Some(*run);
            }
            assert!(encoder.push_readout(readout));
            last = run * CROSSINGS_PER_MARKER
                + u64::from(readout.trigger_offset) * 4096
                + u64::from(readout.bunch_crossing);
        }
        packets.push((last, fec, encoder.packet().to_vec()));
    }
    packets
}

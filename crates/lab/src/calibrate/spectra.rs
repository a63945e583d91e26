//! Packets to places along tubes.

use evforge_core::packet::Packet;
use evforge_detect::helium3::{Charges, Groups, Helium3Settings};
use evforge_wire::ess::{EssPacket, HeaderRules, R5560Payload, R5560Readout, RecordRules};

/// Bins of a place from 0 to 1.
pub const BINS: usize = 8192;

/// Charges of a group: how many, their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Readouts.
    pub count: u64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// The mean, and its standard error; none without readouts.
    pub fn mean(&self) -> Option<(f64, f64)> {
        let count = self.count as f64;
        let mean = (self.count > 0).then(|| self.sum / count)?;
        Some((mean, ((self.squares / count - mean * mean).max(0.0) / count).sqrt()))
    }
}

/// What a capture has of each group.
#[derive(Clone, Debug)]
pub struct Spectra<'a> {
    header: HeaderRules,
    records: RecordRules,
    settings: &'a Helium3Settings,
    groups: &'a Groups,
    /// Ends of the intervals of each group, as they are configured.
    intervals: Vec<[f64; 2]>,
    /// Of two charges: the places of a group. Of four: those of each straw.
    along: Vec<Vec<u32>>,
    /// Of four charges: which straw.
    across: Vec<Vec<u32>>,
    sums: Vec<Moments>,
}

impl<'a> Spectra<'a> {
    /// Nothing yet.
    pub fn new(settings: &'a Helium3Settings, groups: &'a Groups) -> Self {
        let count = groups.all().len();
        let (along, across) = match settings.charges {
            Charges::Two => (count, 0),
            Charges::Four => (count * settings.tubes.len(), count),
        };
        let intervals = groups.all().iter().flat_map(|group| settings.calibrated_tubes(group));
        Self {
            header: settings.ess.header,
            records: settings.ess.records,
            settings,
            groups,
            intervals: intervals.map(|tube| tube.interval).collect(),
            along: vec![vec![0; BINS]; along],
            across: vec![vec![0; BINS]; across],
            sums: vec![Moments::default(); count],
        }
    }

    /// Adds the readouts of a packet.
    pub fn read(&mut self, packet: &Packet<'_>) {
        let Ok(header) = EssPacket::parse(packet.bytes, &self.header) else { return };
        if packet.is_cut() || header.detector_type != self.header.detector_type {
            return;
        }
        for readout in R5560Payload::parse(header.payload).readouts() {
            if readout.length() != R5560_LENGTH {
                break;
            }
            if readout.is_sound(&self.records) {
                self.add(readout);
            }
        }
    }

    fn add(&mut self, readout: R5560Readout) {
        let Some(group) = self.groups.place(readout.ring(), readout.fen(), readout.group()) else { return };
        let charges = readout.charges();
        let limit = self.settings.saturation.unwrap_or(u16::MAX);
        let (sum, along, across) = match self.settings.charges {
            Charges::Two => {
                let [a, b] = [charges[0], charges[1]].map(f64::from);
                if charges[0].max(charges[1]) >= limit {
                    return;
                }
                (a + b, a / (a + b), None)
            }
            Charges::Four => {
                let [a, b, c, d] = charges.map(|charge| f64::from(charge.cast_signed()));
                let sum = a + b + c + d;
                (sum, (a + b) / sum, Some((b + d) / sum))
            }
        };
        let largest = self.settings.largest_sum.map_or(f64::INFINITY, f64::from);
        if !(f64::from(self.settings.least_sum)..=largest).contains(&sum) {
            return;
        }
        let mut place = group;
        if let Some(across) = across {
            count(&mut self.across[group], across);
            let tubes = self.settings.tubes.len();
            let first = group * tubes;
            let inside = |[from, to]: &[f64; 2]| from.min(*to) <= across && across <= from.max(*to);
            let Some(straw) = self.intervals[first..first + tubes].iter().position(inside) else { return };
            place = first + straw;
        }
        count(&mut self.along[place], along);
        self.sums[group].add(sum);
    }

    /// Places of readouts along a tube: raw, from 0 to 1 in [`BINS`] bins.
    pub fn along(&self, group: usize, tube: usize) -> &[u32] {
        match self.settings.charges {
            Charges::Two => &self.along[group],
            Charges::Four => &self.along[group * self.settings.tubes.len() + tube],
        }
    }

    /// Of four charges, places of readouts across the straws of a group.
    pub fn across(&self, group: usize) -> Option<&[u32]> {
        self.across.get(group).map(Vec::as_slice)
    }

    /// Sums of the charges of a group.
    pub fn sums(&self, group: usize) -> Moments {
        self.sums[group]
    }
}

/// What a record says of its own length.
const R5560_LENGTH: u16 = evforge_wire::ess::R5560_RECORD as u16;

fn count(bins: &mut [u32], place: f64) {
    if (0.0..=1.0).contains(&place) {
        let bin = ((place * BINS as f64) as usize).min(BINS - 1);
        bins[bin] = bins[bin].saturating_add(1);
    }
}

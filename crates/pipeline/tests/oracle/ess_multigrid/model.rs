//! A TREX by the definitions of the ESS readout formats, section 3, as plainly as they can be written: clusters of
//! each wire and grid, then clusters that are close in time, then one pixel. Slow, and without anything of the
//! production code.

use std::collections::BTreeMap;

/// A record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readout {
    pub(crate) ring: u8,
    /// Ticks of 88.0525 MHz since 1970.
    pub(crate) ticks: u64,
    pub(crate) fen: u8,
    pub(crate) vmm: u8,
    pub(crate) channel: u8,
    pub(crate) adc: u16,
}

/// A vessel, which two FENs of a ring read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vessel {
    pub(crate) ring: u8,
    pub(crate) first_fen: u8,
    /// Column of its first wires.
    pub(crate) x_offset: u64,
    /// Of a short one: the row of its grid 0, and whether it is upside down.
    pub(crate) short: Option<(u64, bool)>,
}

/// What can be set.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) vessels: Vec<Vessel>,
    pub(crate) columns: u64,
    pub(crate) max_grid_span: u16,
    pub(crate) min_adc: u16,
}

#[derive(Clone, Copy, Debug)]
struct Hit {
    ticks: u64,
    is_wire: bool,
    coordinate: u64,
    adc: u64,
}

const TICKS_PER_SECOND: u64 = 88_052_500;

/// Whole nanoseconds, rounded down.
fn nanoseconds(ticks: u64) -> u64 {
    let rest = u128::from(ticks % TICKS_PER_SECOND) * 1_000_000_000 / u128::from(TICKS_PER_SECOND);
    ticks / TICKS_PER_SECOND * 1_000_000_000 + rest as u64
}

/// Whether a hit comes at most 500 ns later.
fn is_close(earlier: u64, later: u64) -> bool {
    nanoseconds(later).saturating_sub(nanoseconds(earlier)) <= 500
}

/// The wire or grid of a channel of a vessel. Upside down, wires count backwards by columns and grids downwards.
fn place(readout: &Readout, vessel: &Vessel) -> Option<(bool, u64)> {
    let is_odd = u64::from(readout.fen - vessel.first_fen);
    let (hybrid, vmm, channel) = (readout.vmm / 2, u64::from(readout.vmm % 2), u64::from(readout.channel));
    if hybrid == 0 {
        if vmm == 0 && channel < 32 {
            return None;
        }
        let wire = vmm * 64 + channel - 32 + 96 * is_odd;
        let is_rotated = matches!(vessel.short, Some((_, true)));
        let column = if is_rotated { 11 - wire / 16 } else { wire / 16 };
        return Some((true, (column + vessel.x_offset) * 16 + wire % 16));
    }
    if let Some((row, is_rotated)) = vessel.short {
        let is_grid = hybrid == 1 && vmm == 0 && channel <= 50;
        return is_grid.then(|| (false, if is_rotated { row - channel } else { row + channel }));
    }
    match (hybrid, vmm) {
        (1, 0) => (channel >= 58).then(|| (false, channel - 58)),
        (1, 1) => Some((false, channel + 6)),
        (2, 0) => Some((false, channel + 70)),
        (2, 1) => (channel <= 5).then(|| (false, channel + 134)),
        _ => None,
    }
}

impl Rules {
    /// The events of readouts, in order of time and pixel.
    pub(crate) fn form(&self, readouts: &[Readout]) -> Vec<(u64, u32)> {
        let mut columns: BTreeMap<(u8, u8), Vec<Hit>> = BTreeMap::new();
        for readout in readouts.iter().filter(|readout| readout.adc >= self.min_adc) {
            let reads = |vessel: &&Vessel| {
                vessel.ring == readout.ring && (vessel.first_fen..vessel.first_fen + 2).contains(&readout.fen)
            };
            let Some(vessel) = self.vessels.iter().find(reads) else { continue };
            let Some((is_wire, coordinate)) = place(readout, vessel) else { continue };
            let hit = Hit { ticks: readout.ticks, is_wire, coordinate, adc: readout.adc.into() };
            columns.entry((readout.ring, readout.fen)).or_default().push(hit);
        }
        let mut events: Vec<_> = columns.values().flat_map(|hits| self.events(hits)).collect();
        events.sort_unstable();
        events
    }

    /// The events of the hits of a front end.
    fn events(&self, hits: &[Hit]) -> Vec<(u64, u32)> {
        let mut clusters: Vec<Vec<Hit>> = Vec::new();
        for is_wire in [true, false] {
            let mut plane: Vec<Hit> = hits.iter().copied().filter(|hit| hit.is_wire == is_wire).collect();
            plane.sort_by_key(|hit| hit.ticks);
            for group in plane.chunk_by(|one, next| is_close(one.ticks, next.ticks)) {
                // No gap between coordinates is allowed, so that each wire or grid is a cluster of its own.
                let mut of_coordinates: BTreeMap<u64, Vec<Hit>> = BTreeMap::new();
                for hit in group {
                    of_coordinates.entry(hit.coordinate).or_default().push(*hit);
                }
                clusters.extend(of_coordinates.into_values());
            }
        }
        clusters.sort_by_key(|cluster| cluster[0].ticks);
        let mut neutrons: Vec<Vec<Hit>> = Vec::new();
        for cluster in clusters {
            let end = neutrons.last().and_then(|hits| hits.iter().map(|hit| hit.ticks).max());
            match neutrons.last_mut() {
                Some(neutron) if end.is_some_and(|end| is_close(end, cluster[0].ticks)) => {
                    neutron.extend(cluster);
                }
                _ => neutrons.push(cluster),
            }
        }
        neutrons.iter().filter_map(|hits| self.event(hits)).collect()
    }

    /// The event of hits that belong together.
    fn event(&self, hits: &[Hit]) -> Option<(u64, u32)> {
        let center = |is_wire: bool| {
            let plane = || hits.iter().filter(move |hit| hit.is_wire == is_wire);
            let sum: u64 = plane().map(|hit| hit.adc).sum();
            let weighted: u64 = plane().map(|hit| hit.adc * hit.coordinate).sum();
            (sum > 0).then(|| (weighted as f64 / sum as f64).round() as u64)
        };
        let grids = || hits.iter().filter(|hit| !hit.is_wire).map(|hit| hit.coordinate);
        if grids().max()? - grids().min()? + 1 > u64::from(self.max_grid_span) {
            return None;
        }
        let (wire, y) = (center(true)?, center(false)?);
        let (x, z) = (wire / 16, wire % 16);
        let start = hits.iter().map(|hit| hit.ticks).min()?;
        Some((nanoseconds(start), ((z * 140 + y) * self.columns + x + 1) as u32))
    }
}

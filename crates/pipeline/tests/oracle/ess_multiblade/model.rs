//! A Multi-Blade with the ESS readout by the definitions of the ESS readout formats, sections 2.1 and 3, as plainly
//! as they can be written: clusters of each plane first, then clusters that are close in time, then one pixel. Slow,
//! and without anything of the production code.

/// A record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readout {
    /// Ticks of 88.0525 MHz since 1970.
    pub(crate) ticks: u64,
    pub(crate) ring: u8,
    pub(crate) fen: u8,
    pub(crate) vmm: u8,
    pub(crate) channel: u8,
    pub(crate) adc: u16,
    pub(crate) over_threshold: bool,
    pub(crate) tdc: u8,
}

/// The instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instrument {
    Freia,
    Estia,
    Amor,
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) instrument: Instrument,
    pub(crate) columns: u64,
    pub(crate) threshold_of_wires: u16,
    pub(crate) threshold_of_strips: u16,
    /// In eighths of a tick.
    pub(crate) max_gap: u64,
    pub(crate) max_gap_wires: u64,
    pub(crate) max_gap_strips: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hit {
    /// Eighths of a tick.
    time: u64,
    is_wire: bool,
    coordinate: u64,
    adc: u64,
}

/// Eighths of a tick in a second.
const UNITS: u64 = 8 * 88_052_500;

/// Whole nanoseconds, rounded down.
fn nanoseconds(units: u64) -> u64 {
    units / UNITS * 1_000_000_000 + (u128::from(units % UNITS) * 1_000_000_000 / u128::from(UNITS)) as u64
}

/// Section 2.1: TDC ns = 1.5 · 22.72 − 60 · TDC / 255, added to the time; to the nearest eighth of a tick.
fn time(readout: &Readout) -> u64 {
    let nanoseconds = 1.5 * 22.72 - 60.0 * f64::from(readout.tdc) / 255.0;
    let units = (nanoseconds * 8.0 * 0.088_052_5 + 0.5).floor() as i64;
    (8 * readout.ticks).checked_add_signed(units).expect("long after 1970")
}

impl Rules {
    /// The hit of a readout: the place on the whole detector is that of section 3.
    fn hit(&self, readout: &Readout, cassette: u64) -> Option<Hit> {
        let is_wire = readout.vmm & 1 == 1;
        let channel = u64::from(readout.channel);
        if is_wire && !(16..=47).contains(&channel) {
            return None;
        }
        let coordinate = match (self.instrument, is_wire) {
            (Instrument::Estia, true) => cassette % 48 * 32 + channel - 16,
            (Instrument::Estia, false) => cassette / 48 * 64 + 63 - channel,
            (_, true) => cassette * 32 + 47 - channel,
            (_, false) => 63 - channel,
        };
        let threshold = if is_wire { self.threshold_of_wires } else { self.threshold_of_strips };
        if readout.adc < threshold && !readout.over_threshold {
            return None;
        }
        Some(Hit { time: time(readout), is_wire, coordinate, adc: u64::from(readout.adc) })
    }

    /// The events of a cassette's hits.
    fn events(&self, hits: &[Hit]) -> Vec<(u64, u32)> {
        let mut clusters = Vec::new();
        for is_wire in [true, false] {
            let mut plane: Vec<Hit> = hits.iter().copied().filter(|hit| hit.is_wire == is_wire).collect();
            plane.sort_by_key(|hit| hit.time);
            clusters.extend(
                plane.chunk_by(|one, next| next.time - one.time <= self.max_gap).map(<[Hit]>::to_vec),
            );
        }
        clusters.sort_by_key(|cluster| cluster[0].time);
        let mut groups: Vec<Vec<Hit>> = Vec::new();
        for cluster in clusters {
            let end = |group: &Vec<Hit>| group.iter().map(|hit| hit.time).max().expect("no group is empty");
            match groups.last_mut() {
                Some(group) if cluster[0].time.saturating_sub(end(group)) <= self.max_gap => {
                    group.extend(cluster);
                }
                _ => groups.push(cluster),
            }
        }
        groups.iter().filter_map(|group| self.event(group)).collect()
    }

    /// The event of hits that belong together.
    fn event(&self, hits: &[Hit]) -> Option<(u64, u32)> {
        let position = |is_wire: bool, max_missing: u64| {
            let plane: Vec<&Hit> = hits.iter().filter(|hit| hit.is_wire == is_wire).collect();
            let mut places: Vec<u64> = plane.iter().map(|hit| hit.coordinate).collect();
            places.sort_unstable();
            places.dedup();
            let span = places.last()? - places.first()? + 1;
            if places.len() as u64 + max_missing < span {
                return None;
            }
            let sum: u64 = plane.iter().map(|hit| hit.adc).sum();
            let weighted: u64 = plane.iter().map(|hit| hit.adc * hit.coordinate).sum();
            (sum > 0).then(|| (weighted as f64 / sum as f64).round() as u64)
        };
        let (wire, strip) = (position(true, self.max_gap_wires)?, position(false, self.max_gap_strips)?);
        let (x, y) = if self.instrument == Instrument::Estia { (wire, strip) } else { (strip, wire) };
        let start = hits.iter().map(|hit| hit.time).min()?;
        Some((nanoseconds(start), (y * self.columns + x + 1) as u32))
    }

    /// The events of readouts, in order of time and pixel. `cassette_of` says which cassette ring, FEN and hybrid
    /// are.
    pub(crate) fn form(
        &self,
        readouts: &[Readout],
        cassette_of: impl Fn(u8, u8, u8) -> Option<u64>,
    ) -> Vec<(u64, u32)> {
        let mut hits: std::collections::BTreeMap<u64, Vec<Hit>> = std::collections::BTreeMap::new();
        for readout in readouts {
            let Some(cassette) = cassette_of(readout.ring, readout.fen, readout.vmm / 2) else { continue };
            hits.entry(cassette).or_default().extend(self.hit(readout, cassette));
        }
        let mut events: Vec<_> = hits.values().flat_map(|hits| self.events(hits)).collect();
        events.sort_unstable();
        events
    }
}

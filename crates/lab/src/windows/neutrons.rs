//! Neutrons that stand alone in a capture, and what lies between their hits.

use super::distribution::Distribution;
use super::placed_hit::PlacedHit;

/// Hits this long before and after a hit make the rate at it, in picoseconds.
const RATE_WINDOW_PS: i128 = 100_000_000;
/// Share of the neutrons whose gaps may be longer than that of the neutrons that are looked at: they are two by chance.
const FAR_BEYOND: f64 = 0.001;
/// How much more than that a gap may be.
const MARGIN: u64 = 2;
/// Channels that may be missing between two of a neutron, whatever is configured: dead ones, and ones below threshold.
const MOST_MISSING: u64 = 2;
/// So many neutrons tell which value one in a thousand exceeds.
pub const ENOUGH: usize = 2000;
/// Silence that is not gone below, and how many times as long as gaps it must be.
const LEAST_SILENCE_PS: u64 = 100_000;
const SILENCE_OF_GAPS: u64 = 3;

/// What a plane has of a neutron. Times in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnPlane {
    /// Longest time between hits that follow one another.
    pub time_gap: u64,
    /// Longest time between hits on channels that follow one another.
    pub neighbour_gap: u64,
    /// Most channels that are missing between two hits.
    pub missing: u64,
    /// Channels that are missing in all.
    pub all_missing: u64,
    /// Channels from the first to the last one.
    pub extent: u64,
    /// Of the first hit, the last one, and their mean.
    pub times: [i128; 3],
    /// Sum of the amplitudes.
    pub charge: u64,
}

impl OnPlane {
    /// Hits.
    pub fn hits(&self) -> u64 {
        self.extent - self.all_missing
    }
}

/// A neutron that stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Its planes.
    pub planes: [OnPlane; 2],
    /// Longest time between hits that follow one another, on whatever plane.
    pub time_gap: u64,
    /// Time from the first to the last hit.
    pub span: u64,
    /// Hits.
    pub hits: u64,
}

/// Which time of the planes is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The first hits.
    Start,
    /// The last hits.
    End,
    /// The mean of all hits.
    Mean,
}

impl Alone {
    /// How much later the time of the second plane is than that of the first one.
    pub fn later(&self, compared: Compared) -> i128 {
        let index = match compared {
            Compared::Start => 0,
            Compared::End => 1,
            Compared::Mean => 2,
        };
        self.planes[1].times[index] - self.planes[0].times[index]
    }

    /// The same without its sign.
    pub fn difference(&self, compared: Compared) -> u64 {
        u64::try_from(self.later(compared).unsigned_abs()).unwrap_or(u64::MAX)
    }

    /// Thousandths that the larger charge has of the smaller one.
    pub fn ratio_permille(&self) -> u64 {
        let [one, other] = self.planes.map(|plane| plane.charge.max(1));
        one.max(other) * 1000 / one.min(other)
    }
}

/// What was found of neutrons.
#[derive(Clone, Debug, PartialEq)]
pub struct Neutrons {
    /// Groups of hits with silence around them.
    pub groups: usize,
    /// Those that are a neutron, by all that is known.
    pub alone: Vec<Alone>,
    /// Silence around each, in picoseconds.
    pub silence_ps: u64,
    /// Gaps in time of neutrons that are hardly ever exceeded.
    pub longest_gap: u64,
    /// Neutrons per second on a module, at the hits of the capture.
    pub rate: f64,
    /// How many of those that are taken for a neutron are two, by chance.
    pub by_chance: f64,
}

impl Neutrons {
    /// The neutrons of hits, `min_hits` on each plane or more, with as much silence around them as leaves enough of them: `longest_ps` if it does, else a
    /// half, a quarter and so on of it, as long as it is some times as long as their gaps. `hits` are in the order of
    /// [`in_order`].
    pub fn find_enough(hits: &[PlacedHit], longest_ps: u64, min_hits: [u64; 2]) -> Self {
        let mut best = Self::find(hits, longest_ps, min_hits);
        let mut silence_ps = longest_ps / 2;
        while best.alone.len() < ENOUGH && silence_ps >= LEAST_SILENCE_PS {
            let found = Self::find(hits, silence_ps, min_hits);
            if found.alone.len() > best.alone.len() && found.longest_gap * SILENCE_OF_GAPS <= silence_ps {
                best = found;
            }
            silence_ps /= 2;
        }
        best
    }

    /// Cuts hits where a module is silent for longer than `silence_ps` and takes what can be a neutron, with `min_hits` on
    /// each plane or more. `hits` are in the
    /// order of [`in_order`].
    pub fn find(hits: &[PlacedHit], silence_ps: u64, min_hits: [u64; 2]) -> Self {
        let is_together = |one: &PlacedHit, next: &PlacedHit| {
            one.place.module == next.place.module && next.time_ps - one.time_ps <= i128::from(silence_ps)
        };
        let (mut groups, mut alone) = (0, Vec::new());
        for group in hits.chunk_by(is_together) {
            groups += 1;
            alone.extend(of_group(group, min_hits));
        }
        let time_gaps = Distribution::new(alone.iter().map(|neutron| neutron.time_gap));
        let longest_gap = time_gaps.quantile_without_chance(FAR_BEYOND, silence_ps);
        let longest = MARGIN * longest_gap;
        alone.retain(|neutron| neutron.time_gap <= longest);
        // Of two neutrons every gap up to the silence is equally likely, and from half of it on there is nothing else.
        let pairs = 2.0 * time_gaps.beyond(silence_ps / 2) as f64;
        let by_chance = pairs * longest as f64 / silence_ps.max(1) as f64;
        let hits_of_one =
            alone.iter().map(|neutron| neutron.hits).sum::<u64>() as f64 / alone.len().max(1) as f64;
        let rate = hits_per_second(hits, hits_of_one) / hits_of_one.max(1.0);
        Self { groups, alone, silence_ps, longest_gap, rate, by_chance }
    }

    /// How a figure of the neutrons is distributed.
    pub fn distribution(&self, figure: impl Fn(&Alone) -> u64) -> Distribution {
        Distribution::new(self.alone.iter().map(figure)).with_chance(self.by_chance)
    }

    /// Share of the neutrons for which something holds that holds for those that are two by chance.
    pub fn share(&self, holds: impl Fn(&Alone) -> bool) -> f64 {
        let found = self.alone.iter().filter(|neutron| holds(neutron)).count() as f64;
        (found - self.by_chance).max(0.0) / (self.alone.len() as f64 - self.by_chance).max(1.0)
    }

    /// Share of the neutrons of the capture with another one on their module that comes less than `ps` before or after
    /// them, from first hit to first hit.
    pub fn pile_up(&self, ps: u64) -> f64 {
        1.0 - (-2.0 * self.rate * ps as f64 / 1e12).exp()
    }
}

/// Puts hits into the order of modules and time.
pub fn in_order(hits: &mut [PlacedHit]) {
    hits.sort_unstable_by_key(|hit| (hit.place.module, hit.time_ps, hit.place));
}

/// The neutron that a group can be; none if a plane has too few hits or has hits far from one another, or a channel has two
/// hits. Two neutrons that come together by chance are hardly ever neighbours on both planes.
fn of_group(group: &[PlacedHit], min_hits: [u64; 2]) -> Option<Alone> {
    let planes = [0, 1].map(|plane| of_plane(group, plane));
    let [Some(first), Some(second)] = planes else { return None };
    let has_enough = first.hits() >= min_hits[0] && second.hits() >= min_hits[1];
    if !has_enough || first.missing.max(second.missing) > MOST_MISSING {
        return None;
    }
    let span = group.last()?.time_ps - group.first()?.time_ps;
    Some(Alone {
        planes: [first, second],
        time_gap: longest_gap(group.iter()),
        span: u64::try_from(span).unwrap_or(u64::MAX),
        hits: group.len() as u64,
    })
}

fn of_plane(group: &[PlacedHit], plane: u8) -> Option<OnPlane> {
    let mut hits: Vec<PlacedHit> = group.iter().filter(|hit| hit.place.plane == plane).copied().collect();
    let (start, end) = (hits.first()?.time_ps, hits.last()?.time_ps);
    let time_gap = longest_gap(hits.iter());
    let sum: i128 = hits.iter().map(|hit| hit.time_ps - start).sum();
    let mean = start + sum / hits.len() as i128;
    let charge = hits.iter().map(|hit| u64::from(hit.amplitude)).sum();
    hits.sort_unstable_by_key(|hit| hit.place.coordinate);
    let (mut neighbour_gap, mut missing, mut all_missing) = (0, 0, 0);
    for pair in hits.windows(2) {
        let apart = u64::from(pair[1].place.coordinate - pair[0].place.coordinate);
        if apart == 0 {
            return None;
        }
        missing = missing.max(apart - 1);
        all_missing += apart - 1;
        let gap = (pair[1].time_ps - pair[0].time_ps).unsigned_abs();
        neighbour_gap = neighbour_gap.max(u64::try_from(gap).unwrap_or(u64::MAX));
    }
    let extent = hits.len() as u64 + all_missing;
    Some(OnPlane { time_gap, neighbour_gap, missing, all_missing, extent, times: [start, end, mean], charge })
}

/// Longest time between hits that follow one another.
fn longest_gap<'a>(hits: impl Iterator<Item = &'a PlacedHit> + Clone) -> u64 {
    let gaps = hits.clone().zip(hits.skip(1)).map(|(one, next)| next.time_ps - one.time_ps);
    gaps.max().and_then(|gap| u64::try_from(gap).ok()).unwrap_or(0)
}

/// Hits per second on a module, on average over the hits; those of a neutron itself, `own` of them, do not count.
/// `hits` are in the order of modules and time.
fn hits_per_second(hits: &[PlacedHit], own: f64) -> f64 {
    let (mut first, mut end, mut others) = (0, 0, 0.0);
    for hit in hits {
        let at = |ps: i128| (hit.place.module, hit.time_ps + ps);
        while hits.get(first).is_some_and(|other| (other.place.module, other.time_ps) < at(-RATE_WINDOW_PS)) {
            first += 1;
        }
        while hits.get(end).is_some_and(|other| (other.place.module, other.time_ps) <= at(RATE_WINDOW_PS)) {
            end += 1;
        }
        others += (end - first) as f64 - own;
    }
    let seconds = 2.0 * RATE_WINDOW_PS as f64 / 1e12;
    (others / hits.len().max(1) as f64 / seconds).max(0.0)
}

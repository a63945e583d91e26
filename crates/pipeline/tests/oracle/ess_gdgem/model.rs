//! A Gd-GEM with the ESS readout by the definitions of the ESS readout formats, section 3, as plainly as they can be
//! written: clusters of each plane, clusters that are close in time, limits, one pixel. Slow, and without anything of
//! the production code.

/// A hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Ticks of 88.0525 MHz since 1970.
    pub(crate) ticks: u64,
    pub(crate) panel: u8,
    pub(crate) is_y: bool,
    pub(crate) strip: u64,
    pub(crate) adc: u16,
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) side: u64,
    pub(crate) threshold: u16,
    /// In ticks.
    pub(crate) max_cluster_gap: u64,
    pub(crate) max_strip_gap: u64,
    pub(crate) min_hits: usize,
    /// In ticks.
    pub(crate) max_matching_gap: u64,
    pub(crate) max_span: u64,
    pub(crate) min_span: u64,
    /// In ticks.
    pub(crate) max_time: u64,
}

/// What came of the hits, in hits by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Nanoseconds and pixel, in the order of time, panel and pixel.
    pub(crate) events: Vec<(u64, u32)>,
    pub(crate) cluster_too_small: u64,
    pub(crate) only_x: u64,
    pub(crate) only_y: u64,
    pub(crate) too_wide: [u64; 2],
    pub(crate) too_narrow: [u64; 2],
    pub(crate) too_long: [u64; 2],
}

/// Section 1: seconds, and the rest rounded down to nanoseconds.
fn nanoseconds(ticks: u64) -> u64 {
    ticks / 88_052_500 * 1_000_000_000 + ticks % 88_052_500 * 1_000_000_000 / 88_052_500
}

fn start(hits: &[Hit]) -> u64 {
    hits.iter().map(|hit| hit.ticks).min().expect("no cluster is empty")
}

fn end(hits: &[Hit]) -> u64 {
    hits.iter().map(|hit| hit.ticks).max().expect("no cluster is empty")
}

impl Rules {
    /// The clusters of a plane: cut at gaps in time, then at gaps in strips.
    fn clusters(&self, mut plane: Vec<Hit>, outcome: &mut Outcome) -> Vec<Vec<Hit>> {
        plane.sort_by_key(|hit| hit.ticks);
        let mut clusters = Vec::new();
        for group in plane.chunk_by(|one, next| next.ticks - one.ticks <= self.max_cluster_gap) {
            let mut group = group.to_vec();
            group.sort_by_key(|hit| hit.strip);
            for cluster in group.chunk_by(|one, next| next.strip - one.strip <= self.max_strip_gap + 1) {
                if cluster.len() < self.min_hits {
                    outcome.cluster_too_small += cluster.len() as u64;
                } else {
                    clusters.push(cluster.to_vec());
                }
            }
        }
        clusters
    }

    /// What the hits of all panels become.
    pub(crate) fn form(&self, hits: &[Hit]) -> Outcome {
        let mut outcome = Outcome::default();
        let mut events = Vec::new();
        for panel in 0..=u8::MAX {
            let mut clusters = Vec::new();
            for is_y in [false, true] {
                let is_here = |hit: &Hit| (hit.panel, hit.is_y) == (panel, is_y) && hit.adc >= self.threshold;
                let plane = hits.iter().copied().filter(is_here).collect();
                clusters.extend(self.clusters(plane, &mut outcome));
            }
            clusters.sort_by_key(|cluster| start(cluster));
            let mut sets: Vec<Vec<Hit>> = Vec::new();
            for cluster in clusters {
                match sets.last_mut() {
                    Some(set) if start(&cluster).saturating_sub(end(set)) <= self.max_matching_gap => {
                        set.extend(cluster);
                    }
                    _ => sets.push(cluster),
                }
            }
            for set in sets {
                events.extend(self.event(panel, &set, &mut outcome));
            }
        }
        events.sort_unstable();
        outcome.events = events.into_iter().map(|(ticks, pixel)| (nanoseconds(ticks), pixel)).collect();
        outcome
    }

    /// The event of hits that belong together: its end in ticks, and its pixel.
    fn event(&self, panel: u8, set: &[Hit], outcome: &mut Outcome) -> Option<(u64, u32)> {
        let count = set.len() as u64;
        let planes: [Vec<Hit>; 2] =
            [false, true].map(|is_y| set.iter().copied().filter(|hit| hit.is_y == is_y).collect());
        if planes[1].is_empty() {
            outcome.only_x += count;
            return None;
        }
        if planes[0].is_empty() {
            outcome.only_y += count;
            return None;
        }
        for (number, plane) in planes.iter().enumerate() {
            let strips = plane.iter().map(|hit| hit.strip);
            let span = strips.clone().max()? - strips.min()? + 1;
            let counter = if span > self.max_span {
                &mut outcome.too_wide[number]
            } else if span < self.min_span {
                &mut outcome.too_narrow[number]
            } else if end(plane) - start(plane) > self.max_time {
                &mut outcome.too_long[number]
            } else {
                continue;
            };
            *counter += count;
            return None;
        }
        let position = |plane: &[Hit]| {
            let latest: Vec<u64> =
                plane.iter().filter(|hit| hit.ticks == end(plane)).map(|hit| hit.strip).collect();
            (latest.iter().sum::<u64>() as f64 / latest.len() as f64).round() as u64
        };
        let (x, y) = (position(&planes[0]), position(&planes[1]));
        let pixel = u64::from(panel) * self.side * self.side + y * self.side + x + 1;
        Some((end(set), pixel as u32))
    }
}

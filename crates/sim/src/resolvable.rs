//! Which neutrons a perfect reconstruction could tell apart.
//!
//! A perfect reconstruction knows everything about the detector and has all the time that it needs, but only the hits
//! that the electronics give. So what is *resolvable* is fixed by the detector and its electronics ([`Limits`]); no
//! parameter of a reconstruction is in it. A neutron is resolvable if
//!
//! 1. it leaves hits above threshold on each plane, as few as they may be;
//! 2. enough of them are not swallowed: a channel is busy for its dead time after each hit that it digitises, whichever
//!    neutron that is from, and a module that is read by triggers takes no hits between the end of a trigger and the end
//!    of its dead time;
//! 3. it can be told from every resolvable neutron before it: not both planes have hits of the two at the same time
//!    and on the same or a neighbouring channel. Of those that are read with one trigger only the first that leaves
//!    enough counts, and none where their charges add up.
//!
//! Noise, gammas, dead channels and the spread of gains are left out. Of neutrons at the same place and time the first
//! one counts, because one event is found there: the share of the resolvable neutrons is the *ceiling* of the share that
//! any reconstruction finds. What the planes have is assumed to be paired rightly, whatever else is there at the
//! same time; so the ceiling need not be within reach.

use crate::electronics::Electronics;
use crate::layout::Place;
use std::collections::HashMap;
use std::ops::Range;

/// Times closer together than this many standard deviations of a time stamp are the same: those of two hits at one
/// time differ by more for one pair in 200.
const DEVIATIONS: u64 = 4;

/// What no reconstruction gets around, as the detector has it: the rest is in [`Electronics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Step of the time stamps in picoseconds.
    pub clock_step_ps: u64,
    /// On each plane: a neutron can leave hits on channels so far apart, so that what is as close may be one or two.
    pub neighbours: [u16; 2],
    /// Hits that an event needs on each plane; 0 for a plane that the detector does not have.
    pub min_hits: [u16; 2],
    /// The triggers that its modules are read by, if they are.
    pub trigger: Option<TriggerTimes>,
}

impl Resolution {
    /// Of a readout each of whose entries is an event: only a channel that is busy keeps a neutron from being seen.
    pub fn of_single_channels(clock_step_ps: u64) -> Self {
        Self { clock_step_ps, neighbours: [0, 0], min_hits: [1, 0], trigger: None }
    }
}

/// When a module that is read by triggers takes hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerTimes {
    /// What comes so long after the first hit is read with it, in picoseconds.
    pub window_ps: u64,
    /// Nothing is taken for so long after that.
    pub dead_time_ps: u64,
    /// Charges of all that is read with a trigger are one sum: of several neutrons none can be told.
    pub adds_up: bool,
}

/// What no reconstruction gets around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long after a hit a channel digitises no other, in picoseconds.
    pub dead_time_ps: u64,
    /// Hits that are no further apart are at the same time, in picoseconds.
    pub time_ps: u64,
    /// See [`Resolution::neighbours`].
    pub neighbours: [u16; 2],
    /// See [`Resolution::min_hits`].
    pub min_hits: [u16; 2],
    /// See [`Resolution::trigger`].
    pub trigger: Option<TriggerTimes>,
}

impl Limits {
    /// Those of a detector with these electronics.
    pub fn new(resolution: &Resolution, electronics: &Electronics) -> Self {
        Self {
            dead_time_ps: electronics.dead_time_ps,
            time_ps: DEVIATIONS * electronics.jitter_ps + resolution.clock_step_ps,
            neighbours: resolution.neighbours,
            min_hits: resolution.min_hits,
            trigger: resolution.trigger,
        }
    }

    /// The planes that an event needs hits on, a bit for each.
    fn planes(&self) -> u8 {
        (0..2).filter(|plane| self.min_hits[*plane] > 0).map(|plane| 1 << plane).sum()
    }

    /// Whether so many hits on each plane are enough.
    fn are_enough(&self, hits: &[u16; 2]) -> bool {
        hits.iter().zip(self.min_hits).all(|(found, least)| *found >= least)
    }
}

/// A hit of a neutron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrueHit {
    /// What its channel reads.
    pub place: Place,
    /// The neutron, counted in the order in which neutrons come.
    pub neutron: u32,
    /// When, in picoseconds.
    pub time_ps: u64,
}

impl TrueHit {
    /// The order of place, time and neutron, as one number: a processor compares it without having to foresee anything.
    fn by_channel_and_time(&self) -> u128 {
        let Place { module, plane, coordinate } = self.place;
        let place = u64::from(module) << 24 | u64::from(plane) << 16 | u64::from(coordinate);
        u128::from(place) << 88 | u128::from(self.time_ps) << 32 | u128::from(self.neutron)
    }
}

/// Says of each neutron whether it is resolvable. `hits` are all that are above threshold, in any order; there are
/// `neutrons` of the neutrons.
pub fn resolvable(mut hits: Vec<TrueHit>, neutrons: usize, limits: &Limits) -> Vec<bool> {
    hits.sort_unstable_by_key(TrueHit::by_channel_and_time);
    leave_out_swallowed(&mut hits, limits.dead_time_ps);
    if let Some(trigger) = &limits.trigger {
        return of_triggers(hits, neutrons, limits, trigger);
    }
    let mut on_planes = vec![[0_u16; 2]; neutrons];
    for hit in &hits {
        count(&mut on_planes[hit.neutron as usize], hit);
    }
    let mut resolvable: Vec<bool> = on_planes.iter().map(|hits| limits.are_enough(hits)).collect();
    drop(on_planes);
    hits.retain(|hit| resolvable[hit.neutron as usize]);
    for (earlier, later) in together(&hits, neutrons, limits) {
        // Those before the later one are decided: pairs come in the order of it.
        if resolvable[earlier as usize] {
            resolvable[later as usize] = false;
        }
    }
    resolvable
}

fn count(on_plane: &mut [u16; 2], hit: &TrueHit) {
    let plane = &mut on_plane[usize::from(hit.place.plane & 1)];
    *plane = plane.saturating_add(1);
}

/// Takes out hits that come while their channel is busy. `hits` are in the order of channels and time.
fn leave_out_swallowed(hits: &mut Vec<TrueHit>, dead_time_ps: u64) {
    let mut busy: Option<(Place, u64)> = None;
    hits.retain(|hit| {
        let is_taken = busy.is_none_or(|(place, until)| place != hit.place || hit.time_ps >= until);
        if is_taken {
            busy = Some((hit.place, hit.time_ps.saturating_add(dead_time_ps)));
        }
        is_taken
    });
}

/// Of each trigger the first neutron that leaves enough.
fn of_triggers(
    mut hits: Vec<TrueHit>,
    neutrons: usize,
    limits: &Limits,
    trigger: &TriggerTimes,
) -> Vec<bool> {
    hits.sort_unstable_by_key(|hit| (hit.place.module, hit.time_ps, hit.neutron, hit.place));
    let mut resolvable = vec![false; neutrons];
    let mut on_planes: HashMap<u32, [u16; 2]> = HashMap::new();
    let mut next = 0;
    while let Some(&first) = hits.get(next) {
        let is_before = |hit: &TrueHit, ps: u64| {
            hit.place.module == first.place.module && hit.time_ps - first.time_ps < ps
        };
        let (read_ps, ready_ps) = (
            trigger.window_ps.saturating_add(1),
            trigger.window_ps.saturating_add(trigger.dead_time_ps).max(1),
        );
        let end = next + hits[next..].partition_point(|hit| is_before(hit, read_ps));
        let of_trigger = &hits[next..end];
        on_planes.clear();
        for hit in of_trigger {
            count(on_planes.entry(hit.neutron).or_default(), hit);
        }
        let has_enough =
            |hit: &&TrueHit| on_planes.get(&hit.neutron).is_some_and(|hits| limits.are_enough(hits));
        let can_be_told = !trigger.adds_up || on_planes.len() == 1;
        if let Some(hit) = of_trigger.iter().find(has_enough).filter(|_| can_be_told) {
            resolvable[hit.neutron as usize] = true;
        }
        next = (next + hits[next..].partition_point(|hit| is_before(hit, ready_ps))).max(end);
    }
    resolvable
}

/// The pairs of neutrons that have hits at the same time and on the same or neighbouring channels of every plane that is
/// needed: the earlier and the later one, in the order of the later one. `hits` are in the order of channels and time.
fn together(hits: &[TrueHit], neutrons: usize, limits: &Limits) -> Vec<(u32, u32)> {
    let channels: Vec<Range<usize>> = channels(hits).collect();
    let mut met: Vec<(u32, u32, u8)> = Vec::new();
    for (number, channel) in channels.iter().enumerate() {
        let own = &hits[channel.clone()];
        let Some(Place { module, plane, coordinate }) = own.first().map(|hit| hit.place) else { continue };
        let reach = coordinate.saturating_add(limits.neighbours[usize::from(plane & 1)]);
        for other in &channels[number..] {
            let others = &hits[other.clone()];
            let is_near = others.first().is_some_and(|hit| {
                (hit.place.module, hit.place.plane) == (module, plane) && hit.place.coordinate <= reach
            });
            if !is_near {
                break;
            }
            meet(own, others, limits.time_ps, |one, other| {
                if one != other {
                    met.push((one.max(other), one.min(other), 1 << (plane & 1)));
                }
            });
        }
    }
    let planes = limits.planes();
    let mut pairs = Vec::new();
    let (met, ends) = by_later(&met, neutrons);
    let mut begin = 0;
    for (later, end) in (0..).zip(ends) {
        let of_later = &met[begin..end];
        begin = end;
        for of_pair in of_later.chunk_by(|one, other| one >> PLANE_BITS == other >> PLANE_BITS) {
            if of_pair.iter().fold(0, |met, other| met | *other as u8) & planes == planes {
                pairs.push(((of_pair[0] >> PLANE_BITS) as u32, later));
            }
        }
    }
    pairs
}

/// Bits of the plane, below the earlier neutron.
const PLANE_BITS: u32 = 8;

/// The earlier neutrons, with their planes and in order, that each later one has met, one after the other; and where those of
/// each later one end. There are many more meetings than neutrons: they are counted into their places.
fn by_later(met: &[(u32, u32, u8)], neutrons: usize) -> (Vec<u64>, Vec<usize>) {
    let mut ends = vec![0_usize; neutrons + 1];
    for (later, ..) in met {
        ends[*later as usize + 1] += 1;
    }
    for later in 0..neutrons {
        ends[later + 1] += ends[later];
    }
    let mut sorted = vec![0_u64; met.len()];
    // What begins where the one before ends: afterwards it is where it ends itself.
    for &(later, earlier, plane) in met {
        let place = &mut ends[later as usize];
        sorted[*place] = u64::from(earlier) << PLANE_BITS | u64::from(plane);
        *place += 1;
    }
    ends.truncate(neutrons);
    let mut begin = 0;
    for &end in &ends {
        sorted[begin..end].sort_unstable();
        begin = end;
    }
    (sorted, ends)
}

/// Runs of hits of the same channel.
fn channels(hits: &[TrueHit]) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    hits.chunk_by(|one, other| one.place == other.place).map(move |of_channel| {
        let begin = end;
        end += of_channel.len();
        begin..end
    })
}

/// Hands out the neutrons of hits of two channels that are no further apart in time than this.
fn meet(own: &[TrueHit], others: &[TrueHit], time_ps: u64, mut found: impl FnMut(u32, u32)) {
    let mut first = 0;
    for hit in own {
        while others.get(first).is_some_and(|other| other.time_ps.saturating_add(time_ps) < hit.time_ps) {
            first += 1;
        }
        let near =
            others[first..].iter().take_while(|other| other.time_ps <= hit.time_ps.saturating_add(time_ps));
        near.for_each(|other| found(hit.neutron, other.neutron));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits =
        Limits { dead_time_ps: 60, time_ps: 25, neighbours: [1, 2], min_hits: [1, 1], trigger: None };

    fn hit(neutron: u32, module: u16, plane: u8, coordinate: u16, time_ps: u64) -> TrueHit {
        TrueHit { place: Place { module, plane, coordinate }, neutron, time_ps }
    }

    /// The definition, hit by hit and pair by pair.
    fn by_definition(hits: &[TrueHit], neutrons: u32, limits: &Limits) -> Vec<bool> {
        let mut in_time = hits.to_vec();
        in_time.sort_by_key(|hit| (hit.time_ps, hit.neutron));
        let mut digitised: Vec<TrueHit> = Vec::new();
        for hit in in_time {
            let busy = |other: &&TrueHit| {
                other.place == hit.place && hit.time_ps < other.time_ps + limits.dead_time_ps
            };
            if digitised.iter().find(busy).is_none() {
                digitised.push(hit);
            }
        }
        let of = |neutron: u32, plane: u8| {
            digitised.iter().filter(move |hit| hit.neutron == neutron && hit.place.plane == plane)
        };
        let is_same = |one: &TrueHit, other: &TrueHit| {
            one.place.module == other.place.module
                && one.time_ps.abs_diff(other.time_ps) <= limits.time_ps
                && one.place.coordinate.abs_diff(other.place.coordinate)
                    <= limits.neighbours[usize::from(one.place.plane)]
        };
        let needed = || (0..2_u8).filter(|plane| limits.min_hits[usize::from(*plane)] > 0);
        let mut resolvable: Vec<u32> = Vec::new();
        for neutron in 0..neutrons {
            let has_enough = (0..2_u8)
                .all(|plane| of(neutron, plane).count() >= usize::from(limits.min_hits[usize::from(plane)]));
            let is_another = |earlier: &u32| {
                needed().all(|plane| {
                    of(neutron, plane).any(|one| of(*earlier, plane).any(|other| is_same(one, other)))
                })
            };
            if has_enough && !resolvable.iter().any(is_another) {
                resolvable.push(neutron);
            }
        }
        (0..neutrons).map(|neutron| resolvable.contains(&neutron)).collect()
    }

    /// The definition for modules with triggers, hit by hit.
    fn by_definition_of_triggers(hits: &[TrueHit], neutrons: u32, limits: &Limits) -> Vec<bool> {
        let times = limits.trigger.expect("modules with triggers");
        let mut in_time = hits.to_vec();
        in_time.sort_by_key(|hit| (hit.time_ps, hit.neutron, hit.place));
        let (mut digitised, mut triggers): (Vec<TrueHit>, Vec<Vec<TrueHit>>) = (Vec::new(), Vec::new());
        for hit in in_time {
            let busy = |other: &TrueHit| {
                other.place == hit.place && hit.time_ps < other.time_ps + limits.dead_time_ps
            };
            if digitised.iter().any(busy) {
                continue;
            }
            digitised.push(hit);
            let latest = triggers.iter_mut().rev().find(|hits| hits[0].place.module == hit.place.module);
            match latest {
                Some(hits) if hit.time_ps <= hits[0].time_ps + times.window_ps => hits.push(hit),
                Some(hits) if hit.time_ps < hits[0].time_ps + times.window_ps + times.dead_time_ps => {}
                _ => triggers.push(vec![hit]),
            }
        }
        let first = |hits: &Vec<TrueHit>| {
            let on_plane = |neutron: u32, plane: u8| {
                hits.iter().filter(|hit| hit.neutron == neutron && hit.place.plane == plane).count()
            };
            let has_enough = |hit: &&TrueHit| {
                (0..2_u8).all(|plane| {
                    on_plane(hit.neutron, plane) >= usize::from(limits.min_hits[usize::from(plane)])
                })
            };
            let is_alone = hits.iter().all(|hit| hit.neutron == hits[0].neutron);
            hits.iter().find(has_enough).filter(|_| is_alone || !times.adds_up).map(|hit| hit.neutron)
        };
        let found: Vec<u32> = triggers.iter().filter_map(first).collect();
        (0..neutrons).map(|neutron| found.contains(&neutron)).collect()
    }

    proptest! {
        #[test]
        fn the_sweep_is_the_definition(
            neutrons in prop::collection::vec((0_u64..400, prop::collection::vec(
                (0_u16..2, 0_u8..2, 0_u16..8, 0_u64..40), 0..6)), 0..14),
            min_hits in [1_u16..3, 0_u16..3],
            trigger in prop::option::of((0_u64..80, 0_u64..80)),
            adds_up: bool,
        ) {
            let hits: Vec<TrueHit> = neutrons
                .iter()
                .zip(0..)
                .flat_map(|((time, hits), neutron)| hits.iter().map(move |(module, plane, coordinate, later)| {
                    hit(neutron, *module, *plane, *coordinate, time + later)
                }))
                .collect();
            let trigger = trigger
                .map(|(window_ps, dead_time_ps)| TriggerTimes { window_ps, dead_time_ps, adds_up });
            let limits = Limits { min_hits, trigger, ..LIMITS };
            let count = neutrons.len() as u32;
            let expected = match trigger {
                Some(_) => by_definition_of_triggers(&hits, count, &limits),
                None => by_definition(&hits, count, &limits),
            };
            prop_assert_eq!(resolvable(hits, neutrons.len(), &limits), expected);
        }
    }

    #[test]
    fn what_can_be_told_apart() {
        let found = |hits: &[TrueHit]| resolvable(hits.to_vec(), 2, &LIMITS);
        let first = [hit(0, 0, 0, 5, 100), hit(0, 0, 1, 5, 100)];
        let with = |second: [TrueHit; 2]| found(&[first, second].concat());
        assert_eq!(with([hit(1, 0, 0, 6, 120), hit(1, 0, 1, 7, 120)]), [true, false], "same place and time");
        assert_eq!(with([hit(1, 0, 0, 6, 126), hit(1, 0, 1, 7, 126)]), [true, true], "later");
        assert_eq!(
            with([hit(1, 0, 0, 6, 100), hit(1, 0, 1, 8, 100)]),
            [true, true],
            "elsewhere on one plane"
        );
        assert_eq!(with([hit(1, 1, 0, 5, 100), hit(1, 1, 1, 5, 100)]), [true, true], "another module");
        assert_eq!(with([hit(1, 0, 0, 5, 159), hit(1, 0, 1, 9, 159)]), [true, false], "a channel is busy");
        assert_eq!(with([hit(1, 0, 0, 5, 160), hit(1, 0, 1, 9, 160)]), [true, true], "it is ready again");
    }
}

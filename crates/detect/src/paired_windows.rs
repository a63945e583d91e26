//! Windows of modules in which several neutrons are told apart.
//!
//! A window is opened by the first hit of a module and goes on as long as the next one comes within its gap, whichever plane
//! it is on. Where a window has one group of neighbours on each plane, it is a neutron. Anything else is cut into
//! *clusters*: hits of a plane on neighbouring channels, each within the cluster's own gap of time of another one. The
//! clusters of both planes are then paired one to one ([`crate::pairing`]): by the means of their times, and by their charges.
//!
//! At high rates windows would never end. One that has come to [`MOST_HITS`] hits is cut where the longest time lies
//! between two of the hits in its second half, and the rest goes on as the next window.
//!
//! Which neutron the hits of a cluster make is up to the detector: [`Neutrons`].

use crate::ess::WindowAnalysis;
use crate::event_order::TimedEvent;
use crate::hit::{TimeKey, Timed};
use crate::module_windows::{ClusterWatcher, Windows};
use crate::neutron_groups::{Fate, MOST_HITS, NeutronGroups, PairedRules, WindowHit};
use evforge_core::counter::CounterSnapshot;

/// What some hits look like, apart from their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One group of neighbours on each plane.
    Neutron,
    /// Hits of one plane only.
    OnePlane,
    /// Anything else.
    Several,
}

/// What a detector makes of hits that belong together.
pub trait Neutrons: get_size2::GetSize {
    /// A hit of the detector's modules.
    type Hit: Timed + Into<WindowHit> + From<WindowHit>;

    /// Hits added up, so that a window with one neutron need not be looked at again.
    type Sums: Default + get_size2::GetSize;

    /// Forgets what was added up and begins with a hit, the first in time.
    fn begin(&self, sums: &mut Self::Sums, hit: Self::Hit);

    /// Adds a hit.
    fn add(&self, sums: &mut Self::Sums, hit: Self::Hit);

    /// What the hits look like.
    fn shape(&self, sums: &Self::Sums) -> Shape;

    /// A window was closed.
    fn count_window(&mut self);

    /// The hits of a neutron, of both planes: an event, or a count of why there is none.
    fn neutron(&mut self, module: usize, sums: &Self::Sums, watcher: &mut impl ClusterWatcher);

    /// Hits of one plane that nothing on the other one belongs to.
    fn lone(&mut self, sums: &Self::Sums, watcher: &mut impl ClusterWatcher);

    /// Pairs of clusters that were ambiguous, and the hits of those that were dropped for it.
    fn count_ambiguous(&mut self, pairs: u64, dropped_hits: u64);

    /// Events formed so far.
    fn events_formed(&self) -> u64;

    /// The events, to be taken away.
    fn formed(&mut self) -> &mut Vec<TimedEvent>;

    /// How many of them wait there.
    fn waiting(&self) -> usize;

    /// The counters; `held` hits wait.
    fn counters(&self, held: u64) -> CounterSnapshot;
}

/// Adds up hits in order of time, of which there are some.
#[inline]
fn sum_up<N: Neutrons>(neutrons: &N, sums: &mut N::Sums, hits: &[WindowHit]) {
    let mut hits = hits.iter().map(|hit| N::Hit::from(*hit));
    if let Some(first) = hits.next() {
        neutrons.begin(sums, first);
    }
    hits.for_each(|hit| neutrons.add(sums, hit));
}

/// Finds the neutron of a window by its sums. False if that takes a look at its hits.
#[inline(always)]
fn resolve_sums<N: Neutrons>(
    neutrons: &mut N,
    module: usize,
    sums: &N::Sums,
    is_short: bool,
    watcher: &mut impl ClusterWatcher,
) -> bool {
    neutrons.count_window();
    match neutrons.shape(sums) {
        Shape::Neutron if is_short => neutrons.neutron(module, sums, watcher),
        Shape::OnePlane => neutrons.lone(sums, watcher),
        _ => return false,
    }
    true
}

/// The window of a module.
#[derive(Debug, get_size2::GetSize)]
struct Window<S> {
    /// Time of the first and of the latest hit.
    start: u64,
    latest: u64,
    /// Its hits, added up and one by one. None: it is closed.
    sums: S,
    hits: Vec<WindowHit>,
}

/// The open windows of all modules.
#[derive(Debug, get_size2::GetSize)]
pub struct PairedWindows<N: Neutrons> {
    windows: Vec<Window<N::Sums>>,
    neutrons: N,
    gap: u64,
    groups: NeutronGroups,
    /// For the groups.
    sums: N::Sums,
}

impl<N: Neutrons> PairedWindows<N> {
    /// Windows of so many modules.
    pub fn new(modules: usize, rules: PairedRules, neutrons: N) -> Self {
        let window =
            || Window { start: 0, latest: 0, sums: N::Sums::default(), hits: Vec::with_capacity(MOST_HITS) };
        Self {
            windows: (0..modules).map(|_| window()).collect(),
            neutrons,
            gap: rules.gap,
            groups: NeutronGroups::new(rules),
            sums: N::Sums::default(),
        }
    }

    /// Finds the neutrons of a window that some hits are in.
    #[inline(always)]
    fn resolve(&mut self, module: usize, watcher: &mut impl ClusterWatcher) {
        let Self { windows, neutrons, gap, .. } = self;
        let window = &windows[module];
        let length = window.latest.saturating_sub(window.start);
        if !resolve_sums(neutrons, module, &window.sums, length <= *gap, watcher) {
            let hits = window.hits.len();
            self.resolve_groups(module, hits, watcher);
        }
    }

    /// Finds the neutrons of hits that are a whole window, while that of their module is closed.
    #[inline(always)]
    fn resolve_whole(
        &mut self,
        module: usize,
        keys: &[TimeKey],
        base: u64,
        watcher: &mut impl ClusterWatcher,
    ) {
        let Self { windows, neutrons, gap, sums, .. } = self;
        let [first, others @ ..] = keys else { return };
        neutrons.begin(sums, first.unpack(base));
        others.iter().for_each(|key| neutrons.add(sums, key.unpack(base)));
        let length = others.last().map_or(0, |last| last.time() - first.time());
        if !resolve_sums(neutrons, module, sums, length <= *gap, watcher) {
            let hits = &mut windows[module].hits;
            hits.extend(keys.iter().map(|key| key.unpack::<N::Hit>(base).into()));
            self.resolve_groups(module, keys.len(), watcher);
            self.windows[module].hits.clear();
        }
    }

    /// Finds the neutrons of the first hits of a window.
    #[inline(never)]
    fn resolve_groups(&mut self, module: usize, hits: usize, watcher: &mut impl ClusterWatcher) {
        let Self { windows, neutrons, groups, sums, .. } = self;
        groups.form(&windows[module].hits[..hits]);
        let mut dropped = 0;
        for (fate, hits) in groups.groups() {
            sum_up(neutrons, sums, hits);
            match fate {
                Fate::Neutron => neutrons.neutron(module, sums, watcher),
                Fate::Dropped => dropped += hits.len() as u64,
                Fate::Lone => neutrons.lone(sums, watcher),
            }
        }
        neutrons.count_ambiguous(groups.ambiguous_pairs(), dropped);
    }

    /// Cuts a window that is full: what comes before the cut is resolved, the rest stays.
    #[cold]
    fn cut(&mut self, module: usize, watcher: &mut impl ClusterWatcher) {
        let hits = &self.windows[module].hits;
        let second_half = hits.len() / 2..hits.len();
        // Of equal gaps the last.
        let place = second_half.max_by_key(|&place| hits[place].time - hits[place - 1].time);
        let place = place.unwrap_or(hits.len());
        self.neutrons.count_window();
        self.resolve_groups(module, place, watcher);
        let Self { windows, neutrons, .. } = self;
        let window = &mut windows[module];
        window.hits.copy_within(place.., 0);
        window.hits.truncate(window.hits.len() - place);
        window.start = window.hits.first().map_or(0, |hit| hit.time);
        sum_up(neutrons, &mut window.sums, &window.hits);
    }
}

impl<N: Neutrons> Windows for PairedWindows<N> {
    type Hit = N::Hit;

    #[inline(always)]
    fn take(&mut self, module: usize, hit: N::Hit, watcher: &mut impl ClusterWatcher) {
        let Some(window) = self.windows.get(module) else { return };
        let time = hit.time();
        let is_open = !window.hits.is_empty();
        if is_open & (time.saturating_sub(window.latest) <= self.gap) {
            if window.hits.len() >= MOST_HITS {
                self.cut(module, watcher);
            }
            let window = &mut self.windows[module];
            window.latest = time;
            self.neutrons.add(&mut window.sums, hit);
            window.hits.push(hit.into());
            return;
        }
        if is_open {
            self.resolve(module, watcher);
        }
        let window = &mut self.windows[module];
        (window.start, window.latest) = (time, time);
        self.neutrons.begin(&mut window.sums, hit);
        window.hits.clear();
        window.hits.push(hit.into());
    }

    /// Windows that begin and end among these hits are looked at where they lie; only what goes on from another step, or into
    /// the next, is kept.
    #[inline]
    fn take_all(&mut self, module: usize, hits: &[TimeKey], base: u64, watcher: &mut impl ClusterWatcher) {
        if module >= self.windows.len() {
            return;
        }
        let (gap, mut rest) = (self.gap, hits);
        while let [first, ..] = rest {
            let is_open = self.hits_of(module) != 0;
            let ends = |pair: &[TimeKey]| pair[1].time() - pair[0].time() > gap;
            let whole = rest.windows(2).take(MOST_HITS).position(ends);
            match whole {
                Some(last) if !is_open => {
                    let (window, others) = rest.split_at(last + 1);
                    self.resolve_whole(module, window, base, watcher);
                    rest = others;
                }
                _ => {
                    self.take(module, first.unpack(base), watcher);
                    rest = &rest[1..];
                    while let [next, ..] = rest
                        && !self.is_over(module, base + next.time())
                    {
                        self.take(module, next.unpack(base), watcher);
                        rest = &rest[1..];
                    }
                    if !rest.is_empty() {
                        self.close(module, watcher);
                    }
                }
            }
        }
    }

    fn modules(&self) -> usize {
        self.windows.len()
    }

    #[inline]
    fn hits_of(&self, module: usize) -> u32 {
        self.windows[module].hits.len() as u32
    }

    fn start_of(&self, module: usize) -> u64 {
        self.windows[module].start
    }

    fn is_over(&self, module: usize, time: u64) -> bool {
        time.saturating_sub(self.windows[module].latest) > self.gap
    }

    fn close(&mut self, module: usize, watcher: &mut impl ClusterWatcher) {
        self.resolve(module, watcher);
        self.windows[module].hits.clear();
    }

    fn formed(&mut self) -> &mut Vec<TimedEvent> {
        self.neutrons.formed()
    }
}

impl<N: Neutrons + Send> WindowAnalysis for PairedWindows<N>
where
    N::Sums: Send,
{
    fn events_formed(&self) -> u64 {
        self.neutrons.events_formed()
    }

    fn events_waiting(&self) -> u64 {
        self.neutrons.waiting() as u64
    }

    fn counters(&self, waiting: u64) -> CounterSnapshot {
        self.neutrons.counters(waiting + self.held())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multiblade::BladeHit;
    use crate::pairing::PairRule;
    use crate::time_order::TimeOrder;
    use proptest::prelude::*;

    /// What became of hits: those of each neutron and of each group without a partner.
    #[derive(Debug, Default, PartialEq, Eq, get_size2::GetSize)]
    struct Seen {
        neutrons: Vec<Vec<WindowHit>>,
        lone: Vec<Vec<WindowHit>>,
        windows: u64,
        ambiguous: u64,
        dropped: u64,
        formed: Vec<TimedEvent>,
    }

    impl Neutrons for Seen {
        type Hit = BladeHit;

        type Sums = Vec<WindowHit>;

        fn begin(&self, sums: &mut Vec<WindowHit>, hit: BladeHit) {
            sums.clear();
            sums.push(hit.into());
        }

        fn add(&self, sums: &mut Vec<WindowHit>, hit: BladeHit) {
            sums.push(hit.into());
        }

        fn shape(&self, sums: &Vec<WindowHit>) -> Shape {
            let groups = [0, 1].map(|plane| {
                let mut places: Vec<_> =
                    sums.iter().filter(|hit| hit.plane == plane).map(|hit| hit.coordinate).collect();
                places.sort_unstable();
                places.chunk_by(|one, next| next - one <= 1).count()
            });
            match groups {
                [1, 1] => Shape::Neutron,
                [0, _] | [_, 0] => Shape::OnePlane,
                _ => Shape::Several,
            }
        }

        fn count_window(&mut self) {
            self.windows += 1;
        }

        fn neutron(&mut self, _: usize, hits: &Vec<WindowHit>, _: &mut impl ClusterWatcher) {
            self.neutrons.push(hits.clone());
        }

        fn lone(&mut self, hits: &Vec<WindowHit>, _: &mut impl ClusterWatcher) {
            self.lone.push(hits.clone());
        }

        fn count_ambiguous(&mut self, pairs: u64, dropped_hits: u64) {
            self.ambiguous += pairs;
            self.dropped += dropped_hits;
        }

        fn events_formed(&self) -> u64 {
            0
        }

        fn formed(&mut self) -> &mut Vec<TimedEvent> {
            &mut self.formed
        }

        fn waiting(&self) -> usize {
            0
        }

        fn counters(&self, _: u64) -> CounterSnapshot {
            CounterSnapshot::default()
        }
    }

    const RULES: PairedRules = PairedRules {
        gap: 100,
        cluster_gap: 40,
        reach: [1, 1],
        pairs: PairRule {
            max_difference: 40,
            max_amplitude_permille: Some(4000),
            delay: 0,
            usual_difference: 20,
            usual_start_difference: None,
            usual_amplitude_permille: Some(1500),
        },
        charge_factors: [1000, 1000],
        drops_ambiguous: false,
    };

    /// Time, plane, wire or strip, amplitude.
    type Made = (u64, u8, u8, u16);

    fn hit((time, plane, coordinate, amplitude): Made) -> BladeHit {
        BladeHit::of(time, u32::from(plane) << 22 | u32::from(coordinate) << 16 | u32::from(amplitude))
    }

    fn see(rules: PairedRules, hits: &[Made]) -> Seen {
        let mut windows = PairedWindows::new(1, rules, Seen::default());
        hits.iter().for_each(|&made| windows.take(0, hit(made), &mut ()));
        windows.close_all(&mut ());
        windows.neutrons
    }

    /// Where the neutrons were: their first time, lowest wire and lowest strip.
    fn places(seen: &Seen) -> Vec<(u64, u16, u16)> {
        let lowest = |hits: &[WindowHit], plane: u8| {
            hits.iter().filter(|hit| hit.plane == plane).map(|hit| hit.coordinate).min().unwrap_or(u16::MAX)
        };
        seen.neutrons.iter().map(|hits| (hits[0].time, lowest(hits, 0), lowest(hits, 1))).collect()
    }

    #[test]
    fn neutrons_of_one_window_are_told_apart_by_time_and_charge() {
        let strong_and_weak = [
            (1000, 0, 3, 900),
            (1002, 1, 40, 210),
            (1004, 0, 9, 200),
            (1006, 1, 20, 500),
            (1008, 1, 21, 390),
        ];
        let seen = see(RULES, &strong_and_weak);
        assert_eq!(places(&seen), [(1000, 3, 20), (1002, 9, 40)]);
        assert_eq!((seen.windows, seen.ambiguous, seen.lone.len()), (1, 0, 0));
        let one_after_the_other =
            [(1000, 0, 3, 500), (1002, 1, 40, 500), (1050, 0, 9, 500), (1052, 1, 20, 500)];
        assert_eq!(places(&see(RULES, &one_after_the_other)), [(1000, 3, 40), (1050, 9, 20)]);
    }

    #[test]
    fn what_is_ambiguous_is_counted_and_dropped_where_asked_for() {
        let alike = [(1000, 0, 3, 500), (1000, 0, 9, 500), (1000, 1, 20, 500), (1000, 1, 40, 500)];
        let nearest = see(RULES, &alike);
        assert_eq!((nearest.neutrons.len(), nearest.ambiguous, nearest.dropped), (2, 2, 0));
        let dropped = see(PairedRules { drops_ambiguous: true, ..RULES }, &alike);
        assert_eq!((dropped.neutrons.len(), dropped.ambiguous, dropped.dropped), (0, 2, 4));
    }

    #[test]
    fn what_has_no_partner_stands_alone() {
        let seen = see(RULES, &[(1000, 0, 3, 500), (1001, 1, 20, 500), (1001, 1, 40, 90), (1090, 0, 9, 500)]);
        assert_eq!(places(&seen), [(1000, 3, 20)]);
        assert_eq!(seen.lone.len(), 2);
        let one_plane = see(RULES, &[(1000, 0, 3, 500), (1001, 0, 9, 500), (1500, 1, 3, 500)]);
        assert_eq!((one_plane.windows, one_plane.lone.len(), one_plane.neutrons.len()), (2, 2, 0));
    }

    #[test]
    fn a_window_that_does_not_end_is_cut_where_most_time_lies_between_two_hits() {
        // Neutrons of two hits every 50 ticks, far apart on the planes: no window ever ends.
        let neutron = |number: u64| {
            let place = (number % 8) as u8 * 4;
            [(50 * number, 0, place, 500), (50 * number + 1, 1, place, 500)]
        };
        let hits: Vec<Made> = (1..1000).flat_map(neutron).collect();
        let seen = see(RULES, &hits);
        assert_eq!((seen.neutrons.len(), seen.lone.len()), (999, 0));
        assert!(seen.windows > 10, "{}", seen.windows);
    }

    /// Pieces that belong together by the definition: each hit is close to another one in time and place.
    fn pieces(rules: &PairedRules, hits: &[WindowHit]) -> usize {
        let mut pieces: Vec<Vec<WindowHit>> = Vec::new();
        for hit in hits {
            let close = |other: &WindowHit| {
                other.plane == hit.plane
                    && hit.time - other.time <= rules.cluster_gap
                    && hit.coordinate.abs_diff(other.coordinate) <= rules.reach[usize::from(hit.plane)]
            };
            let (joined, apart): (Vec<_>, Vec<_>) =
                pieces.into_iter().partition(|piece| piece.iter().any(close));
            pieces = apart;
            pieces.push(joined.into_iter().flatten().chain([*hit]).collect());
        }
        pieces.len()
    }

    proptest! {
        /// Every hit is in one place, in order of time; neutrons are two clusters, and what is alone is one, unless the
        /// window has one plane only.
        #[test]
        fn no_hit_is_lost_or_counted_twice(
            mut hits in prop::collection::vec((0..3000_u64, 0..2_u8, 0..12_u8, 1..1000_u16), 1..400),
            drops_ambiguous: bool,
            gap in prop::sample::select(vec![40_u64, 100, 10_000]),
        ) {
            hits.sort_unstable();
            let rules = PairedRules { gap, drops_ambiguous, ..RULES };
            let seen = see(rules, &hits);
            let mut all: Vec<WindowHit> = seen.neutrons.iter().chain(&seen.lone).flatten().copied().collect();
            prop_assert_eq!(all.len() as u64 + seen.dropped, hits.len() as u64);
            all.sort_unstable_by_key(|of| (of.time, of.plane, of.coordinate, of.amplitude));
            if seen.dropped == 0 {
                let expected: Vec<_> = hits.iter().map(|&made| WindowHit::from(hit(made))).collect();
                prop_assert_eq!(&all, &expected);
            }
            for hits in &seen.neutrons {
                prop_assert!(hits.is_sorted_by_key(|hit| hit.time));
                prop_assert!([0, 1].iter().all(|&plane| hits.iter().any(|hit| hit.plane == plane)));
                // A window with one group of neighbours on each plane is not cut, nor what a cut has left of one.
                let (from, to) = (hits[0].time, hits[hits.len() - 1].time + gap);
                let is_window = all.iter().filter(|hit| (from..=to).contains(&hit.time)).count() == hits.len();
                let is_whole = is_window && seen.shape(hits) == Shape::Neutron;
                prop_assert!(is_whole || pieces(&rules, hits) == 2, "{:?}", hits);
            }
        }

        /// Sorted as hits are before they come here, the order of arrival is forgotten.
        #[test]
        fn the_order_of_arrival_makes_no_difference(
            hits in prop::collection::vec((0..600_u64, 0..2_u8, 0..12_u8, 1..1000_u16), 1..400),
            rotation in 0..400_usize,
        ) {
            let in_order = |hits: &[Made]| {
                let mut order = TimeOrder::new(hits.len(), 0).with_payload_order();
                hits.iter().for_each(|&made| order.push(0, hit(made)));
                order.prepare(0, u64::MAX);
                order.close(0, 1000);
                let mut windows = PairedWindows::new(1, RULES, Seen::default());
                order.closed().iter().for_each(|key| windows.take(0, key.unpack(order.base()), &mut ()));
                windows.close_all(&mut ());
                windows.neutrons
            };
            let mut rotated = hits.clone();
            rotated.rotate_left(rotation % hits.len());
            prop_assert_eq!(in_order(&hits), in_order(&rotated));
        }
    }
}

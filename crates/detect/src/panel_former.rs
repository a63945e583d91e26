//! Forms events of several independent panels, most of two planes of strips.
//!
//! Every panel has a [`StripFormer`] of its own, or an [`OtherPanel`] if it has no two planes: hits of different panels
//! never meet. What comes out is in order of epoch, time and panel over all panels, those of two planes first. A detector
//! of one panel pays nothing for the others.

use crate::hit::Hit;
use crate::other_panel::{MatchOf, OtherCounts, OtherPanel, OtherRules};
use crate::panel_kind::{PanelKind, PlaneNumbers};
use crate::partition::RegionExecutor;
use crate::plane_matching::{MatchedClusters, PLANES};
use crate::source_clock::AcceptedHits;
use crate::strip_former::{FormerCounts, StripFormer, StripRules};
use crate::third_plane::Assigned;
use crate::track_monitor::Watch;
use crate::watermark::DataTime;
use std::sync::Arc;

/// Matched clusters of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PanelMatch {
    /// Epoch of their times.
    pub epoch: u32,
    /// The panel, counted from 0.
    pub panel: u32,
    /// What they are.
    pub of: MatchOf,
    /// The clusters.
    pub matched: MatchedClusters,
}

impl PanelMatch {
    /// Hits of all its clusters.
    #[inline]
    pub fn hits(&self) -> u64 {
        match self.of {
            MatchOf::ThreePlanes(made_of) => Assigned { matched: self.matched, made_of }.hits(),
            _ => self.matched.hits(),
        }
    }
}

/// Matched clusters that wait until no other panel can have earlier ones.
type Waiting = Option<(DataTime, MatchedClusters)>;

/// A panel that has no two planes.
#[derive(Debug, get_size2::GetSize)]
struct Other {
    panel: u32,
    /// Number of its first plane.
    first_plane: usize,
    former: OtherPanel,
    waiting: Option<PanelMatch>,
}

/// Sorting, clustering and matching for every panel.
#[derive(Debug, get_size2::GetSize)]
pub struct PanelFormer {
    first: Option<StripFormer>,
    others: Vec<StripFormer>,
    /// One for each of these.
    waiting: Vec<Waiting>,
    /// The panels that these are of.
    panels: Vec<u32>,
    /// Those that have no two planes.
    beside: Vec<Other>,
}

impl AcceptedHits for PanelFormer {
    /// Planes are numbered as [`PlaneNumbers`] says.
    #[inline]
    fn accept(&mut self, plane: usize, epoch: u32, hit: Hit) {
        if plane < PLANES {
            if let Some(first) = &mut self.first {
                first.accept(plane, epoch, hit);
            }
        } else if let Some(panel) = self.others.get_mut(plane / PLANES - 1) {
            panel.accept(plane % PLANES, epoch, hit);
        } else if let Some(other) = self.beside.iter_mut().rfind(|other| other.first_plane <= plane) {
            other.former.planes_mut().accept(plane - other.first_plane, epoch, hit);
        }
    }
}

impl PanelFormer {
    /// A former for these panels (at least one), all with the same rules. Their regions, if they are cut into
    /// regions, are run by `executor`.
    pub fn new(
        panels: &[PanelKind],
        rules: &StripRules,
        others: &OtherRules,
        executor: &Arc<dyn RegionExecutor>,
    ) -> Self {
        let numbers = PlaneNumbers::of(panels);
        let mut of_two = Vec::with_capacity(panels.len());
        let mut beside = Vec::with_capacity(panels.len());
        for (panel, kind) in (0_u32..).zip(panels) {
            match OtherPanel::new(*kind, rules, others) {
                None => of_two.push(panel),
                Some(former) => {
                    let first_plane = numbers.first(panel as usize);
                    beside.push(Other { panel, first_plane, former, waiting: None });
                }
            }
        }
        let mut formers = of_two.iter().map(|_| StripFormer::with_executor(rules, executor));
        Self {
            first: formers.next(),
            others: formers.collect(),
            waiting: vec![None; of_two.len()],
            panels: of_two,
            beside,
        }
    }

    /// As [`PanelFormer::new`], for some of the panels of a detector whose panels all have two planes: those of these numbers,
    /// whose planes are numbered through here.
    pub fn of_some(panels: Vec<u32>, rules: &StripRules, executor: &Arc<dyn RegionExecutor>) -> Self {
        let mut formers = panels.iter().map(|_| StripFormer::with_executor(rules, executor));
        Self {
            first: formers.next(),
            others: formers.collect(),
            waiting: vec![None; panels.len()],
            panels,
            beside: Vec::new(),
        }
    }

    /// Hits that are not closed.
    pub fn pending(&self) -> usize {
        let beside = self.beside().map(|panel| panel.planes().pending());
        self.panels().map(StripFormer::pending).chain(beside).sum()
    }

    fn panels(&self) -> impl Iterator<Item = &StripFormer> {
        self.first.iter().chain(&self.others)
    }

    fn beside(&self) -> impl Iterator<Item = &OtherPanel> {
        self.beside.iter().map(|other| &other.former)
    }

    /// How many more hits fit on the fullest plane.
    pub fn room(&self) -> usize {
        let beside = self.beside().map(|panel| panel.planes().room());
        self.panels().map(StripFormer::room).chain(beside).min().unwrap_or(0)
    }

    /// True once enough hits wait on a panel to make closing worth while.
    #[inline]
    pub fn is_closing_worthwhile(&self) -> bool {
        self.panels().any(StripFormer::is_closing_worthwhile)
            || self.beside().any(|panel| panel.planes().is_closing_worthwhile())
    }

    /// Says that no source will send hits before `target` any more. Going back has no effect.
    pub fn advance(&mut self, target: DataTime) {
        self.first.iter_mut().chain(&mut self.others).for_each(|panel| panel.advance(target));
        self.beside.iter_mut().for_each(|other| other.former.planes_mut().advance(target));
    }

    /// Everything before this is closed or about to be: hits before it are late.
    pub fn closed_before(&self) -> DataTime {
        match (&self.first, self.beside.first()) {
            (Some(panel), _) => panel.closed_before(),
            (None, Some(other)) => other.former.planes().closed_before(),
            (None, None) => (0, 0),
        }
    }

    /// The latest hit that waits.
    pub fn latest_pending(&self) -> Option<DataTime> {
        let beside = self.beside().filter_map(|panel| panel.planes().latest_pending());
        self.panels().filter_map(StripFormer::latest_pending).chain(beside).max()
    }

    /// Hits held anywhere in here.
    pub fn held(&self) -> u64 {
        let waiting: u64 = self.waiting.iter().flatten().map(|(_, matched)| matched.hits()).sum();
        let beside = self.beside.iter().flat_map(|other| &other.waiting).map(PanelMatch::hits).sum::<u64>();
        let held = self.panels().map(StripFormer::held).chain(self.beside().map(OtherPanel::held));
        held.sum::<u64>() + waiting + beside
    }

    /// The counts so far, over all panels.
    pub fn counts(&self) -> FormerCounts {
        let beside = self.beside().map(|panel| {
            let OtherCounts {
                clusters, group_too_large, cluster_too_small, matching_full, crowded_sets, ..
            } = panel.counts();
            FormerCounts {
                clusters,
                group_too_large,
                cluster_too_small,
                matching_full,
                crowded_sets,
                ..FormerCounts::default()
            }
        });
        let counts = self.panels().map(StripFormer::counts).chain(beside);
        counts.fold(FormerCounts::default(), |sum, counts| sum + counts)
    }

    /// Clusters of u and of pads, over all panels.
    pub fn other_clusters(&self) -> [u64; 2] {
        self.beside()
            .map(OtherPanel::counts)
            .fold([0; 2], |[u, pads], counts| [u + counts.clusters_u, pads + counts.clusters_of_pads])
    }

    /// No match given out from here on ends earlier than this, unless clusters are matched by their starts or
    /// centres.
    pub fn future_from(&self) -> DataTime {
        let of_panel = |(panel, waiting): (&StripFormer, &Waiting)| {
            waiting.as_ref().map_or_else(|| panel.future_from(), |(time, _)| *time)
        };
        let panels = self.panels().zip(&self.waiting).map(of_panel);
        panels.chain(self.beside.iter().map(Other::future_from)).min().unwrap_or_default()
    }

    /// The next matched clusters of the time that is closed, or none until more is closed.
    #[inline]
    pub fn next_match(&mut self, watch: &mut impl Watch) -> Option<PanelMatch> {
        if self.others.is_empty()
            && self.beside.is_empty()
            && let Some(first) = &mut self.first
        {
            let matched = first.next_match_watched(watch)?;
            let panel = self.panels.first().copied().unwrap_or_default();
            return Some(PanelMatch { epoch: first.epoch(), panel, of: MatchOf::TwoPlanes, matched });
        }
        self.next_of_panels(watch)
    }

    fn next_of_panels(&mut self, watch: &mut impl Watch) -> Option<PanelMatch> {
        let panels = self.first.iter_mut().chain(&mut self.others);
        let mut earliest: Option<(DataTime, usize)> = None;
        let mut number = 0;
        for (panel, waiting) in panels.zip(&mut self.waiting) {
            if waiting.is_none() {
                *waiting = panel
                    .next_match_watched(watch)
                    .map(|matched| ((panel.epoch(), matched.time_end), matched));
            }
            // What a panel without a match can still have must not come before the one that is given out.
            let from = waiting.as_ref().map_or_else(|| panel.future_from(), |(time, _)| *time);
            if earliest.is_none_or(|earliest| (from, number) < earliest) {
                earliest = Some((from, number));
            }
            number += 1;
        }
        for other in &mut self.beside {
            if other.waiting.is_none() {
                other.waiting = other.next_match(watch);
            }
            let from = other.future_from();
            if earliest.is_none_or(|earliest| (from, number) < earliest) {
                earliest = Some((from, number));
            }
            number += 1;
        }
        let (_, number) = earliest?;
        let Some(waiting) = self.waiting.get_mut(number) else {
            return self.beside.get_mut(number - self.waiting.len())?.waiting.take();
        };
        let ((epoch, _), matched) = waiting.take()?;
        let panel = self.panels.get(number).copied()?;
        Some(PanelMatch { epoch, panel, of: MatchOf::TwoPlanes, matched })
    }
}

impl Other {
    fn next_match(&mut self, watch: &mut impl Watch) -> Option<PanelMatch> {
        let (matched, of) = self.former.next_match(watch)?;
        Some(PanelMatch { epoch: self.former.planes().epoch(), panel: self.panel, of, matched })
    }

    /// What is given out next does not come before this.
    fn future_from(&self) -> DataTime {
        match &self.waiting {
            Some(found) => (found.epoch, found.matched.time_end),
            None => (self.former.planes().epoch(), self.former.future_from()),
        }
    }
}

//! Forms events of several independent panels, each of two planes of strips.
//!
//! Every panel has a [`StripFormer`] of its own: hits of different panels never meet. What comes out is in
//! order of epoch, time and panel over all panels. A detector of one panel pays nothing for the others.

use crate::hit::Hit;
use crate::partition::RegionExecutor;
use crate::plane_matching::{MatchedClusters, PLANES};
use crate::source_clock::AcceptedHits;
use crate::strip_former::{FormerCounts, StripFormer, StripRules};
use crate::track_monitor::Watch;
use crate::watermark::DataTime;
use std::sync::Arc;

/// Matched clusters of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelMatch {
    /// Epoch of their times.
    pub epoch: u32,
    /// The panel, counted from 0.
    pub panel: u32,
    /// The clusters.
    pub matched: MatchedClusters,
}

/// Matched clusters that wait until no other panel can have earlier ones.
type Waiting = Option<(DataTime, MatchedClusters)>;

/// Sorting, clustering and matching for every panel.
#[derive(Debug)]
pub struct PanelFormer {
    first: StripFormer,
    others: Vec<StripFormer>,
    /// One for each panel.
    waiting: Vec<Waiting>,
}

impl AcceptedHits for PanelFormer {
    /// Planes count through the panels: twice the panel, one more for y.
    #[inline]
    fn accept(&mut self, plane: usize, epoch: u32, hit: Hit) {
        if plane < PLANES {
            self.first.accept(plane, epoch, hit);
        } else {
            self.others[plane / PLANES - 1].accept(plane % PLANES, epoch, hit);
        }
    }
}

impl PanelFormer {
    /// A former for `panels` panels (at least one), all with the same rules. Their regions, if they are cut into
    /// regions, are run by `executor`.
    pub fn new(panels: usize, rules: &StripRules, executor: &Arc<dyn RegionExecutor>) -> Self {
        let panel = || StripFormer::with_executor(rules, executor);
        Self {
            first: panel(),
            others: (1..panels).map(|_| panel()).collect(),
            waiting: vec![None; panels.max(1)],
        }
    }

    /// Upper bound of the memory of a former for `panels` panels, in bytes.
    pub fn memory_bound(panels: usize, rules: &StripRules) -> usize {
        panels * (StripFormer::memory_bound(rules) + size_of::<StripFormer>() + size_of::<Waiting>())
    }

    fn panels(&self) -> impl Iterator<Item = &StripFormer> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// How many more hits fit on the fullest plane.
    pub fn room(&self) -> usize {
        self.panels().map(StripFormer::room).min().unwrap_or(0)
    }

    /// True once enough hits wait on a panel to make closing worth while.
    #[inline]
    pub fn is_closing_worthwhile(&self) -> bool {
        self.panels().any(StripFormer::is_closing_worthwhile)
    }

    /// Says that no source will send hits before `target` any more. Going back has no effect.
    pub fn advance(&mut self, target: DataTime) {
        self.first.advance(target);
        self.others.iter_mut().for_each(|panel| panel.advance(target));
    }

    /// Everything before this is closed or about to be: hits before it are late.
    pub fn closed_before(&self) -> DataTime {
        self.first.closed_before()
    }

    /// The latest hit that waits.
    pub fn latest_pending(&self) -> Option<DataTime> {
        self.panels().filter_map(StripFormer::latest_pending).max()
    }

    /// Hits held anywhere in here.
    pub fn held(&self) -> u64 {
        let waiting: u64 = self.waiting.iter().flatten().map(|(_, matched)| matched.hits()).sum();
        self.panels().map(StripFormer::held).sum::<u64>() + waiting
    }

    /// The counts so far, over all panels.
    pub fn counts(&self) -> FormerCounts {
        self.panels().map(StripFormer::counts).fold(FormerCounts::default(), |sum, counts| sum + counts)
    }

    /// No match given out from here on ends earlier than this, unless clusters are matched by their starts or
    /// centres.
    pub fn future_from(&self) -> DataTime {
        let of_panel = |(panel, waiting): (&StripFormer, &Waiting)| {
            waiting.as_ref().map_or_else(|| panel.future_from(), |(time, _)| *time)
        };
        self.panels().zip(&self.waiting).map(of_panel).min().unwrap_or_default()
    }

    /// The next matched clusters of the time that is closed, or none until more is closed.
    #[inline]
    pub fn next_match(&mut self, watch: &mut impl Watch) -> Option<PanelMatch> {
        if self.others.is_empty() {
            let matched = self.first.next_match_watched(watch)?;
            return Some(PanelMatch { epoch: self.first.epoch(), panel: 0, matched });
        }
        self.next_of_panels(watch)
    }

    fn next_of_panels(&mut self, watch: &mut impl Watch) -> Option<PanelMatch> {
        let panels = std::iter::once(&mut self.first).chain(&mut self.others);
        let mut earliest: Option<(DataTime, usize)> = None;
        for (number, (panel, waiting)) in panels.zip(&mut self.waiting).enumerate() {
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
        }
        let (_, number) = earliest?;
        let ((epoch, _), matched) = self.waiting.get_mut(number)?.take()?;
        Some(PanelMatch { epoch, panel: number as u32, matched })
    }
}

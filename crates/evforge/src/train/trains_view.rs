//! The newest trains in the browser, while they come in.

use super::train_ledger::{TrainFeed, run_state};
use crate::CommandError;
use crate::arguments::PageNameArguments;
use evforge_core::alarm::LossWatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::Output;
use evforge_core::pulse::PulseTrain;
use evforge_train::node::NodeProgress;
use evforge_train::sinks::NewestTrains;
use evforge_view::{LiveSink, LiveView, ShownContent, ViewOptions};
use evforge_wire::train::TrainDetector;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the page is told something new: pictures, and the ledger.
const INTERVAL: Duration = Duration::from_millis(200);

/// What the page shows.
pub(super) struct PageContent<'a> {
    /// The detector.
    pub(super) detector: TrainDetector,
    /// Number of the first module.
    pub(super) first_module: u8,
    /// Modules that have a place.
    pub(super) modules: usize,
    /// Where each receiving thread receives.
    pub(super) sources: &'a [Vec<SocketAddr>],
    /// True if it is known which numbers trains must have.
    pub(super) numbers_are_checked: bool,
}

/// The page: a panel for each module, and the intensity of each pulse.
pub(super) struct TrainsView {
    view: LiveView,
    sink: LiveSink,
    newest: Arc<NewestTrains>,
    /// Pixels of a module.
    pixels: usize,
    /// Means of all pixels, one module behind the other, as whole numbers.
    means: Vec<u64>,
    /// The intensities of each module by the number of the pulse.
    intensities: Vec<Vec<u64>>,
    feed: TrainFeed,
    losses: LossWatch,
    sources: Vec<String>,
    numbers_are_checked: bool,
    shown_at: Option<Instant>,
}

impl TrainsView {
    /// Serves the page, with places for so many pulses.
    ///
    /// # Errors
    /// If the address cannot be had, or there are more pixels than a page shows.
    pub(super) fn start(
        address: SocketAddr,
        names: &PageNameArguments,
        content: &PageContent<'_>,
        (newest, pulses): (Arc<NewestTrains>, usize),
    ) -> Result<Self, CommandError> {
        let [_, rows, columns] = content.detector.shape();
        let modules = content.modules;
        let geometry =
            LogicalGeometry::new(u32::try_from(columns)?, u32::try_from(rows)?, 1, u32::try_from(modules)?)?;
        let words = ShownContent {
            things: "trains".to_owned(),
            pixel: "mean of the images of the newest train".to_owned(),
            panel: "module".to_owned(),
            first_panel: content.first_module.into(),
            chart: "Pulses of the newest trains".to_owned(),
            across: "pulse".to_owned(),
            up: "sum of the pixels".to_owned(),
        };
        let title = format!("{}: the newest train of each module", content.detector.name());
        let options = ViewOptions {
            address,
            host_names: names.view_names.clone(),
            origins: names.view_origins.clone(),
            content: Some((words, pulses)),
            ..ViewOptions::new(title, geometry, PulseTrain::european_xfel())
        };
        let view = LiveView::start(options)?;
        if let Some(warning) = view.warning() {
            tracing::warn!(target: evforge_log::group::VIEW, "{warning}.");
        }
        let named = |addresses: &Vec<SocketAddr>| {
            let ports: Vec<String> = addresses.iter().map(|address| address.port().to_string()).collect();
            format!("port {}", ports.join(", "))
        };
        Ok(Self {
            sink: view.sink(),
            view,
            newest,
            pixels: rows * columns,
            means: vec![0; rows * columns * modules],
            intensities: vec![vec![0; pulses]; modules],
            feed: TrainFeed::new(),
            losses: LossWatch::default(),
            sources: content.sources.iter().map(named).collect(),
            numbers_are_checked: content.numbers_are_checked,
            shown_at: None,
        })
    }

    /// Where the page is.
    pub(super) fn address(&self) -> SocketAddr {
        self.view.address()
    }

    /// Shows how far the node is, a few times per second: what comes more often is left for the next time.
    pub(super) fn show(&mut self, progress: &NodeProgress<'_>) {
        if self.shown_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.shown_at = Some(Instant::now());
        self.renew();
        self.sink.set_events(progress.assembly.trains_good + progress.assembly.trains_kept);
        let feed = self.feed.now(progress);
        let mut state = run_state(progress, &self.sources, self.numbers_are_checked, feed);
        self.losses.observe(&mut state);
        // An output of pictures does not fail.
        let _ = self.sink.observe(&Arc::new(state));
    }

    /// Takes what is new of each module into the picture.
    fn renew(&mut self) {
        let first = self.newest.modules().start;
        let mut is_new = false;
        for summary in self.newest.take() {
            let place = usize::from(summary.module()) - first;
            let panel = self.means.chunks_exact_mut(self.pixels).nth(place);
            let (Some(panel), Some(intensities)) = (panel, self.intensities.get_mut(place)) else { continue };
            for (mean, value) in panel.iter_mut().zip(summary.means()) {
                *mean = value.round() as u64;
            }
            intensities.fill(0);
            for pulse in summary.pulses() {
                let at = usize::try_from(pulse.pulse).ok().and_then(|at| intensities.get_mut(at));
                // Pulses beyond have no place: --view-pulses says how many have.
                at.into_iter().for_each(|sum| *sum += pulse.sum);
            }
            is_new = true;
        }
        if is_new {
            let pulses = self.intensities.first().map_or(0, Vec::len);
            let sums = (0..pulses).map(|pulse| self.intensities.iter().map(|sums| sums[pulse]).sum());
            self.sink.replace(self.means.iter().copied(), sums);
        }
    }
}

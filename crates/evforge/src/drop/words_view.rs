//! The words of all streams in the browser, while they come in.

use crate::CommandError;
use crate::arguments::PageNameArguments;
use evforge_core::alarm::LossWatch;
use evforge_core::counter::CounterSnapshot;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::output::Output;
use evforge_core::pulse::PulseTrain;
use evforge_core::run_state::RunState;
use evforge_lab::link::StreamLosses;
use evforge_lab::link::drop::{SIDE, StreamAccount, WORDS, WordHistogram};
use evforge_lab::link::loss::with_report;
use evforge_net::live_receiver::ReceiveLosses;
use evforge_net::losses::{self, LossBreakdown, LossCounts};
use evforge_view::{LiveSink, LiveView, ViewOptions};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// What is known of a stream.
#[derive(Clone, Default)]
struct StreamWords {
    port: u16,
    /// By how much each word is more frequent than the rarest one.
    above: Vec<u64>,
    sum: u64,
    source: Option<SourceLedger>,
    counters: CounterSnapshot,
    /// On the way to its worker.
    dropped: u64,
    losses: StreamLosses,
}

/// The page: a panel of 256 x 256 words for each stream.
pub(super) struct WordsView {
    view: LiveView,
    sink: LiveSink,
    streams: Vec<StreamWords>,
    started: Instant,
    /// Which streams lose packets.
    losing: LossWatch,
}

impl WordsView {
    /// Serves the page for the streams that are received at `ports`.
    ///
    /// # Errors
    /// If the address cannot be had, or there are too many streams.
    pub(super) fn start(
        address: SocketAddr,
        names: &PageNameArguments,
        ports: &[SocketAddr],
    ) -> Result<Self, CommandError> {
        let streams = ports.len();
        let side = SIDE as u32;
        let geometry = LogicalGeometry::new(side, side, 1, u32::try_from(streams)?)?;
        let title = "DROP: how much more often each word came than the rarest one";
        let options = ViewOptions {
            address,
            host_names: names.view_names.clone(),
            origins: names.view_origins.clone(),
            // Words are counted elsewhere.
            counts_events: false,
            ..ViewOptions::new(title, geometry, PulseTrain::ess())
        };
        let view = LiveView::start(options)?;
        if let Some(warning) = view.warning() {
            tracing::warn!(target: evforge_log::group::VIEW, "{warning}.");
        }
        let sink = view.sink();
        let empty = |port: &SocketAddr| StreamWords {
            port: port.port(),
            above: vec![0; WORDS],
            ..StreamWords::default()
        };
        let streams = ports.iter().map(empty).collect();
        Ok(Self { view, sink, streams, started: Instant::now(), losing: LossWatch::default() })
    }

    /// Where the page is.
    pub(super) fn address(&self) -> SocketAddr {
        self.view.address()
    }

    /// Shows what a stream has received so far.
    pub(super) fn show(&mut self, stream: usize, account: &StreamAccount, losses: StreamLosses) {
        let Some(words) = self.streams.get_mut(stream) else { return };
        // The page is for words: without them there is none.
        let Some(histogram) = account.histogram() else { return };
        words.above = above(histogram);
        words.sum = histogram.sum();
        words.dropped = account.counters().packets_dropped;
        words.counters = CounterSnapshot::of(account.counters());
        words.losses = losses;
        words.source = Some(SourceLedger {
            name: format!("port {}", words.port),
            packets: with_report(account.sequence(), None),
            ..SourceLedger::default()
        });
        let ledger = DetectorLedger {
            sources: self.streams.iter().filter_map(|stream| stream.source.clone()).collect(),
            counters: words_joined(&self.streams),
            ..DetectorLedger::default()
        };
        let all = self.streams.iter().map(|stream| stream.sum).sum();
        self.sink.set_counts(self.streams.iter().flat_map(|stream| stream.above.iter().copied()), all);
        let mut losses = self.losses();
        losses.unlocated = ledger.packets().lost.saturating_sub(losses.placed());
        // An output of pictures does not fail.
        let elapsed = self.started.elapsed();
        let mut state = RunState { elapsed, ledger, losses, ..RunState::default() };
        self.losing.observe(&mut state);
        let _ = self.sink.observe(&Arc::new(state));
    }

    /// What sockets have dropped, each those of its stream, and AF_XDP of all.
    fn losses(&self) -> LossBreakdown {
        let mut receiver = ReceiveLosses::default();
        // Streams that share a receiver tell of the same losses, those who tell last of the most.
        let shared = self.streams.iter().map(|stream| stream.losses.shared);
        receiver.add(&shared.max_by_key(|losses| losses.by_xdp() + losses.socket.count).unwrap_or_default());
        self.streams.iter().for_each(|stream| receiver.socket.add(stream.losses.socket));
        let own_queue = self.streams.iter().map(|stream| stream.dropped).sum();
        losses::join(&LossCounts { receiver, own_queue, ..LossCounts::default() })
    }
}

/// The counters of all streams, one behind the other: those of one name are added up where they are shown.
fn words_joined(streams: &[StreamWords]) -> CounterSnapshot {
    streams.iter().fold(CounterSnapshot::default(), |all, stream| all.join(&stream.counters))
}

/// How much more often each word occurred than the rarest one.
fn above(histogram: &WordHistogram) -> Vec<u64> {
    let rarest = histogram.counts().iter().copied().min().unwrap_or(0);
    histogram.counts().iter().map(|count| count - rarest).collect()
}

//! What a live run tells while it is under way: what is closed, about ten times a second, and its state, once a second.

use crate::alarm_log::AlarmLog;
use crate::forming::Forming;
use crate::loss_hints::loss_hints;
use crate::run_control::RunControl;
use crate::run_state::{Surroundings, compose};
use crate::samples::SampleWriting;
use crate::series::LedgerSeries;
use evforge_core::counter::CounterSnapshot;
use evforge_core::ledger::DetectorLedger;
use evforge_core::pulse::PulseTrain;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_net::host_counters::{HostCounterReader, HostCounters};
use evforge_net::host_health::HostHealthReader;
use evforge_net::losses::{self, LossBreakdown, LossCounts};
use evforge_net::session::ReceiveState;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Time between publications of what is closed.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(100);
/// Time between states of the ledger.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// What a run tells while it is under way.
pub trait LiveObserver {
    /// Packets may be sent to any of these addresses from now on; they come in by `way`, which says why. `warnings` are for
    /// people.
    fn ready(&mut self, addresses: &[SocketAddr], way: &str, warnings: &[String]);
    /// The state, about once a second.
    fn status(&mut self, state: &RunState);
}

/// Tells the state of a run.
pub(crate) struct Watch<'a, O> {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) started: Duration,
    pub(crate) shown: Duration,
    pub(crate) published: Duration,
    pub(crate) host: HostCounterReader,
    pub(crate) pulses: PulseTrain,
    pub(crate) samples: Option<&'a SampleWriting>,
    /// The ledger over time.
    pub(crate) series: LedgerSeries,
    /// An output wants the run to stop.
    pub(crate) wants_stop: bool,
    pub(crate) control: RunControl,
    /// Disks and clock of the host.
    pub(crate) health: HostHealthReader,
    /// The alarms from the start.
    pub(crate) alarms: AlarmLog,
    pub(crate) observer: &'a mut O,
}

impl<O: LiveObserver> Watch<'_, O> {
    /// Publishes what is closed, if it is time to.
    pub(crate) fn publish_in_time(&mut self, forming: &mut Forming<'_>) {
        let now = self.clock.elapsed();
        if now.saturating_sub(self.published) >= PUBLISH_INTERVAL {
            self.published = now;
            forming.publish();
            self.wants_stop = forming.outputs().wants_stop().is_some();
        }
    }

    pub(crate) fn show_in_time(
        &mut self,
        forming: &mut Forming<'_>,
        receiving: impl FnOnce() -> ReceiveState,
    ) {
        let now = self.clock.elapsed();
        let is_due = now.saturating_sub(self.shown) >= STATUS_INTERVAL;
        if !is_due && !self.control.wants_state() {
            return;
        }
        let state = Arc::new(self.state(forming, &receiving(), self.host.latest()));
        self.control.show(&state);
        if !is_due {
            return;
        }
        self.shown = now;
        self.series.observe(&state);
        self.alarms.observe(&state, self.clock.unix_ns());
        forming.outputs().show(&state);
        self.observer.status(&state);
    }

    /// Everything that is known now.
    pub(crate) fn state(
        &self,
        forming: &mut Forming<'_>,
        receiving: &ReceiveState,
        host: HostCounters,
    ) -> RunState {
        let ledger = forming.ledger();
        let losses = self.losses(&ledger, receiving, host);
        let now = self.clock.elapsed();
        let around = Surroundings {
            feed: forming.feed(now, &ledger),
            elapsed: now.saturating_sub(self.started),
            health: self.health.latest(),
            stages: stages(receiving, &host),
            hints: hints(&ledger, &losses, &self.pulses, receiving),
            losses,
            receiving: receiving.alarms.clone(),
            samples: self.samples.map(SampleWriting::state),
        };
        compose(forming, ledger, around)
    }

    fn losses(&self, ledger: &DetectorLedger, state: &ReceiveState, host: HostCounters) -> LossBreakdown {
        losses::join(&LossCounts {
            sequence: ledger.packets().lost,
            own_queue: state.own_queue,
            receiver: state.losses,
            host,
            numbered: !ledger.sources.is_empty(),
        })
    }
}

/// The counters of receiving, of the kernel and of the interfaces.
fn stages(receiving: &ReceiveState, host: &HostCounters) -> Vec<(&'static str, CounterSnapshot)> {
    [
        Some(("receive", CounterSnapshot::of(&receiving.counters))),
        receiving.xdp.map(|xdp| ("xdp", CounterSnapshot::of(&xdp))),
        Some(("kernel", CounterSnapshot::of(&host.kernel))),
        host.interfaces.map(|interfaces| ("interface", CounterSnapshot::of(&interfaces))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the losses suggest, and what was changed during the run.
fn hints(
    ledger: &DetectorLedger,
    losses: &LossBreakdown,
    pulses: &PulseTrain,
    state: &ReceiveState,
) -> Vec<String> {
    let mut hints = loss_hints(ledger, losses, pulses);
    hints.extend(state.notes.iter().cloned());
    if state.xdp.is_some_and(|xdp| xdp.mixed > 0) {
        hints.push(
            "Some senders send packets in fragments, which only the kernel reassembles: to keep their order, all of their \
             packets come through the kernel's socket and not by AF_XDP. Raise the MTU on their way, or receive by sockets."
                .to_owned(),
        );
    }
    hints
}

//! One phase after the other, until the service ends.

use super::number_file::NumberFile;
use super::phase::{Phase, Source};
use super::supervisor::Supervisor;
use crate::CommandError;
use crate::control::{ControlPorts, ControlService};
use crate::exit_status::ExitStatus;
use crate::output::Ending;
use crate::record::RecordLimits;
use crate::run::Observer;
use evforge_control::{RunEnded, RunStarted, Runs};
use evforge_core::run_state::{LedgerTotals, RunState};
use evforge_log::group;
use evforge_net::clock::wall_clock_ns;
use evforge_net::session::SessionLimits;
use evforge_outputs::Kept;
use evforge_pipeline::live_run::{LiveObserver, LiveRun, open_receivers};
use evforge_pipeline::report::{RunReport, grouped};
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long it takes to the next try where packets cannot be received: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often a pause looks whether it is over.
const TURN: Duration = Duration::from_millis(50);

/// What all phases have in common.
pub(super) struct Phases<'a> {
    pub(super) source: &'a Source,
    pub(super) runs: &'a Runs<Phase>,
    pub(super) ports: ControlPorts,
    /// What takes requests, once the first phase has begun.
    pub(super) service: Option<ControlService>,
    /// Pages, which outlive phases.
    pub(super) kept: Kept,
    pub(super) record_limits: RecordLimits,
    pub(super) number_file: NumberFile,
    /// Ends the phase.
    pub(super) stop: Arc<AtomicBool>,
    /// Ends the service.
    pub(super) end: Arc<AtomicBool>,
    pub(super) supervisor: Supervisor,
    pub(super) quiet: bool,
}

impl Phases<'_> {
    /// Goes from one to the next.
    ///
    /// # Errors
    /// If the first one cannot be: then something is wrong that somebody has to look at.
    pub(super) fn run(mut self, first: Phase) -> Result<ExitStatus, CommandError> {
        let mut next = Some(first);
        let mut pause = FIRST_PAUSE;
        let mut is_first = true;
        while !self.end.load(Ordering::Relaxed) {
            // Nothing has ended before the first one: a run may have been asked for already.
            let phase = match next.take().or_else(|| self.runs.take_next()) {
                Some(phase) => Ok(phase),
                None => self.source.between_runs(),
            };
            let is_run = phase.as_ref().is_ok_and(|phase| phase.is_run);
            match phase.and_then(|phase| self.go_through(phase, is_first)) {
                Ok(()) => pause = FIRST_PAUSE,
                Err(error) if is_run => self.runs.has_failed(error.to_string()),
                Err(error) if is_first => return Err(error),
                // The electronics, or the network, have gone: they may come back.
                Err(error) => {
                    let seconds = pause.as_secs();
                    tracing::error!(target: group::RUN, "between runs: {error}. Tried again in {seconds} s.");
                    self.wait(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            is_first = false;
        }
        self.supervisor.stopping();
        Ok(ExitStatus::Good)
    }

    fn wait(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.stop.load(Ordering::Relaxed) {
            self.supervisor.alive();
            std::thread::sleep(TURN);
        }
    }

    /// One phase, from opening what it needs to the last byte of what it writes.
    fn go_through(&mut self, phase: Phase, is_first: bool) -> Result<(), CommandError> {
        let Phase { config, plans, is_run, ends_after, files } = phase;
        let number = config.run.number.filter(|_| is_run);
        let record = config.serve.record.as_deref().filter(|_| is_run);
        // Before its files: what cannot be received leaves none.
        let receivers = open_receivers(&config, record.is_some())?;
        // What the phase before has freed. Packets that come meanwhile wait in the sockets.
        evforge_net::freed_memory::give_back();
        let plans = plans.advised(crate::host::advice(&config));
        let mut outputs =
            plans.open_with(&config, Some(self.ports.access()), &self.stop, Some(self.kept.clone()))?;
        if let Some(number) = number {
            self.number_file.begin(number, &files)?;
        }
        let record = record.map(|file| self.record_limits.open(file, self.source.outputs.overwrite));
        let control = self.ports.ask(&config, &outputs, &self.stop);
        if self.service.is_none() {
            self.service = Some(self.ports.listen(&config, &outputs)?);
        }
        let run = LiveRun {
            receivers,
            record: record.transpose()?,
            monitor: outputs.monitor.clone(),
            packets: outputs.packets.clone(),
            control,
            config: &config,
            outputs: std::mem::take(&mut outputs.events),
            health: outputs.health.clone(),
            clock: Arc::clone(&outputs.clock),
            samples: outputs.samples.take(),
            stop: &self.stop,
            limits: SessionLimits { ends_after, ..SessionLimits::default() },
        };
        let mut started = RunStarted {
            number: config.run.number.map(u64::from),
            title: config.run.title.clone().unwrap_or_default(),
            files: files.iter().map(|path| path.display().to_string()).collect(),
            ..RunStarted::default()
        };
        let what = match started.number.filter(|_| is_run) {
            Some(number) => format!("run {number}"),
            None => "between runs".to_owned(),
        };
        let report = {
            let runs = self.runs;
            // Lines of a status now and then would fill the log of a service.
            let quiet = self.quiet || !std::io::stderr().is_terminal();
            let observer = Observer::new(&outputs, quiet, |_| {
                if is_run {
                    started.began_unix_ns = wall_clock_ns();
                    let until = ends_after.map(|after| after.as_nanos() as u64);
                    started.planned_end_unix_ns =
                        until.map(|after| started.began_unix_ns.saturating_add(after));
                    tracing::info!(target: group::RUN, number = started.number, "{}", beginning(&started));
                    runs.has_begun(started.clone());
                }
            });
            let observer = if is_first { observer } else { observer.of_a_further_phase() };
            let mut watched = Watched { observer, supervisor: &mut self.supervisor, what };
            let report = run.run(&mut watched);
            watched.observer.line.finish();
            report
        };
        let report = report?;
        let mut ending = Ending::default();
        outputs.finish(&report, &mut ending);
        if let Some(number) = number {
            // A disk that is full is said where files are written; the next start looks at files that are whole.
            let _ = self.number_file.end(number);
        }
        // Between runs nothing is kept, but what was received until the end of the service is told.
        if !self.quiet && (is_run || self.end.load(Ordering::Relaxed)) {
            ending.print(&report.to_text());
        }
        if is_run {
            self.runs.has_ended(ended(started, &report, ending.is_good()));
        }
        Ok(())
    }
}

/// That a run has begun, for people.
fn beginning(run: &RunStarted) -> String {
    let number = run.number.unwrap_or_default();
    match run.files.as_slice() {
        [] => format!("run {number} has begun; it writes no files"),
        files => format!("run {number} has begun: {}", files.join(", ")),
    }
}

/// How a run has ended, for those who steer runs.
fn ended(run: RunStarted, report: &RunReport, is_written: bool) -> RunEnded {
    let totals = LedgerTotals::of(&report.state.ledger);
    let status = ExitStatus::from(report.verdict()).and(ExitStatus::of(is_written));
    let outcome =
        format!("{} packets, {} events: {}", grouped(totals.packets), grouped(totals.events), status.words());
    RunEnded {
        run,
        ended_unix_ns: wall_clock_ns(),
        packets: totals.packets,
        events: totals.events,
        is_good: status == ExitStatus::Good,
        outcome,
    }
}

/// Watches a phase for people, and for systemd.
struct Watched<'a, F> {
    observer: Observer<'a, F>,
    supervisor: &'a mut Supervisor,
    what: String,
}

impl<F: FnMut(SocketAddr)> LiveObserver for Watched<'_, F> {
    fn ready(&mut self, addresses: &[SocketAddr], way: &str, warnings: &[String]) {
        self.observer.ready(addresses, way, warnings);
        self.supervisor.ready();
        self.supervisor.status(self.what.clone());
    }

    fn status(&mut self, state: &RunState) {
        self.observer.status(state);
        self.supervisor.alive();
        let totals = LedgerTotals::of(&state.ledger);
        let (packets, events) = (grouped(totals.packets), grouped(totals.events));
        self.supervisor.status(format!("{}: {packets} packets, {events} events", self.what));
    }
}

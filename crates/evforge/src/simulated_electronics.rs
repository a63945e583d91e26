//! A simulated detector that sends to a run of the same process, over UDP on this machine.

use crate::CommandError;
use crate::outputs::Outputs;
use crate::run::Observer;
use evforge_config::shipped;
use evforge_config::{Config, Frequency};
use evforge_lab::demonstration::{Sent, send_pulses, tells_sources_by_address};
use evforge_lab::{LabError, simulation};
use evforge_net::session::SessionLimits;
use evforge_pipeline::live_run::{LiveRun, open_receivers};
use evforge_pipeline::report::RunReport;
use evforge_pipeline::run_control::RunControl;
use evforge_sim::simulation::Simulation;
use evforge_sim::start::Start;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The shipped configuration of a detector, receiving at any free port of this machine if `overrides` do not say otherwise.
///
/// # Errors
/// If there is no such detector, or a key is wrong.
pub(crate) fn configuration(detector: &str, overrides: &[String]) -> Result<Config, LabError> {
    let own = "receive.address=127.0.0.1:0".to_owned();
    let overrides: Vec<String> = std::iter::once(own).chain(overrides.iter().cloned()).collect();
    Ok(shipped::on_loopback(detector, &overrides)?)
}

/// What is seen by the detector.
pub(crate) struct Beam {
    /// The same seed gives the same neutrons.
    pub(crate) seed: u64,
    /// Neutrons per second.
    pub(crate) neutrons: Frequency,
    /// Readouts of no neutron per second; without it, those of the configuration.
    pub(crate) noise: Option<Frequency>,
}

/// What sends.
pub(crate) struct Electronics {
    /// The detector in its beam.
    pub(crate) simulation: Simulation,
    /// Packets leave from the addresses that they come from.
    own_addresses: bool,
    /// When it ends by itself.
    ends_after: Option<Duration>,
}

impl Electronics {
    /// Those of the configured detector, from now on.
    ///
    /// # Errors
    /// If `[simulation]` is wrong, or the detector cannot be simulated.
    pub(crate) fn new(
        config: &Config,
        beam: &Beam,
        ends_after: Option<Duration>,
    ) -> Result<Self, CommandError> {
        let mut settings = simulation::settings(config)?;
        settings.seed = beam.seed;
        settings.start.get_or_insert(Start::now());
        settings.beam.neutrons = beam.neutrons;
        settings.electronics.noise = beam.noise.or(settings.electronics.noise);
        Ok(Self {
            simulation: simulation::simulation_with(config, &settings)?,
            own_addresses: tells_sources_by_address(config),
            ends_after,
        })
    }

    /// Sends until the time is over or `stop` is set, while a run with this configuration receives. The electronics stop first; that ends
    /// the run, so that nothing is under way at its end.
    ///
    /// # Errors
    /// If the run fails. What went wrong with the electronics is in the second part of the result: the report is there nevertheless.
    pub(crate) fn send_to_a_run(
        self,
        config: &Config,
        control: RunControl,
        outputs: &mut Outputs,
        stop: &AtomicBool,
    ) -> Result<(RunReport, Result<Sent, CommandError>), CommandError> {
        let all_sent = &AtomicBool::new(false);
        let run = LiveRun {
            receivers: open_receivers(config, false)?,
            monitor: outputs.monitor.clone(),
            packets: outputs.packets.clone(),
            control,
            config,
            outputs: std::mem::take(&mut outputs.events),
            health: outputs.health.clone(),
            clock: Arc::clone(&outputs.clock),
            samples: None,
            stop: all_sent,
            limits: SessionLimits::default(),
            record: None,
        };
        let outputs = &*outputs;
        let (tell, told) = channel();
        let (report, sent) = std::thread::scope(|scope| {
            let electronics = scope.spawn(move || {
                let sent = told.recv().map_err(|error| error.to_string()).and_then(|address| {
                    send_pulses(self.simulation, address, self.own_addresses, stop, self.ends_after)
                        .map_err(|error| error.to_string())
                });
                all_sent.store(true, Ordering::Relaxed);
                sent
            });
            let mut observer = Observer::new(outputs, false, |address| {
                // Nobody listens any more only if the electronics have failed, which is reported by the caller.
                let _ = tell.send(address);
            });
            let report = run.run(&mut observer);
            observer.line.finish();
            drop(tell);
            if report.is_err() {
                // Nobody receives what the electronics would go on sending.
                stop.store(true, Ordering::Relaxed);
            }
            (report, electronics.join())
        });
        let report = report?;
        match sent {
            Ok(sent) => Ok((report, sent.map_err(Into::into))),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

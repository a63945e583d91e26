//! `evforge masks`: which channels should be masked, from a capture.

use crate::CommandError;
use crate::arguments::{CaptureArguments, ConfigArguments};
use crate::exit_status::ExitStatus;
use crate::input::open_until;
use crate::output::print;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_net::clock::SystemClock;
use evforge_outputs::packet_tap::PacketTap;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::mask_report::mask_text;
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::run_control::RunControl;
use evforge_pipeline::verdict::Verdict;
use std::sync::Arc;

/// Arguments of `evforge masks`.
#[derive(Args)]
pub(crate) struct MasksArguments {
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    capture: CaptureArguments,
}

/// Runs the command.
pub(crate) fn masks(arguments: &MasksArguments) -> Result<ExitStatus, CommandError> {
    let config = arguments.config.read()?;
    let stop = stop_on_signals()?;
    let monitor = MonitorTap::default();
    monitor.switch(true);
    let run = CaptureRun {
        config: &config,
        input: open_until(&arguments.capture.path()?, arguments.capture.port, &config, &stop)?,
        outputs: Vec::new(),
        clock: Arc::new(SystemClock::start()),
        health: Default::default(),
        on_waiting: Arc::new(|_| {}),
        samples: None,
        stop: &stop,
        monitor: monitor.clone(),
        packets: PacketTap::default(),
        control: RunControl::default(),
    };
    let report = run.run(|_| {})?;
    let collected = monitor.latest().ok_or("the capture holds no packets")?;
    print(&mask_text(config.section, &collected))?;
    // Channels stand out in readouts from which no event comes, too.
    let verdict = report.verdict_on_readouts();
    if verdict != Verdict::Good {
        eprint!("{}", report.to_text());
    }
    Ok(verdict.into())
}

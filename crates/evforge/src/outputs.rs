//! Where a run's events go: the options that commands share, and the sinks made of them.

use crate::CommandError;
use crate::left_over::tell_lines;
use crate::monitor_control::TapControl;
use crate::nexus_sink::AnchoredNexus;
use crate::output::{Ending, check_writable, write_file};
use crate::picture::png_of_counts;
use crate::same_file::NamedFiles;
use clap::{Args, ValueEnum};
use evforge_pipeline::config::Config;
use evforge_pipeline::fan_out::SinkPlan;
use evforge_pipeline::live_run::LiveStatus;
use evforge_pipeline::monitor_tap::{MonitorTap, monitor_json};
use evforge_pipeline::report::RunReport;
use evforge_pipeline::samples::SampleFile;
use evforge_pipeline::sinks::{CsvColumns, CsvSink, PixelCounts};
use evforge_stream::nexus::{ExistingFile, NexusOptions, PulseOrigin};
use evforge_view::{LiveView, LocatedLoss, ViewOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// What to do with an existing NeXus file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfExists {
    /// Do not begin
    Refuse,
    /// Replace it
    Overwrite,
    /// Write run-1.nxs and so on instead
    Number,
}

/// Options of where events go.
#[derive(Args)]
pub(crate) struct OutputArguments {
    /// Write the events as CSV, in the order of emission: time_ns,pixel_id, then pulse_time_ns where the readout
    /// tells the pulses, then veto where the configuration has vetoes
    #[arg(long, env = "EVFORGE_EVENTS", value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write the events as a NeXus file, which can be read while it grows
    #[arg(long, env = "EVFORGE_NEXUS", value_name = "FILE")]
    pub(crate) nexus: Option<PathBuf>,
    /// What to do if the NeXus file exists
    #[arg(long, value_enum, default_value = "refuse")]
    pub(crate) if_exists: IfExists,
    /// Show the events live in the browser, at this address (127.0.0.1:8080)
    #[arg(long, env = "EVFORGE_VIEW", value_name = "ADDRESS:PORT")]
    pub(crate) view: Option<SocketAddr>,
    /// Write the end-of-run report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write the detector image as PNG
    #[arg(long, env = "EVFORGE_IMAGE", value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Collect monitor data from the start and write it as JSON at the end: readouts and amplitudes per channel,
    /// sizes of clusters, amplitudes of both planes, clusters without a partner, sampled tracks
    #[arg(long, env = "EVFORGE_MONITOR", value_name = "FILE")]
    pub(crate) monitor: Option<PathBuf>,
    /// Write the mean values of sampled channels as CSV: channel,time_ns,mean; needs [adc_readout.averaging] in the
    /// configuration
    #[arg(long, env = "EVFORGE_SAMPLES", value_name = "FILE")]
    pub(crate) samples: Option<PathBuf>,
}

impl OutputArguments {
    /// Adds these outputs to the files of a command.
    pub(crate) fn name(&self, files: NamedFiles) -> NamedFiles {
        files
            .output("--events", &self.events)
            .output("--nexus", &self.nexus)
            .output("--report", &self.report)
            .output("--image", &self.image)
            .output("--monitor", &self.monitor)
            .output("--samples", &self.samples)
    }
}

/// The sinks of a run, and what is made of them at its end.
pub(crate) struct Outputs {
    /// The sinks, to be handed to the run.
    pub(crate) sinks: Vec<SinkPlan>,
    /// Where mean values go, to be handed to the run.
    pub(crate) samples: Option<SampleFile>,
    /// The monitor data of the run.
    pub(crate) monitor: MonitorTap,
    counts: Option<PixelCounts>,
    view: Option<LiveView>,
}

impl Outputs {
    /// Opens what the arguments ask for. `recorded_ns` is when the first packet of a capture was recorded.
    ///
    /// # Errors
    /// The first output that cannot be written.
    pub(crate) fn open(
        arguments: &OutputArguments,
        config: &Config,
        recorded_ns: Option<u64>,
    ) -> Result<Self, CommandError> {
        let detector = config.build_detector()?;
        let geometry = detector.geometry();
        let mut sinks = Vec::new();
        if let Some(path) = &arguments.events {
            let columns =
                CsvColumns { pulse_times: detector.tells_pulses(), marks: !config.vetoes.is_empty() };
            tell_lines("events", path);
            let sink = CsvSink::create(path, columns).map_err(|error| error.to_string())?;
            sinks.push(SinkPlan::complete(Box::new(sink)));
        }
        if arguments.samples.is_some() && !config.makes_mean_values() {
            let problem =
                "--samples needs mean values: the configuration has no section [adc_readout.averaging]";
            return Err(problem.into());
        }
        if let Some(path) = &arguments.samples {
            tell_lines("mean values", path);
        }
        let samples = arguments.samples.as_deref().map(SampleFile::create).transpose();
        let samples = samples.map_err(|error| error.to_string())?;
        for (what, path) in [
            ("the report", &arguments.report),
            ("the image", &arguments.image),
            ("the monitor data", &arguments.monitor),
        ] {
            if let Some(path) = path {
                check_writable(what, path)?;
            }
        }
        if let Some(path) = &arguments.nexus {
            let options = NexusOptions {
                title: format!("{} run", config.name),
                existing: match arguments.if_exists {
                    IfExists::Refuse => ExistingFile::Refuse,
                    IfExists::Overwrite => ExistingFile::Overwrite,
                    IfExists::Number => ExistingFile::Number,
                },
                pulses: config.pulses,
                pulse_origin: if detector.tells_pulses() {
                    PulseOrigin::Readout
                } else {
                    PulseOrigin::ConfiguredTrain
                },
                vetoes: config.vetoes.iter().map(|veto| veto.name.clone()).collect(),
                configuration: config.text.clone(),
                ..NexusOptions::new(path, &config.name, geometry)
            };
            let ledger = detector.ledger();
            let options = options.with_counters(&ledger.counters).with_beam_monitors(&ledger.beam_monitors);
            let sink = AnchoredNexus::new(options, recorded_ns, detector.tells_pulses())?;
            sinks.push(SinkPlan::complete(Box::new(sink)));
        }
        let monitor = MonitorTap::default();
        monitor.switch(arguments.monitor.is_some());
        let view = match arguments.view {
            Some(address) => {
                let control = TapControl { tap: monitor.clone(), file: arguments.monitor.clone() };
                let options = ViewOptions {
                    address,
                    monitor: Some(Arc::new(control)),
                    ..ViewOptions::new(config.name.clone(), geometry, config.pulses)
                };
                let view = LiveView::start(options)?;
                sinks.push(SinkPlan::picture(Box::new(view.sink())));
                Some(view)
            }
            None => None,
        };
        let counts = arguments.image.is_some().then(|| PixelCounts::new(geometry));
        sinks.extend(counts.clone().map(|counts| SinkPlan::complete(Box::new(counts))));
        Ok(Self { sinks, samples, monitor, counts, view })
    }

    /// The live view, if there is one.
    pub(crate) fn view(&self) -> Option<&LiveView> {
        self.view.as_ref()
    }

    /// Tells the page what is not in the ledger: places of losses, alarms.
    pub(crate) fn show(&self, status: &LiveStatus) {
        let Some(view) = &self.view else { return };
        let located = status.losses.places.iter().map(|loss| LocatedLoss {
            place: loss.place.name().to_owned(),
            packets: loss.packets,
            inferred: loss.inferred,
        });
        view.set_losses(located.collect());
        let mut alarms = Vec::new();
        if let Some(failure) = &status.detector_failure {
            alarms.push(format!("the detector has failed, and forms no further events: {failure}"));
        }
        if status.lost_to_sinks > 0 {
            alarms.push(format!("{} events have not reached every file", status.lost_to_sinks));
        }
        alarms.extend(status.receive_alarms.iter().cloned());
        alarms.extend(status.failed_sinks.iter().map(|sink| format!("FAILED SINK: {sink}")));
        alarms.extend(status.record_alarm.clone());
        alarms.extend(status.hints.iter().cloned());
        view.set_alarms(alarms);
    }

    /// Writes what is written at the end: all of it, whatever fails.
    pub(crate) fn finish(self, arguments: &OutputArguments, report: &RunReport, ending: &mut Ending) {
        ending.write_json("the report", arguments.report.as_deref(), &report.to_json());
        if let (Some(path), Some(monitor)) = (&arguments.monitor, self.monitor.latest()) {
            let json = format!("{}\n", monitor_json(&monitor));
            ending.attempt(write_file("the monitor data", path, json.as_bytes()));
        }
        if let (Some(path), Some(counts), true) = (&arguments.image, &self.counts, report.is_input_whole()) {
            let picture = png_of_counts(&counts.geometry(), &counts.snapshot());
            ending.attempt(picture.and_then(|picture| write_file("the image", path, &picture)));
        }
    }
}

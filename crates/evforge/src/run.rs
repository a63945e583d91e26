//! `evforge run`: form events from readouts, of a capture file or live.

use crate::CommandError;
use crate::arguments::{
    EndArguments, IdentityArguments, Inputs, LogArguments, ReceivingArguments, TopicArguments,
};
use crate::configuration::{read_configuration, read_with_library};
use crate::control::{ControlArguments, ControlPorts};
use crate::exit_status::ExitStatus;
use crate::host::{advice, tell_what_matters};
use crate::input::open_until;
use crate::memory::MemoryBound;
use crate::other_ports::streams_to_other_ports;
use crate::output::{Ending, print};
use crate::outputs::{OutputArguments, OutputPlans, Outputs, fill_file_names};
use crate::progress::ProgressDisplay;
use crate::record::RecordLimits;
use crate::same_file::NamedFiles;
use crate::schema::schema_text;
use crate::signals::stop_on_signals;
use crate::status_line::StatusLine;
use clap::Args;
use evforge_config::{Config, TimeSpan};
use evforge_core::packet_source::PacketSource;
use evforge_core::placement::Placement;
use evforge_core::run_state::{InputFault, LedgerTotals, RunState};
use evforge_detect::settings::HeldHits;
use evforge_log::group;
use evforge_outputs::Registry;
use evforge_pipeline::capture_run::CaptureRun;
use evforge_pipeline::live_run::{LiveObserver, LiveRun, open_receivers};
use evforge_pipeline::report::{RunReport, grouped, scaled};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Arguments of `evforge run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// Configuration of the instrument (TOML; examples are in configs/)
    #[arg(
        long,
        short = 'f',
        env = "EVFORGE_CONFIG",
        value_name = "FILE",
        required_unless_present_any = ["detector", "schema"]
    )]
    config: Option<PathBuf>,
    /// Form the events with this shared library (docs/write-a-plugin.md) [configuration: plugin.library]
    #[arg(long, short = 'd', env = "EVFORGE_DETECTOR", value_name = "LIBRARY", help_heading = "Input")]
    detector: Option<PathBuf>,
    // Read as fast as possible; without one, packets come from the network.
    #[command(flatten)]
    inputs: Inputs<0, 1>,
    #[command(flatten)]
    topic: TopicArguments,
    #[command(flatten)]
    receiving: ReceivingArguments,
    // Of live runs, and of topics that are followed; a capture ends by itself.
    #[command(flatten)]
    end: EndArguments,
    /// The report of a sender, written when it has sent all: while it is missing, --idle is 10 s longer; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Receiving")]
    sent: Vec<PathBuf>,
    /// Also record the packets, as pcapng; with a rotation, run.pcapng stands for run-0001.pcapng and so on. Live runs
    /// only; it never holds up the event formation (docs/record.md)
    #[arg(
        long,
        env = "EVFORGE_RECORD",
        value_name = "FILE",
        conflicts_with_all = ["inputs", "input_kafka"],
        help_heading = "Recording"
    )]
    record: Option<PathBuf>,
    #[command(flatten)]
    record_limits: RecordLimits,
    #[command(flatten)]
    outputs: OutputArguments,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    control: ControlArguments,
    #[command(flatten)]
    log: LogArguments,
    /// Override a key of the configuration (gdgem.sorting.window=1ms); repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Check the configuration, print what follows from it, and end
    #[arg(long)]
    check: bool,
    /// Print it as JSON, with the bound of the memory in bytes; with --check
    #[arg(long, requires = "check", help_heading = "More outputs")]
    json: bool,
    /// Print the JSON Schema of configurations, and end: an editor completes and checks keys by it (docs/configuration.md)
    #[arg(long, help_heading = "More outputs")]
    schema: bool,
    /// No progress display and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

impl RunArguments {
    /// Whether packets come from the network.
    pub(crate) fn is_live(&self) -> bool {
        self.inputs.paths().is_ok_and(|inputs| inputs.is_empty())
            && !self.topic.is_given()
            && !(self.check || self.schema)
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments, registry: &Registry) -> Result<ExitStatus, CommandError> {
    if arguments.schema {
        return print(&schema_text(registry)).map(|()| ExitStatus::Good);
    }
    let mut config = read_config(arguments)?;
    if !arguments.check {
        arguments.log.set_up(&config.log, &config.name, arguments.quiet)?;
    }
    arguments.outputs.apply(&mut config);
    arguments.identity.apply(&mut config)?;
    fill_file_names(&mut config)?;
    let plans = OutputPlans::read(&arguments.outputs, &config, registry)?;
    if arguments.check {
        return print(&summary(&config, &plans, arguments)?).map(|()| ExitStatus::Good);
    }
    if arguments.record.is_none() && arguments.record_limits.has_rotation() {
        return Err(
            "--rotate-size and --rotate-time belong to a recording: name its file with --record".into()
        );
    }
    let input = arguments.inputs.paths()?.pop();
    let files = NamedFiles::default()
        .input("--config", &arguments.config)
        .input("--detector", &arguments.detector)
        .input("INPUT", &input)
        .input("--sent", &arguments.sent);
    plans.name(files).kept_output("--record", &arguments.record).check(arguments.outputs.overwrite)?;
    for note in &config.notes {
        tracing::info!(target: group::RUN, lead = "note", always = true, "{note}");
    }
    let stop = stop_on_signals()?;
    let ports = ControlPorts::open(&config, named_overrides(arguments))?;
    let mut ending = Ending::alongside(plans.takes_standard_output());
    let topic = arguments.topic.input(&config, arguments.receiving.port)?;
    let report = if let Some(topic) = topic {
        // Before the outputs: what is wrong with the topic leaves no files.
        let packets = topic.open(&stop)?;
        let mut outputs = plans.open(&config, Some(ports.access()), &stop)?;
        let report = run_packets(arguments, &config, Box::new(packets), &mut outputs, ports, &stop)?;
        outputs.finish(&report, &mut ending);
        report
    } else if let Some(input) = &input {
        let mut outputs = plans.open(&config, Some(ports.access()), &stop)?;
        let packets = open_until(input, arguments.receiving.port, &config, &stop)?;
        let mut report = run_packets(arguments, &config, packets, &mut outputs, ports, &stop)?;
        if let Some(port) =
            arguments.receiving.port.filter(|_| LedgerTotals::of(&report.state.ledger).packets == 0)
        {
            let others = streams_to_other_ports(input, port).map(InputFault::no_use);
            report.state.faults.extend(others);
        }
        outputs.finish(&report, &mut ending);
        report
    } else {
        arguments.receiving.apply(&mut config);
        tell_what_matters(&config);
        let receivers = open_receivers(&config, arguments.record.is_some())?;
        let plans = plans.advised(advice(&config));
        let mut outputs = plans.open(&config, Some(ports.access()), &stop)?;
        let limits = &arguments.record_limits;
        let record = arguments.record.as_deref().map(|file| limits.open(file, arguments.outputs.overwrite));
        let (control, _service) = ports.serve(&config, &outputs, &stop)?;
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
            stop: &stop,
            limits: arguments.end.limits(&arguments.sent),
        };
        let report = run_live(run, &outputs, arguments.quiet)?;
        outputs.finish(&report, &mut ending);
        report
    };
    tell_end(&config.name, &report);
    if !arguments.quiet {
        ending.print(&report.to_text());
    } else if !report.is_success() {
        eprint!("{}", report.to_text());
    }
    Ok(ExitStatus::from(report.verdict()).and(ExitStatus::of(ending.is_good())))
}

/// How a run has ended, for those who do not see its report.
pub(crate) fn tell_end(name: &str, report: &RunReport) {
    let verdict = report.verdict().name();
    let totals = LedgerTotals::of(&report.state.ledger);
    let (packets, events) = (totals.packets, totals.events);
    if report.is_success() {
        tracing::info!(target: group::RUN, unshown = true, verdict, packets, events, "the run of {name} has ended");
    } else {
        tracing::error!(target: group::RUN, unshown = true, verdict, packets, events, "the run of {name} has ended: {verdict}");
    }
}

fn read_config(arguments: &RunArguments) -> Result<Config, CommandError> {
    let config = arguments.config.as_deref();
    // With the file's keys, some of which go with an interface only.
    let named = named_overrides(arguments).into_iter().map(|(assignment, _)| assignment);
    let overrides = &[&arguments.overrides[..], &Vec::from_iter(named)].concat();
    Ok(match (config, &arguments.detector) {
        (_, Some(library)) => read_with_library(config, library, overrides)?,
        (Some(config), None) => read_configuration(config, overrides)?,
        (None, None) => return Err("neither --config nor --detector names the detector".into()),
    })
}

/// Keys of the configuration that options of their own set, with the names of these.
fn named_overrides(arguments: &RunArguments) -> Vec<(String, String)> {
    arguments.receiving.overrides().chain(arguments.control.overrides()).collect()
}

/// Forms the events of packets that are not live.
fn run_packets(
    arguments: &RunArguments,
    config: &Config,
    packets: Box<dyn PacketSource>,
    outputs: &mut Outputs,
    ports: ControlPorts,
    stop: &Arc<AtomicBool>,
) -> Result<RunReport, CommandError> {
    let (control, _service) = ports.serve(config, outputs, stop)?;
    let mut display = ProgressDisplay::new(arguments.quiet);
    let ends_after = arguments.end.ends_after.filter(|_| arguments.topic.follows()).map(TimeSpan::to_std);
    let clock = Arc::clone(&outputs.clock);
    let started = clock.elapsed();
    let run = CaptureRun {
        monitor: outputs.monitor.clone(),
        packets: outputs.packets.clone(),
        control,
        config,
        input: packets,
        outputs: std::mem::take(&mut outputs.events),
        clock: Arc::clone(&outputs.clock),
        health: outputs.health.clone(),
        on_waiting: Arc::new(
            |text| tracing::warn!(target: group::OUTPUT, lead = "evforge", "{text}. It continues by itself; Ctrl-C ends the run."),
        ),
        samples: outputs.samples.take(),
        stop,
    };
    let report = run.run(|progress| {
        if let Some(display) = &mut display {
            display.show(progress);
        }
        if ends_after.is_some_and(|after| clock.elapsed().saturating_sub(started) >= after) {
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    if let Some(display) = display {
        display.finish();
    }
    Ok(report)
}

/// Runs live with a status line, warnings, and the page kept up to date.
pub(crate) fn run_live(run: LiveRun<'_>, outputs: &Outputs, quiet: bool) -> Result<RunReport, CommandError> {
    let mut observer = Observer::new(outputs, quiet, |_| {});
    let report = run.run(&mut observer);
    observer.line.finish();
    report
}

/// Shows what a live run tells, and passes on the address that it receives at.
pub(crate) struct Observer<'a, F> {
    outputs: &'a Outputs,
    pub(crate) line: StatusLine,
    quiet: bool,
    tells_where: bool,
    /// Called with the address once packets can be sent to it.
    ready: F,
}

impl<'a, F: FnMut(SocketAddr)> Observer<'a, F> {
    /// `ready` is called with the address once packets can be sent to it.
    pub(crate) fn new(outputs: &'a Outputs, quiet: bool, ready: F) -> Self {
        Self { outputs, line: StatusLine::new(quiet), quiet, tells_where: true, ready }
    }

    /// The same, where everybody knows already where packets are received and where the page is.
    pub(crate) fn of_a_further_phase(self) -> Self {
        Self { tells_where: false, ..self }
    }
}

impl<F: FnMut(SocketAddr)> LiveObserver for Observer<'_, F> {
    fn ready(&mut self, addresses: &[SocketAddr], way: &str, warnings: &[String]) {
        for warning in warnings {
            tracing::warn!(target: group::INPUT, always = true, "{warning}");
        }
        if self.tells_where {
            for address in addresses {
                tracing::info!(target: group::INPUT, always = true, "receiving at UDP {address}");
            }
            tracing::info!(target: group::INPUT, "received by {way}");
            self.outputs.tell_page(self.quiet);
        }
        if let Some(first) = addresses.first() {
            (self.ready)(*first);
        }
    }

    fn status(&mut self, state: &RunState) {
        self.line.show(state);
    }
}

/// How many hits may wait for their time, and up to which rate that is enough.
fn held_hits(held: &HeldHits) -> String {
    let rate = |wait| scaled(held.rate_for(wait));
    let capacity = format!(
        "time order    {} hits per {}: enough for {} hits/s in it while all sources send (window of {}),\n\
         {:14}and for {} hits/s while a silent one is waited for (source_lag of {})\n",
        grouped(held.hits as u64),
        held.of,
        rate(held.window),
        TimeSpan { picoseconds: held.window },
        "",
        rate(held.source_lag),
        TimeSpan { picoseconds: held.source_lag },
    );
    capacity + &highest_rate(held).unwrap_or_default()
}

/// Whether the hits that come at most, as the configuration says, are fewer than may wait.
fn highest_rate(held: &HeldHits) -> Option<String> {
    let (at_once, silent) = (held.needed_for(held.window)?, held.needed_for(held.source_lag)?);
    let per_second = held.highest_rate?.millihertz as f64 / 1000.0;
    let verdict = if at_once < held.hits as u64 {
        "enough".to_owned()
    } else {
        format!("NOT ENOUGH: set max_held_hits to {} or more", grouped(at_once + at_once / 4))
    };
    Some(format!(
        "{:14}highest_rate of {} hits/s: {} wait while all sources send, {verdict};\n\
         {:14}{} while a silent one is waited for\n",
        "",
        scaled(per_second),
        grouped(at_once),
        "",
        grouped(silent),
    ))
}

/// What follows from a configuration, for people or as JSON.
fn summary(config: &Config, plans: &OutputPlans, arguments: &RunArguments) -> Result<String, CommandError> {
    // Before the detector: it builds one for itself, and two of them at a time would take more memory than a run.
    let context = plans.context(config)?;
    let mut detector = config.build_detector()?;
    let geometry = detector.geometry();
    let record = arguments.record.is_some().then(|| arguments.record_limits.memory_bound());
    let memory = MemoryBound::new(config, detector.as_mut(), plans, &context, record);
    // How many partitions there are is known to the brokers, which a check does not ask.
    let of_topic = arguments.topic.is_given().then(|| {
        "what is read ahead of the topic is not in the memory bound: some 30 MB for each of its partitions".to_owned()
    });
    let notes: Vec<String> = config.notes.iter().cloned().chain(of_topic).collect();
    if arguments.json {
        let json = json!({
            "name": config.name,
            "detector": config.section,
            "pixels": geometry.pixel_count(),
            "memory": memory.json(),
            "outputs": plans.describe(&context),
            "notes": notes,
        });
        return Ok(format!("{json:#}\n"));
    }
    let described: String =
        plans.describe(&context).iter().map(|line| format!("output        {line}\n")).collect();
    let held: String = config.detector.held_hits().iter().map(held_hits).collect();
    let placement = context.placement.as_ref().map_or_else(|| "not known".to_owned(), Placement::summary);
    let notes: String = notes.iter().map(|note| format!("note          {note}\n")).collect();
    Ok(format!(
        "{} is a valid configuration\n\
         geometry      {} x {} pixels in {} layers and {} panels: ids 1 to {}\n\
         placement     {placement}\n\
         receives at   UDP {}{}\n\
         threads       {}\n\
         {}\
         {held}{described}{notes}",
        config.name,
        geometry.nx(),
        geometry.ny(),
        geometry.nz(),
        geometry.panels(),
        geometry.pixel_count(),
        config.receive.address,
        config.receive.ports.iter().map(|port| format!(" and {port}")).collect::<String>(),
        config.input.threads,
        memory.text(),
    ))
}

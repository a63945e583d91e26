//! `evforge record`: UDP packets into pcapng files, at full rate.

use crate::CommandError;
use crate::arguments::{EndArguments, LogArguments, OverwriteArguments, WayArguments};
use crate::exit_status::ExitStatus;
use crate::left_over::tell_recordings;
use crate::output::{Ending, check_writable, refuse_standard_output};
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::{ByteSize, ReceiveSettings, TimeSpan};
use evforge_log::{LogSettings, console, group};
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::record::{DiskFiles, FileNames, RecordQueue, RecordingWriter, Rotation, finish_recording};
use evforge_pipeline::record_run::{RecordRun, RecordStatus};
use evforge_pipeline::report::{grouped, scaled};
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Arguments of `evforge record`.
#[derive(Args)]
pub(crate) struct RecordArguments {
    /// Record what comes to this UDP port; may be given several times
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT", required_unless_present = "finish")]
    port: Vec<u16>,
    /// Record nothing: finish what recordings that were killed have left. Every whole packet is kept; if the name is
    /// taken, the file becomes run-recovered.pcapng
    #[arg(long, value_name = "PARTIAL", num_args = 1.., conflicts_with_all = ["output", "report"])]
    finish: Vec<PathBuf>,
    #[command(flatten)]
    way: WayArguments,
    #[command(flatten)]
    files: RecordFileArguments,
    #[command(flatten)]
    end: EndArguments,
    /// Receive buffer to ask the kernel for, for each port
    #[arg(long, value_name = "SIZE", default_value = "64MB", help_heading = "Receiving")]
    buffer: ByteSize,
    /// Longest packet; longer ones are cut, and counted
    #[arg(long, value_name = "SIZE", default_value = "9216B", help_heading = "Receiving")]
    largest: ByteSize,
    /// Let the kernel hand over several packets in one piece (UDP_GRO): faster, but they have one time stamp, and the
    /// kernel counts what it drops in pieces
    #[arg(long, help_heading = "Receiving")]
    coalesce: bool,
    /// Write the report as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    #[command(flatten)]
    log: LogArguments,
    /// No status line and no report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// How a recording is written, for commands that record.
#[derive(Args)]
pub(crate) struct RecordFileArguments {
    /// The file: pcapng. With a rotation, run.pcapng stands for run-0001.pcapng, run-0002.pcapng and so on
    #[arg(long, short = 'o', value_name = "FILE", required_unless_present = "finish")]
    output: Option<PathBuf>,
    #[command(flatten)]
    limits: RecordLimits,
}

/// When files end, and what may wait for the disk.
#[derive(Args)]
pub(crate) struct RecordLimits {
    /// Begin another file before one becomes larger than this (1GB)
    #[arg(long, value_name = "SIZE", help_heading = "Recording")]
    rotate_size: Option<ByteSize>,
    /// Begin another file after this time (60, 10min)
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::in_seconds, help_heading = "Recording")]
    rotate_time: Option<TimeSpan>,
    /// Memory for packets that wait for the disk, for each port; when it is full, packets are dropped and counted
    #[arg(long, value_name = "SIZE", default_value = "256MB", help_heading = "Recording")]
    record_queue: ByteSize,
}

impl RecordLimits {
    /// The writer of a recording at `output`.
    ///
    /// # Errors
    /// If a limit is impossible, or the file cannot be made.
    pub(crate) fn writer(
        &self,
        output: &Path,
        overwrite: OverwriteArguments,
    ) -> Result<RecordingWriter, CommandError> {
        if self.rotate_size.is_some_and(|size| size.bytes == 0)
            || self.rotate_time.is_some_and(|time| time.to_std().is_zero())
        {
            return Err("--rotate-size and --rotate-time must be above 0".into());
        }
        if output.extension().is_some_and(|ending| ending == "pkts" || ending == "pcap") {
            return Err(format!(
                "a recording is written as pcapng: {} would be read as another format. Name it run.pcapng",
                output.display()
            )
            .into());
        }
        let rotation = Rotation {
            size: self.rotate_size.map(|size| size.bytes),
            time: self.rotate_time.map(TimeSpan::to_std),
        };
        let names = if rotation.is_on() { FileNames::numbered(output) } else { FileNames::single(output) };
        tell_recordings(&names);
        let fail = |error: std::io::Error| {
            format!("the recording cannot be written to {}: {error}", output.display())
        };
        // Series go on with the next number.
        if overwrite.overwrite
            && !rotation.is_on()
            && output.symlink_metadata().is_ok_and(|about| about.is_file())
        {
            std::fs::remove_file(output).map_err(fail)?;
        }
        let files = DiskFiles::new(names).map_err(fail)?;
        Ok(RecordingWriter::begin(files, rotation).map_err(fail)?)
    }

    /// Most memory of a recording alongside a run, in bytes.
    pub(crate) fn memory_bound(&self) -> u64 {
        let bytes = usize::try_from(self.record_queue.bytes).unwrap_or(usize::MAX);
        RecordQueue::of_bytes(bytes).memory_bound() as u64
    }

    /// The writer of a recording alongside a run, and what may wait for it.
    ///
    /// # Errors
    /// As [`RecordLimits::writer`] and [`RecordLimits::queue`].
    pub(crate) fn open(
        &self,
        output: &Path,
        overwrite: OverwriteArguments,
    ) -> Result<(RecordingWriter, RecordQueue), CommandError> {
        Ok((self.writer(output, overwrite)?, self.queue()?))
    }

    /// True if there can be more than one file.
    pub(crate) fn has_rotation(&self) -> bool {
        self.rotate_size.is_some() || self.rotate_time.is_some()
    }

    /// What may wait for the disk.
    ///
    /// # Errors
    /// If it is more than this machine can address.
    pub(crate) fn queue(&self) -> Result<RecordQueue, CommandError> {
        Ok(RecordQueue::of_bytes(usize::try_from(self.record_queue.bytes)?))
    }
}

/// Runs the command.
pub(crate) fn record(arguments: &RecordArguments) -> Result<ExitStatus, CommandError> {
    let Some(output) = &arguments.files.output else {
        return finish(&arguments.finish);
    };
    arguments.log.set_up(&LogSettings::default(), "", arguments.quiet)?;
    refuse_standard_output("--output", output, "a recording, which gets its name when it is whole")?;
    NamedFiles::default()
        .kept_output("--output", Some(output))
        .output("--report", &arguments.report)
        .check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    let Some((&first, ports)) = arguments.port.split_first() else {
        return Err("name the port to record: --port 9000".into());
    };
    let settings = ReceiveSettings {
        method: arguments.way.receive.setting(),
        interface: arguments.way.interface.clone(),
        address: SocketAddr::new(arguments.way.address, first),
        ports: ports.to_vec(),
        buffer: arguments.buffer,
        coalesce: arguments.coalesce,
        slot: arguments.largest,
        kernel_stamps: true,
        ..ReceiveSettings::default()
    };
    let sources = LiveReceiver::open(&settings.plan()?)?;
    let mut warnings = Vec::new();
    for receiver in &sources {
        if arguments.way.address.is_multicast() {
            receiver.join(arguments.way.address, None)?;
        }
        warnings.extend(receiver.warnings().iter().cloned());
    }
    let run = RecordRun {
        writer: arguments.files.limits.writer(output, arguments.overwrite)?,
        queue: arguments.files.limits.queue()?,
        limits: arguments.end.limits(None),
        stop: &*stop_on_signals()?,
        sources,
    };
    for warning in &warnings {
        tracing::warn!(target: group::INPUT, always = true, "{warning}");
    }
    for source in &run.sources {
        for address in source.local_addresses() {
            tracing::info!(target: group::INPUT, always = true, "receiving at UDP {address}");
        }
        tracing::info!(target: group::INPUT, always = true, "received by {}", source.description());
    }
    let mut line = RecordLine::new(arguments.quiet);
    let report = run.run(|status| line.show(status))?;
    line.finish();
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.write_json("the report", arguments.report.as_deref(), &report.to_json());
    if !arguments.quiet {
        ending.print(&report.to_text());
    } else if !report.is_success() {
        eprint!("{}", report.to_text());
    }
    let done = ExitStatus::of(report.is_success() && ending.is_good());
    Ok(if report.has_packets() { done } else { done.and(ExitStatus::NoUse) })
}

/// Makes captures of recordings that have not ended.
fn finish(partial: &[PathBuf]) -> Result<ExitStatus, CommandError> {
    let mut ending = Ending::default();
    for path in partial {
        match finish_recording(path) {
            Ok(finished) => ending.print(&format!("{finished}\n")),
            Err(error) => ending.attempt(Err(error.into())),
        }
    }
    Ok(ExitStatus::of(ending.is_good()))
}

/// One line a second about a recording; every ten seconds where nobody watches a terminal.
struct RecordLine {
    quiet: bool,
    terminal: bool,
    lines: u32,
    before: RecordStatus,
    /// The alarm reported last, without the numbers in it.
    told: String,
}

impl RecordLine {
    fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            lines: 0,
            before: RecordStatus::default(),
            told: String::new(),
        }
    }

    fn show(&mut self, status: &RecordStatus) {
        let before = std::mem::replace(&mut self.before, status.clone());
        self.lines += 1;
        if let Some(alarm) = &status.alarm {
            // The numbers in it rise; it is reported when it has changed.
            let without_numbers = alarm.replace(|c: char| c.is_ascii_digit(), "");
            if self.told != without_numbers {
                tracing::warn!(target: group::FILE, lead = "evforge", "the recording is not whole: {alarm}");
                self.told = without_numbers;
            }
        }
        if self.quiet || !self.terminal && !self.lines.is_multiple_of(10) {
            return;
        }
        let seconds = (status.elapsed - before.elapsed).as_secs_f64().max(1e-3);
        let rate = |now: u64, before: u64| scaled((now - before) as f64 / seconds);
        let line = format!(
            "{:6.0} s  {} packets  {} packets/s  {}bit/s  dropped {}",
            status.elapsed.as_secs_f64(),
            grouped(status.counts.received),
            rate(status.counts.received, before.counts.received),
            rate(8 * status.counts.received_bytes, 8 * before.counts.received_bytes),
            grouped(status.counts.dropped),
        );
        if self.terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    fn finish(&self) {
        console::end_state();
    }
}

//! `evforge measure soak`: hours to days without a lost packet, and proof that a lost one would have been seen.

use super::hosts::{Hosts, HostsArguments};
use super::points::{begin, folder_for_reports, tell};
use super::result::ResultArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use clap::Args;
use evforge_config::{ByteSize, TimeSpan};
use evforge_core::quantity::grouped;
use evforge_lab::link::Fault;
use evforge_lab::soak::{CHECKPOINT, Checkpoint, SoakRunner, SoakSettings, SoakTotal};
use evforge_measure::{ResultFolder, soak::result};
use std::path::{Path, PathBuf};

const TITLE: &str = "Packets lost in a long run";

/// Arguments of `evforge measure soak`.
#[derive(Args)]
pub(super) struct SoakArguments {
    /// Streams at once, each to a port of its own
    #[arg(long, value_name = "NUMBER", default_value_t = 4, conflicts_with = "resume")]
    streams: u16,
    /// Rate of each stream: 100kpps, 800Mbit/s (UDP payload)
    #[arg(long, value_name = "RATE", default_value = "100Mbit/s", conflicts_with = "resume")]
    rate: String,
    /// Send what falls due within this time together, and sleep in between: a long run then leaves the processor to others
    #[arg(long, value_name = "TIME", default_value = "0ns", conflicts_with = "resume")]
    burst: TimeSpan,
    /// Largest payload of a packet
    #[arg(long, value_name = "SIZE", default_value = "2000B", conflicts_with = "resume")]
    packet: ByteSize,
    /// How long to send in all (1h, 168h)
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = TimeSpan::in_seconds, conflicts_with = "resume")]
    time: TimeSpan,
    /// How long a segment is: what a killed run has to do again at most
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = TimeSpan::in_seconds, conflicts_with = "resume")]
    segment: TimeSpan,
    /// Receive buffer to ask the kernel for, for each stream
    #[arg(long, value_name = "SIZE", default_value = "64MB", conflicts_with = "resume")]
    buffer: ByteSize,
    /// Inject a fault in each stream of the first segment, as drop send does; may be given several times
    #[arg(long = "fault", value_name = "FAULT", conflicts_with = "resume")]
    faults: Vec<String>,
    /// Go on with the run whose checkpoint is in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "output")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    pub(super) hosts: HostsArguments,
    #[command(flatten)]
    result: ResultArguments,
}

impl SoakArguments {
    /// The run to go on with, or a new one; where its checkpoint and its result go.
    fn prepare(&self) -> Result<(Checkpoint, PathBuf, ResultFolder), CommandError> {
        let Some(folder) = &self.resume else {
            let checkpoint = Checkpoint::new(self.settings()?);
            let Some(path) = self.result.path() else {
                return Err("a checkpoint needs a place: give --output FOLDER, or --resume FOLDER".into());
            };
            if path.join(CHECKPOINT).exists() && !self.result.overwrites() {
                return Err(format!(
                    "{0}: there is a run already. To go on with it: evforge measure soak --resume {0}; to replace it: --overwrite",
                    path.display()
                )
                .into());
            }
            // A run that was killed has left a checkpoint and no result.
            let folder = match path.join(CHECKPOINT).exists() {
                true => ResultFolder::to_be_resumed(path)?,
                false => ResultFolder::to_be_made(path, self.result.overwrites())?,
            };
            return Ok((checkpoint, path.join(CHECKPOINT), folder));
        };
        let path = folder.join(CHECKPOINT);
        let checkpoint = Checkpoint::read(&path)?;
        let settings = &checkpoint.settings;
        if settings.is_loopback == self.hosts.has_namespaces() {
            let how = if settings.is_loopback { "over loopback: give" } else { "without: leave out" };
            return Err(format!("{}: this run has begun {how} --loopback", path.display()).into());
        }
        if settings.mtu != self.hosts.place.mtu {
            return Err(format!("{}: this run has begun with --mtu {}", path.display(), settings.mtu).into());
        }
        Ok((checkpoint, path, ResultFolder::to_be_resumed(folder)?))
    }

    fn settings(&self) -> Result<SoakSettings, CommandError> {
        for fault in &self.faults {
            fault.parse::<Fault>()?;
        }
        let settings = SoakSettings {
            streams: self.streams,
            rate: self.rate.clone(),
            burst_seconds: self.burst.to_std().as_secs_f64(),
            packet_bytes: self.packet.bytes,
            seconds: self.time.to_std().as_secs_f64(),
            segment_seconds: self.segment.to_std().as_secs_f64(),
            buffer: self.buffer.bytes,
            faults: self.faults.clone(),
            is_loopback: !self.hosts.has_namespaces(),
            mtu: self.hosts.place.mtu,
        };
        settings.check()?;
        Ok(settings)
    }
}

/// Runs the command.
pub(super) fn soak(arguments: &SoakArguments) -> Result<ExitStatus, CommandError> {
    // Whatever is wrong is said before namespaces are made.
    let (mut checkpoint, path, folder) = arguments.prepare()?;
    let here = match arguments.hosts.prepare()? {
        Hosts::Done(status) => return Ok(status),
        Hosts::Here(here) => here,
    };
    let session = begin("soak", TITLE, &here)?;
    let reports = folder_for_reports()?;
    let runner = SoakRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: reports.path().to_owned(),
        sender_core: here.sender_core,
        receiver_core: here.receiver_core,
        stop: &here.stop,
    };
    let is_complete =
        runner.run(&mut checkpoint, &path, |checkpoint| tell(&arguments.result, &line(checkpoint)))?;
    if !is_complete {
        tell(&arguments.result, &resumed_by(&path));
    }
    arguments.result.hand_over(&result(session, &here.hosts, &checkpoint, is_complete)?, Some(&folder))
}

/// How it goes.
fn line(checkpoint: &Checkpoint) -> String {
    let total = SoakTotal::of(checkpoint);
    let jump = match (&checkpoint.jump_at_start, &checkpoint.jump_at_end) {
        (_, Some(jump)) => format!("; jump at the end: {}", jump.sentence()),
        (Some(jump), None) if checkpoint.segments.is_empty() => {
            format!("; jump at the start: {}", jump.sentence())
        }
        _ => String::new(),
    };
    format!(
        "{:8.0} of {:.0} s  {} packets  lost {}{jump}",
        checkpoint.done_seconds(),
        checkpoint.settings.seconds,
        grouped(total.sent),
        grouped(total.lost)
    )
}

fn resumed_by(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!("ended on request; to go on: evforge measure soak --resume {folder}")
}

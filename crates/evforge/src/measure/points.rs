//! What `sweep` and `rate` have in common: the points, and running them.

use super::hosts::{Here, OtherHostArguments};
use super::link::bytes;
use super::result::{ResultArguments, command_line};
use crate::CommandError;
use crate::own_folder;
use clap::Args;
use evforge_config::{ByteSize, TimeSpan};
use evforge_host::LocalHost;
use evforge_lab::measured_link::{LinkMethod, PointRunner};
use evforge_lab::two_hosts::within;
use evforge_measure::Session;
use std::path::Path;
use tempfile::TempDir;

/// The buffer that a program gets which asks for none.
const DEFAULT_BUFFER: &str = "/proc/sys/net/core/rmem_default";

/// The points.
#[derive(Args)]
pub(super) struct PointArguments {
    /// User data of packets in bytes, separated by commas: 64,1472,8972
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = bytes)]
    pub(super) size: Vec<u32>,
    /// Ways to send and receive: paper, batched, segmented, coalesced, xdp, tcp, trains [default: without trains; on loopback, without xdp]
    #[arg(long, value_name = "METHODS", value_delimiter = ',')]
    pub(super) method: Vec<LinkMethod>,
    /// How long to send at each point
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = TimeSpan::in_seconds)]
    pub(super) time: TimeSpan,
    /// How often each point is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) rounds: u16,
    /// Time that the receiver spends on each packet, as an application that processes it would
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    pub(super) work: TimeSpan,
    #[command(flatten)]
    pub(super) other: OtherHostArguments,
}

impl PointArguments {
    /// The sizes, or these.
    pub(super) fn sizes(&self, default: &[usize]) -> Vec<usize> {
        match self.size.is_empty() {
            true => default.to_vec(),
            false => self.size.iter().map(|size| *size as usize).collect(),
        }
    }

    /// The methods, or all that these hosts allow.
    pub(super) fn methods(&self, here: &Here) -> Vec<LinkMethod> {
        if !self.method.is_empty() {
            return self.method.clone();
        }
        let has_interface = here.hosts.interface().is_some();
        let is_possible =
            |method: &LinkMethod| method.is_numbered() && (has_interface || *method != LinkMethod::Xdp);
        LinkMethod::ALL.into_iter().filter(is_possible).collect()
    }
}

/// A receive buffer by name: `default`, or a size.
pub(super) fn buffer(text: &str) -> Result<(String, u64), String> {
    if text != "default" {
        let size: ByteSize = text.parse().map_err(|error| format!("{error}, or `default`"))?;
        return Ok((text.to_owned(), size.bytes));
    }
    let found =
        std::fs::read_to_string(DEFAULT_BUFFER).map_err(|error| format!("{DEFAULT_BUFFER}: {error}"))?;
    let bytes = found.trim().parse().map_err(|_| format!("{DEFAULT_BUFFER}: found `{}`", found.trim()))?;
    Ok((text.to_owned(), bytes))
}

/// Begins a measurement here, with a core for each end.
pub(super) fn begin(kind: &str, title: &str, here: &Here) -> Result<Session, CommandError> {
    let cores = format!("sender {}, receiver {}", here.sender_core, here.receiver_core);
    Ok(begin_without_cores(kind, title, here)?.setting("cores", cores))
}

/// Begins a measurement here, of which only it knows who is on which core.
pub(super) fn begin_without_cores(kind: &str, title: &str, here: &Here) -> Result<Session, CommandError> {
    let place = match (here.hosts.has_namespaces(), here.hosts.other()) {
        (true, _) => "two network namespaces, veth",
        (false, Some(_)) => "this one and another, by an agent",
        (false, None) => "loopback",
    };
    begin_at(kind, title, here.hosts.interface(), place)
}

/// Begins a measurement whose packets come in by this interface, at a place in words.
pub(super) fn begin_at(
    kind: &str,
    title: &str,
    interface: Option<&str>,
    place: &str,
) -> Result<Session, CommandError> {
    let mut command = command_line();
    command.retain(|word| word != within::OPTION);
    let interfaces: Vec<String> = interface.map(str::to_owned).into_iter().collect();
    let session = Session::begin(kind, title, &command, &LocalHost::new(), &interfaces)?;
    Ok(session.setting("hosts", place))
}

/// Runs points here, with this program; reports go into `folder`.
pub(super) fn runner<'a>(here: &'a Here, folder: &Path) -> Result<PointRunner<'a>, CommandError> {
    Ok(PointRunner {
        hosts: &here.hosts,
        program: std::env::current_exe()?,
        folder: folder.to_owned(),
        sender_core: here.sender_core,
        receiver_core: here.receiver_core,
        stop: &here.stop,
    })
}

/// A folder for the reports of the programs.
pub(super) fn folder_for_reports() -> Result<TempDir, CommandError> {
    own_folder::make_in(&std::env::temp_dir(), "measure")
}

/// A line on the terminal about what has been measured, unless the result is printed for a program.
pub(super) fn tell(result: &ResultArguments, line: &str) {
    if !result.json {
        eprintln!("{line}");
    }
}

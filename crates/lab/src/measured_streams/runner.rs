//! A point, run.

use super::programs::{ReceiverSettings, StreamPrograms, streams};
use super::{MeasuredStreams, StreamPoint, StreamThreads, reports};
use crate::measured_link::program::{PATIENCE, Program, nanoseconds};
use crate::measured_link::reports::{json, wrong};
use crate::measured_link::{MeasureError, ProcessorAccount};
use crate::remote_host::sender_host;
use crate::two_hosts::TwoHosts;
use evforge_core::quantity::Rate;
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::losses::LossLocation;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Nothing comes any more if nothing has come for so long. A sender may stand still for some tenths of a second where other programs want
/// its core.
const IDLE: Duration = Duration::from_secs(1);
/// Bytes of the smallest packet that a queue holds, with what is known of it: for the longest time that a worker may need at the end.
const SMALLEST: u64 = 64;

/// Runs points.
pub struct StreamRunner<'a> {
    /// Where.
    pub hosts: &'a TwoHosts,
    /// The program `evforge`.
    pub program: PathBuf,
    /// A folder for the reports.
    pub folder: PathBuf,
    /// Core of the sender, which sends all streams.
    pub sender_core: usize,
    /// Cores of this host that are watched.
    pub watched: Vec<usize>,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

impl StreamRunner<'_> {
    /// Sends and receives once.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or a report lacks something or does not account for all packets; if `stop` is set.
    pub fn run(&self, point: &StreamPoint) -> Result<MeasuredStreams, MeasureError> {
        let (sent, received) = (self.folder.join("sent.json"), self.folder.join("received.json"));
        // A report of the point before is none of this one.
        let _ = std::fs::remove_file(&sent);
        let programs = StreamPrograms { hosts: self.hosts, program: &self.program, stop: self.stop };
        let most = point.time + PATIENCE;
        let settings = ReceiverSettings {
            streams: point.streams,
            buffer: point.buffer,
            idle: IDLE,
            most,
            sent: Some(&sent),
            received: &received,
        };
        let (mut receiver, addresses) = programs.start_receiver(&settings, &receiver_options(point))?;
        let (before, backlog_before) = (ProcessorAccount::read(), backlog_drops());
        let sender = self.sender(&programs, point, &addresses, &sent);
        let mut sender = Program::start(sender, "evforge drop send")?;
        let status = sender.wait(most, self.stop)?;
        if !status.success() && is_refused(&sent) {
            return Err(sender.failed(&format!(
                "the receiver had ended, as nothing had come for {IDLE:?}: the sender stood still. Something else keeps the cores busy"
            )));
        }
        sender.check(status)?;
        let after = ProcessorAccount::read();
        let backlog = backlog_drops().saturating_sub(backlog_before);
        let report = programs.report(&mut receiver, most + at_the_end(point), &received)?;
        let of = |report| streams(report)?.iter().map(reports::point).collect::<Result<Vec<_>, String>>();
        let streams = of(&report).map_err(|problem| wrong(&received, problem))?;
        let shares = |core: usize| Some((core, after.since(&before, core)?));
        let sender_core = match self.hosts.other() {
            Some(_) => sender_host(&sent).core,
            None => after.since(&before, self.sender_core),
        };
        let cores = self.watched.iter().filter_map(|core| shares(*core)).collect();
        let mut measured = MeasuredStreams { streams, cores, sender_core };
        // Other packets of the host are counted there, too: never more than is missing.
        measured.locate(LossLocation::KernelBacklog.name(), backlog);
        Ok(measured)
    }

    fn sender(
        &self,
        programs: &StreamPrograms<'_>,
        point: &StreamPoint,
        to: &[SocketAddr],
        sent: &Path,
    ) -> Command {
        let mut command = programs.sender(to, point.data_bytes, self.sender_core, sent);
        command.args(["--segment", "--for", &nanoseconds(point.time)]);
        match point.rate {
            Some(Rate::Packets(rate)) => command.args(["--rate", &format!("{rate}pps")]),
            Some(Rate::Bits(rate)) => command.args(["--rate", &format!("{rate}bit/s")]),
            None => &mut command,
        };
        command
    }
}

fn receiver_options(point: &StreamPoint) -> Vec<String> {
    let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut options = vec!["--work".to_owned(), nanoseconds(point.work), "--count".to_owned()];
    options.push(if point.counts_words { "on" } else { "off" }.to_owned());
    match &point.threads {
        StreamThreads::Each(cores) if cores.is_empty() => {}
        StreamThreads::Each(cores) => options.extend(["--cores".to_owned(), list(cores)]),
        StreamThreads::Workers { receiver, workers } => {
            options.extend(["--workers".to_owned(), "--cores".to_owned(), receiver.to_string()]);
            options.extend(["--worker-cores".to_owned(), list(workers)]);
            options.extend(["--queue".to_owned(), format!("{}B", point.queue)]);
        }
    }
    options
}

/// How long what waits in the queues and buffers may take when all has been sent.
fn at_the_end(point: &StreamPoint) -> Duration {
    let waiting = (point.queue + point.buffer) / SMALLEST.max(point.data_bytes);
    point.work.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX))
}

/// True if a sender reports that nobody listened.
fn is_refused(sent: &Path) -> bool {
    let report = json(sent).unwrap_or_default();
    let streams = report["streams"].as_array();
    streams.is_some_and(|streams| streams.iter().any(|stream| stream["refused"].as_u64() > Some(0)))
}

/// Packets that found the queue of a core full, of the whole host; 0 if the kernel does not tell, and what is missing stays unlocated.
fn backlog_drops() -> u64 {
    KernelCounters::read().map_or(0, |counters| counters.backlog_drops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_nobody_listened_to_is_told_from_one_that_failed_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sent.json");
        assert!(!is_refused(&path), "there is no report");
        std::fs::write(&path, r#"{"streams": [{"refused": 0}, {"refused": 0}]}"#).unwrap();
        assert!(!is_refused(&path));
        std::fs::write(&path, r#"{"streams": [{"refused": 0}, {"refused": 3}]}"#).unwrap();
        assert!(is_refused(&path));
    }
}

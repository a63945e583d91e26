//! `evforge drop send` and `evforge drop receive` on two hosts.

use crate::measured_link::MeasureError;
use crate::measured_link::program::Program;
use crate::measured_link::reports::json;
use crate::two_hosts::{End, TwoHosts};
use serde_json::Value;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The programs.
pub(crate) struct StreamPrograms<'a> {
    /// Where.
    pub hosts: &'a TwoHosts,
    /// The program `evforge`.
    pub program: &'a Path,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

/// What every receiver of streams is told.
pub(crate) struct ReceiverSettings<'a> {
    pub streams: u16,
    /// Receive buffer of each stream, in bytes.
    pub buffer: u64,
    /// It ends when nothing has come for so long.
    pub idle: Duration,
    /// It ends after this at the latest.
    pub most: Duration,
    /// The file that the sender's report will be in.
    pub sent: Option<&'a Path>,
    /// The file for its own report.
    pub received: &'a Path,
}

impl StreamPrograms<'_> {
    /// Starts the receiver of all streams, with these further options: its addresses.
    pub(crate) fn start_receiver(
        &self,
        settings: &ReceiverSettings<'_>,
        options: &[String],
    ) -> Result<(Program, Vec<SocketAddr>), MeasureError> {
        // What is read in the end must not be of a run before.
        let _ = std::fs::remove_file(settings.received);
        let mut command = self.hosts.command(End::Receiver, self.program);
        // A key that is pressed to end all must not end it before the sender.
        command.process_group(0);
        command.args(["drop", "receive", "--overwrite", "--port", "0"]);
        command.args(["--streams", &settings.streams.to_string()]);
        command.args(["--address", &self.hosts.address(End::Receiver).to_string()]);
        command.args(["--idle", &milliseconds(settings.idle), "--for", &milliseconds(settings.most)]);
        command.args(["--buffer", &format!("{}B", settings.buffer)]).args(options);
        settings.sent.into_iter().for_each(|sent| {
            command.arg("--sent").arg(sent);
        });
        command.arg("--report").arg(settings.received);
        let mut receiver = Program::start(command, "evforge drop receive")?;
        let addresses = (0..settings.streams).map(|_| receiver.address()).collect::<Result<_, _>>()?;
        Ok((receiver, addresses))
    }

    /// A sender of a stream to each of these addresses, with packets of this much data at most; what else it is told is added by whoever
    /// starts it.
    pub(crate) fn sender(&self, to: &[SocketAddr], data_bytes: u64, core: usize, sent: &Path) -> Command {
        let mut command = self.hosts.command(End::Sender, self.program);
        command.process_group(0);
        command.args(["drop", "send", "--overwrite", "--quiet"]);
        to.iter().for_each(|to| {
            command.args(["--to", &to.to_string()]);
        });
        command.args(["--packet", &format!("{data_bytes}B"), "--cores", &core.to_string()]);
        command.arg("--report").arg(sent);
        command
    }

    /// Waits for the receiver's end: its report. Its status is bad where something was lost, which the report says.
    pub(crate) fn report(
        &self,
        receiver: &mut Program,
        most: Duration,
        path: &Path,
    ) -> Result<Value, MeasureError> {
        let status = receiver.wait(most, self.stop)?;
        if !path.exists() {
            receiver.check(status)?;
        }
        json(path)
    }
}

/// The streams of a receiver's report.
pub(crate) fn streams(report: &Value) -> Result<&Vec<Value>, String> {
    report["streams"].as_array().ok_or_else(|| "has no /streams".to_owned())
}

fn milliseconds(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

//! A point, run.

use super::program::{PATIENCE, Program};
use super::{LinkPoint, MeasureError, MeasuredPoint, ProcessorAccount, reports};
use crate::remote_host::sender_host;
use crate::two_hosts::{End, TwoHosts};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Nothing comes any more if nothing has come for so long.
const IDLE: &str = "300ms";

/// Runs points.
pub struct PointRunner<'a> {
    /// Where.
    pub hosts: &'a TwoHosts,
    /// The program `evforge`.
    pub program: PathBuf,
    /// A folder for the reports.
    pub folder: PathBuf,
    /// Core of the sender.
    pub sender_core: usize,
    /// Core of the receiver.
    pub receiver_core: usize,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

impl PointRunner<'_> {
    /// Sends and receives once.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or its report lacks something; if `stop` is set.
    pub fn run(&self, point: &LinkPoint) -> Result<MeasuredPoint, MeasureError> {
        let (sent, received) = (self.folder.join("sent.json"), self.folder.join("received.json"));
        let (mut receiver, address) = self.start_receiver(point, &sent, &received)?;
        let most = point.time + PATIENCE;
        let (before, clock) = (ProcessorAccount::read(), Instant::now());
        let mut sender = Program::start(self.sender(point, address, &sent), "evforge send")?;
        sender.wait_good(most, self.stop)?;
        let (after, seconds) = (ProcessorAccount::read(), clock.elapsed().as_secs_f64());
        receiver.wait_good(most, self.stop)?;
        let sender_core = match self.hosts.other() {
            Some(_) => sender_host(&sent).core,
            None => after.since(&before, self.sender_core),
        };
        Ok(MeasuredPoint {
            sender_core,
            receiver_core: after.since(&before, self.receiver_core),
            interrupts_per_second: after.interrupts_since(&before).map(|count| count as f64 / seconds),
            ..reports::read(&received)?
        })
    }

    fn start_receiver(
        &self,
        point: &LinkPoint,
        sent: &std::path::Path,
        received: &std::path::Path,
    ) -> Result<(Program, SocketAddr), MeasureError> {
        let mut command = self.hosts.command(End::Receiver, &self.program);
        command.args(["receive", "--overwrite", "--idle", IDLE, "--port", "0"]);
        command.args(["--address", &self.hosts.address(End::Receiver).to_string()]);
        command.args(["--buffer", &format!("{}B", point.buffer), "--core", &self.receiver_core.to_string()]);
        command.args(["--work", &nanoseconds(point.work), "--for", &nanoseconds(point.time + PATIENCE)]);
        command.args(point.method.receiver_options());
        if point.method.names_interface() {
            command.arg(self.hosts.interface().unwrap_or("lo"));
        }
        command.arg("--sent").arg(sent).arg("--report").arg(received);
        let mut receiver = Program::start(command, "evforge receive")?;
        let address = receiver.address()?;
        Ok((receiver, address))
    }

    fn sender(&self, point: &LinkPoint, to: SocketAddr, sent: &std::path::Path) -> Command {
        let mut command = self.hosts.command(End::Sender, &self.program);
        command.args(["send", "--overwrite", "--quiet", "--size", &format!("{}B", point.size)]);
        command.args(["--to", &to.to_string()]);
        command.args(["--core", &self.sender_core.to_string(), "--for", &nanoseconds(point.time)]);
        match point.rate {
            Some(rate) => command.args(["--rate", &format!("{rate}pps")]),
            None => command.arg("--unpaced"),
        };
        if let Some(bytes) = point.bytes {
            command.args(["--bytes", &format!("{bytes}B")]);
        }
        command.args(point.method.sender_options()).arg("--report").arg(sent);
        command
    }
}

fn nanoseconds(time: Duration) -> String {
    format!("{}ns", time.as_nanos())
}

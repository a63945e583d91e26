//! A point of the formation, run.

use super::reports;
use super::{Destination, FormationLoad, FormationPoint, LoadSource};
use crate::measured_link::MeasureError;
use crate::measured_link::program::{PATIENCE, Program};
use crate::two_hosts::{End, TwoHosts};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The run ends when nothing has come for so long.
const IDLE: Duration = Duration::from_millis(500);
/// What a run may need after that for its last events, its files and its report, whatever its rate: it is not counted against it.
const TO_END: Duration = Duration::from_millis(200);
/// A load is sent within this time, however slowly.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs points.
pub struct FormationRunner<'a> {
    /// Where.
    pub hosts: &'a TwoHosts,
    /// The program `evforge`.
    pub program: PathBuf,
    /// A folder for reports and files.
    pub folder: PathBuf,
    /// Keys of the configuration that are set for the run, as `--set` takes them.
    pub keys: Vec<String>,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

impl FormationRunner<'_> {
    /// Sends the load once, at so many packets per second (none: as fast as possible), to a run that hands its events to `into`.
    ///
    /// # Errors
    /// If one of the programs fails or does not end, or its report lacks something; if `stop` is set.
    pub fn run(
        &self,
        load: &FormationLoad,
        into: Destination,
        rate: Option<u64>,
    ) -> Result<FormationPoint, MeasureError> {
        let (sent, report) = (self.folder.join("sent.json"), self.folder.join("run.json"));
        let mut run = Program::start(self.receiver(load, into, &report), "evforge run")?;
        let to = run.address()?;
        Program::start(self.sender(load, to, rate, &sent), "the sender")?.wait_good(LONGEST, self.stop)?;
        let sent_all = Instant::now();
        run.wait_good(PATIENCE, self.stop)?;
        // What is not received and formed while packets are sent waits in a queue: a run that keeps up has none left.
        let behind = sent_all.elapsed().saturating_sub(IDLE + TO_END);
        reports::join(&sent, &report, behind, run.processor())
    }

    fn receiver(&self, load: &FormationLoad, into: Destination, report: &Path) -> Command {
        let mut command = self.hosts.command(End::Receiver, &self.program);
        let address = SocketAddr::new(self.hosts.address(End::Receiver), 0);
        command.args(["run", "--overwrite", "--idle", &format!("{}ms", IDLE.as_millis())]);
        command.args(["--for", "15min", "--config"]).arg(&load.config);
        command.args(["--set", &format!("receive.address=\"{address}\"")]).arg("--report").arg(report);
        for key in &self.keys {
            command.args(["--set", key]);
        }
        match into {
            Destination::Nothing => &mut command,
            Destination::Nexus => command.arg("--nexus").arg(self.folder.join("events.nxs")),
            Destination::View => command.args(["--view", "127.0.0.1:0"]),
        };
        command
    }

    fn sender(&self, load: &FormationLoad, to: SocketAddr, rate: Option<u64>, report: &Path) -> Command {
        let mut command = self.hosts.command(End::Sender, &self.program);
        match &load.source {
            LoadSource::Capture(path) => {
                command.arg("replay").arg(path);
                match rate {
                    Some(rate) => command.args(["--rate", &format!("{rate}pps")]),
                    None => command.arg("--unpaced"),
                };
            }
            LoadSource::Repeated { pulses, times, neutrons } => {
                command.arg("simulate").arg("--config").arg(&load.config);
                command.args(["--neutrons", &format!("{neutrons}Hz"), "--pulses", &pulses.to_string()]);
                command.args(["--repeat", &times.to_string()]);
                match rate.zip(load.natural_rate) {
                    Some((rate, natural)) => {
                        command.args(["--speed", &format!("{:.6}", rate as f64 / natural)])
                    }
                    None => command.arg("--prebuilt"),
                };
            }
        }
        command.args(["--to", &to.to_string(), "--overwrite", "--report"]).arg(report);
        command
    }
}

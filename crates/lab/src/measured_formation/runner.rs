//! A point of the formation, run.

use super::reports;
use super::{Destination, FormationLoad, FormationPoint, LoadSource};
use crate::measured_link::program::{PATIENCE, Program};
use crate::measured_link::{MeasureError, ThreadTimes};
use crate::two_hosts::{End, TwoHosts};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The run ends when nothing has come for so long and the sender has reported.
const IDLE: Duration = Duration::from_millis(500);
/// What a run may need after that for its last events, its files and its report, whatever its rate: it is not counted against it.
const TO_END: Duration = Duration::from_millis(200);
/// Times that a sender that sends nothing is started.
const MOST_TRIES: usize = 10;
/// A load is sent within this time, however slowly.
const LONGEST: Duration = Duration::from_secs(600);

/// Where events go that go to Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaTopic {
    /// A broker that the run reaches: `127.0.0.1:9092`.
    pub broker: SocketAddr,
    /// The topic, which is made if it is not there, and its ledger with it.
    pub topic: String,
}

impl KafkaTopic {
    /// Keys of the configuration. Beam monitors stay away from the topic of the real instrument.
    fn keys(&self) -> [String; 4] {
        [
            format!("outputs.kafka.brokers=\"{}\"", self.broker),
            format!("outputs.kafka.topic=\"{}\"", self.topic),
            "outputs.kafka.create_topics=true".to_owned(),
            "outputs.kafka.monitors=\"none\"".to_owned(),
        ]
    }
}

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
    /// Where events go that go to Kafka; none if none do.
    pub kafka: Option<KafkaTopic>,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

/// A run that is ready for packets; none has been sent.
pub(crate) struct ReadyRun {
    /// Where its live view is, if it has one.
    pub(crate) page: Option<SocketAddr>,
}

/// Whatever looks at a run from when it is ready.
pub(crate) trait Watch {
    /// Everything has been sent: the run ends by itself soon, and answers nobody then.
    fn all_sent(&self) {}
}

impl Watch for () {}

/// A run that has ended, with what watched it.
pub(crate) struct WatchedRun<W> {
    pub(crate) point: FormationPoint,
    /// What the run itself says.
    pub(crate) report: Value,
    /// File of the report, for errors.
    pub(crate) file: PathBuf,
    /// Processor time of all threads since the run was ready, to 10 ms.
    pub(crate) processor: Duration,
    /// The same of each thread, to 50 ms at its end.
    pub(crate) threads: ThreadTimes,
    /// What was begun when the run was ready.
    pub(crate) watch: W,
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
        self.run_watched(load, into, rate, &[], |_| Ok(())).map(|run| run.point)
    }

    /// The same, with further options of the run, and with `begin` called when it is ready.
    ///
    /// # Errors
    /// As [`FormationRunner::run`], and those of `begin`.
    pub(crate) fn run_watched<W: Watch>(
        &self,
        load: &FormationLoad,
        into: Destination,
        rate: Option<u64>,
        options: &[String],
        begin: impl FnOnce(&ReadyRun) -> Result<W, MeasureError>,
    ) -> Result<WatchedRun<W>, MeasureError> {
        let (sent, report) = (self.folder.join("sent.json"), self.folder.join("run.json"));
        // What is read in the end must not be of the measurement before.
        let _ = std::fs::remove_file(&report);
        let mut command = self.receiver(load, into, &report)?;
        command.arg("--sent").arg(&sent).args(options);
        let mut run = Program::start(command, "evforge run")?;
        let to = run.address()?;
        let page = if into == Destination::View { Some(run.page()?) } else { None };
        let (before, threads_before) = (run.processor_now().unwrap_or_default(), run.threads().clone());
        let watch = begin(&ReadyRun { page })?;
        // A host that holds the sender up for all of its time lets it send nothing, and the run waits for a first packet.
        for _ in 0..MOST_TRIES {
            let _ = std::fs::remove_file(&sent);
            Program::start(self.sender(load, to, rate, &sent), "the sender")?
                .wait_good(LONGEST, self.stop)?;
            if reports::packets_sent(&sent)? > 0 {
                break;
            }
        }
        let sent_all = Instant::now();
        watch.all_sent();
        let status = run.wait(PATIENCE, self.stop)?;
        // What is not received and formed while packets are sent waits in a queue: a run that keeps up has none left.
        let behind = sent_all.elapsed().saturating_sub(IDLE + TO_END);
        let processor = run.processor();
        if !report.exists() {
            run.check(status)?;
        }
        let (point, value) = reports::join(&sent, &report, behind, processor)?;
        // A run ends badly as well where an output was too slow: that is a loss like others, and one of them is what is searched.
        if point.packets.lost == 0 {
            run.check(status)?;
        }
        Ok(WatchedRun {
            point,
            report: value,
            file: report,
            processor: processor.saturating_sub(before),
            threads: run.threads().since(&threads_before),
            watch,
        })
    }

    fn receiver(
        &self,
        load: &FormationLoad,
        into: Destination,
        report: &Path,
    ) -> Result<Command, MeasureError> {
        let mut command = self.hosts.command(End::Receiver, &self.program);
        // Whatever a run keeps for itself, such as the token of its page, goes with the reports.
        command.env("TMPDIR", &self.folder).env_remove("XDG_RUNTIME_DIR");
        let address = SocketAddr::new(self.hosts.address(End::Receiver), 0);
        command.args(["run", "--overwrite", "--idle", &format!("{}ms", IDLE.as_millis())]);
        command.args(["--for", "15min", "--config"]).arg(&load.config);
        command.args(["--set", &format!("receive.address=\"{address}\"")]).arg("--report").arg(report);
        match into {
            Destination::Nothing => &mut command,
            Destination::Nexus => command.arg("--nexus").arg(self.folder.join("events.nxs")),
            Destination::View => command.args(["--view", "127.0.0.1:0"]),
            Destination::Kafka => {
                let topic = self.kafka.as_ref().ok_or_else(|| MeasureError::Failed {
                    program: "a run into Kafka".to_owned(),
                    said: "no broker is named: give --kafka HOST:PORT".to_owned(),
                })?;
                command.args(topic.keys().iter().flat_map(|key| ["--set", key]))
            }
        };
        // Last, so that they hold against those above.
        for key in &self.keys {
            command.args(["--set", key]);
        }
        Ok(command)
    }

    fn sender(&self, load: &FormationLoad, to: SocketAddr, rate: Option<u64>, report: &Path) -> Command {
        let mut command = self.hosts.command(End::Sender, &self.program);
        match &load.source {
            LoadSource::Looped { path, time } => {
                command.arg("replay").arg(path);
                command.args(["--loop", "0", "--for", &format!("{}ms", time.as_millis())]);
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

//! A point, run.

use super::{LinkPoint, MeasureError, MeasuredPoint, ProcessorAccount, reports};
use crate::two_hosts::{End, TwoHosts};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Nothing comes any more if nothing has come for so long.
const IDLE: &str = "300ms";
/// How much longer than its packets a program may take to start, or to end.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(5);
/// What the receiver says when it is ready.
const READY: &str = "receiving at UDP ";
/// What is kept of what a program says, in bytes.
const MOST_SAID: u64 = 100_000;

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
        self.wait(&mut sender, most)?;
        let (after, seconds) = (ProcessorAccount::read(), clock.elapsed().as_secs_f64());
        self.wait(&mut receiver, most)?;
        Ok(MeasuredPoint {
            sender_core: after.since(&before, self.sender_core),
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
            command.arg(self.hosts.interface(End::Receiver));
        }
        command.arg("--sent").arg(sent).arg("--report").arg(received);
        let mut receiver = Program::start(command, "evforge receive")?;
        let line = receiver.wait_for(READY)?;
        let address = line.split_once(READY).and_then(|(_, address)| address.trim().parse().ok());
        let address = address.ok_or_else(|| receiver.failed(&format!("no address in `{line}`")))?;
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

    fn wait(&self, program: &mut Program, most: Duration) -> Result<(), MeasureError> {
        let end = Instant::now() + most;
        loop {
            if program.has_ended()? {
                return Ok(());
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(MeasureError::Stopped);
            }
            if Instant::now() > end {
                return Err(program.failed(&format!("it has not ended within {most:?}")));
            }
            std::thread::sleep(POLL);
        }
    }
}

fn nanoseconds(time: Duration) -> String {
    format!("{}ns", time.as_nanos())
}

/// A program under way, killed when dropped.
struct Program {
    child: Child,
    /// With its arguments.
    command: String,
    said: std::sync::mpsc::Receiver<String>,
}

impl Program {
    fn start(mut command: Command, name: &str) -> Result<Self, MeasureError> {
        let arguments: Vec<OsString> = command.get_args().map(Into::into).collect();
        let line: Vec<String> = arguments.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|source| MeasureError::Start { program: name.to_owned(), source })?;
        let (tell, said) = channel();
        if let Some(errors) = child.stderr.take() {
            // It must be read to its end, or the program could stop at a full pipe; what nobody asks for is dropped.
            std::thread::spawn(move || {
                let mut errors = BufReader::new(errors);
                for line in errors.by_ref().take(MOST_SAID).lines().map_while(Result::ok) {
                    let _ = tell.send(line);
                }
                drop(tell);
                let _ = std::io::copy(&mut errors, &mut std::io::sink());
            });
        }
        Ok(Self { child, command: format!("{name}: {}", line.join(" ")), said })
    }

    /// Waits until it says a line with this in it.
    fn wait_for(&mut self, wanted: &str) -> Result<String, MeasureError> {
        let end = Instant::now() + PATIENCE;
        let mut last = String::new();
        loop {
            match self.said.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(wanted) => return Ok(line),
                Ok(line) => last = line,
                Err(RecvTimeoutError::Timeout) => return Err(self.failed("it is not ready")),
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed(&last)),
            }
        }
    }

    fn has_ended(&mut self) -> Result<bool, MeasureError> {
        let status = self
            .child
            .try_wait()
            .map_err(|source| MeasureError::Start { program: self.command.clone(), source })?;
        match status {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => {
                let lines: Vec<String> = self.said.iter().collect();
                let tail = lines[lines.len().saturating_sub(3)..].join(" / ");
                Err(self.failed(&format!("{status}: {tail}")))
            }
        }
    }

    fn failed(&self, said: &str) -> MeasureError {
        MeasureError::Failed { program: self.command.clone(), said: said.to_owned() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

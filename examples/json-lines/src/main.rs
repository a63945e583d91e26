//! An example: evforge with an output of one's own. It sends events as lines of JSON to a TCP server.
//!
//! This file is all there is to an output: its settings, how it is made from them, what it does, and one line that adds it to
//! those that evforge comes with. Queue, policy, retries, alarms, counters in report, page and NeXus files, `run --check`
//! and the table `[outputs.json_lines]` come with it:
//! ```toml
//! [outputs.json_lines]
//! address = "127.0.0.1:9000"
//! memory = "16MB"              # of batches that have not been acknowledged
//! ```
//!
//! # On the wire
//! One line for each batch, `{"batch":17,"unix_ns":[…],"pixel_id":[…]}`, numbered from 0. The server answers each with its
//! number and the end of a line once the events are safe. A batch without an answer is sent again over the next connection,
//! so a server gets every batch at least once, and knows by the number which one it has already.

use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot};
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::quantity::ByteSize;
use evforge_core::run_state::RunState;
use evforge_outputs::{OutputContext, OutputPlan};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

fn main() -> ExitCode {
    let outputs = evforge::shipped_outputs();
    evforge::main_with(outputs.with::<JsonLinesSettings>("json_lines", "lines of JSON to a TCP server"))
}

evforge_core::counters! {
    /// Counters of lines of JSON over TCP.
    struct JsonLinesCounters: "json_lines" {
        lines_acknowledged: Information, Times, "Batches that the server has acknowledged.";
        lines_sent_again: Information, Times, "Batches sent again because the connection was lost before the answer.";
        connections_lost: Information, Times, "Connections that the server has closed, or that broke.";
    }
}

/// `[outputs.json_lines]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JsonLinesSettings {
    /// Where the server listens.
    address: SocketAddr,
    /// Most memory of batches that have not been acknowledged.
    #[serde(default = "default_memory")]
    memory: ByteSize,
}

fn default_memory() -> ByteSize {
    ByteSize { bytes: 16_000_000 }
}

impl OutputPlan for JsonLinesSettings {
    fn name(&self) -> String {
        format!("lines of JSON to {}", self.address)
    }

    fn counters(&self) -> Vec<CounterInfo> {
        JsonLinesCounters::infos().to_vec()
    }

    fn memory_bound(&self, context: &OutputContext) -> usize {
        // The batches, and one of them as text.
        self.memory.bytes as usize + context.batch_events * LONGEST_EVENT
    }

    fn open(self: Box<Self>, _: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        Ok(Box::new(JsonLines {
            settings: *self,
            connection: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            pending: 0,
            committed: 0,
            first: 0,
            counters: JsonLinesCounters::default(),
        }))
    }
}

/// Bytes of an event in a line: two numbers and their commas.
const LONGEST_EVENT: usize = 20 + 1 + 10 + 1;
/// Longest time to connect.
const CONNECT: Duration = Duration::from_millis(500);

/// Sends batches and keeps them until they are acknowledged.
struct JsonLines {
    settings: JsonLinesSettings,
    connection: Option<Connection>,
    /// Batches that have not been acknowledged, the first with the number `first`.
    kept: VecDeque<Arc<PulsedBatch>>,
    kept_bytes: u64,
    first: u64,
    /// Events in them.
    pending: u64,
    committed: u64,
    counters: JsonLinesCounters,
}

struct Connection {
    stream: TcpStream,
    /// The next of the batches that are kept to become a line.
    next: usize,
    /// What is left of the line that is being sent.
    line: VecDeque<u8>,
    /// The part of an answer that has come.
    answer: String,
}

impl JsonLines {
    /// Connects if there is no connection, sends what can be sent and takes the answers that are there.
    fn pump(&mut self) -> Result<(), OutputError> {
        let address = self.settings.address;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect_timeout(&address, CONNECT)
                    .and_then(|stream| stream.set_nonblocking(true).map(|()| stream))
                    .map_err(|error| OutputError::Retry(format!("no connection to {address}: {error}")))?;
                Connection { stream, next: 0, line: VecDeque::new(), answer: String::new() }
            }
        };
        match self.send(&mut connection).and_then(|()| self.receive(&mut connection)) {
            Ok(()) => {
                self.connection = Some(connection);
                Ok(())
            }
            Err(error) => {
                // What was sent and not acknowledged goes again over the next connection.
                self.counters.connections_lost += 1;
                self.counters.lines_sent_again += connection.next as u64;
                Err(OutputError::Retry(format!("the connection to {address} was lost: {error}")))
            }
        }
    }

    /// Sends as much as the connection takes.
    fn send(&self, connection: &mut Connection) -> std::io::Result<()> {
        loop {
            if connection.line.is_empty() {
                let Some(batch) = self.kept.get(connection.next) else { return Ok(()) };
                connection.line = line(self.first + connection.next as u64, batch).into_bytes().into();
                connection.next += 1;
            }
            match connection.stream.write(connection.line.as_slices().0) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => drop(connection.line.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the answers that are there.
    fn receive(&mut self, connection: &mut Connection) -> std::io::Result<()> {
        let mut bytes = [0; 4096];
        loop {
            match connection.stream.read(&mut bytes) {
                Ok(0) => {
                    return Err(std::io::Error::new(ErrorKind::UnexpectedEof, "the server has closed it"));
                }
                Ok(read) => connection.answer.push_str(&String::from_utf8_lossy(&bytes[..read])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            while let Some((number, rest)) = connection.answer.split_once('\n') {
                let is_next = number.trim().parse() == Ok(self.first) && connection.next > 0;
                if !is_next {
                    let text = format!("the server answered `{number}`, and not {}", self.first);
                    return Err(std::io::Error::new(ErrorKind::InvalidData, text));
                }
                connection.answer = rest.to_owned();
                connection.next -= 1;
                self.first += 1;
                self.counters.lines_acknowledged += 1;
                if let Some(batch) = self.kept.pop_front() {
                    self.kept_bytes -= batch.memory() as u64;
                    self.pending -= batch.len() as u64;
                    self.committed += batch.len() as u64;
                }
            }
            if connection.answer.len() > 64 {
                return Err(std::io::Error::new(ErrorKind::InvalidData, "the server answers without end"));
            }
        }
    }
}

/// A batch as a line. Events without a date, before 1970, have none: `null`.
fn line(number: u64, batch: &PulsedBatch) -> String {
    let mut text = format!("{{\"batch\":{number},\"unix_ns\":[");
    let calendar = batch.calendar();
    for (index, &time_ns) in batch.times_ns().iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing into memory cannot fail.
        let _ = match calendar.unix_ns(time_ns) {
            Some(time) => write!(text, "{comma}{time}"),
            None => write!(text, "{comma}null"),
        };
    }
    text.push_str("],\"pixel_id\":[");
    for (index, pixel) in batch.pixel_ids().iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{pixel}");
    }
    text.push_str("]}\n");
    text
}

impl Output for JsonLines {
    fn name(&self) -> String {
        format!("lines of JSON to {}", self.settings.address)
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        let bytes = batch.memory() as u64;
        if !self.kept.is_empty() && self.kept_bytes + bytes > self.settings.memory.bytes {
            return Ok(Taken::NotNow);
        }
        self.kept.push_back(Arc::clone(batch));
        self.kept_bytes += bytes;
        self.pending += batch.len() as u64;
        // What goes wrong with the connection is reported by the next poll: the batch is taken.
        if self.connection.is_some() {
            let _ = self.pump();
        }
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        self.pump()
    }

    fn progress(&self) -> OutputProgress {
        OutputProgress { committed: self.committed, pending: self.pending, left_out: 0, failed: 0 }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        self.pump()?;
        if self.kept.is_empty() {
            return Ok(());
        }
        Err(OutputError::Retry(format!("the last {} events have not been acknowledged yet", self.pending)))
    }

    fn abandon(&mut self) -> Option<String> {
        let _ = self.pump();
        Some(format!("the server has acknowledged {} events", self.committed))
    }
}

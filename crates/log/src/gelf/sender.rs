//! The thread that sends to Graylog, and the way to it.

use super::message::Identity;
use super::tcp::Tcp;
use super::udp::Udp;
use super::waiting::{Next, Waiting};
use crate::counters::LogCounts;
use crate::group::{Group, Level};
use crate::record::{Record, Severity};
use crate::settings::GelfSettings;
use evforge_core::quantity::grouped;
use std::io::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between attempts to connect: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// Looks whether the connection still stands, while nothing is said.
const LOOK: Duration = Duration::from_secs(1);
/// So long nobody may have refused a datagram until Graylog counts as back: over UDP, only refusals are heard of.
const BACK: Duration = Duration::from_secs(10);

/// Is told what concerns Graylog itself: for the other ways out.
pub(crate) type Tell = Box<dyn Fn(Record) + Send>;

/// The way to Graylog.
#[derive(Debug)]
pub struct GelfSender {
    waiting: Arc<Waiting>,
    counts: Arc<LogCounts>,
    level: Level,
}

impl GelfSender {
    /// Begins to send. Nothing fails here if Graylog is away: messages wait for it.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn start(
        settings: GelfSettings,
        identity: Identity,
        counts: Arc<LogCounts>,
        tell: Tell,
    ) -> Result<Self> {
        let waiting = Arc::new(Waiting::new(settings.queue));
        let level = settings.level;
        let mut thread = Thread {
            waiting: Arc::clone(&waiting),
            counts: Arc::clone(&counts),
            settings,
            identity,
            tell,
            has_complained: false,
        };
        std::thread::Builder::new().name("gelf".into()).spawn(move || thread.run())?;
        Ok(Self { waiting, counts, level })
    }

    /// Hands a message over. Does not wait: what finds no room is dropped, and counted.
    pub fn offer(&self, record: &Arc<Record>) {
        if record.level > self.level {
            return;
        }
        if !self.waiting.offer(Arc::clone(record)) {
            self.counts.count(|counts| counts.gelf_dropped_full += 1);
        }
    }

    /// How many messages wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.count()
    }

    /// Ends, when all is sent, or after `patience`.
    pub fn end(&self, patience: Duration) {
        let left = self.waiting.end(patience);
        self.counts.count(|counts| counts.gelf_dropped_end += left);
    }
}

struct Thread {
    waiting: Arc<Waiting>,
    counts: Arc<LogCounts>,
    settings: GelfSettings,
    identity: Identity,
    tell: Tell,
    /// Whether it was said that Graylog is away.
    has_complained: bool,
}

impl Thread {
    fn run(&mut self) {
        if self.settings.address.is_tcp {
            self.run_tcp();
        } else {
            self.run_udp();
        }
        self.waiting.leave();
    }

    fn run_udp(&mut self) {
        let mut udp = Udp::new(self.settings.clone());
        let mut away_since = None;
        loop {
            let record = match self.waiting.next(LOOK) {
                Next::Send(record) => record,
                Next::Nothing => continue,
                Next::End => return,
            };
            let was_refused = match udp.send(&record, &self.identity, &self.counts) {
                Ok(was_refused) => {
                    self.counts.count(|counts| counts.gelf_sent += 1);
                    was_refused.then(|| std::io::ErrorKind::ConnectionRefused.into())
                }
                Err(error) => Some(error),
            };
            match was_refused {
                Some(error) => {
                    away_since = Some(Instant::now());
                    self.counts.count(|counts| counts.gelf_dropped_failed += 1);
                    self.complain(&error);
                }
                None if away_since.is_some_and(|away: Instant| away.elapsed() >= BACK) => self.back(None),
                None => {}
            }
        }
    }

    fn run_tcp(&mut self) {
        let mut connection = self.connect();
        loop {
            let record = match self.waiting.next(LOOK) {
                Next::Send(record) => Some(record),
                Next::Nothing => None,
                Next::End => return,
            };
            loop {
                let Some(tcp) = &mut connection else { return };
                let sent = if tcp.is_closed() {
                    Err(std::io::ErrorKind::ConnectionReset.into())
                } else {
                    record.as_ref().map_or(Ok(()), |record| tcp.send(record, &self.identity))
                };
                match sent {
                    Ok(()) => break,
                    // The other side throws away what has no end, so that this message can be sent again.
                    Err(error) => {
                        self.counts.count(|counts| counts.gelf_connections_lost += 1);
                        self.complain(&error);
                        connection = self.connect();
                    }
                }
            }
            if record.is_some() {
                self.counts.count(|counts| counts.gelf_sent += 1);
            }
        }
    }

    /// Connects, however long it takes; none if the end has come before.
    fn connect(&mut self) -> Option<Tcp> {
        let mut pause = PAUSE.0;
        loop {
            match Tcp::connect(&self.settings.address) {
                Ok(mut tcp) => {
                    self.counts.count(|counts| counts.gelf_connections += 1);
                    self.back(Some(&mut tcp));
                    return Some(tcp);
                }
                Err(error) => self.complain(&error),
            }
            if self.waiting.pause(pause) {
                return None;
            }
            pause = (2 * pause).min(PAUSE.1);
        }
    }

    /// Says once that Graylog is away.
    fn complain(&mut self, error: &std::io::Error) {
        if std::mem::replace(&mut self.has_complained, true) {
            return;
        }
        let address = &self.settings.address;
        let what = if address.is_tcp {
            format!("up to {} messages wait for it", grouped(self.settings.queue as u64))
        } else {
            "its messages are lost until it is back".to_owned()
        };
        let text = format!("messages do not reach Graylog at {address}: {error}; {what}. The run goes on");
        (self.tell)(Record::new(Severity::Warning, Group::Run, text));
    }

    /// Says that Graylog is there again, and what it has not got.
    fn back(&mut self, tcp: Option<&mut Tcp>) {
        if !std::mem::take(&mut self.has_complained) {
            return;
        }
        let dropped = self.waiting.take_dropped();
        let lost = match dropped {
            0 => String::new(),
            dropped => format!("; {} messages found no room and are lost", grouped(dropped)),
        };
        let text = format!("Graylog at {} takes messages again{lost}", self.settings.address);
        let mut record = Record::new(Severity::Notice, Group::Run, text);
        record.fields.push(("dropped", dropped.into()));
        // Before those that have waited; if it does not arrive, the connection has broken again, which the next one finds.
        if let Some(tcp) = tcp
            && tcp.send(&record, &self.identity).is_ok()
        {
            self.counts.count(|counts| counts.gelf_sent += 1);
        }
        (self.tell)(record);
    }
}

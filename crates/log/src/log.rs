//! The log of a program: how it begins, is set up, and ends.

use crate::console;
use crate::control::LogControl;
use crate::counters::{LogCounters, LogCounts};
use crate::gelf::{GelfSender, Identity};
use crate::group::Group;
use crate::journald::{self, Journal};
use crate::layer::LogLayer;
use crate::limit::Limiter;
use crate::output::{Local, Outputs};
use crate::record::{Record, Severity};
use crate::settings::{Form, LogSettings};
use evforge_core::counter::{CounterSet, CounterSnapshot};
use std::fs::OpenOptions;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};
use tracing_subscriber::layer::SubscriberExt;

/// Looks for summaries that are due.
const LOOK: Duration = Duration::from_millis(500);
/// How long the end waits for Graylog.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// journald was asked for, and is not there.
    #[error(
        "journald does not take messages at {socket}: {0}. Leave out --log-format journald (or log.format), or take json",
        socket = journald::SOCKET
    )]
    Journald(std::io::Error),
    /// The file cannot be written.
    #[error("messages cannot be written to {path}: {error} (--log-file, log.file)")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The system gives no more threads.
    #[error("the thread of the log cannot be started: {0}")]
    Thread(std::io::Error),
}

/// A log. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Log {
    shared: Arc<Shared>,
    control: LogControl,
}

#[derive(Debug)]
struct Shared {
    counts: Arc<LogCounts>,
    limiter: Mutex<Limiter>,
    outputs: RwLock<Outputs>,
}

impl Default for Log {
    fn default() -> Self {
        let settings = LogSettings::default();
        let log = Self {
            shared: Arc::new(Shared {
                counts: Arc::default(),
                limiter: Mutex::new(Limiter::new(settings.repeats, settings.repeat_time.to_std())),
                outputs: RwLock::default(),
            }),
            control: LogControl::default(),
        };
        log.control.set_all(&settings.levels);
        log
    }
}

impl Log {
    /// The layer that brings what is said here. One [`Log`] may have several, of several threads.
    pub fn layer(&self) -> LogLayer {
        let shared = Arc::clone(&self.shared);
        LogLayer::new(self.control.clone(), Arc::new(move |record| shared.take(record)))
    }

    /// The handle by which groups are switched.
    pub fn control(&self) -> LogControl {
        self.control.clone()
    }

    /// Sets the log up as `settings` say, for this instrument; `quiet`: standard error gets nothing but warnings, errors and
    /// notices.
    ///
    /// # Errors
    /// If journald or the file cannot be had.
    pub fn set_up(&self, settings: &LogSettings, instrument: &str, quiet: bool) -> Result<(), LogError> {
        let local = match settings.format {
            Form::Human => Local::Human,
            Form::Json => Local::Json,
            Form::Journald => Local::Journald(Journal::open(journald::SOCKET).map_err(LogError::Journald)?),
            // Standard error leads to journald as well, if its socket cannot be had.
            Form::Auto if journald::is_standard_error() => {
                Journal::open(journald::SOCKET).map_or(Local::Human, Local::Journald)
            }
            Form::Auto => Local::Human,
        };
        let file = settings.file.as_ref().map(|path| {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            opened.map_err(|error| LogError::File { path: path.display().to_string(), error })
        });
        let file = file.transpose()?;
        let weak = Arc::downgrade(&self.shared);
        let gelf = settings.gelf.clone().map(|gelf| {
            let host = gelf.host.clone().unwrap_or_else(host_name);
            let identity = Identity { host, instrument: instrument.to_owned() };
            let tell = Box::new(move |record| tell(&weak, &record));
            GelfSender::start(gelf, identity, Arc::clone(&self.shared.counts), tell).map_err(LogError::Thread)
        });
        let gelf = gelf.transpose()?;
        let least = if quiet { Severity::Notice } else { Severity::Debug };
        let span = settings.repeat_time.to_std();
        let limiter = Limiter::new(settings.repeats, span);
        let before = std::mem::replace(
            &mut *self.shared.limiter.lock().unwrap_or_else(PoisonError::into_inner),
            limiter,
        );
        drop(before);
        *self.shared.outputs.write().unwrap_or_else(PoisonError::into_inner) =
            Outputs { local, least, file, gelf };
        self.control.set_all(&settings.levels);
        let weak = Arc::downgrade(&self.shared);
        let look = move || {
            while let Some(shared) = weak.upgrade() {
                shared.summarise(Instant::now());
                drop(shared);
                std::thread::sleep(LOOK);
            }
        };
        std::thread::Builder::new().name("log".into()).spawn(look).map_err(LogError::Thread)?;
        Ok(())
    }

    /// What was counted.
    pub fn counters(&self) -> LogCounters {
        let gelf_waiting = self.shared.with_outputs(|outputs| outputs.gelf.as_ref().map(GelfSender::waiting));
        LogCounters { gelf_waiting: gelf_waiting.unwrap_or(0), ..self.shared.counts.snapshot() }
    }

    /// Says what was held back, and waits for Graylog, not for long.
    pub fn end(&self) {
        let summaries =
            self.shared.limiter.lock().unwrap_or_else(PoisonError::into_inner).end(Instant::now());
        self.shared.with_outputs(|outputs| {
            summaries.into_iter().for_each(|summary| self.shared.deliver(summary, outputs));
            if let Some(gelf) = &outputs.gelf {
                gelf.end(PATIENCE);
            }
        });
    }

    /// Says what is not an event: what a command prints alongside. People see it as it is; others get it as a message.
    pub fn say(&self, text: &str) {
        // Whoever has it said has looked at --quiet.
        self.print(Severity::Notice, text, text.trim_end());
    }

    /// Says that the program, or a part of what it was asked for, has failed. People see it as it is.
    pub fn fail(&self, why: &str) {
        self.shared.counts.said(Severity::Error);
        self.print(Severity::Error, &format!("evforge: {why}\n"), why);
    }

    fn print(&self, severity: Severity, for_people: &str, message: &str) {
        self.shared.with_outputs(|outputs| {
            let counts = &self.shared.counts;
            let is_human = matches!(outputs.local, Local::Human);
            if is_human && console::write(for_people).is_err() {
                counts.count(|counts| counts.not_written += 1);
            }
            if message.trim().is_empty() {
                return;
            }
            let record = Arc::new(Record::new(severity, Group::Run, message));
            if !is_human {
                outputs.show(&record, counts);
            }
            outputs.file(&record, counts);
            if let Some(gelf) = outputs.gelf.as_ref().filter(|_| severity == Severity::Error) {
                gelf.offer(&record);
            }
        });
    }
}

impl Shared {
    fn with_outputs<T>(&self, ask: impl FnOnce(&Outputs) -> T) -> T {
        ask(&self.outputs.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what was said.
    fn take(&self, record: Record) {
        let mut summaries = Vec::new();
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let is_said = limiter.admit(&record, Instant::now(), &mut summaries);
        drop(limiter);
        self.counts.said(record.severity);
        if record.shortened {
            self.counts.count(|counts| counts.texts_shortened += 1);
        }
        if !is_said {
            self.counts.count(|counts| counts.repeats_held_back += 1);
        }
        if summaries.is_empty() && !is_said {
            return;
        }
        self.with_outputs(|outputs| {
            summaries.into_iter().for_each(|summary| self.deliver(summary, outputs));
            if is_said {
                self.deliver(record, outputs);
            }
        });
    }

    fn summarise(&self, now: Instant) {
        let due = self.limiter.lock().unwrap_or_else(PoisonError::into_inner).due(now);
        if !due.is_empty() {
            self.with_outputs(|outputs| due.into_iter().for_each(|summary| self.deliver(summary, outputs)));
        }
    }

    fn deliver(&self, record: Record, outputs: &Outputs) {
        outputs.deliver(&Arc::new(record), &self.counts);
    }
}

/// Tells people what the way to Graylog says of itself.
fn tell(shared: &Weak<Shared>, record: &Record) {
    if let Some(shared) = shared.upgrade() {
        shared.counts.said(record.severity);
        shared.with_outputs(|outputs| outputs.deliver_here(record, &shared.counts));
    }
}

/// The name of this host.
fn host_name() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = told.trim();
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}

static GLOBAL: OnceLock<Log> = OnceLock::new();

/// Begins the log of this program, for people, with the usual levels: [`Log::set_up`] follows when the configuration is known.
pub fn begin() -> &'static Log {
    GLOBAL.get_or_init(|| {
        let log = Log::default();
        // Fails if another subscriber has been set: then that one gets what is said.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.layer()));
        log
    })
}

/// The log of this program, if it has begun.
pub fn global() -> Option<&'static Log> {
    GLOBAL.get()
}

/// As [`Log::say`], of the log of this program; on standard error if there is none.
pub fn say(text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    match global() {
        Some(log) => log.say(&text),
        // A terminal that has gone away is no reason to stop.
        None => drop(console::write(&text)),
    }
}

/// As [`Log::fail`], of the log of this program; on standard error if there is none.
pub fn fail(why: &str) {
    match global() {
        Some(log) => log.fail(why),
        None => drop(console::write(&format!("evforge: {why}\n"))),
    }
}

/// The counters of the log of this program, for the state of a run; none if it has not begun.
pub fn stage() -> Option<(&'static str, CounterSnapshot)> {
    global().map(|log| (LogCounters::STAGE, CounterSnapshot::of(&log.counters())))
}

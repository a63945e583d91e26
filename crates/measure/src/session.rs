//! Beginning and ending a measurement.

use crate::error::MeasureError;
use crate::fingerprint::Fingerprint;
use crate::load::Load;
use crate::measurement::{Measurement, Setting, Verdict};
use evforge_host::Host;
use jiff::{Timestamp, Unit};
use std::time::{Duration, Instant};

/// How long the host is watched before anything is measured: two hundred ticks of the kernel's account on each core.
const WATCHED: Duration = Duration::from_secs(2);

/// A measurement that has begun: what it will depend on is known, nothing has been measured.
#[derive(Clone, Debug)]
pub struct Session {
    kind: String,
    title: String,
    command: Vec<String>,
    settings: Vec<Setting>,
    fingerprint: Fingerprint,
    began: Timestamp,
    clock: Instant,
}

impl Session {
    /// Takes the fingerprint of a host with these interfaces, and what else it is doing, for which it is watched for two seconds.
    /// `kind` is the name of the measurement's command, `command` the command line with the program first.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn begin(
        kind: &str,
        title: &str,
        command: &[String],
        host: &dyn Host,
        interfaces: &[String],
    ) -> Result<Self, MeasureError> {
        let mut fingerprint = Fingerprint::of(host, interfaces)?;
        fingerprint.load = Load::watch(host, WATCHED);
        Ok(Self::with(kind, title, command, fingerprint))
    }

    /// The same for what no host takes part in: the fingerprint is that of this program alone.
    pub fn without_host(kind: &str, title: &str, command: &[String]) -> Self {
        Self::with(kind, title, command, Fingerprint::of_program())
    }

    fn with(kind: &str, title: &str, command: &[String], fingerprint: Fingerprint) -> Self {
        Self {
            kind: kind.to_owned(),
            title: title.to_owned(),
            command: command.to_vec(),
            settings: Vec::new(),
            fingerprint,
            began: Timestamp::now(),
            clock: Instant::now(),
        }
    }

    /// Notes what was asked for.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.push(Setting::new(name, value));
        self
    }

    /// What the result will depend on.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Ends it: a result with this verdict and nothing in it yet. If the host was loaded, the first finding says so.
    pub fn end(self, verdict: Verdict) -> Measurement {
        let loaded = self.fingerprint.load.as_ref().filter(|load| load.is_loaded()).map(Load::sentence);
        Measurement {
            kind: self.kind,
            title: self.title,
            verdict,
            command: self.command,
            // The fraction of a second is of no use to anybody.
            began: self.began.round(Unit::Second).unwrap_or(self.began).to_string(),
            seconds: (self.clock.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            settings: self.settings,
            findings: loaded.into_iter().collect(),
            limits: Vec::new(),
            tables: Vec::new(),
            plots: Vec::new(),
            fingerprint: self.fingerprint,
        }
    }
}

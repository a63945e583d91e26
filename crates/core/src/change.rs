//! Parameters that are changed while a run goes on, from a time of the data on.
//!
//! A change holds for readouts, not for the moment at which somebody asked for it: a readout whose time is at or after that
//! of the change is judged by the new value, every other one by the old, however packets come in and however many
//! threads there are. So a change has to be known before the first readout that it may apply to: a detector says from which
//! time on that is so ([`Detector::earliest_change`](crate::detector::Detector::earliest_change)), and refuses what is earlier.
//! Decision record 35 has the reasons.

use std::sync::Arc;

/// Changes that a run takes at most: all of them are kept for its record.
pub const MOST_CHANGES: usize = 1 << 16;

/// A time of the data: what the electronics' clocks say, in the order in which they have said it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, get_size2::GetSize)]
pub struct ChangeTime {
    /// How often a source's clock has been restarted before: after a restart its times begin again.
    pub restarts: u32,
    /// Nanoseconds on the clock of the events.
    pub time_ns: u64,
}

impl std::fmt::Display for ChangeTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.restarts {
            0 => write!(f, "{} ns", self.time_ns),
            restarts => write!(f, "{} ns after {restarts} restarts of a source's clock", self.time_ns),
        }
    }
}

/// Memory of a text behind an [`Arc`], with the two counts in front of it.
fn shared(text: &Arc<str>) -> usize {
    (2 * size_of::<usize>() + text.len()).next_multiple_of(size_of::<usize>())
}

/// A parameter of a detector that can be changed while it runs.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Parameter {
    /// Its key in the detector's section of the configuration: `clustering.x.adc_threshold`.
    #[get_size(size_fn = shared)]
    pub key: Arc<str>,
    /// The value that holds from the last change on, which may be in the future.
    pub value: u64,
    /// Largest value; the smallest is 0.
    pub largest: u64,
    /// What it is counted in.
    pub unit: &'static str,
    /// What it does, in a sentence.
    pub help: &'static str,
}

/// A parameter gets another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// For readouts of this time and later ones.
    pub at: ChangeTime,
    /// Key of the [`Parameter`].
    pub key: Arc<str>,
    /// The value.
    pub value: u64,
}

/// Why a parameter is not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    /// The detector has nothing that can be changed while it runs.
    #[error(
        "this detector has no parameter that can be changed while a run goes on: {0}; change the configuration and \
         begin a new run"
    )]
    NotOffered(&'static str),
    /// No parameter has this key.
    #[error("no parameter {key:?} can be changed while a run goes on; these can: {known}")]
    Unknown {
        /// What was asked for.
        key: String,
        /// Those that there are.
        known: String,
    },
    /// The value is too large.
    #[error("{key} = {value}: expected 0 to {largest} {unit}")]
    OutOfRange {
        /// The parameter.
        key: String,
        /// What was asked for.
        value: u64,
        /// Its largest value.
        largest: u64,
        /// What it is counted in.
        unit: &'static str,
    },
    /// Readouts of that time may have been judged already.
    #[error(
        "from {at} on is too early: readouts up to there may have been judged already. The earliest time is {earliest}"
    )]
    TooEarly {
        /// What was asked for.
        at: ChangeTime,
        /// What is possible.
        earliest: ChangeTime,
    },
    /// No source has said yet what time it is.
    #[error("no time is known yet, because no source has sent any: give the time itself")]
    NoTimeYet,
    /// A run has its limit.
    #[error("a run takes at most {MOST_CHANGES} changes, and this one has had them: begin a new run")]
    TooMany,
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
}

/// Looks up the parameter that a change is for, and looks at the value.
///
/// # Errors
/// If there is no such parameter, or its value is out of range.
pub fn find_parameter(parameters: &[Parameter], key: &str, value: u64) -> Result<usize, ChangeRefusal> {
    let Some(place) = parameters.iter().position(|parameter| *parameter.key == *key) else {
        let known: Vec<&str> = parameters.iter().map(|parameter| &*parameter.key).collect();
        return Err(ChangeRefusal::Unknown { key: key.to_owned(), known: known.join(", ") });
    };
    let Parameter { largest, unit, .. } = parameters[place];
    if value > largest {
        return Err(ChangeRefusal::OutOfRange { key: key.to_owned(), value, largest, unit });
    }
    Ok(place)
}

impl Change {
    /// The same change with its key as the detector knows it: without the name of its section, or `detector`, which stands
    /// for it.
    #[must_use]
    pub fn in_section(&self, section: &str) -> Self {
        let without = |name: &str| self.key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let key = without(section).or_else(|| without("detector"));
        Self { key: key.map_or_else(|| Arc::clone(&self.key), Arc::from), ..*self }
    }

    /// The same change with its key as it is in the configuration.
    #[must_use]
    pub fn with_section(&self, section: &str) -> Self {
        Self { key: format!("{section}.{}", self.in_section(section).key).into(), ..*self }
    }
}

/// The changes of a run, in the order in which they were taken: its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeRecord {
    changes: Arc<Vec<Change>>,
}

impl ChangeRecord {
    /// Adds a change that has been taken.
    pub fn push(&mut self, change: Change) {
        Arc::make_mut(&mut self.changes).push(change);
    }

    /// The changes.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

//! Topics, and what they are read for.

/// What a topic is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicRole {
    /// Events of detectors, and whatever travels with them.
    Events,
    /// Events and histograms of beam monitors.
    Monitors,
    /// Values of logs.
    Logs,
    /// Ledgers of runs: what they tell of themselves.
    Ledgers,
}

/// A topic to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicUse {
    /// Its name.
    pub name: String,
    /// What it is read for.
    pub role: TopicRole,
}

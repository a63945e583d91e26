//! How much may wait for an output, and what happens when it is too much.

use evforge_core::quantity::{ByteSize, TimeSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do with a file that exists when an output begins: the key `if_exists`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    /// Do not begin the run.
    #[default]
    Refuse,
    /// Replace it, at the end.
    Overwrite,
}

/// What to do with events that come while the queue of an output is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// Wait until there is room. From a file nothing is lost; live, forming waits with it, and what then does not fit into
    /// the queue before it is dropped and counted there ("own queue").
    Wait,
    /// Drop the newest batch, for this output only, and count its events.
    DropNewest,
    /// Drop the oldest batch that waits, for this output only, and count its events.
    DropOldest,
    /// End the run in good order: without this output the data are of no use.
    Stop,
}

impl WhenFull {
    /// As it is written in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::DropNewest => "drop_newest",
            Self::DropOldest => "drop_oldest",
            Self::Stop => "stop",
        }
    }
}

/// The queue of an output: it is full when one of the limits is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// Events that may wait.
    pub events: u64,
    /// Bytes that what waits may hold in memory. A single batch always has room.
    pub memory: u64,
    /// What happens then. A run over a file waits in any case, unless this says `stop`.
    pub when_full: WhenFull,
    /// How long the output may take at the end of the run to bring everything to where it belongs.
    pub finish_within: std::time::Duration,
    /// True if the output only needs to be up to date, so that dropping is no fault.
    pub may_drop: bool,
}

impl QueueSettings {
    /// For an output that must have everything: files and messages. It may fall behind by two million events.
    pub const COMPLETE: Self = Self {
        events: 1 << 21,
        memory: 36_000_000,
        when_full: WhenFull::DropNewest,
        finish_within: std::time::Duration::from_secs(10),
        may_drop: false,
    };

    /// For an output that only needs to be up to date: pictures. It may fall behind by 65 536 events.
    pub const PICTURE: Self = Self { events: 1 << 16, memory: 1_200_000, may_drop: true, ..Self::COMPLETE };

    /// With what a table of the configuration says.
    pub(crate) fn with(self, keys: &QueueKeys) -> Self {
        Self {
            events: keys.queue_events.unwrap_or(self.events),
            memory: keys.queue_memory.map_or(self.memory, |size| size.bytes),
            when_full: keys.when_full.unwrap_or(self.when_full),
            finish_within: keys.finish_within.map_or(self.finish_within, TimeSpan::to_std),
            // Whoever asks for a policy wants to know when it could not be kept.
            may_drop: self.may_drop && keys.when_full.is_none(),
        }
    }
}

/// Keys that the table of every output may have.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueKeys {
    /// Events that may wait for it.
    #[schemars(range(min = 1), extend("x-default" = "2 097 152; `view` 65 536"))]
    queue_events: Option<u64>,
    /// Memory that they may take.
    #[schemars(extend("x-range" = "above 0", "x-default" = "36 MB; `view` 1.2 MB"))]
    queue_memory: Option<ByteSize>,
    /// What happens in a live run when either limit is reached. From a file every output waits, except for `"stop"`.
    #[schemars(extend("default" = "drop_newest"))]
    when_full: Option<WhenFull>,
    /// How long it may still be delayed after the end of the run.
    #[schemars(extend("default" = "10s"))]
    finish_within: Option<TimeSpan>,
}

impl QueueKeys {
    /// Their names.
    pub(crate) const NAMES: [&str; 4] = ["queue_events", "queue_memory", "when_full", "finish_within"];
}

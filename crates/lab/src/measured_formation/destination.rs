//! Where the events of a measured run go.

use std::fmt;
use std::str::FromStr;

/// Where the events of a measured run go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// They are formed and counted.
    Nothing,
    /// Into a NeXus file.
    Nexus,
    /// To the live view, without a browser.
    View,
    /// Onto a topic of Kafka: needs a broker.
    Kafka,
}

impl Destination {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Nexus, Self::View, Self::Kafka];
    /// Those that need nothing but this host.
    pub const LOCAL: [Self; 3] = [Self::Nothing, Self::Nexus, Self::View];

    /// Its name in options and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Nexus => "nexus",
            Self::View => "view",
            Self::Kafka => "kafka",
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|destination| destination.name() == text);
        found.ok_or_else(|| {
            format!("`{text}` is no destination of events: expected nothing, nexus, view or kafka")
        })
    }
}

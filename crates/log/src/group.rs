//! Groups of what is said, and levels: which of them are said.

/// The program itself: what it begins, what it ends with, its configuration.
pub const RUN: &str = "run";
/// Receiving and reading: receivers, batches of packets, losses on the way.
pub const INPUT: &str = "input";
/// What packets say: packets that are refused, and why.
pub const PARSE: &str = "parse";
/// Forming events: clocks of sources, times, pulses.
pub const FORM: &str = "form";
/// Outputs: begun, failed, ended.
pub const OUTPUT: &str = "output";
/// Kafka: connections, deliveries.
pub const KAFKA: &str = "kafka";
/// What is asked of a run, and who asks.
pub const CONTROL: &str = "control";
/// The live view: clients.
pub const VIEW: &str = "view";
/// Files: NeXus, recordings, the file writer.
pub const FILE: &str = "file";

/// One of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// [`RUN`]
    Run,
    /// [`INPUT`]
    Input,
    /// [`PARSE`]
    Parse,
    /// [`FORM`]
    Form,
    /// [`OUTPUT`]
    Output,
    /// [`KAFKA`]
    Kafka,
    /// [`CONTROL`]
    Control,
    /// [`VIEW`]
    View,
    /// [`FILE`]
    File,
    /// What libraries say that know nothing of groups.
    Other,
}

impl Group {
    /// All groups, in the order of their numbers.
    pub const ALL: [Group; 10] = [
        Group::Run,
        Group::Input,
        Group::Parse,
        Group::Form,
        Group::Output,
        Group::Kafka,
        Group::Control,
        Group::View,
        Group::File,
        Group::Other,
    ];

    /// Its name, which is the target of what belongs to it.
    pub fn name(self) -> &'static str {
        match self {
            Group::Run => RUN,
            Group::Input => INPUT,
            Group::Parse => PARSE,
            Group::Form => FORM,
            Group::Output => OUTPUT,
            Group::Kafka => KAFKA,
            Group::Control => CONTROL,
            Group::View => VIEW,
            Group::File => FILE,
            Group::Other => "other",
        }
    }

    /// What its messages are about, for people.
    pub fn about(self) -> &'static str {
        match self {
            Group::Run => "beginning and end of a run, and what whoever has started it should know",
            Group::Input => "receiving: sockets, interfaces, batches of packets, recordings",
            Group::Parse => "packets that are refused, and why",
            Group::Form => "forming events: clocks of sources, steps, changes",
            Group::Output => "where events go: queues, commits, what waits or has failed",
            Group::Kafka => "brokers: connections, deliveries, what is missing",
            Group::Control => "who has asked for what, and what became of it",
            Group::View => "the page: its address, browsers that come and go",
            Group::File => "files: made, recovered, completed",
            Group::Other => "what libraries say",
        }
    }

    /// The group of a target. What has no target of its own has its module's path.
    pub fn of_target(target: &str) -> Self {
        if let Some(group) = Self::named(target) {
            return group;
        }
        match target.split("::").next().unwrap_or_default() {
            "evforge" | "evforge_pipeline" => Group::Run,
            "evforge_net" => Group::Input,
            "evforge_detect" | "evforge_wire" => Group::Parse,
            "evforge_outputs" => Group::Output,
            "evforge_kafka" => Group::Kafka,
            "evforge_control" => Group::Control,
            "evforge_view" => Group::View,
            "evforge_filewriter" | "evforge_stream" => Group::File,
            _ => Group::Other,
        }
    }

    /// The group of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }

    /// Its place among all.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// How much of a group is said: this and all that is more important.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// What has failed.
    Error,
    /// What may cost data, or has.
    Warn,
    /// What has begun, changed or ended.
    #[default]
    Info,
    /// What an engineer wants to know who looks for a fault.
    Debug,
    /// Everything, up to single batches and packets.
    Trace,
}

impl Level {
    /// All levels, the most important first.
    pub const ALL: [Level; 5] = [Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }

    /// The level of this name; `warning` is understood, too.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "warning" { "warn" } else { name };
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level with which something was said.
    pub fn of(level: &tracing::Level) -> Self {
        match *level {
            tracing::Level::ERROR => Level::Error,
            tracing::Level::WARN => Level::Warn,
            tracing::Level::INFO => Level::Info,
            tracing::Level::DEBUG => Level::Debug,
            tracing::Level::TRACE => Level::Trace,
        }
    }

    /// The one of this number, as it is kept.
    pub(crate) fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Level::Trace)
    }

    /// What lets this much through.
    pub(crate) fn filter(self) -> tracing::level_filters::LevelFilter {
        use tracing::level_filters::LevelFilter;
        match self {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_has_its_place_and_its_name() {
        for (index, group) in Group::ALL.into_iter().enumerate() {
            assert_eq!((group.index(), Group::named(group.name())), (index, Some(group)));
            assert_eq!(Group::of_target(group.name()), group);
        }
        assert_eq!(Group::of_target("evforge_kafka::producer"), Group::Kafka);
        assert_eq!(Group::of_target("hyper::proto"), Group::Other);
    }

    #[test]
    fn each_level_has_its_number_and_its_name() {
        for (number, level) in (0..).zip(Level::ALL) {
            assert_eq!((level as u8, Level::from_number(number)), (number, level));
            assert_eq!(Level::named(level.name()), Some(level));
        }
        assert_eq!(Level::named("loud"), None);
    }
}

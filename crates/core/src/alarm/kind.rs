//! The kinds of alarms with name, rank, meaning and action, and a raised alarm.

/// How much an alarm matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Data are lost, or will be soon.
    DataAtRisk,
    /// Something has to be checked before it becomes a loss.
    Check,
    /// Good to know; it can be put away.
    Note,
}

impl Rank {
    /// As programs and the page call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DataAtRisk => "alarm",
            Self::Check => "warning",
            Self::Note => "note",
        }
    }

    /// As people read it.
    pub fn title(self) -> &'static str {
        match self {
            Self::DataAtRisk => "data at risk",
            Self::Check => "check the host",
            Self::Note => "note",
        }
    }
}

/// Declares the kinds of alarms, each once.
macro_rules! kinds {
    ($($kind:ident $name:literal $rank:ident, $meaning:literal, $action:literal;)*) => {
        /// What an alarm is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AlarmKind {
            $(#[doc = $meaning] $kind,)*
        }

        impl AlarmKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// As programs call it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// How much it matters.
            pub fn rank(self) -> Rank {
                match self { $(Self::$kind => Rank::$rank),* }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning),* }
            }

            /// What to do.
            pub fn action(self) -> &'static str {
                match self { $(Self::$kind => $action),* }
            }
        }
    };
}

kinds! {
    InputFailed "input_failed" DataAtRisk, "Packets cannot be received, or the input cannot be read, any more.", "Remove the cause that the alarm names, and start the run again.";
    DetectorFailed "detector_failed" DataAtRisk, "The detector, a plugin for example, has failed: no further events are formed.", "Report the cause that the alarm names; start a new run.";
    Loss "loss" DataAtRisk, "Packets of a source were lost within the last minute.", "The place that the alarm names decides what to do: docs/loss.md.";
    NoData "no_data" DataAtRisk, "Packets came, and none for `receive.stalled_after`.", "Check readout, cable and switch. The page shows when each source was last heard.";
    Rejecting "rejecting" DataAtRisk, "Packets come, and none can be used.", "Check the configuration against the packets: record some, then `evforge inspect`.";
    Receiving "receiving" DataAtRisk, "Receiving was disturbed: an interface was down or removed, or AF_XDP ended.", "Check the interface that the alarm names, its cable and `evforge doctor`.";
    InputFault "input_fault" DataAtRisk, "The input is incomplete or of no use.", "Check how it was recorded, and that configuration and port belong to it.";
    Unaccounted "unaccounted" DataAtRisk, "The counters do not balance: evforge has a fault.", "Keep report and a recording, and report it. Do not rely on the counts of this run.";
    OutputFailed "output_failed" DataAtRisk, "An output has failed and gets no more events; the others continue.", "Read the cause in the alarm. Start a new run if that output matters.";
    OutputRefused "output_refused" DataAtRisk, "The other side of an output has refused events for good.", "Check broker or server of the output: sizes, rights, topics.";
    OutputDropped "output_dropped" DataAtRisk, "An output was too slow, and its queue dropped events.", "Give its queue more memory, or its disk or server more speed.";
    RunStopped "run_stopped" DataAtRisk, "An output has stopped the run, as its policy says.", "Remove the cause that the alarm names, and start a new run.";
    Recording "recording" DataAtRisk, "The recording is not whole.", "Check the disk that it is written to.";
    DiskFull "disk_full" DataAtRisk, "A disk that outputs write to has less than 3 % and 20 GB left.", "Make room now.";
    DiskLow "disk_low" Check, "A disk that outputs write to has less than 10 % and 100 GB left.", "Make room before the next run.";
    OutputWaiting "output_waiting" Check, "An output waits: its disk is full, or its broker or server is away. It continues by itself.", "Make room, or bring it back, before its queue is full.";
    Unplaced "unplaced" Check, "More readouts than `input.unplaced_percent` have no place in the configuration.", "Check wiring and masks of the channels that the alarm names.";
    EventsLate "events_late" Check, "Events of a file are in no order of time: they are in `events_late` of their group.", "Find why the clock of the detector stepped back (`pulse_steps_back`, `pulse_clock_restarts`).";
    Clock "clock" Note, "Nothing keeps the clock of this host right.", "Start chrony, ntpd or PTP.";
}

/// Something that needs a person at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// What it is.
    pub kind: AlarmKind,
    /// The source, output or folder that it is about; empty where a run has one such alarm at most.
    pub about: String,
    /// In a few words, to be read from across the room.
    pub short: String,
    /// In a sentence, with its numbers.
    pub text: String,
}

impl Alarm {
    /// An alarm of the run as a whole. The sentence `text` says what to do.
    pub fn new(kind: AlarmKind, short: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kind, about: String::new(), short: short.into(), text: text.into() }
    }

    /// The same for a sentence without its full stop that does not say what to do: the kind does.
    pub fn of(kind: AlarmKind, short: impl Into<String>, text: impl std::fmt::Display) -> Self {
        Self::new(kind, short, format!("{text}. {}", kind.action()))
    }

    /// The same, about a source, an output or a folder.
    #[must_use]
    pub fn about(self, what: impl Into<String>) -> Self {
        Self { about: what.into(), ..self }
    }

    /// Whether `other` is the same alarm, perhaps at another moment.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.about) == (other.kind, &other.about)
    }
}

/// A sentence without its numbers, which may rise while it is about the same.
pub(super) fn without_numbers(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit() || c == '.', "")
}

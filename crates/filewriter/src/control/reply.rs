//! Every answer to a command: its code and the beginning of its sentence. `docs/file-writer-control.md` has the same table.

use evforge_messages::answ::{Action, Outcome};

macro_rules! replies {
    ($($(#[$doc:meta])* $name:ident $action:ident $code:literal $sentence:literal;)+) => {
        /// An answer to a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Reply {
            $($(#[$doc])* $name,)+
        }

        impl Reply {
            /// All of them: those to starts in the order of the checks, then those to stops.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The command that it answers.
            pub fn action(self) -> Action {
                match self { $(Self::$name => Action::$action,)+ }
            }

            /// As in HTTP: 201 accepted, 400 rejected, 500 failed.
            pub fn code(self) -> i32 {
                match self { $(Self::$name => $code,)+ }
            }

            /// How its sentence begins; behind it is what was found.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)+ }
            }
        }
    };
}

replies! {
    /// The file is begun.
    Started StartJob 201 "Started write job";
    /// Of job, structure and file name, some are missing.
    Incomplete StartJob 400 "Errors encountered parsing run start message";
    /// As many jobs run as may, and the start was for this writer alone.
    AtLimit StartJob 400 "Rejected start job as no further job can be run at the moment";
    /// The job id is no UUID.
    JobIdInvalid StartJob 400 "Rejected start job as the job id was invalid";
    /// There is no topic for the conversation.
    NoControlTopic StartJob 400 "Rejected start job as control topic was empty";
    /// The topic for the conversation cannot be one.
    ControlTopicInvalid StartJob 400 "Rejected start job as control topic cannot be the name of a topic";
    /// A job of this id runs.
    JobRuns StartJob 400 "Rejected start job as a job with this id is running";
    /// The file name leads out of the folder for files, or names none.
    FileInvalid StartJob 400 "Rejected start job as the file name was invalid";
    /// A job that runs writes this file.
    FileInUse StartJob 400 "Rejected start job as another job writes this file";
    /// The name of the instrument leads out of the folder of templates.
    InstrumentInvalid StartJob 400 "Rejected start job as the instrument name was invalid";
    /// Start or stop are impossible.
    TimesInvalid StartJob 400 "Rejected start job as its times were invalid";
    /// The file could not be begun.
    StartFailed StartJob 500 "Failed to start write job";
    /// The run ends at this moment.
    StopsNow SetStopTime 201 "Attempting to stop writing job now";
    /// The end is known.
    StopSet SetStopTime 201 "File writing job stop time set";
    /// The job is aborted.
    Aborted SetStopTime 201 "File writing job aborted";
    /// The job is not named.
    NoJobId SetStopTime 400 "Rejected stop command as job id was missing";
    /// No job runs.
    NothingRuns SetStopTime 400 "Rejected stop command as there is currently no write job";
    /// Another job, or other jobs, run.
    OtherJobRuns SetStopTime 400 "Rejected stop command as the job id is not of a job that is running";
    /// The id of the command is no UUID.
    CommandIdInvalid SetStopTime 400 "Rejected stop command as the command id was invalid";
    /// The time is impossible.
    StopTimeInvalid SetStopTime 400 "Rejected stop command as its stop time was invalid";
    /// The end could not be set.
    StopFailed SetStopTime 500 "Failed to execute stop command";
}

impl Reply {
    /// Whether it is done.
    pub fn outcome(self) -> Outcome {
        if self.code() < 400 { Outcome::Success } else { Outcome::Failure }
    }
}

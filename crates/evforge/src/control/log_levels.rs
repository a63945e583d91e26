//! The groups of the log, for those that ask and change a run.

use evforge_control::{LogGroup, LogLevels, Refusal};
use evforge_log::{Group, LogControl};

/// The log of this program.
pub(super) struct ProgramLog(pub(super) LogControl);

impl LogLevels for ProgramLog {
    fn groups(&self) -> Vec<LogGroup> {
        let group = |group: &Group| LogGroup {
            name: group.name().to_owned(),
            level: self.0.level(*group).name().to_owned(),
            help: group.about().to_owned(),
        };
        Group::ALL.iter().map(group).collect()
    }

    fn set(&self, group: &str, level: &str) -> Result<(), Refusal> {
        self.0.set(group, level).map_err(|unknown| Refusal::Invalid(unknown.to_string()))
    }
}

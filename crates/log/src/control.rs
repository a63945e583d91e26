//! Switching groups while the program runs.

use crate::group::{Group, Level};
use crate::names::{UnknownName, groups_named, level_named};
use crate::settings::Levels;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A handle on the levels of all groups: cheap to clone, and for any thread.
#[derive(Clone, Debug)]
pub struct LogControl {
    levels: Arc<[AtomicU8; Group::ALL.len()]>,
}

impl Default for LogControl {
    fn default() -> Self {
        Self { levels: Arc::new(std::array::from_fn(|_| AtomicU8::new(Level::default() as u8))) }
    }
}

impl LogControl {
    /// All groups with their levels.
    pub fn groups(&self) -> Vec<(&'static str, Level)> {
        Group::ALL.into_iter().map(|group| (group.name(), self.level(group))).collect()
    }

    /// The level of a group.
    pub fn level(&self, group: Group) -> Level {
        Level::from_number(self.levels[group.index()].load(Ordering::Relaxed))
    }

    /// Has a group say as much as `level` from now on; `all` is every group.
    ///
    /// # Errors
    /// If there is no such group or level: which there are, and which was probably meant.
    pub fn set(&self, group: &str, level: &str) -> Result<(), UnknownName> {
        let groups = groups_named(group)?;
        let level = level_named(level)?;
        groups.iter().for_each(|group| self.store(*group, level));
        // What was switched off is looked up again, here and not where something is said.
        tracing::callsite::rebuild_interest_cache();
        Ok(())
    }

    /// Sets all groups.
    pub fn set_all(&self, levels: &Levels) {
        Group::ALL.into_iter().for_each(|group| self.store(group, levels.level(group)));
        tracing::callsite::rebuild_interest_cache();
    }

    fn store(&self, group: Group, level: Level) {
        self.levels[group.index()].store(level as u8, Ordering::Relaxed);
    }

    /// The most that any group says.
    pub(crate) fn most(&self) -> Level {
        Group::ALL.into_iter().map(|group| self.level(group)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_refused_with_what_was_meant() {
        let control = LogControl::default();
        let refused = |group, level| control.set(group, level).map_err(|error| error.to_string());
        assert_eq!(
            refused("pares", "debug").expect_err("refused"),
            "there is no group `pares` of messages: did you mean `parse`? Groups are run, input, parse, form, output, \
             kafka, control, view, file, other, all"
        );
        assert_eq!(
            refused("parse", "debgu").expect_err("refused"),
            "there is no level `debgu`: did you mean `debug`? Levels are error, warn, info, debug, trace"
        );
        assert!(control.groups().iter().all(|(_, level)| *level == Level::Info));
    }

    #[test]
    fn what_is_set_is_told() {
        let control = LogControl::default();
        let other = control.clone();
        control.set("kafka", "trace").expect("known");
        assert_eq!((other.level(Group::Kafka), other.level(Group::Run)), (Level::Trace, Level::Info));
        assert_eq!(other.most(), Level::Trace);
        control.set("all", "error").expect("known");
        assert!(other.groups().iter().all(|(_, level)| *level == Level::Error));
    }
}

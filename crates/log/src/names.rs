//! Names of groups and levels that people give.

use crate::group::{Group, Level};
use evforge_core::printable::printable;
use evforge_core::suggestion::did_you_mean;

/// Letters of a wrong name that are repeated.
const SHOWN: usize = 40;

/// A group or level that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownName(String);

/// The groups that a name stands for.
pub(crate) fn groups_named(name: &str) -> Result<Vec<Group>, UnknownName> {
    if name == "all" {
        return Ok(Group::ALL.to_vec());
    }
    Group::named(name).map(|group| vec![group]).ok_or_else(|| {
        let known = || Group::ALL.iter().map(|group| group.name()).chain(["all"]);
        let meant = did_you_mean(name, known());
        let known = Vec::from_iter(known()).join(", ");
        UnknownName(format!(
            "there is no group `{}` of messages{meant} Groups are {known}",
            printable(name, SHOWN)
        ))
    })
}

/// The level of this name.
pub(crate) fn level_named(name: &str) -> Result<Level, UnknownName> {
    Level::named(name).ok_or_else(|| {
        let known = Level::ALL.map(Level::name);
        let meant = did_you_mean(name, known);
        UnknownName(format!(
            "there is no level `{}`{meant} Levels are {}",
            printable(name, SHOWN),
            known.join(", ")
        ))
    })
}

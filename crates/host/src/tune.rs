//! Changing what is not as it should be, and taking it back.

use crate::host::Host;
use crate::journal::{Journal, JournalError, Recorded};
use crate::needs::HostNeeds;
use crate::place::Place;
use crate::profile::Profile;
use crate::setting::{Setting, settings};
use std::path::Path;

/// A value that would be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name of its row: `ring rx`.
    pub row: &'static str,
    /// Its name: `eth2: ring rx`.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// The value now.
    pub before: String,
    /// The value that is set.
    pub after: String,
    /// Why.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// What it can do that nobody wants.
    pub risk: &'static str,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The value is now this, which may be what the driver has made of the one that was wanted.
    Done(String),
    /// The value was as it should be already.
    Unchanged,
    /// Somebody else has changed it in the meantime: it is left as it is.
    ChangedByOthers {
        /// The value that is there.
        found: String,
    },
    /// There is no such setting any more: an interface that went away takes its settings with it.
    Gone,
    /// It could not be changed.
    Failed(String),
}

impl Outcome {
    /// True if nothing is left to be done.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Unchanged | Self::Gone)
    }
}

/// What would be changed on this host, in the order in which it would be.
pub fn plan(host: &dyn Host, needs: &HostNeeds, profile: Profile) -> Vec<Change> {
    let wrong = settings(host, needs, profile)
        .into_iter()
        .filter(|setting| setting.is_wrong() && !setting.reading.is_fixed);
    wrong.filter_map(change).collect()
}

fn change(setting: Setting) -> Option<Change> {
    let after = setting.value()?;
    // The host cannot have what is wanted, and has what it can.
    (after != setting.reading.now).then(|| Change {
        row: setting.row.name,
        name: name(&setting),
        after,
        before: setting.reading.now,
        place: setting.place,
        why: setting.row.why,
        source: setting.row.source,
        risk: setting.row.risk,
    })
}

/// The name of a row, with the interface, and with the file where there are several.
fn name(setting: &Setting) -> String {
    let of = setting.interface.as_deref().map(|interface| format!("{interface}: ")).unwrap_or_default();
    let part = match &setting.place {
        Place::File(path) => {
            let is_one_of_many = |part: &str| {
                let digits =
                    part.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '-');
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            // /proc/irq/24/…, …/cpu3/…, …/rx-0/…
            let folders = path.parent().into_iter().flat_map(Path::iter).filter_map(|part| part.to_str());
            let is_part = |part: &&str| is_one_of_many(part) && Some(*part) != setting.interface.as_deref();
            folders.rev().find(is_part).map(str::to_owned)
        }
        _ => None,
    };
    format!("{of}{}{}", setting.row.name, part.map(|part| format!(" ({part})")).unwrap_or_default())
}

/// Makes the changes, each after it is in the journal and that is on disk: whatever stops this in between, all can be taken back.
/// `tell` gets each of them with what came of it.
///
/// # Errors
/// If the journal cannot be written. Then nothing is changed any more.
pub fn apply(
    host: &dyn Host,
    changes: &[Change],
    journal: &mut Journal,
    mut tell: impl FnMut(&Change, &Outcome),
) -> Result<(), JournalError> {
    for change in changes {
        let (name, place) = (change.name.clone(), change.place.clone());
        let (before, after) = (change.before.clone(), change.after.clone());
        let noted = journal.note(Recorded { name, place, before, after });
        journal.write()?;
        let outcome = made(host, change);
        match &outcome {
            Outcome::Done(value) => journal.changes[noted].after.clone_from(value),
            // It never was another than before.
            Outcome::Failed(_) if journal.changes[noted].before == change.before => {
                journal.changes.remove(noted);
            }
            _ => {}
        }
        journal.write()?;
        tell(change, &outcome);
    }
    Ok(())
}

fn made(host: &dyn Host, change: &Change) -> Outcome {
    if let Err(error) = change.place.write(host, &change.after) {
        return Outcome::Failed(error.to_string());
    }
    match change.place.read(host) {
        Ok(Some(reading)) if reading.now != change.before => Outcome::Done(reading.now),
        Ok(Some(_)) => Outcome::Failed("the host took it and left the value as it was".to_owned()),
        Ok(None) => Outcome::Failed("it cannot be read any more".to_owned()),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Takes everything back that is in the journal, the last change first. What somebody else has changed since then stays, unless
/// `others_too`; it stays in the journal, too. `tell` gets each of them with what came of it.
///
/// # Errors
/// If the journal cannot be written.
pub fn revert(
    host: &dyn Host,
    journal: &mut Journal,
    others_too: bool,
    mut tell: impl FnMut(&Recorded, &Outcome),
) -> Result<(), JournalError> {
    for at in (0..journal.changes.len()).rev() {
        let recorded = journal.changes[at].clone();
        let outcome = taken_back(host, &recorded, others_too);
        if outcome.is_good() {
            journal.changes.remove(at);
            journal.write()?;
        }
        tell(&recorded, &outcome);
    }
    Ok(())
}

fn taken_back(host: &dyn Host, recorded: &Recorded, others_too: bool) -> Outcome {
    let now = match recorded.place.read(host) {
        Ok(Some(reading)) => reading.now,
        Ok(None) => return Outcome::Gone,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    if now == recorded.before {
        return Outcome::Unchanged;
    }
    if now != recorded.after && !others_too {
        return Outcome::ChangedByOthers { found: now };
    }
    if let Err(error) = recorded.place.write(host, &recorded.before) {
        return Outcome::Failed(error.to_string());
    }
    match recorded.place.read(host) {
        Ok(Some(reading)) if reading.now == recorded.before => Outcome::Done(reading.now),
        Ok(Some(reading)) => {
            Outcome::Failed(format!("it is {} now, and was {}", reading.now, recorded.before))
        }
        Ok(None) => Outcome::Gone,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

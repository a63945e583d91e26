//! Jobs that a writer has left: what lies below the folder for files.

use super::jobs::JobRequest;
use crate::job::{JobPlan, SaidBase};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below folders that are looked into.
const DEPTH: usize = 16;
/// Names that are looked at: a folder for files with more of them is one of an archive.
const NAMES: usize = 1_000_000;

/// What the plan of a job keeps of its conversation.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    /// The writer that has begun it: several may share a folder.
    pub(super) owner: String,
    /// What was asked for.
    pub(super) request: JobRequest,
}

/// A job to be taken up again.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) request: JobRequest,
    pub(super) plan: JobPlan,
}

/// Looks for the jobs of a writer, in the order of their names. `say` gets what is in the way.
pub(super) fn find(folder: &Path, owner: &str, say: &mut dyn FnMut(&str)) -> Vec<Left> {
    let mut found = Vec::new();
    for path in descriptions(folder, say) {
        match read(&path, owner) {
            Ok(Some(left)) => found.push(left),
            Ok(None) => {}
            Err(why) => say(&format!("a job that was begun cannot be taken up again: {why}")),
        }
    }
    found
}

/// A job; none if it is that of another writer, or of a command.
fn read(path: &Path, owner: &str) -> Result<Option<Left>, String> {
    let plan = JobPlan::read(path).map_err(|error| error.to_string())?;
    if plan.about.is_null() {
        return Ok(None);
    }
    let about: About =
        serde_json::from_value(plan.about.clone()).map_err(|error| format!("{}: {error}", path.display()))?;
    if about.owner != owner {
        return Ok(None);
    }
    let stop_ms = plan.window.stop_ns.map(|ns| u64::try_from(ns / 1_000_000).unwrap_or(0));
    let request = JobRequest { structure: plan.structure.as_str().into(), stop_ms, ..about.request };
    Ok(Some(Left { request, plan }))
}

/// All files in which a job is described.
fn descriptions(folder: &Path, say: &mut dyn FnMut(&str)) -> Vec<PathBuf> {
    let (mut folders, mut found, mut names) = (vec![(folder.to_owned(), 0)], Vec::new(), 0);
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                say(&format!("{} cannot be searched for jobs that were begun: {error}", folder.display()));
                continue;
            }
        };
        for entry in entries.flatten() {
            names += 1;
            if names > NAMES {
                say(&format!("only the first {NAMES} files were searched for jobs that were begun"));
                folders.clear();
                break;
            }
            // Links are not followed: they may lead around in a circle.
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < DEPTH {
                folders.push((path, depth + 1));
            } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "job") {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    found
}

/// What a job says is in its file first.
///
/// # Errors
/// If the template of the instrument is missing.
pub(super) fn base(templates: Option<&Path>, instrument: Option<&str>) -> Result<SaidBase, String> {
    // Programs of ISIS say their instrument in any case.
    let (Some(templates), Some(instrument)) = (templates, instrument) else { return Ok(SaidBase::Nothing) };
    let path = templates.join(instrument).join(format!("{instrument}.hdf"));
    match fs::metadata(&path) {
        Ok(about) if about.is_file() => Ok(SaidBase::Template(path)),
        Ok(_) => Err(format!("the template {} is no file", path.display())),
        Err(error) => Err(format!(
            "the template of instrument {instrument} cannot be read: {}: {error}",
            path.display()
        )),
    }
}

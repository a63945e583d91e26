//! The folder of a result: `result.json`, a CSV file for each table, an SVG file for each plot, `report.html`.

use crate::error::MeasureError;
use crate::measurement::Measurement;
use crate::{csv, drawing, report, result_file};
use evforge_net::staged_file::StagedFile;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of the report.
const REPORT: &str = "report.html";

/// A folder that a result is written into.
///
/// Each file gets its name when it is complete, and `result.json` comes last: a folder without it is not whole.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    path: PathBuf,
}

impl ResultFolder {
    /// Looks whether a result can be written into this folder, and makes the folder if there is none; before long work begins. What is
    /// there already is changed by [`ResultFolder::write`] only.
    ///
    /// # Errors
    /// If there is a file of that name, the folder has something in it that is no result, or a result and not `overwrite`; if the folder cannot be
    /// made or written to.
    pub fn to_be_made(path: &Path, overwrite: bool) -> Result<Self, MeasureError> {
        let wrong = |problem: &str| Err(MeasureError::of_file(path, problem));
        let of_system = |error: std::io::Error| MeasureError::of_file(path, error);
        if path.symlink_metadata().is_ok() && !path.is_dir() {
            return wrong("it is a file, expected a folder for the result: choose another name");
        }
        fs::create_dir_all(path).map_err(of_system)?;
        let is_empty = fs::read_dir(path).map_err(of_system)?.next().is_none();
        if !is_empty {
            if result_file::read(path).is_err() {
                return wrong("the folder has something else in it than a result: choose another name");
            }
            if !overwrite {
                return wrong(
                    "there is a result already: give --overwrite to replace it, or choose another name",
                );
            }
        }
        // A staged file that is dropped leaves nothing behind.
        StagedFile::create(&path.join(result_file::NAME)).map(drop).map_err(of_system)?;
        Ok(Self { path: path.to_owned() })
    }

    /// A folder in which a measurement that is resumed keeps files of its own; a result that is there is replaced.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn to_be_resumed(path: &Path) -> Result<Self, MeasureError> {
        let of_system = |error: std::io::Error| MeasureError::of_file(path, error);
        StagedFile::create(&path.join(result_file::NAME)).map(drop).map_err(of_system)?;
        Ok(Self { path: path.to_owned() })
    }

    /// The report of a result in this folder.
    pub fn report(&self) -> PathBuf {
        self.path.join(REPORT)
    }

    /// Writes a result; the files of one that is there are removed.
    ///
    /// # Errors
    /// If the result is not sound, or a file cannot be written; the first one that could not is named, and there is no `result.json` then.
    pub fn write(&self, result: &Measurement) -> Result<(), MeasureError> {
        // Everything is made before anything is touched.
        let files = files(result)?;
        if let Ok(old) = result_file::read(&self.path) {
            let mut names = names(&old);
            // Without it the others are no result.
            names.reverse();
            for name in names {
                remove(&self.path.join(name))?;
            }
        }
        for (name, text) in files {
            let path = self.path.join(name);
            let write = || {
                let mut file = StagedFile::create(&path)?;
                file.write_all(text.as_bytes())?;
                file.finish()
            };
            write().map_err(|error| MeasureError::of_file(&path, error))?;
        }
        Ok(())
    }
}

/// The names of all files, the one that makes it a result last.
fn names(result: &Measurement) -> Vec<String> {
    let tables = result.tables.iter().map(|table| format!("{}.csv", table.name));
    let plots = result.plots.iter().map(|plot| format!("{}.svg", plot.name));
    let fixed = [REPORT, result_file::NAME].map(str::to_owned);
    tables.chain(plots).chain(fixed).collect()
}

/// All files with their texts, in the same order.
fn files(result: &Measurement) -> Result<Vec<(String, String)>, MeasureError> {
    let json = result_file::to_json(result)?;
    let plots = result.plots.iter().map(drawing::svg).collect::<Result<Vec<_>, _>>()?;
    let tables = result.tables.iter().map(csv::of);
    let texts: Vec<String> = tables.chain(plots).chain([report::html(result)?, json]).collect();
    Ok(names(result).into_iter().zip(texts).collect())
}

fn remove(path: &Path) -> Result<(), MeasureError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(MeasureError::of_file(path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{LinkSettings, measure};
    use crate::session::Session;

    fn link(mtus: &[u32], speed: u64) -> Measurement {
        let session = Session::without_host("link", "Link", &["evforge".to_owned()]);
        measure(session, &LinkSettings { bits_per_second: speed, mtus: mtus.to_vec(), sizes: Vec::new() })
            .unwrap()
    }

    fn listed(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_result_is_replaced_only_if_asked_for_and_leaves_nothing_of_the_old_one() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("results/link");
        let folder = ResultFolder::to_be_made(&path, false).unwrap();
        folder.write(&link(&[9000], 10_000_000_000)).unwrap();
        let all = [
            "link.csv",
            "overhead.svg",
            "paper.csv",
            "rate.svg",
            "report.html",
            "result.json",
            "user-rate.svg",
        ];
        assert_eq!(listed(&path), all);
        let said = ResultFolder::to_be_made(&path, false).unwrap_err().to_string();
        assert!(said.contains("there is a result already: give --overwrite"), "{said}");
        assert_eq!(listed(&path), all, "nothing is changed by looking");
        let again = ResultFolder::to_be_made(&path, true).unwrap();
        let other = link(&[1500], 1_000_000_000);
        again.write(&other).unwrap();
        // There is no table of the paper at this speed.
        assert_eq!(
            listed(&path),
            all.iter().copied().filter(|name| *name != "paper.csv").collect::<Vec<_>>()
        );
        assert_eq!(
            result_file::read(&path).unwrap().table("link").unwrap().rows.len(),
            other.tables[0].rows.len()
        );
    }

    #[test]
    fn a_folder_of_something_else_is_never_written_into() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("photo.jpg"), "x").unwrap();
        for overwrite in [false, true] {
            let said = ResultFolder::to_be_made(folder.path(), overwrite).unwrap_err().to_string();
            assert!(said.contains("something else in it"), "{said}");
        }
        let said = ResultFolder::to_be_made(&folder.path().join("photo.jpg"), true).unwrap_err().to_string();
        assert!(said.contains("it is a file"), "{said}");
        assert_eq!(listed(folder.path()), ["photo.jpg"]);
    }

    #[test]
    fn a_result_that_cannot_be_read_again_is_not_written() {
        let parent = tempfile::tempdir().unwrap();
        let folder = ResultFolder::to_be_made(&parent.path().join("r"), false).unwrap();
        let mut result = link(&[9000], 1);
        result.tables[0].rows[0].pop();
        assert!(folder.write(&result).is_err());
        assert!(listed(&parent.path().join("r")).is_empty());
    }
}

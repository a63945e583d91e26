//! Names: of run folders, of files, of sources.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use evforge_wire::train::TrainDetector;

/// Largest number of a run: names have four digits for it.
pub const LARGEST_RUN: u32 = 9_999;
/// Largest number of a module: names have two digits for it.
pub const LARGEST_MODULE: u8 = 99;
/// Largest number of a sequence: names have five digits for it.
pub(super) const LARGEST_SEQUENCE: u32 = 99_999;
/// What the name of a file ends with until it is closed: readers of a run take up names that end with `.h5`.
pub const UNFINISHED: &str = ".writing";

/// The folder of a run: `r0001`.
pub fn run_folder(run: u32) -> String {
    format!("r{run:04}")
}

/// A file of a run: `RAW-R0001-LPD00-S00000.h5`.
pub fn file_name(detector: TrainDetector, run: u32, module: u8, sequence: u32) -> String {
    format!("RAW-R{run:04}-{}{module:02}-S{sequence:05}.h5", detector.name())
}

/// Detector and instrument that a source is named after, unless configured otherwise: `FXE_DET_LPD1M-1`.
pub const fn default_source(detector: TrainDetector) -> &'static str {
    match detector {
        TrainDetector::Lpd => "FXE_DET_LPD1M-1",
        TrainDetector::Agipd => "SPB_DET_AGIPD1M-1",
        TrainDetector::Dssc => "SCS_DET_DSSC1M-1",
    }
}

/// The source of a module: `FXE_DET_LPD1M-1/DET/0CH0:xtdf`.
pub fn source_name(detector: &str, module: u8) -> String {
    format!("{detector}/DET/{module}CH0:xtdf")
}

/// What a file is called until it is closed.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// What an unfinished file is called once it is closed; none if its name is not that of an unfinished one.
pub(super) fn finished(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(UNFINISHED)?;
    name.ends_with(".h5").then(|| path.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_facility() {
        assert_eq!(run_folder(7), "r0007");
        assert_eq!(file_name(TrainDetector::Agipd, 12, 15, 3), "RAW-R0012-AGIPD15-S00003.h5");
        assert_eq!(source_name("SCS_DET_DSSC1M-1", 4), "SCS_DET_DSSC1M-1/DET/4CH0:xtdf");
        let path = Path::new("r0001/RAW-R0001-LPD00-S00000.h5");
        assert_eq!(finished(&unfinished(path)).as_deref(), Some(path));
        assert_eq!(finished(path), None);
        assert_eq!(finished(Path::new("notes.writing")), None);
    }
}

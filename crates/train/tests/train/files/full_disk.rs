//! Disks that are full, and files that may not grow: an error that says so, and what was finished before stays.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::common::{offer, options, read_back, reader};
use super::kill::{last_committed, spec, start};
use evforge_core::counter::{CounterSet, Law};
use evforge_train::file::{FileError, Filed, TrainFiles, repair_run};
use evforge_wire::train::TrainDetector;
use hdf5_metno::File;

const LPD: TrainDetector = TrainDetector::Lpd;
/// The small disk of a child.
const SMALL_DISK: &str = "EVFORGE_TEST_SMALL_DISK";

/// Runs `child` of this program with a file system of `size` in memory that only it sees.
fn on_small_disk(test: &str, child: &str, size: &str) {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77; shift 2; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh", size])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", child, "--nocapture", "--test-threads=1"])
        .env(SMALL_DISK, folder.path())
        .output();
    let Ok(output) = output else { return evforge_testkit::skip(test, "the program unshare is not there") };
    let said =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) || said.contains("unshare failed") {
        return evforge_testkit::skip(test, "a file system cannot be mounted without root");
    }
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn small_disk() -> Option<PathBuf> {
    std::env::var_os(SMALL_DISK).map(PathBuf::from)
}

/// The numbers of all trains of a run, and whether the images are as many as the index says.
fn numbers(run: &Path) -> Vec<u64> {
    let mut paths: Vec<_> = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "h5")) {
        let file = File::open(path).unwrap();
        all.extend(file.dataset("INDEX/trainId").unwrap().read_raw::<u64>().unwrap());
        let source = "FXE_DET_LPD1M-1/DET/0CH0:xtdf";
        let count: Vec<u64> =
            file.dataset(&format!("INDEX/{source}/image/count")).unwrap().read_raw().unwrap();
        let images = file.dataset(&format!("INSTRUMENT/{source}/image/data")).unwrap();
        assert_eq!(count.iter().sum::<u64>(), images.shape()[0] as u64);
        let values: Vec<u16> = images.read_raw().unwrap();
        assert!(
            values.chunks_exact(65536).all(|image| image[1] == image[0].wrapping_add(3)),
            "{}",
            path.display()
        );
    }
    all
}

#[test]
fn a_full_disk_refuses_trains_and_takes_them_when_there_is_room() {
    let _alone = crate::alone();
    on_small_disk(
        "a_full_disk_refuses_trains_and_takes_them_when_there_is_room",
        "files::full_disk::on_a_disk_of_24_megabytes",
        "24m",
    );
}

#[test]
fn on_a_disk_of_24_megabytes() {
    let _alone = crate::alone();
    let Some(disk) = small_disk() else { return };
    let mut options = options(&disk, LPD);
    (options.flush_interval, options.trains_per_file) = (Duration::from_secs(3600), 20);
    let mut files = TrainFiles::create(options).unwrap();
    let ballast = disk.join("ballast");
    std::fs::write(&ballast, vec![1; 8 << 20]).unwrap();
    let mut number = 1;
    let error = loop {
        match offer(&mut files, LPD, (0, number, 2), &[]) {
            Ok(taken) => assert_eq!(taken, Filed::Taken(2)),
            Err(error) => break error,
        }
        number += 1;
    };
    assert!(matches!(error, FileError::NoSpace { .. }), "{error}");
    assert!(error.to_string().contains("there is no room for") && number > 20, "{number}: {error}");
    // It says the same again, and nothing has changed.
    assert!(matches!(offer(&mut files, LPD, (0, number, 2), &[]), Err(FileError::NoSpace { .. })));
    assert_eq!(numbers(files.folder()), (1..=(number - 1) / 20 * 20).collect::<Vec<_>>());
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(offer(&mut files, LPD, (0, number, 2), &[]).unwrap(), Filed::Taken(2));
    // Full again: what was taken is brought to its end.
    loop {
        number += 1;
        if offer(&mut files, LPD, (0, number, 2), &[]).is_err() {
            break;
        }
    }
    files.finish().unwrap();
    let counters = files.counters();
    assert_eq!((counters.trains_committed, counters.trains_refused), (number - 1, 3));
    assert_eq!(counters.imbalance(Law::Outputs), 0);
    assert_eq!(numbers(files.folder()), (1..number).collect::<Vec<_>>());
}

/// A file that may not grow, which nobody can foresee: HDF5 meets the failing write.
#[test]
fn a_write_that_fails_leaves_what_was_committed() {
    let _alone = crate::alone();
    let test = "a_write_that_fails_leaves_what_was_committed";
    let Some(reader) = reader(test, "test_train_readback.py") else { return };
    let folder = tempfile::tempdir().unwrap();
    // 3 MB, in blocks of 512 bytes: less than the 40 trains of a file.
    let child = start(folder.path(), "plain", "trap '' XFSZ; ulimit -f 6000; exec \"$@\"");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let failed = said.lines().find(|line| line.starts_with("failed: ")).unwrap();
    assert!(failed.contains("File too large") && failed.contains("are safe"), "{failed}");
    let run = folder.path().join("r0001");
    let repaired = repair_run(&run).unwrap();
    assert_eq!(repaired.len(), 1);
    assert!(repaired[0].trains >= last_committed(&said) && repaired[0].trains > 5, "{repaired:?} {said}");
    read_back(reader, &run, &spec(repaired[0].trains));
}

//! A process that has no descriptor left: the next file of a recording is still opened, and what cannot be opened is tried again.

use std::fs::File;
use std::io::ErrorKind;
use std::process::Command;

use evforge_net::record::{DiskFiles, FileNames, RecordingFiles};
use rustix::process::{Resource, Rlimit, setrlimit};

const NAME: &str = "record::descriptors::the_next_file_has_a_descriptor_when_others_have_used_up_the_rest";
/// Set in the process that uses up its descriptors: other tests need theirs.
const ALONE: &str = "EVFORGE_TEST_ALONE";

#[test]
fn the_next_file_has_a_descriptor_when_others_have_used_up_the_rest() {
    if std::env::var_os(ALONE).is_none() {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program).args(["--exact", NAME]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut files = DiskFiles::new(FileNames::numbered(&folder.path().join("run.pcapng"))).unwrap();
    let mut first = files.begin().unwrap();
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let others: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!others.is_empty());
    // While the first one is still being closed.
    let mut second = files.begin().unwrap();
    let error = files.begin().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
    // A descriptor that is closed is nobody else's.
    first.finish().unwrap();
    assert!(File::open("/dev/null").is_err());
    let mut third = files.begin().unwrap();
    second.finish().unwrap();
    third.finish().unwrap();
    drop(others);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

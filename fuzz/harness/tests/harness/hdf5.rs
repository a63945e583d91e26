//! Damaged HDF5 files, read by a child process: this program again.

use evforge_fuzz_harness::hdf5_files::{Outcome, Reader, Watched, campaign, serve_child};
use evforge_testkit::properties::cases;
use std::process::Command;
use std::time::Duration;

/// Says to this program that it is the child.
const CHILD: &str = "EVFORGE_HDF5_CHILD";

fn child() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["hdf5::serves_as_the_child", "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command
}

/// No test of its own: what [`child`] starts.
#[test]
fn serves_as_the_child() {
    if std::env::var_os(CHILD).is_some() {
        serve_child().expect("somebody listens");
    }
}

#[test]
fn damaged_files_are_read_or_refused_and_never_break_what_is_ours() {
    let kept = tempfile::tempdir().expect("a folder");
    let prefix = format!("{}/", kept.path().display());
    let sums =
        campaign(&mut Watched::new(child), (1, u64::from(cases(20)), Duration::from_secs(3600)), &prefix);
    let sums = sums.expect("sound files are read");
    assert_eq!(sums.findings, Vec::<std::path::PathBuf>::new(), "{sums:?}");
    assert!(sums.outcomes.contains_key("refused") && sums.files() > 10, "{sums:?}");
}

/// What ends a child is told apart: no file, a panic, a signal.
#[test]
fn the_end_of_a_child_is_seen() {
    let refused = Watched::new(child).read(Reader::View, "/nowhere.nxs".as_ref()).expect("a child");
    assert!(matches!(refused, Outcome::Refused(_)), "{refused:?}");
    let killed: fn() -> Command = || {
        let mut command = Command::new("sh");
        command.args(["-c", "read file; kill -SEGV $$"]);
        command
    };
    let outcome = Watched::new(killed).read(Reader::View, "x".as_ref()).expect("a child");
    assert!(matches!(outcome, Outcome::Crashed { signal: 11, .. }), "{outcome:?}");
    let panicked: fn() -> Command = || {
        let mut command = Command::new("sh");
        command.args(["-c", "read file; echo \"thread 'main' panicked at x.rs:1:2\" >&2; exit 101"]);
        command
    };
    let outcome = Watched::new(panicked).read(Reader::View, "x".as_ref()).expect("a child");
    assert!(matches!(outcome, Outcome::Panicked(_)), "{outcome:?}");
}

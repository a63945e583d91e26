//! Writers that are killed: what is in the file then, and what a repair makes of it.
//!
//! The writers are child processes: this test program again, told by the environment to be one.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::common::{ARRIVAL, offer, options, read_all_back, read_back, reader};
use evforge_testkit::properties::cases;
use evforge_train::file::{TrainFiles, default_source, repair_run};
use evforge_wire::train::TrainDetector;
use hdf5_metno::{File, OpenMode};
use serde_json::{Value, json};

const LPD: TrainDetector = TrainDetector::Lpd;
/// What a child is to do: the folder, and `deflate` or `plain`.
const TASK: &str = "EVFORGE_TEST_TRAIN_WRITER";
/// Trains in a file of a child.
const TRAINS_PER_FILE: u64 = 40;

/// Images of a train.
fn images_of(number: u64) -> u32 {
    (number % 3) as u32
}

/// The child: writes trains without end, and prints how many are committed.
#[test]
fn child_writer() {
    let _alone = crate::alone();
    let Ok(task) = std::env::var(TASK) else { return };
    let (folder, form) = task.rsplit_once('|').unwrap();
    let mut options = options(Path::new(folder), LPD);
    options.flush_interval = Duration::from_millis(2);
    options.trains_per_file = TRAINS_PER_FILE;
    if form == "deflate" {
        (options.deflate, options.threads) = (Some(1), 1);
    }
    let mut files = TrainFiles::create(options).unwrap();
    let mut committed = 0;
    for number in 1.. {
        if let Err(error) = offer(&mut files, LPD, (0, number, images_of(number)), &[]) {
            println!("\nfailed: {error}");
            // As it is, and not closed.
            std::process::exit(3);
        }
        if files.counters().trains_committed != committed {
            committed = files.counters().trains_committed;
            println!("\ncommitted {committed}");
        }
    }
}

/// A child below `shell`, a script that ends by starting its arguments.
pub(crate) fn start(folder: &Path, form: &str, shell: &str) -> Child {
    Command::new("sh")
        .args(["-c", shell, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "files::kill::child_writer", "--nocapture", "--test-threads=1"])
        .env(TASK, format!("{}|{form}", folder.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Number after the last complete line that begins with `committed `.
pub(crate) fn last_committed(output: &str) -> u64 {
    let complete = output.rfind('\n').map_or("", |end| &output[..end]);
    let last = complete.lines().filter_map(|line| line.strip_prefix("committed ")).next_back();
    last.map_or(0, |number| number.parse().unwrap())
}

/// What the reader is to find: trains 1 to `trains` of module 0.
pub(crate) fn spec(trains: u64) -> Value {
    let train = |number: u64| {
        let images: Vec<_> = (0..images_of(number)).map(|image| json!([image, 0])).collect();
        json!([number, ARRIVAL + number * 100_000_000, images])
    };
    json!({"detector": "LPD", "source": default_source(LPD), "files": trains.div_ceil(TRAINS_PER_FILE),
        "components": true, "modules": {"0": (1..=trains).map(train).collect::<Vec<_>>()}})
}

/// Kills a writer after so many commits, and repairs: the run, and what the reader is to find.
fn kill_after(commits: usize, form: &str, folder: &Path) -> (PathBuf, Value) {
    std::fs::create_dir(folder).unwrap();
    let mut child = start(folder, form, "exec \"$@\"");
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while said.matches("committed ").count() < commits {
        assert!(output.read_line(&mut said).unwrap() > 0, "{said}");
    }
    child.kill().unwrap();
    output.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    let committed = last_committed(&said);
    assert!(committed > 0, "{said}");
    let run = folder.join("r0001");

    // As it was left it can be read by whoever follows.
    let mut unfinished: Vec<_> =
        std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
    unfinished.retain(|path| path.extension().is_some_and(|extension| extension == "writing"));
    let mut repaired_trains = 0;
    for path in &unfinished {
        let ended = File::open(path).is_ok();
        let file = File::open_as(path, OpenMode::ReadSWMR).unwrap();
        let rows: Vec<u64> = file.dataset("evforge/committed").unwrap().read_raw().unwrap();
        let trains = file.dataset("INDEX/trainId").unwrap().size() as u64;
        assert!(trains >= rows[0]);
        // A plain open succeeds when the kill came between the end of the file and its new name. All of
        // it is committed then.
        assert!(!ended || trains == rows[0], "{} opens as if it were whole", path.display());
        repaired_trains = rows[0];
    }
    let repaired = repair_run(&run).unwrap();
    assert_eq!(repaired.len(), unfinished.len());
    assert_eq!(repaired.iter().map(|file| file.trains).sum::<u64>(), repaired_trains);
    // One more commit may have been made than was said.
    let numbers = |run: &Path| -> u64 {
        let files = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| File::open(path).unwrap().dataset("INDEX/trainId").unwrap().size() as u64).sum()
    };
    let found = numbers(&run);
    assert!(found >= committed, "{found} of {committed} trains: {said}");
    // The next file may have been begun, with nothing committed.
    let mut spec = spec(found);
    let begun = u64::from(repaired.iter().any(|file| file.trains == 0));
    spec["files"] = json!(found.div_ceil(TRAINS_PER_FILE) + begun);
    (run, spec)
}

#[test]
fn a_killed_writer_leaves_all_that_was_committed() {
    let _alone = crate::alone();
    let test = "a_killed_writer_leaves_all_that_was_committed";
    let Some(reader) = reader(test, "test_train_readback.py") else { return };
    // In the middle of the first file, of later ones, and somewhere about their ends.
    let kills = [(1, "plain"), (60, "plain"), (30, "deflate"), (3, "plain"), (151, "plain")];
    let folder = tempfile::tempdir().unwrap();
    let kill = |&(commits, form): &(usize, &str)| {
        kill_after(commits, form, &folder.path().join(format!("{commits}")))
    };
    let runs: Vec<_> = kills.iter().take(cases(3) as usize).map(kill).collect();
    read_all_back(reader, &runs);
}

/// A copy of a file that is being written is what a kill at that moment leaves.
#[test]
fn a_file_of_which_nothing_was_committed_does_no_harm_to_the_run() {
    let _alone = crate::alone();
    let Some(reader) =
        reader("a_file_of_which_nothing_was_committed_does_no_harm_to_the_run", "test_train_readback.py")
    else {
        return;
    };
    let (folder, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = options(folder.path(), LPD);
    options.flush_interval = Duration::from_secs(3600);
    let mut files = TrainFiles::create(options).unwrap();
    offer(&mut files, LPD, (1, 7, 3), &[]).unwrap();
    files.finish().unwrap();
    offer(&mut files, LPD, (0, 7, 3), &[]).unwrap();
    for entry in std::fs::read_dir(files.folder()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, killed.path().join(path.file_name().unwrap())).unwrap();
    }
    let repaired = repair_run(killed.path()).unwrap();
    assert_eq!((repaired[0].trains, repaired[0].images, repaired.len()), (0, 0, 1));
    let train = json!([7, ARRIVAL + 700_000_000, [[0, 0], [1, 0], [2, 0]]]);
    let spec = json!({"detector": "LPD", "source": default_source(LPD), "files": 2, "components": true,
        "modules": {"0": [], "1": [train]}});
    read_back(reader, killed.path(), &spec);
}

/// A file that lost its end, perhaps while it was copied.
#[test]
fn a_file_that_was_cut_is_refused_and_left_as_it_is() {
    let _alone = crate::alone();
    let (folder, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = options(folder.path(), LPD);
    options.flush_interval = Duration::ZERO;
    let mut files = TrainFiles::create(options).unwrap();
    for number in 1..=20 {
        offer(&mut files, LPD, (0, number, 2), &[]).unwrap();
    }
    let name = "RAW-R0001-LPD00-S00000.h5.writing";
    let copy = cut.path().join(name);
    let whole = std::fs::read(files.folder().join(name)).unwrap();
    let length = whole.len();
    let findings = [
        (length / 2, "it was cut"),
        (length - 200_000, "it was cut"),
        (3000, "it was cut"),
        (20, "ends within its header"),
    ];
    for (kept, finding) in findings {
        std::fs::write(&copy, &whole[..kept]).unwrap();
        let error = repair_run(cut.path()).unwrap_err().to_string();
        assert!(
            std::fs::read(&copy).unwrap() == whole[..kept],
            "{kept} of {length}: it was changed: {error}"
        );
        assert!(error.contains(finding), "{kept} of {length}: {error}");
    }
    std::fs::write(&copy, &whole).unwrap();
    assert_eq!(repair_run(cut.path()).unwrap()[0].trains, 20);
}

/// A kill in the middle of a commit leaves rows of which nobody has said that they are there.
#[test]
fn rows_behind_the_last_commit_are_cut_away() {
    let _alone = crate::alone();
    let Some(reader) = reader("rows_behind_the_last_commit_are_cut_away", "test_train_readback.py") else {
        return;
    };
    for deflate in [None, Some(1)] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path(), LPD);
        options.deflate = deflate;
        let mut files = TrainFiles::create(options).unwrap();
        for number in 1..=20 {
            offer(&mut files, LPD, (0, number, images_of(number)), &[]).unwrap();
        }
        files.finish().unwrap();
        let path = files.folder().join("RAW-R0001-LPD00-S00000.h5");
        let file = File::open_rw(&path).unwrap();
        file.dataset("evforge/committed").unwrap().write_raw(&[13_u64, 13]).unwrap();
        file.close().unwrap();
        std::fs::rename(&path, path.with_extension("h5.writing")).unwrap();
        let repaired = repair_run(files.folder()).unwrap();
        assert_eq!((repaired[0].trains, repaired[0].images, repaired[0].images_cut), (13, 13, 8));
        if deflate.is_some() {
            return read_back(reader, files.folder(), &spec(13));
        }
        let file = File::open(&path).unwrap();
        assert_eq!(file.dataset("INDEX/trainId").unwrap().size(), 13);
    }
}

//! `evforge overlay` as a user meets it: a recorded capture, laid over itself, with a truth that events can be judged
//! by.

use crate::common::{PROGRAM, evforge, text, workspace};
use evforge_sim::truth::{self, Neutron};
use evforge_testkit::{shared_folder, skip};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CONFIG: &str = "gdgem-srs.toml";

fn config(name: &str) -> String {
    workspace().join("configs").join(name).to_str().expect("a path that is text").to_owned()
}

/// The recorded capture of a Gd-GEM, or none with `test` reported as skipped.
fn capture(test: &str) -> Option<String> {
    recorded(test, "gdgem/vmm3a_srs.pcapng")
}

fn recorded(test: &str, path: &str) -> Option<String> {
    let path = shared_folder().join("captures").join(path);
    if !path.is_file() {
        skip(test, &format!("{} is not there", path.display()));
        return None;
    }
    path.to_str().map(str::to_owned)
}

/// An overlay: where it is, its truth, and what the command said.
struct Made {
    file: PathBuf,
    truth: Vec<Neutron>,
    said: String,
}

fn overlay(folder: &Path, input: &str, further: &[&str]) -> Made {
    overlay_of(CONFIG, folder, input, further)
}

fn overlay_of(configuration: &str, folder: &Path, input: &str, further: &[&str]) -> Made {
    let (file, truth) = (folder.join("overlay.pcapng"), folder.join("truth.csv"));
    let [to, true_to] = [&file, &truth].map(|path| path.to_str().expect("text"));
    let config = config(configuration);
    let arguments = ["overlay", "-f", &config, "--input", input, "--output", to, "--truth", true_to];
    let output = evforge(&[&arguments, further].concat());
    let truth = truth::read(&fs::read(&truth).expect("the truth")[..]).expect("a truth file");
    Made { file, truth, said: text(&output.stdout) }
}

/// What `run` makes of a capture: times and pixels in order, and its report.
fn run(folder: &Path, input: &Path) -> (Vec<(u64, u32)>, String) {
    run_with(CONFIG, folder, input, &[])
}

fn run_with(configuration: &str, folder: &Path, input: &Path, further: &[&str]) -> (Vec<(u64, u32)>, String) {
    let events = folder.join("events.csv");
    let [input, to] = [input, &events].map(|path| path.to_str().expect("text"));
    let config = config(configuration);
    let arguments = ["run", "-f", &config, "--input", input, "--events", to];
    let output = evforge(&[&arguments, further].concat());
    let lines = fs::read_to_string(&events).expect("events");
    let event = |line: &str| {
        let (time, pixel) = line.split_once(',').expect("two columns");
        (time.parse().expect("a time"), pixel.parse().expect("a pixel"))
    };
    (lines.lines().skip(1).map(event).collect(), text(&output.stdout))
}

fn events_of(truth: &[Neutron]) -> Vec<(u64, u32)> {
    truth.iter().map(|neutron| (neutron.time_ns, neutron.pixel_id)).collect()
}

#[test]
fn one_copy_of_the_recorded_capture_gives_its_labels_and_no_other_event() {
    let Some(input) = capture("one_copy_of_the_recorded_capture_gives_its_labels_and_no_other_event") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let made = overlay(folder.path(), &input, &[]);
    assert!(made.truth.len() > 1000, "{}", made.said);
    assert!(made.truth.iter().all(|neutron| neutron.resolvable));
    let (events, report) = run(folder.path(), &made.file);
    assert!(events == events_of(&made.truth), "{} events\n{report}", events.len());
    // They are events of the whole capture as well.
    let (all, _) = run(folder.path(), Path::new(&input));
    let all: BTreeSet<_> = all.into_iter().collect();
    assert!(events.iter().all(|event| all.contains(event)));
    assert!(made.said.contains("149 180 readouts"), "{}", made.said);
}

/// With everything that is not isolated laid over as well, one copy is the capture again.
#[test]
fn one_copy_with_its_background_gives_the_events_of_the_recorded_capture() {
    let Some(input) = capture("one_copy_with_its_background_gives_the_events_of_the_recorded_capture") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let made = overlay(folder.path(), &input, &["--background"]);
    let (events, report) = run(folder.path(), &made.file);
    let (all, _) = run(folder.path(), Path::new(&input));
    assert!(report.contains("hits          121 171"), "{report}");
    assert!(events == all);
    // Two events may come within a nanosecond: the truth has them in the order of their pixels.
    let sorted = |mut events: Vec<(u64, u32)>| {
        events.sort_unstable();
        events
    };
    assert_eq!(sorted(events), sorted(events_of(&made.truth)));
    let resolvable = made.truth.iter().filter(|neutron| neutron.resolvable).count();
    assert!(resolvable > 1000, "{resolvable}");
}

/// Neutrons without another one of their panel or cassette within `silence_ns`.
fn alone(truth: &[Neutron], silence_ns: u64) -> Vec<Neutron> {
    let is_near = |one: &Neutron, other: &Neutron| {
        one.number != other.number
            && one.module == other.module
            && one.time_ns.abs_diff(other.time_ns) <= silence_ns
    };
    // The truth is in order of time.
    let near = |at: usize, neutron: &Neutron| {
        let within = |other: &&Neutron| other.time_ns.abs_diff(neutron.time_ns) <= silence_ns;
        let before = truth[..at].iter().rev().take_while(within);
        before.chain(truth[at..].iter().take_while(within)).any(|other| is_near(neutron, other))
    };
    truth
        .iter()
        .enumerate()
        .filter(|(at, neutron)| !near(*at, neutron))
        .map(|(_, neutron)| *neutron)
        .collect()
}

#[test]
fn what_still_stands_alone_in_many_copies_of_the_recorded_capture_is_found() {
    let Some(input) = capture("what_still_stands_alone_in_many_copies_of_the_recorded_capture_is_found")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for further in [
        &["--copies", "6"][..],
        &["--copies", "6", "--strips", "--seed", "5"],
        &["--copies", "10", "--stretch", "7", "--shift", "123.4us"],
    ] {
        let made = overlay(folder.path(), &input, further);
        let (events, report) = run(folder.path(), &made.file);
        assert!(report.contains("unaccounted   0") && !report.contains(" late"), "{report}");
        let found: BTreeSet<_> = events.into_iter().collect();
        let alone = alone(&made.truth, 500);
        let missed = events_of(&alone).iter().filter(|event| !found.contains(event)).count();
        assert_eq!(missed, 0, "{further:?}: of {}", alone.len());
        assert!(alone.len() > 1000 && alone.len() < made.truth.len(), "{}: {}", alone.len(), made.said);
    }
}

/// The truth is real: parameters that are worse find fewer of the neutrons that stand alone.
#[test]
fn worse_parameters_find_fewer_neutrons_of_the_recorded_capture() {
    let Some(input) = capture("worse_parameters_find_fewer_neutrons_of_the_recorded_capture") else { return };
    let folder = tempfile::tempdir().unwrap();
    let made = overlay(folder.path(), &input, &["--copies", "5", "--stretch", "2"]);
    let resolvable: Vec<_> = made.truth.iter().filter(|neutron| neutron.resolvable).copied().collect();
    let missed = |further: &[&str]| {
        let (events, _) = run_with(CONFIG, folder.path(), &made.file, further);
        let found: BTreeSet<_> = events.into_iter().collect();
        events_of(&resolvable).iter().filter(|event| !found.contains(event)).count()
    };
    let as_shipped = missed(&[]);
    for worse in [
        "matching={max_difference='200ns'}",
        "matching.max_difference=20ns",
        "matching.y_delay=-200ns",
        "clustering.x.max_time_gap=10ns",
        "clustering.y.min_hits=6",
    ] {
        let missed = missed(&["--set", &format!("gdgem.{worse}")]);
        let more = missed.saturating_sub(as_shipped);
        assert!(
            20 * more > resolvable.len(),
            "{worse}: {missed} and not {as_shipped} of {}",
            resolvable.len()
        );
    }
}

/// Another detector and another format: CAEN records of a Multi-Blade.
#[test]
fn the_recorded_multi_blade_capture_is_overlaid_as_well() {
    let test = "the_recorded_multi_blade_capture_is_overlaid_as_well";
    let Some(input) = recorded(test, "multiblade/recorded_2018.pkts") else { return };
    let folder = tempfile::tempdir().unwrap();
    let blade = "multiblade.toml";
    let again = overlay_of(blade, folder.path(), &input, &["--background"]);
    let (events, _) = run_with(blade, folder.path(), &again.file, &[]);
    let (all, _) = run_with(blade, folder.path(), Path::new(&input), &[]);
    assert!(all.len() > 1000 && events == all && events == events_of(&again.truth));
    for further in [&["--isolation", "1"][..], &["--isolation", "1", "--copies", "4", "--strips"]] {
        let made = overlay_of(blade, folder.path(), &input, further);
        let (events, _) = run_with(blade, folder.path(), &made.file, &[]);
        let found: BTreeSet<_> = events.into_iter().collect();
        let alone = alone(&made.truth, 10_000);
        assert!(alone.len() > 500, "{}: {}", alone.len(), made.said);
        assert!(events_of(&alone).iter().all(|event| found.contains(event)), "{}", made.said);
    }
}

#[test]
fn the_same_seed_makes_the_same_files_and_a_dead_time_takes_readouts_away() {
    let Some(input) = capture("the_same_seed_makes_the_same_files_and_a_dead_time_takes_readouts_away")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let first = overlay(folder.path(), &input, &["--copies", "5"]);
    let bytes = fs::read(&first.file).unwrap();
    let again = overlay(folder.path(), &input, &["--copies", "5", "--seed", "1"]);
    assert!(first.truth == again.truth && bytes == fs::read(&again.file).unwrap());
    let other = overlay(folder.path(), &input, &["--copies", "5", "--seed", "2"]);
    assert_ne!(first.truth, other.truth);
    let busy = overlay(folder.path(), &input, &["--copies", "5", "--dead-time", "277ns"]);
    // The electronics tell fewer of the same neutrons apart.
    assert_eq!(events_of(&first.truth), events_of(&busy.truth));
    assert!(busy.said.contains("readouts in the dead time"), "{}", busy.said);
    assert!(fs::metadata(&busy.file).unwrap().len() < bytes.len() as u64);
}

#[test]
fn what_cannot_be_overlaid_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (input, output, truth) = (path("junk.pkts"), path("out.pcapng"), path("truth.csv"));
    fs::write(&input, b"\x03\0\0\0abc").unwrap();
    for (configuration, further, expected) in [
        ("sonde.toml", &[][..], "[sonde] cannot be overlaid"),
        (CONFIG, &[], "no neutron of the capture stands alone"),
        (CONFIG, &["--isolation", "0.5"], "expected a factor from 1 to 1000"),
        (CONFIG, &["--copies", "0"], "0 is not in 1.."),
        (CONFIG, &["--set", "gdgem.time.marker_tick=25ns"], "must be equal"),
    ] {
        let configuration = config(configuration);
        let arguments =
            ["overlay", "-f", &configuration, "--input", &input, "--output", &output, "--truth", &truth];
        let refused = Command::new(PROGRAM).args([&arguments, further].concat()).output().unwrap();
        let said = text(&refused.stderr);
        assert!(!refused.status.success() && said.contains(expected), "{further:?}: {said}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["junk.pkts"]);
}

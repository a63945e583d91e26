//! `evforge simulate` as a user sees it: capture, network and pipeline give the same events; instruments have the
//! rates of the table; seeds and threads.

use crate::common::{PROGRAM, text};
use std::path::Path;
use std::process::{Command, Output};

fn evforge(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program starts")
}

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a path that is text").to_owned()
}

fn succeed(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// One detector of each kind, in the prototype's and in the ESS readout.
const DETECTORS: [&str; 7] = ["sonde", "multigrid", "trex", "multiblade", "freia", "gdgem", "nmx"];

#[test]
fn a_capture_and_the_pipeline_of_the_same_process_get_the_same_events() {
    for detector in DETECTORS {
        let folder = tempfile::tempdir().unwrap();
        let file = |name| file(folder.path(), name);
        let of =
            ["simulate", detector, "--pulses", "6", "--seed", "3", "--neutrons", "5kHz", "--start", "fixed"];
        let form = ["--form", "--events", &file("formed.csv"), "--truth", &file("truth.csv")];
        succeed(&evforge(&[&of[..], &form].concat()));
        let write = ["--output", &file("packets.pcapng"), "--truth", &file("again.csv")];
        let told = succeed(&evforge(&[&of[..], &write].concat()));
        assert!(told.contains("neutrons in 6 pulses"), "{told}");
        let name = if detector == "gdgem" { "gdgem-srs" } else { detector };
        let config = format!("{}/../../configs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let run = ["--config", &config, "--input", &file("packets.pcapng"), "--events", &file("run.csv")];
        succeed(&evforge(&[&["run", "--quiet"], &run[..]].concat()));
        let read = |name| std::fs::read_to_string(file(name)).unwrap();
        assert!(read("formed.csv") == read("run.csv"), "{detector}: other events of the capture");
        assert!(read("truth.csv") == read("again.csv"), "{detector}: another truth");
        let (events, neutrons) = (read("formed.csv").lines().count(), read("truth.csv").lines().count());
        assert!(
            events * 10 > neutrons * 8 && neutrons > 1000,
            "{detector}: {events} events of {neutrons} neutrons"
        );
    }
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let folder = tempfile::tempdir().unwrap();
    let simulate = |threads: &str, seed: &str, name: &str| {
        let path = file(folder.path(), name);
        let mut command = Command::new(PROGRAM);
        command.args(["simulate", "freia", "--pulses", "20", "--output", &path, "--seed", seed]);
        let fault = "reorder:probability=1e-2";
        let output = command
            .args(["--fault", fault, "--start", "fixed"])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap();
        succeed(&output);
        std::fs::read(path).unwrap()
    };
    let one = simulate("1", "5", "one.pcapng");
    assert!(simulate("2", "5", "two.pcapng") == one);
    assert!(simulate("3", "5", "three.pcapng") == one);
    assert!(simulate("2", "6", "other.pcapng") != one);
}

/// The date in the title bar of whoever looks at the file is today's, or the one that was asked for.
#[test]
fn simulated_files_begin_now_or_when_it_is_said() {
    use hdf5_metno::types::FixedUnicode;
    let folder = tempfile::tempdir().unwrap();
    // One with a date in its readout, and one with arrival stamps alone.
    for detector in ["freia", "sonde"] {
        let simulate = |start: &[&str], name: &str| {
            let (nexus, events) = (file(folder.path(), name), file(folder.path(), &format!("{name}.csv")));
            let of =
                ["simulate", detector, "--form", "--pulses", "3", "--neutrons", "5kHz", "--nexus", &nexus];
            let more = [
                "--events",
                &events,
                "--overwrite",
                "--title",
                "as new",
                "--run-number",
                "7",
                "--run-user",
                "Ada",
            ];
            let report = file(folder.path(), &format!("{name}.json"));
            succeed(&evforge(&[&of[..], &more, &["--report", &report], start].concat()));
            let report: serde_json::Value =
                serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
            assert_eq!(report["run"], serde_json::json!({"title": "as new", "number": 7, "user": "Ada"}));
            let nexus = hdf5_metno::File::open(nexus).unwrap();
            let title = nexus.dataset("/entry/title").unwrap().read_scalar::<FixedUnicode<64>>().unwrap();
            assert_eq!(title.as_str(), "as new");
            let begin =
                nexus.dataset("/entry/start_time").unwrap().read_scalar::<FixedUnicode<64>>().unwrap();
            let pixels = std::fs::read_to_string(&events).unwrap();
            let pixels: Vec<String> =
                pixels.lines().map(|line| line.split(',').nth(1).unwrap().to_owned()).collect();
            // Whole seconds have no fraction: without the Z they are before those that have one.
            (begin.trim_end_matches('Z').to_owned(), pixels)
        };
        // Each its own: HDF5's lock on a file that was open here stays with the processes that other tests have started since.
        let (before, _) = simulate(&["--start", "now"], &format!("{detector}_before.nxs"));
        let (now, _) = simulate(&[], &format!("{detector}_now.nxs"));
        assert!(now > before && now.as_str() < "2100", "{detector}: {before}, then {now}");
        let (then, pixels) = simulate(&["--start", "2031-05-06T07:08:09Z"], &format!("{detector}_then.nxs"));
        assert!(
            then.starts_with("2031-05-06T07:08:09") || then.starts_with("2031-05-06T07:08:08.9"),
            "{then}"
        );
        let (fixed, same) = simulate(&["--start", "fixed"], &format!("{detector}_fixed.nxs"));
        // Stamps from 1970 are no date: the file has the time at which it was made.
        let is_made_now = fixed > now && fixed.as_str() < "2100";
        assert!(if detector == "freia" { fixed.starts_with("2023-11-14") } else { is_made_now }, "{fixed}");
        assert_eq!(pixels.len(), same.len(), "{detector}: the start changes what happens");
    }
}

/// EFU paper, table 1: the neutron rate of each instrument, scaled, within 2 %.
#[test]
fn table_1_every_instrument_has_its_neutron_rate() {
    let output = evforge(&["simulate", "--instruments", "--scale", "0.001", "--pulses", "56"]);
    let table = succeed(&output);
    let rows: Vec<Vec<&str>> =
        table.lines().skip(2).map(|line| line.split('|').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), 13, "{table}");
    for row in rows {
        let off: f64 = row[5].trim_end_matches(" %").parse().unwrap();
        assert!(off.abs() < 2.0, "{row:?}");
        // Every readout takes bytes, and a neutron leaves one or more of them.
        let [readouts, bytes]: [f64; 2] = [row[7], row[8]].map(|cell| cell.parse().unwrap());
        assert!(readouts > 0.9 && bytes >= 4.0 * readouts, "{row:?}");
    }
}

/// Its groups have addresses.
const SKADI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/sonde.toml");

#[test]
fn what_cannot_be_simulated_is_explained() {
    for (arguments, expected) in [
        (
            &["simulate", "jungfrau", "--output", "x.pkts"][..],
            "there is no detector `jungfrau`. Known are gdgem",
        ),
        (&["simulate", "--instrument", "DREAM", "--output", "x.pkts"], "It has C-SPEC, ESTIA, FREIA"),
        (
            &["simulate", "--instrument", "SKADI", "--readout", "ess", "--output", "x.pkts"],
            "simulated with prototype",
        ),
        (&["simulate", "--instrument", "LoKI-BAND-GEM", "--form"], "no pipeline for the generic readout"),
        (&["simulate", "sonde"], "--output FILE, --to HOST:PORT or --form"),
        (&["simulate", "sonde", "--scale", "0", "--form"], "--scale"),
        (&["simulate", "sonde", "--neutrons", "many", "--form"], "many"),
        (&["simulate", "sonde", "--fault", "explode", "--form"], "explode"),
        (&["simulate", "gdgem", "--output", "/nowhere/x.pkts"], "/nowhere/x.pkts"),
        (
            &["simulate", "--instrument", "SKADI", "--output", "x.pkts"],
            "a .pkts file holds neither addresses nor ports, by which the groups of [sonde] are told apart",
        ),
        (&["run", "--config", SKADI, "--input", "x.pkts"], "give the file a name that ends in .pcapng"),
        (
            &["simulate", "sonde", "--form", "--truth", "/nowhere/t.csv"],
            "the truth cannot be written to /nowhere/t.csv",
        ),
    ] {
        let output = evforge(arguments);
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains(expected), "{arguments:?}: {error}");
    }
}

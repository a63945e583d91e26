//! The notebook `examples/notebooks/reduce_a_file.ipynb` reduces files of the program. What it counts is compared with the CSV of the
//! same run, and what it corrects for lost packets with the CSV of a run that has lost none.
#![allow(clippy::unwrap_used)]

use crate::common::{evforge, python, text, workspace};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_net::capture::{CaptureReader, JoinedFiles, PcapngWriter};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Time of flight over a metre at a wavelength of 1 Å: mass of the neutron over Planck's constant.
const NS_PER_METRE_ANGSTROM: f64 = 252_777.84;
/// AMOR's pixels; what is above is its monitor.
const COLUMNS: u32 = 64;
const PIXELS: u32 = COLUMNS * 448;
/// From the source, in metres, by `configs/amor-ess.toml`: its pixels within 0.2 %.
const TO_DETECTOR: f64 = 35.0;
const TO_MONITOR: f64 = 30.0;
const MONITOR: &str = r#"ess_beam_monitors.monitor=[{name="monitor_1",kind="event_0d",fen=0,channel=0}]"#;
const LOSS: [&str; 2] = ["--fault", "lose:probability=0.2"];

struct Event {
    flight_ns: i64,
    pixel: u32,
}

impl Event {
    fn is_of_monitor(&self) -> bool {
        self.pixel > PIXELS
    }

    /// Whether it is in the region of the notebook: the third quarter of the rows, the second one of the columns.
    fn is_in_region(&self) -> bool {
        let (row, column) = ((self.pixel - 1) / COLUMNS, (self.pixel - 1) % COLUMNS);
        !self.is_of_monitor() && (224..336).contains(&row) && (16..32).contains(&column)
    }

    fn wavelength(&self) -> f64 {
        let path = if self.is_of_monitor() { TO_MONITOR } else { TO_DETECTOR };
        self.flight_ns as f64 / NS_PER_METRE_ANGSTROM / path
    }

    fn is_in_band(&self) -> bool {
        (2.0..6.0).contains(&self.wavelength())
    }
}

fn count(events: &[Event], which: impl Fn(&Event) -> bool) -> f64 {
    events.iter().filter(|event| which(event)).count() as f64
}

/// Files of runs, each with a name.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Simulates a detector, and runs its pipeline.
    fn form(&self, name: &str, detector: &str, more: &[&str]) {
        let (nexus, events) = (self.text(&format!("{name}.nxs")), self.text(&format!("{name}.csv")));
        let report = self.text(&format!("{name}.json"));
        let outputs = ["--nexus", &nexus, "--events", &events, "--report", &report];
        let simulate = ["simulate", detector, "--form", "--start", "fixed"];
        evforge(&[&simulate[..], more, &outputs].concat());
    }

    /// Simulates AMOR with its monitor, and runs them as one.
    fn form_with_monitor(&self, name: &str, fault: &[&str]) {
        let [detector, monitor, both] =
            ["detector", "monitor", "both"].map(|part| format!("{name}-{part}.pcapng"));
        let common = ["--start", "fixed", "--pulses", "140"];
        let output = self.text(&detector);
        let simulate = ["simulate", "amor-ess", "--output", &output];
        evforge(&[&simulate[..], &common, fault].concat());
        let output = self.text(&monitor);
        let path = format!("simulation.beam.flight_path={TO_MONITOR}");
        let simulate = ["simulate", "beam-monitors", "--output", &output];
        let settings = ["--neutrons", "5kHz", "--set", &path, "--set", MONITOR];
        evforge(&[&simulate[..], &common, &settings, fault].concat());
        merge([&self.path(&detector), &self.path(&monitor)], &self.path(&both));
        let config = workspace().join("configs/amor-ess.toml").to_str().unwrap().to_owned();
        let (nexus, events) = (self.text(&format!("{name}.nxs")), self.text(&format!("{name}.csv")));
        let (input, report) = (self.text(&both), self.text(&format!("{name}.json")));
        let outputs = ["--nexus", &nexus, "--events", &events, "--report", &report];
        let run = ["run", "--quiet", "--config", &config, &input];
        evforge(&[&run[..], &outputs].concat());
    }

    fn events(&self, name: &str) -> Vec<Event> {
        let lines = std::fs::read_to_string(self.path(&format!("{name}.csv"))).unwrap();
        let number = |field: Option<&str>| field.map_or(0, |field| field.parse::<i64>().unwrap());
        let event = |line: &str| {
            let mut fields = line.split(',');
            let (time, pixel, pulse) = (number(fields.next()), number(fields.next()), number(fields.next()));
            Event { flight_ns: time - pulse, pixel: pixel as u32 }
        };
        lines.lines().skip(1).map(event).collect()
    }

    /// What the report of a run says of its stream.
    fn report(&self, name: &str) -> Value {
        let report = std::fs::read(self.path(&format!("{name}.json"))).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        report["streams"][0].clone()
    }

    /// Packets that were sent in a run.
    fn packets(&self, name: &str) -> f64 {
        self.report(name)["packets"]["sent"].as_f64().unwrap()
    }

    /// By what counts of the monitor are divided: its packets that arrived, of those that were sent.
    fn live_of_monitor(&self, name: &str) -> f64 {
        let report = self.report(name);
        let mut sources = report["sources"].as_array().unwrap().iter();
        let is_monitor = |source: &&Value| source["name"].as_str().unwrap().ends_with("beam monitors");
        let packets = &sources.find(is_monitor).unwrap()["packets"];
        packets["received"].as_f64().unwrap() / packets["sent"].as_f64().unwrap()
    }

    /// The variables that the notebook has of a file at its end.
    fn notebook(&self, python: &Path, name: &str, variables: &[&str]) -> Value {
        let mut command = Command::new(python);
        command
            .arg(workspace().join("tests/python/run_notebook.py"))
            .arg(workspace().join("examples/notebooks/reduce_a_file.ipynb"))
            .args(variables)
            .env("EVFORGE_FILE", self.path(&format!("{name}.nxs")))
            .env("MPLCONFIGDIR", self.0.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The packets of two captures in one, by their time stamps.
fn merge(captures: [&Path; 2], to: &Path) {
    let sources =
        captures.map(|path| -> Box<dyn PacketSource> { Box::new(CaptureReader::open(path).unwrap()) });
    let mut joined = JoinedFiles::by_stamp(Vec::from(sources));
    let mut writer = PcapngWriter::create(to).unwrap();
    let mut slab = PacketSlab::new(256, 4 << 20);
    loop {
        slab.clear();
        let fill = joined.fill(&mut slab).unwrap();
        for packet in slab.batch().iter() {
            writer.write(&packet).unwrap();
        }
        if fill == Fill::End {
            writer.finish().unwrap();
            return;
        }
    }
}

/// Corrected counts come as near to those of the run without loss as counting statistics allow, and much nearer than what was counted.
///
/// A lost packet takes `per_packet` of these counts at once. So `lost / per_packet` packets are lost, give or take the square root of
/// that, and counts are off by `per_packet` times as much; four such standard deviations are allowed.
fn is_corrected(what: &str, corrected: f64, [whole, left]: [f64; 2], per_packet: f64) {
    let lost = whole - left;
    let deviation = (lost * per_packet.max(1.0)).sqrt();
    let said =
        format!("{what}: {whole} without loss, {left} left, {corrected} corrected, deviation {deviation}");
    println!("{said}");
    assert!(lost > 8.0 * deviation, "too little is lost to see a correction: {said}");
    assert!((corrected - whole).abs() < 4.0 * deviation, "{said}");
}

#[test]
fn the_notebook_reduces_a_file_with_a_monitor_and_puts_back_what_was_lost() {
    let Some(python) = python("the_notebook_reduces_a_file_with_a_monitor_and_puts_back_what_was_lost")
    else {
        return;
    };
    let files = Files::new();
    files.form_with_monitor("whole", &[]);
    files.form_with_monitor("lossy", &LOSS);
    let (whole, lossy) = (files.events("whole"), files.events("lossy"));
    let names = ["event_count", "tof_counts", "monitor_counts", "region_events", "mean_wavelength"];
    let corrected = ["corrected_counts", "region_corrected", "band_counts", "band_monitor", "band_ratio"];
    let found = files.notebook(&python, "lossy", &[&names[..], &corrected].concat());
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));

    // What is counted.
    let is_of_detector = |event: &Event| !event.is_of_monitor();
    let (monitor, live) = (count(&lossy, Event::is_of_monitor), files.live_of_monitor("lossy"));
    assert!(monitor > 10_000.0 && live < 0.9, "{monitor}, {live}");
    for (name, truth) in [
        ("event_count", count(&lossy, is_of_detector)),
        ("tof_counts", count(&lossy, |event| is_of_detector(event) && event.flight_ns < 72_000_000)),
        ("monitor_counts", monitor / live),
        ("region_events", count(&lossy, Event::is_in_region)),
    ] {
        assert!((number(name) - truth).abs() < 1e-3, "{name} is {truth}: {found}");
    }
    let wavelengths = lossy.iter().filter(|event| is_of_detector(event)).map(Event::wavelength);
    let mean = wavelengths.sum::<f64>() / count(&lossy, is_of_detector);
    assert!((number("mean_wavelength") / mean - 1.0).abs() < 1e-3, "{mean}: {found}");
    // The monitor has 714 bins, which are shared out over the edges of the band.
    let band_monitor = count(&lossy, |event| event.is_of_monitor() && event.is_in_band()) / live;
    assert!((number("band_monitor") / band_monitor - 1.0).abs() < 5e-3, "{band_monitor}: {found}");

    // What is corrected.
    let both = |which: &dyn Fn(&Event) -> bool| [count(&whole, which), count(&lossy, which)];
    let packets = files.packets("whole");
    let all = both(&is_of_detector);
    let per_packet = all[0] / packets;
    is_corrected("all", number("corrected_counts"), all, per_packet);
    let region = both(&Event::is_in_region);
    is_corrected("region", number("region_corrected"), region, region[0] / packets);
    // Packets follow the time of flight: those of the band have nothing else.
    let band = both(&|event: &Event| is_of_detector(event) && event.is_in_band());
    is_corrected("band", number("band_counts"), band, per_packet);
    let per_monitor = band.map(|counts| counts / band_monitor);
    let ratio_deviation = ((band[0] - band[1]) * per_packet).sqrt() / band_monitor;
    let ratio = number("band_ratio");
    assert!((ratio - per_monitor[0]).abs() < 4.0 * ratio_deviation, "{per_monitor:?}: {found}");
}

/// An event of a Gd-GEM is lost with the packet of either plane. There is no monitor.
#[test]
fn the_notebook_corrects_for_both_planes_of_a_gd_gem() {
    let Some(python) = python("the_notebook_corrects_for_both_planes_of_a_gd_gem") else { return };
    let files = Files::new();
    let long = ["--pulses", "70", "--neutrons", "10kHz"];
    files.form("whole", "gdgem", &long);
    files.form("lossy", "gdgem", &[&long[..], &LOSS].concat());
    let names = ["event_count", "corrected_counts", "monitor_counts", "band_ratio"];
    let found = files.notebook(&python, "lossy", &names);
    let counts = ["whole", "lossy"].map(|name| files.events(name).len() as f64);
    assert_eq!(found["event_count"].as_f64(), Some(counts[1]));
    // Each event is in a packet of each plane.
    let per_packet = 2.0 * counts[0] / files.packets("whole");
    is_corrected("Gd-GEM", found["corrected_counts"].as_f64().unwrap(), counts, per_packet);
    assert!(found["monitor_counts"].is_null(), "{found}");
    // Counts per second.
    assert!(found["band_ratio"].as_f64().is_some_and(|rate| rate > 100.0 && rate < 10_000.0), "{found}");
}

#[test]
fn the_notebook_says_what_it_cannot_correct() {
    let Some(python) = python("the_notebook_says_what_it_cannot_correct") else { return };
    let files = Files::new();
    let names = ["is_loss_known", "unknown_s", "event_count", "corrected_counts"];
    // The digitizers of a Multi-Blade give their packets no numbers.
    files.form("unknown", "multiblade", &["--pulses", "14"]);
    let found = files.notebook(&python, "unknown", &names);
    assert_eq!((&found["is_loss_known"], found["unknown_s"].as_f64()), (&Value::Bool(false), Some(0.0)));
    assert_eq!(found["event_count"].as_f64(), found["corrected_counts"].as_f64());
    assert_eq!(found["event_count"].as_f64(), Some(files.events("unknown").len() as f64));

    // Nothing arrives in the second to the fourth second.
    let pulses: Vec<String> = (14..56).map(|pulse| pulse.to_string()).collect();
    let fault = format!("lose:pulses={}", pulses.join("+"));
    files.form("gap", "freia", &["--pulses", "70", "--neutrons", "5kHz", "--fault", &fault]);
    let found = files.notebook(&python, "gap", &names);
    assert_eq!((&found["is_loss_known"], found["unknown_s"].as_f64()), (&Value::Bool(true), Some(3.0)));
    let [counted, corrected] = ["event_count", "corrected_counts"].map(|name| found[name].as_f64().unwrap());
    assert_eq!(counted, files.events("gap").len() as f64);
    // The packets on the borders of the gap are shared out to its neighbours.
    assert!((counted..1.05 * counted).contains(&corrected), "{found}");
}

//! Windows that are proposed from simulated captures: they fit the physics that was simulated, and find as many neutrons.

use evforge_config::Config;
use evforge_lab::accuracy::accuracy_by;
use evforge_lab::simulated_source::SimulatedSource;
use evforge_lab::simulation::{settings, simulation_with};
use evforge_lab::truth_files::TruthFiles;
use evforge_lab::windows::{WindowReport, propose};
use evforge_net::capture::CaptureReader;
use evforge_sim::score::ScoreSettings;
use evforge_testkit::{shared_folder, skip};
use std::path::Path;

fn config(name: &str, overrides: &[String]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    Config::read(&path, overrides).unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
}

/// What is proposed from this many pulses at a rate.
fn proposed(config: &Config, rate: &str, pulses: u64) -> Result<WindowReport, String> {
    let mut settings = settings(config).expect("settings of a simulation");
    settings.beam.neutrons = rate.parse().expect("a rate");
    let simulation = simulation_with(config, &settings).expect("a detector that is simulated");
    let nobody = TruthFiles::create(None, None).expect("no files");
    let source = SimulatedSource::new(simulation, pulses, Box::new(nobody));
    propose(config, Box::new(source), Path::new("simulated"), None).map_err(|error| error.to_string())
}

/// The time of a key in nanoseconds.
fn nanoseconds(report: &WindowReport, table: &str, key: &str) -> u64 {
    let found = report.proposal.keys.iter().find(|it| it.table == table && it.key == key);
    let value = &found.unwrap_or_else(|| panic!("{table}.{key} in {}", report.text)).value;
    value.trim_matches('"').trim_end_matches("ns").parse().expect("nanoseconds")
}

/// The share of all neutrons that is found at a low rate, as configured and with the proposal.
fn found(name: &str, rate: &str, distance: f64, report: &WindowReport) -> [f64; 2] {
    let shipped = config(name, &[]);
    let limits = ScoreSettings { largest_distance: [distance; 3], ..ScoreSettings::default() };
    [Vec::new(), report.proposal.overrides()].map(|overrides| {
        let rate = rate.parse().expect("a rate");
        let run = accuracy_by(&shipped, &config(name, &overrides), rate, 5000, &limits);
        run.unwrap_or_else(|error| panic!("{error}")).score.all.efficiency.expect("there are neutrons")
    })
}

/// Jitter of 11 ns: two hits of a neutron differ by 16 ns, and hardly any of them by more than 70 ns.
#[test]
fn a_multi_blade_gets_windows_of_its_time_stamps() {
    let shipped = config("freia", &[]);
    let report = proposed(&shipped, "30kHz", 3).unwrap();
    println!("{}", report.text);
    let gap = nanoseconds(&report, "ess_multiblade.window", "max_time_gap");
    assert!((30..=90).contains(&gap), "{}", report.text);
    // Whatever is configured: the same neutrons say the same.
    let narrow = config("freia", &["ess_multiblade.window.max_time_gap=20ns".to_owned()]);
    let other = proposed(&narrow, "30kHz", 3).unwrap();
    let same = nanoseconds(&other, "ess_multiblade.window", "max_time_gap");
    assert!(same.abs_diff(gap) <= 10, "{}", other.text);
    assert!(other.proposal.lost[1] > 0.05 && other.proposal.lost[0] < 0.005, "{}", other.text);
    let [before, after] = found("freia", "30kHz", 2.0, &report);
    assert!(after > before - 0.003, "{after} after {before}\n{}", report.text);
}

/// Jitter of 20 ns, and ticks of 11 ns.
#[test]
fn a_multi_grid_gets_a_gap_of_its_time_stamps() {
    let shipped = config("trex", &[]);
    let report = proposed(&shipped, "30kHz", 4).unwrap();
    println!("{}", report.text);
    let gap = nanoseconds(&report, "ess_multigrid", "gap");
    assert!((50..=160).contains(&gap), "{}", report.text);
    let [before, after] = found("trex", "30kHz", 2.5, &report);
    assert!(after > before - 0.003, "{after} after {before}\n{}", report.text);
}

/// Tracks drift for up to 500 ns, over some 20 strips: neighbours differ by less than 100 ns, and the ends of both planes by
/// what the jitter of 10 ns and their thresholds make.
#[test]
fn a_gd_gem_gets_gaps_of_its_tracks() {
    let shipped = config("nmx", &[]);
    let report = proposed(&shipped, "5kHz", 20).unwrap();
    println!("{}", report.text);
    for plane in ["x", "y"] {
        let gap = nanoseconds(&report, &format!("ess_gdgem.clustering.{plane}"), "max_time_gap");
        assert!((30..=150).contains(&gap), "{}", report.text);
    }
    assert_eq!(nanoseconds(&report, "ess_gdgem.matching", "y_delay"), 0, "{}", report.text);
    let difference = nanoseconds(&report, "ess_gdgem.matching", "max_difference");
    assert!((40..=200).contains(&difference), "{}", report.text);
    let [before, after] = found("nmx", "5kHz", 20.0, &report);
    assert!(after > before - 0.003, "{after} after {before}\n{}", report.text);
}

/// What is proposed from a recorded capture; none with `test` reported as skipped.
fn recorded(test: &str, name: &str, capture: &str) -> Option<WindowReport> {
    let path = shared_folder().join("captures").join(capture);
    if !path.is_file() {
        skip(test, &format!("{} is not there", path.display()));
        return None;
    }
    let input = CaptureReader::open(&path).expect("a capture");
    let report = propose(&config(name, &[]), Box::new(input), &path, None);
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    println!("{}", report.text);
    Some(report)
}

/// Strips of one charge differ by up to 2 ns, and by up to 60 ns where an amplitude is small; planes by 38 ns.
#[test]
fn the_recorded_gd_gem_gets_gaps() {
    let test = "the_recorded_gd_gem_gets_gaps";
    let Some(report) = recorded(test, "gdgem-srs", "gdgem/vmm3a_srs.pcapng") else { return };
    for plane in ["x", "y"] {
        let gap = nanoseconds(&report, &format!("gdgem.clustering.{plane}"), "max_time_gap");
        assert!((40..=220).contains(&gap), "{}", report.text);
    }
    let delay = nanoseconds(&report, "gdgem.matching", "y_delay");
    assert!((35..=42).contains(&delay), "{}", report.text);
    assert!(
        (30..=200).contains(&nanoseconds(&report, "gdgem.matching", "max_difference")),
        "{}",
        report.text
    );
}

/// Small signals come up to 1.4 us late.
#[test]
fn the_recorded_multi_blade_gets_a_window() {
    let test = "the_recorded_multi_blade_gets_a_window";
    let Some(report) = recorded(test, "multiblade", "multiblade/recorded_2018.pkts") else { return };
    let key = report.proposal.keys.iter().find(|it| it.key == "ticks").expect("the window");
    let ticks: u64 = key.value.parse().expect("a number");
    assert!((60..=250).contains(&ticks), "{}", report.text);
}

#[test]
fn what_has_no_windows_or_too_few_neutrons_is_told() {
    let error = proposed(&config("sonde-module", &[]), "1kHz", 1).unwrap_err();
    assert!(error.contains("a detector with a section [sonde] has no gaps or matching windows"), "{error}");
    let error = proposed(&config("freia", &[]), "100Hz", 1).unwrap_err();
    assert!(error.contains("stand alone") && error.contains("100 are needed"), "{error}");
}

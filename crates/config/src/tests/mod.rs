//! Configurations read, refused and overridden.

mod adc_readout;
mod ess_files;
mod ess_multiblade;
mod masks;
mod placement;
mod sonde;
mod thresholds;

use crate::detectors::SECTIONS;
use crate::{Config, DetectorSettings};
use evforge_core::pulse::PulseTrain;
use std::path::Path;

const GOOD: &str = r#"
name = "test"
[gdgem]
readout = "vmm3a"
geometry = { nx = 128, ny = 128 }
[gdgem.time]
convention = "signed-offset"
bunch_crossing = "22.5ns"
marker_tick = "22.5ns"
[[gdgem.mapping]]
fec = 2
vmm = 0
plane = "x"
strip_offset = 0
"#;

/// A mask of a chip that is not mapped.
const MASKS: &str = "[[gdgem.mask]]
fec = 2
vmm = 4
channels = [3]
reason = \"hot\"
[[gdgem.mapping]]";

#[test]
fn masks_and_thresholds_of_channels_reach_the_settings() {
    let entries = "[[gdgem.mask]]
fec = 2
vmm = 0
channels = [3, 63]
reason = \"hot\"
[[gdgem.channel_threshold]]
fec = 2
vmm = 0
channels = [7]
adc = 1023
";
    let good = format!("{GOOD}{entries}");
    let DetectorSettings::GdGem(settings) = parse(&good, &[]).unwrap().detector else {
        panic!("another detector")
    };
    assert_eq!((&settings.mask[0].channels, &*settings.mask[0].reason), (&vec![3, 63], "hot"));
    assert_eq!(
        (settings.channel_thresholds[0].adc, &settings.channel_thresholds[0].channels),
        (1023, &vec![7])
    );
    for (from, to, expected) in [
        ("[3, 63]", "[3, 64]", "gdgem.mask[0].channels: 64 is not in 0..=63"),
        ("[7]", "[64]", "gdgem.channel_threshold[0].channels: 64 is not in 0..=63"),
        ("1023", "1024", "gdgem.channel_threshold[0].adc: is above the largest amplitude 1023"),
    ] {
        let error = parse(&good.replacen(from, to, 1), &[]).unwrap_err();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
    }
}

fn parse(text: &str, overrides: &[&str]) -> Result<Config, String> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::parse(Path::new("test.toml"), text, &overrides).map_err(|error| error.to_string())
}

#[test]
fn overrides_reach_the_settings() {
    let plain = parse(GOOD, &[]).unwrap();
    let DetectorSettings::GdGem(settings) = &plain.detector else { panic!("another detector") };
    assert_eq!(settings.sorting.window, 500_000_000);
    let changed = parse(GOOD, &["gdgem.sorting.window=1ms", "input.threads=2"]).unwrap();
    let DetectorSettings::GdGem(settings) = &changed.detector else { panic!("another detector") };
    assert_eq!((settings.sorting.window, changed.input.threads), (1_000_000_000, 2));
    assert!(changed.text.contains("1ms"));
}

#[test]
fn detector_stands_for_the_section_of_the_detector() {
    let changed = parse(GOOD, &["detector.sorting.window=1ms"]).unwrap();
    let DetectorSettings::GdGem(settings) = &changed.detector else { panic!("another detector") };
    assert_eq!(settings.sorting.window, 1_000_000_000);
    let error = parse(GOOD, &["detector.sortin.window=1ms"]).unwrap_err();
    assert!(error.contains("with --set detector.sortin.window=1ms") && error.contains("unknown field"));
}

#[test]
fn errors_name_line_and_column() {
    for (from, to, expected) in [
        ("22.5ns\"\nmarker", "22.5\"\nmarker", "test.toml:8:18: found `22.5`, expected a time"),
        ("nx = 128", "nx = 0", "test.toml:5:12: gdgem.geometry: a geometry of 0 x 128"),
        ("vmm = 0", "vmm = 16", "test.toml:12:7: gdgem.mapping[0].vmm: chip 16 is not in 0..=15"),
        ("vmm = 0", "vnm = 0", "test.toml:12:1: unknown field `vnm`"),
        ("readout = \"vmm3a\"", "readout = \"vmm4\"", "test.toml:4:11: unknown variant `vmm4`"),
        ("[gdgem]\n", "[gdgem\n", "test.toml:3:7: "),
        ("[[gdgem.mapping]]", MASKS, "test.toml:12:7: gdgem.mask[0].vmm: chip 4 of FEC 2 is in no mapping"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        let error = parse(&text, &[]).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n  expected {expected}");
    }
}

#[test]
fn errors_of_files_that_a_configuration_names_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.toml");
    let entry = r#"{"fecID": 0, "vmmID": 3, "planeID": 0, "strip_offset": 0}"#;
    std::fs::write(folder.path().join("wiring.json"), format!(r#"{{"srs_mappings": [{entry}]}}"#)).unwrap();
    let without = GOOD.split("[[gdgem.mapping]]").next().unwrap();
    let named =
        |key: &str, file: &str| without.replace("[gdgem.time]", &format!("{key} = \"{file}\"\n[gdgem.time]"));
    let error = |text: &str| Config::parse(&path, text, &[]).unwrap_err().to_string();
    for (text, expected) in [
        (without.to_owned(), "gdgem.mapping: no chip is mapped"),
        (named("mapping_file", "none.json"), "none.json: cannot be read: No such file"),
        (named("mapping_file", "."), "it is a folder"),
        (
            named("mapping_file", "wiring.json"),
            "test.toml:6:16: gdgem.mapping_file: wiring.json: mapping[0].fec: FEC 0 is not in 1..=15",
        ),
        (named("mapping_file", "test.toml"), "test.toml: cannot be read"),
        (GOOD.replace("[gdgem.time]", "mapping_file = 'x'\n[gdgem.time]"), "keep one"),
        (
            GOOD.replace("[gdgem.time]", "calibration = 'wiring.json'\n[gdgem.time]"),
            "wiring.json: the key vmm_calibration is missing: found srs_mappings",
        ),
    ] {
        let error = error(&text);
        assert!(error.contains(expected), "{error}\n  expected {expected}");
    }
}

#[test]
fn pulses_and_vetoes_are_read_and_checked() {
    let with = |text: &str| parse(&format!("{GOOD}{text}"), &[]);
    let veto = "[[veto]]\nname = \"prompt\"\ntime_of_flight = [\"0us\", \"300us\"]\n";
    let config = with(&format!("[pulses]\nfrequency = \"10Hz\"\n{veto}")).unwrap();
    assert_eq!(config.pulses, PulseTrain::european_xfel());
    assert_eq!(config.vetoes[0].range, evforge_core::pulsed::VetoRange::TimeOfFlight(0, 300_000));
    let error = with(&veto.replace("300us", "0ns")).unwrap_err();
    assert!(error.contains("veto[0].time_of_flight: the range of `prompt` ends before it begins"), "{error}");
    let error = with("[pulses]\nfrequency = \"14\"\n").unwrap_err();
    assert!(error.contains("found `14`, expected a frequency such as 14Hz"), "{error}");
    let error = with("[pulses]\nfrequency = \"0.1Hz\"\n").unwrap_err();
    assert!(error.contains("pulses.frequency: must be at least 0.5Hz"), "{error}");
}

#[test]
fn partitions_are_read_and_checked() {
    let with = |text: &str| parse(GOOD, &[&format!("gdgem.partition={text}")]);
    let cut = with("{ regions = 2, overlap = 16, threads = 2 }").unwrap();
    let DetectorSettings::GdGem(settings) = &cut.detector else { panic!("another detector") };
    let partition = settings.partition.unwrap();
    assert_eq!((partition.regions, partition.overlap, partition.threads), (2, 16, 2));
    for (text, expected) in [
        ("{ regions = 0 }", "gdgem.partition.regions: 0 is not in 1..=16"),
        ("{ regions = 2, overlap = 0 }", "gdgem.partition.overlap: 0 is not in 1..=8191"),
        ("{ regions = 2, threads = 65 }", "gdgem.partition.threads: 65 is not in 1..=64"),
        ("{ overlap = 2 }", "missing field `regions`"),
    ] {
        let error = with(text).unwrap_err();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
    }
}

#[test]
fn a_configuration_has_exactly_one_detector() {
    let error = parse("name = \"none\"\n", &[]).unwrap_err();
    let names = SECTIONS.map(|name| format!("[{name}]")).join(", ");
    assert!(error.contains(&format!("no detector: a configuration has one section of {names}")), "{error}");
}

#[test]
fn todays_readout_needs_its_common_table_and_others_refuse_it() {
    let error = parse("name = \"none\"\n[ess_beam_monitors]\n", &[]).unwrap_err();
    assert!(error.contains("ess: [ess_beam_monitors] needs a table [ess] as well"), "{error}");
    let error = parse(&format!("{GOOD}[ess]\ntype = 'nmx'\n"), &[]).unwrap_err();
    assert!(error.contains("ess: is for detectors of the ESS readout, which [gdgem] is not"), "{error}");
    let with = |ess: &str| parse(&format!("name = 'm'\n[ess]\n{ess}\n[ess_beam_monitors]\n"), &[]);
    for (ess, expected) in [
        ("type = 'cbn'", "test.toml:3:8: ess.type: found `cbn`, expected a number or one of "),
        ("type = 16\naccept = ['cookie']", "ess.accept: found `cookie`, expected one of output_queue"),
        ("type = 16\naccept = ['output_queue']", "ess.odd_output_queue: names the one queue above 11"),
        ("type = 16\noutput_queues = [12]", "ess.output_queues: 12 is not in 0..=11"),
        ("type = 16", "ess_beam_monitors.monitor: 0 monitors, expected 1 to 64"),
    ] {
        let error = with(ess).unwrap_err();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
    }
}

#[test]
fn a_former_name_of_a_key_is_read_but_not_both() {
    let former = parse(GOOD, &["gdgem.sorting.leap=5ms"]).unwrap();
    let DetectorSettings::GdGem(settings) = &former.detector else { panic!("another detector") };
    assert_eq!(settings.sorting.forward_jump, 5_000_000_000);
    let error = parse(GOOD, &["gdgem.sorting.leap=5ms", "gdgem.sorting.forward_jump=5ms"]).unwrap_err();
    assert!(error.contains("duplicate field `forward_jump`"), "{error}");
    let error = parse(GOOD, &["gdgem.sorting.leep=5ms"]).unwrap_err();
    let names = "`window`, `forward_jump`, `restart`, `source_lag`, `max_held_hits`";
    assert!(error.contains(&format!("unknown field `leep`, expected one of {names}")), "{error}");
    let error = parse(GOOD, &["gdgem.time=5"]).unwrap_err();
    assert!(error.ends_with("invalid type: integer `5`, expected a table"), "{error}");
    let error = parse(&GOOD.replace("[gdgem.time]", "[[gdgem.time]]"), &[]).unwrap_err();
    assert!(error.starts_with("test.toml:6:"), "{error}");
    let error = parse(GOOD, &["gdgem.sorting=[]"]).unwrap_err();
    assert!(error.contains("invalid type: sequence, expected a table with window, forward_jump"), "{error}");
}

#[test]
fn errors_of_overrides_name_the_override() {
    let error = parse(GOOD, &["gdgem.sorting.forward_jump=1us"]).unwrap_err();
    assert!(
        error.contains("with --set gdgem.sorting.forward_jump=1us: gdgem.sorting.forward_jump: must be"),
        "{error}"
    );
    let error = parse(GOOD, &["gdgem.sortin.forward_jump=1us"]).unwrap_err();
    assert!(error.contains("unknown field `sortin`") && !error.contains(" at line "), "{error}");
    // Another mistake has the line of the file, whatever is overridden besides.
    let wrong = GOOD.replace("22.5ns\"\nmarker", "22.5\"\nmarker");
    let error = parse(&wrong, &["input.threads=2"]).unwrap_err();
    assert!(error.starts_with("test.toml:8:18: with --set input.threads=2: "), "{error}");
}

/// Found by fuzzing: reading a configuration took the memory that it asked for.
#[test]
fn reading_a_configuration_takes_no_memory_for_its_detector() {
    let config = parse(GOOD, &["gdgem.sorting.max_held_hits=1073741824"]).unwrap();
    let DetectorSettings::GdGem(settings) = &config.detector else { panic!("another detector") };
    assert_eq!(settings.sorting.max_held_hits, 1 << 30);
    let error = parse(GOOD, &["gdgem.sorting.max_held_hits=1073741825"]).unwrap_err();
    assert!(error.contains("gdgem.sorting.max_held_hits: 1073741825 is not in 8192..=2^30"), "{error}");
}

#[test]
fn a_clock_too_odd_for_64_bits_is_refused() {
    let error = parse(&GOOD.replace("marker_tick", "tac_range = \"60.001ns\"\nmarker_tick"), &[]);
    assert!(error.unwrap_err().contains("no common unit"), "1/255000 ns");
}

#[test]
fn a_run_has_the_name_that_its_operator_gives_it() {
    let read = |table: &str| Config::parse(Path::new("test.toml"), &format!("{GOOD}\n{table}"), &[]);
    assert!(read("").unwrap().run.is_empty());
    let run = read("[run]\ntitle = \"ε = ½\"\nnumber = 12\nuser = \"Ada\"").unwrap().run.clone();
    assert_eq!(
        (run.title.as_deref(), run.number, run.user.as_deref()),
        (Some("ε = ½"), Some(12), Some("Ada"))
    );
    for (table, expected) in [
        ("[run]\ntitle = \"two\\nlines\"", "run.title: contains '\\n'"),
        ("[run]\nnumber = 3000000000", "run.number: is 3000000000"),
        ("[run]\nnumber = -1", "test.toml:17:10: invalid value: integer `-1`"),
        ("[run]\nproposal = \"12\"", "proposal"),
    ] {
        let error = read(table).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("test.toml"), "{error}");
    }
}

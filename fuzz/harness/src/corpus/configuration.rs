//! Configuration files with overrides.

use super::Seed;
use crate::configuration::SEPARATOR;
use crate::found_keys::{FoundKeys, found_keys};
use evforge_config::Config;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// The configurations that are shipped. A reference that is called as another one is `reference-` that.
fn shipped() -> Vec<Seed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut seeds: Vec<Seed> = Vec::new();
    for folder in [folder.clone(), folder.join("reference-2018")] {
        let entries = std::fs::read_dir(folder).expect("the folder of the configurations");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry of it").path()).collect();
        paths.sort();
        for path in paths {
            if path.extension().is_some_and(|ending| ending == "toml") {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let name = format!("shipped-{stem}");
                let is_taken = seeds.iter().any(|seed| seed.name == name);
                let name = if is_taken { format!("shipped-reference-{stem}") } else { name };
                seeds.push(Seed::new(name, std::fs::read(&path).expect("a configuration")));
            }
        }
    }
    seeds
}

/// As little as a configuration can say.
pub const SMALLEST: &str = r#"name = "n"
[gdgem]
readout = "vmm3a"
geometry = { nx = 128, ny = 128 }
time = { convention = "signed-offset", bunch_crossing = "22.5ns" }
mapping = [{ fec = 2, vmm = 0, plane = "x", strip_offset = 0 }]
"#;

/// The wiring in [`SMALLEST`].
const ONE_CHIP: &str = "mapping = [{ fec = 2, vmm = 0, plane = \"x\", strip_offset = 0 }]";
/// The same with single channels that are left out or have a threshold of their own.
const MASKED: &str = "mapping = [{ fec = 2, vmm = 0, plane = \"x\", strip_offset = 0 }]
mask = [{ fec = 2, vmm = 0, channels = [3, 63], reason = \"hot\" }]
channel_threshold = [{ fec = 2, vmm = 0, channels = [4], adc = 1023 }]";
/// A mask for a chip that is not there.
const MASKED_ELSEWHERE: &str = "mapping = [{ fec = 2, vmm = 0, plane = \"x\", strip_offset = 0 }]
mask = [{ fec = 2, vmm = 1, channels = [64], reason = \"\" }]";

/// A shipped configuration of each kind of detector, by the name of its section.
fn detectors() -> Vec<(String, String)> {
    let mut detectors: BTreeMap<String, String> = BTreeMap::new();
    for seed in shipped() {
        let text = String::from_utf8_lossy(&seed.bytes).into_owned();
        // Files that it names are not there.
        if let Ok(config) = Config::parse(Path::new("x.toml"), &text, &[]) {
            detectors.entry(config.section.to_owned()).or_insert(text);
        }
    }
    detectors.into_iter().collect()
}

/// What is found from each of them on, which takes some seconds.
pub fn found() -> &'static [(String, FoundKeys)] {
    static FOUND: OnceLock<Vec<(String, FoundKeys)>> = OnceLock::new();
    FOUND
        .get_or_init(|| detectors().into_iter().map(|(section, text)| (section, found_keys(&text))).collect())
}

/// Configurations with every key that takes a value.
fn with_every_key() -> Vec<Seed> {
    let seed = |(section, found): &(String, FoundKeys)| {
        Seed::new(format!("every-key-{}", section.replace('_', "-")), found.text.as_str())
    };
    found().iter().map(seed).collect()
}

/// The shipped configurations, those with every key, a small one, and small ones that are wrong in one way each.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = shipped();
    seeds.extend(with_every_key());
    seeds.push(Seed::new("smallest", SMALLEST));
    for (name, from, to) in [
        ("unknown-key", "vmm = 0", "vnm = 0"),
        ("number-for-a-time", "\"22.5ns\"", "22.5"),
        ("time-without-unit", "22.5ns", "22.5"),
        ("time-too-exact", "22.5ns", "22.5000000000000000001ns"),
        ("time-too-long", "22.5ns", "99999999999999999999999999999999999999h"),
        ("no-common-unit", "22.5ns\"", "22.5ns\", tac_range = \"60.001ns\""),
        ("no-pixels", "nx = 128", "nx = 0"),
        ("too-many-pixels", "nx = 128", "nx = 4294967295"),
        ("negative", "fec = 2", "fec = -2"),
        ("chip-that-is-not", "vmm = 0", "vmm = 16"),
        ("no-mapping", "{ fec = 2, vmm = 0, plane = \"x\", strip_offset = 0 }", ""),
        ("no-name", "\"n\"", "\"\""),
        ("not-toml", "[gdgem]", "[gdgem"),
        ("wide-letters", "\"n\"", "\"µ\\u00e9\u{1F600}\"\nx = 'é"),
        ("mask", ONE_CHIP, MASKED),
        ("mask-of-no-chip", ONE_CHIP, MASKED_ELSEWHERE),
        ("wrong-variant", "vmm3a", "vmm4"),
        ("carriage-returns", "\n", "\r\n"),
    ] {
        seeds.push(Seed::new(name, SMALLEST.replace(from, to)));
    }
    for (name, overrides) in [
        ("set-good", &["gdgem.sorting.window=1ms", "input.threads=2", "gdgem.mapping[0].vmm=3"][..]),
        ("set-tables", &["input = { threads = 2, bytes_per_slab = '4MiB' }", "gdgem.position.time_bins=1"]),
        ("set-malformed", &["gdgem..x=1"]),
        ("set-no-value", &["name"]),
        ("set-nothing", &[""]),
        ("set-beyond-the-list", &["gdgem.mapping[9].vmm=1"]),
        ("set-through-a-value", &["name.x.y=1"]),
        ("set-unknown", &["gdgem.sortin.leap=1us"]),
        ("set-strange-value", &["name=\"a\nb\"\nvalue = 3", "name='\u{7f}'"]),
        ("set-most-hits", &["gdgem.sorting.max_held_hits=1073741824"]),
    ] {
        let mut text = SMALLEST.to_owned();
        for assignment in overrides {
            text.push(SEPARATOR);
            text.push_str(assignment);
        }
        seeds.push(Seed::new(name, text));
    }
    seeds.push(Seed::new("not-utf-8", [SMALLEST.as_bytes(), &[0xFF, 0xC3, 0x28]].concat()));
    seeds
}

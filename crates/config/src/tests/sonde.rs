//! `[sonde]`.

use crate::{Config, DetectorSettings};
use std::path::Path;

const GOOD: &str = r#"
name = "test"
[sonde]
geometry = { nx = 16, ny = 16 }
modules = [
  { system = 0, x = 0, y = 0 },
  { system = 1, x = 8, y = 0 },
]
groups = [
  { port = 9000, x = 0, y = 0 },
  { port = 9001, x = 0, y = 8, modules = [{ x = 8, y = 0 }] },
]
[[sonde.mask]]
group = 0
system = 1
asic = 3
channels = [0, 15]
reason = "hot"
"#;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("test.toml"), text, &[]).map_err(|error| error.to_string())
}

#[test]
fn groups_have_the_common_modules_or_their_own() {
    let config = parse(GOOD).unwrap();
    let DetectorSettings::Sonde(settings) = &config.detector else { panic!("another detector") };
    assert_eq!((settings.module_count(), settings.groups[1].modules[0].system), (3, None));
    assert_eq!((settings.mask.len(), settings.mask[1].module, settings.mask[1].channel), (2, 1, 15));
    assert!(config.build_detector().is_ok());
}

#[test]
fn what_cannot_be_is_refused() {
    for (from, to, expected) in [
        ("port = 9001", "port = 9000", "sonde.groups[1]: has the same address as groups[0]"),
        ("port = 9001", "address = \"10.0.0.1\"", "sonde.groups[1]: all groups are told apart by"),
        ("port = 9001, ", "", "sonde.groups[1]: all groups are told apart by"),
        ("port = 9001", "port = 1, address = \"10.0.0.1\"", "has an address and a port"),
        ("x = 0, y = 8", "x = 0, y = 9", "sonde.groups[1]: one of its modules lies outside"),
        ("x = 0, y = 8", "x = 0, y = 7", "sonde.groups[1]: one of its modules lies over one of groups[0]"),
        ("system = 0, x", "system = 1, x", "sonde.groups[0]: two of its modules have the same system"),
        ("system = 0, x", "system = 32, x", "sonde.groups[0]: system numbers lie in 0..=31"),
        ("system = 0, x", "x", "sonde.groups[0]: a module without a system number"),
        ("system = 1\n", "system = 2\n", "sonde.mask[0]: there is no module with this group"),
        ("[0, 15]", "[0, 16]", "sonde.mask[1]: there is no such channel"),
        ("[sonde]\n", "[sonde]\nclock = \"raw\"\n", "sonde.clock: times of 32 bits"),
        ("[sonde]\n", "[sonde]\ntick = \"0ns\"\n", "sonde.tick: must lie above 0"),
        ("nx = 16", "nx = 1000000", "sonde.geometry: 16000000 pixels are too many"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
    }
}

//! Configuration files with overrides.

use super::Seed;
use crate::configuration::SEPARATOR;

/// The configurations that are shipped.
const SHIPPED: [(&str, &str); 24] = [
    ("gdgem-srs", include_str!("../../../../configs/gdgem-srs.toml")),
    ("gdgem-run16", include_str!("../../../../configs/reference-2018/gdgem-run16.toml")),
    ("gdgem-recorded-vmm2", include_str!("../../../../configs/reference-2018/gdgem-recorded-vmm2.toml")),
    ("gdgem-recorded-vmm3", include_str!("../../../../configs/reference-2018/gdgem-recorded-vmm3.toml")),
    ("gdgem-vmm3a", include_str!("../../../../configs/reference-2018/gdgem-vmm3a.toml")),
    ("adc-readout", include_str!("../../../../configs/adc-readout.toml")),
    ("gdgem-nmx", include_str!("../../../../configs/gdgem-nmx.toml")),
    ("nmx", include_str!("../../../../configs/nmx.toml")),
    ("multiblade-50", include_str!("../../../../configs/multiblade-50.toml")),
    ("multiblade", include_str!("../../../../configs/multiblade.toml")),
    ("multigrid-cncs", include_str!("../../../../configs/multigrid-cncs.toml")),
    ("multigrid", include_str!("../../../../configs/multigrid.toml")),
    ("sonde-module", include_str!("../../../../configs/sonde-module.toml")),
    ("sonde", include_str!("../../../../configs/sonde.toml")),
    ("trex", include_str!("../../../../configs/trex.toml")),
    ("let", include_str!("../../../../configs/let.toml")),
    ("freia", include_str!("../../../../configs/freia.toml")),
    ("estia", include_str!("../../../../configs/estia.toml")),
    ("amor-ess", include_str!("../../../../configs/amor-ess.toml")),
    ("tblmb", include_str!("../../../../configs/tblmb.toml")),
    ("beam-monitors", include_str!("../../../../configs/beam-monitors.toml")),
    ("reference-multiblade", include_str!("../../../../configs/reference-2018/multiblade.toml")),
    ("reference-multigrid", include_str!("../../../../configs/reference-2018/multigrid.toml")),
    ("reference-sonde", include_str!("../../../../configs/reference-2018/sonde.toml")),
];

/// As little as a configuration can say.
const SMALLEST: &str = r#"name = "n"
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

/// The shipped configurations, a small one, and small ones that are wrong in one way each.
pub fn seeds() -> Vec<Seed> {
    let mut seeds: Vec<_> =
        SHIPPED.iter().map(|(name, text)| Seed::new(format!("shipped-{name}"), *text)).collect();
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

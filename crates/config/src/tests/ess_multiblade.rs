//! `[ess_multiblade]`.

use crate::Config;
use std::path::Path;

fn problem(overrides: &[&str]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/freia.toml");
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Config::read(&path, &overrides).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    for (overrides, expected) in [
        (vec![], ""),
        (vec!["cassettes[1].cassette=0"], "cassettes[1].cassette: cassette 0 is configured twice"),
        (vec!["cassettes[31].cassette=32"], "outside 64 x 1024 pixels"),
        (vec!["cassettes[1].hybrid=0"], "cassettes[1].hybrid: hybrid 0 of ring 0, FEN 0 is configured twice"),
        (vec!["cassettes[2].fen=24"], "cassettes[2].fen: 24 is not in 0..=23"),
        (vec!["cassettes=[]"], "no cassette is configured"),
        (vec!["layout=\"estia\""], "outside 64 x 1024 pixels"),
        (vec!["window.max_time_gap=\"2ms\""], "window.max_time_gap: must be at most 1ms"),
        (vec!["window.separate=true"], "window.separate: needs window.max_amplitude_ratio"),
        (
            vec!["window.separate=true", "window.max_amplitude_ratio=4.0"],
            "window.separate: neutrons are told apart by pairing.ambiguous already",
        ),
        (vec!["pairing.ambiguous=all"], "unknown variant `all`"),
        (vec!["pairing.max_cluster_gap=0ns"], "pairing.max_cluster_gap: must lie above 0"),
        (vec!["pairing.max_difference=2ms"], "pairing.max_difference: must lie above 0 and at most at 1ms"),
        (vec!["pairing.max_amplitude_ratio=1.0"], "pairing.max_amplitude_ratio: must be above 1"),
        (vec!["pairing.typical_amplitude_ratio=0.0"], "0 is not in 0.001 to 1000"),
        (vec!["pairing.usual.difference=0ns"], "pairing.usual.difference: must lie above 0"),
        (vec!["pairing.usual.amplitude_ratio=0.5"], "pairing.usual.amplitude_ratio: must be above 1"),
        (vec!["calibration=[{ ring = 11, fen = 0, vmm = 0 }]"], "calibration[0].vmm: VMM 0 of ring 11"),
        (vec!["mask=[{ ring = 0, fen = 9, vmm = 0, channels = [], reason = \"\" }]"], "mask[0].vmm"),
    ] {
        let keys: Vec<_> = overrides.iter().map(|key| format!("ess_multiblade.{key}")).collect();
        let found = problem(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{overrides:?}: {found}"
        );
    }
    assert!(problem(&["ess.sorting.max_group_hits=20000"]).contains("ess.sorting.max_group_hits"));
}

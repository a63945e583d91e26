//! What monitor data know of the thresholds in a configuration.

use crate::Config;
use std::path::Path;

/// The thresholds of a watched detector: the different ones above 0, and on which planes their channels are.
fn watched(name: &str, overrides: &[&str]) -> Vec<(u16, Option<usize>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let config = Config::read(&path, &overrides).unwrap();
    let mut detector = config.build_detector().unwrap();
    detector.set_monitoring(true);
    let monitor = detector.monitor().unwrap();
    let thresholds = monitor.thresholds().iter().zip(0..);
    let mut found: Vec<_> = thresholds
        .filter(|(threshold, _)| **threshold > 0)
        .map(|(threshold, index)| (*threshold, monitor.plan().plane_of(index)))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn thresholds_of_every_detector_are_told_with_its_monitor_data() {
    let both = [(70, Some(0)), (90, Some(1))];
    for (name, overrides) in [
        ("gdgem-srs", &["gdgem.clustering.x.adc_threshold=70", "gdgem.clustering.y.adc_threshold=90"][..]),
        ("nmx", &["ess_gdgem.clustering.x.adc_threshold=70", "ess_gdgem.clustering.y.adc_threshold=90"]),
        ("freia", &["ess_multiblade.wire_threshold=70", "ess_multiblade.strip_threshold=90"]),
        (
            "multigrid",
            &[
                "multigrid.bus[0].wire_filters={ blanket = { min = 70 } }",
                "multigrid.bus[0].grid_filters={ blanket = { min = 180, rescale = 2.0 } }",
            ],
        ),
    ] {
        assert_eq!(watched(name, overrides), both, "{name}");
        assert!(name == "nmx" || watched(name, &[]).is_empty(), "{name}");
    }
    let one = watched("multiblade", &["multiblade.threshold=70"]);
    assert_eq!(one, [(70, Some(0)), (70, Some(1))]);
    assert_eq!(watched("multigrid-cncs", &[]), [(170, None), (230, None)]);
    assert_eq!(watched("beam-monitors", &["ess_beam_monitors.monitor[1].threshold=70"]), [(70, None)]);
    let pulses = ["pulses.channel=3", "pulses.threshold=1000", "pulses.frequency=14Hz"];
    assert_eq!(watched("adc-readout", &pulses), [(1000, None)]);
}

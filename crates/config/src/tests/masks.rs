//! The channels of every shipped detector, as masks name them.

use crate::Config;
use std::path::Path;

/// An entry for channels of each group and VMM, appended to the configuration: it is read, and masks the channels that
/// were meant.
#[test]
fn masks_name_the_channels_of_every_detector() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut detectors = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let config = Config::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let mut detector = config.build_detector().unwrap();
        detector.set_monitoring(true);
        let plan = detector.monitor().unwrap().plan().clone();
        let (mut text, mut meant) = (config.text.clone(), Vec::new());
        let mut first = 0;
        for group in &plan.groups {
            let wired = |channel: &usize| group.is_wired(*channel);
            let ends = [(0..group.channels).find(wired), (0..group.channels).rev().find(wired)];
            for channel in ends.into_iter().flatten() {
                let Some((mask, number)) = group.mask_of(channel) else { continue };
                text += &format!("\n[[{}.mask]]\nchannels = [{number}]\nreason = \"hot\"\n", config.section);
                for (key, value) in &mask.keys {
                    text += &format!("{key} = {value}\n");
                }
                meant.push(plan.channel_name(first + channel).unwrap());
            }
            first += group.channels;
        }
        let masked = Config::parse(&path, &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let found = masked.build_detector().unwrap().ledger().masked;
        let mut found: Vec<_> = found.into_iter().map(|channel| channel.channel).collect();
        found.sort();
        meant.sort();
        assert_eq!(found, meant, "{}", path.display());
        if !meant.is_empty() && !detectors.contains(&config.section) {
            detectors.push(config.section);
        }
    }
    detectors.sort_unstable();
    let all = [
        "ess_gdgem",
        "ess_helium3",
        "ess_multiblade",
        "ess_multigrid",
        "gdgem",
        "multiblade",
        "multigrid",
        "sonde",
    ];
    assert_eq!(detectors, all, "the detectors that have masks");
}

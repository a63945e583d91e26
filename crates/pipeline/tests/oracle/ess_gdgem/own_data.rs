//! NMX as it is shipped, on the capture of this repository: never skipped.

use crate::common::ess_records::records;
use crate::common::form_packets;
use crate::ess_gdgem::model::{Hit, Rules};
use evforge_config::Config;
use evforge_testkit::own_data::{configuration_path, payloads};
use std::collections::HashMap;

/// Pixels along x and along y.
const SIDE: u64 = 1280;

/// Clusters are joined by 20 ticks of 88.0525 MHz in time, as the model does it; the shipped configuration pairs them.
const JOINED: [&str; 5] = [
    "ess_gdgem.matching={max_difference='228ns'}",
    "ess_gdgem.clustering.x.max_time_gap=114ns",
    "ess_gdgem.clustering.y.max_time_gap=114ns",
    "ess_gdgem.clustering.x.time_gap_of=plane",
    "ess_gdgem.clustering.y.time_gap_of=plane",
];

/// As the configuration is shipped, but for [`JOINED`].
const RULES: Rules = Rules {
    side: SIDE,
    threshold: 50,
    max_cluster_gap: 10,
    max_strip_gap: 2,
    min_hits: 1,
    max_matching_gap: 20,
    max_span: 20,
    min_span: 1,
    max_time: 44,
};

fn config(further: &[&str]) -> Config {
    let overrides: Vec<String> = JOINED.iter().chain(further).map(|text| (*text).to_owned()).collect();
    Config::read(&configuration_path("nmx"), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// The hits of packets, at strips of the whole detector as the configuration has them; a sector is a panel to the model.
fn hits(config: &Config, packets: &[Vec<u8>]) -> Vec<Hit> {
    let table: toml::Table = toml::from_str(&config.text).expect("a configuration that was read");
    let hybrids = table["ess_gdgem"]["hybrid"].as_array().expect("a list");
    let wired: HashMap<_, _> = hybrids
        .iter()
        .map(|entry| {
            let key = |name: &str| entry[name].as_integer().expect("a number") as u64;
            let is_reversed = entry.get("reversed").and_then(toml::Value::as_bool).unwrap_or(false);
            let is_y = entry["plane"].as_str() == Some("y");
            (
                (key("ring"), key("fen"), key("hybrid")),
                (key("sector") as u8, is_y, key("offset"), is_reversed),
            )
        })
        .collect();
    records(packets)
        .iter()
        .map(|record| {
            let channel = u64::from(record.vmm % 2) * 64 + u64::from(record.channel);
            let hybrid = (record.ring.into(), record.fen.into(), u64::from(record.vmm / 2));
            let (panel, is_y, offset, is_reversed) = wired[&hybrid];
            let strip = offset + if is_reversed { 127 - channel } else { channel };
            Hit { ticks: record.ticks, panel, is_y, strip, adc: record.adc }
        })
        .collect()
}

/// The model's events. Its panels have pixels of their own, the sectors of NMX share those of one detector.
fn expected(rules: &Rules, hits: &[Hit]) -> Vec<(u64, u32)> {
    let pixels = (SIDE * SIDE) as u32;
    let mut events = rules.form(hits).events;
    events.iter_mut().for_each(|event| event.1 = (event.1 - 1) % pixels + 1);
    events.sort_unstable();
    events
}

#[test]
fn the_capture_of_the_repository_gives_the_model_s_events() {
    let packets = payloads("nmx");
    let produce = |config: &Config| {
        let (log, ledger) = form_packets(config, &packets);
        assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
        log.events().map(|event| (event.time_ns, event.pixel_id)).collect::<Vec<_>>()
    };
    let config = self::config(&[]);
    let hits = hits(&config, &packets);
    let found = produce(&config);
    let expected = expected(&RULES, &hits);
    assert!(expected.len() > 200);
    assert_eq!(found, expected);
    for changed in [
        Rules { threshold: 100, ..RULES },
        Rules { max_cluster_gap: 3, max_matching_gap: 0, ..RULES },
        Rules { max_span: 8, ..RULES },
        Rules { side: SIDE + 1, ..RULES },
    ] {
        assert!(self::expected(&changed, &hits) != found, "{changed:?}");
    }
    assert!(
        produce(&self::config(&["ess_gdgem.hybrid[0].reversed=false"])) != found,
        "a hybrid is not noticed"
    );
}

//! TREX as it is shipped, on the capture of this repository: never skipped.

use crate::common::ess_records::records;
use crate::common::form_packets;
use crate::ess_multigrid::model::{Readout, Rules, Vessel};
use evforge_config::Config;
use evforge_testkit::own_data::{configuration_path, payloads};

/// Clusters within 500 ns are joined, as the model does it; the shipped configuration pairs them.
const JOINED: [&str; 2] = ["ess_multigrid.gap=500ns", "ess_multigrid.pairing={ambiguous='join'}"];

fn config(further: &[&str]) -> Config {
    let overrides: Vec<String> = JOINED.iter().chain(further).map(|text| (*text).to_owned()).collect();
    Config::read(&configuration_path("trex"), &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// What the configuration says about the vessels.
fn rules(config: &Config) -> Rules {
    let table: toml::Table = toml::from_str(&config.text).expect("a configuration that was read");
    let section = table["ess_multigrid"].as_table().expect("a table");
    let number = |value: &toml::Value| value.as_integer().expect("a number") as u64;
    let vessel = |entry: &toml::Value| {
        let key = |name: &str| entry.get(name).map(number);
        let is = |name: &str| entry.get(name).and_then(toml::Value::as_bool).unwrap_or(false);
        Vessel {
            ring: number(&entry["rings"][0]) as u8,
            first_fen: number(&entry["fens"][0]) as u8,
            x_offset: key("x_offset").unwrap_or(0),
            short: is("short").then(|| (key("y_offset").unwrap_or(0), is("rotated"))),
        }
    };
    Rules {
        vessels: section["vessels"].as_array().expect("a list").iter().map(vessel).collect(),
        columns: number(&section["columns"]),
        max_grid_span: number(&section["max_grid_span"]) as u16,
        min_adc: number(&section["min_adc"]) as u16,
    }
}

#[test]
fn the_capture_of_the_repository_gives_the_model_s_events() {
    let packets = payloads("trex");
    let readouts: Vec<Readout> = records(&packets)
        .iter()
        .map(|record| Readout {
            ticks: record.ticks,
            ring: record.ring,
            fen: record.fen,
            vmm: record.vmm,
            channel: record.channel,
            adc: record.adc,
        })
        .collect();
    let config = self::config(&[]);
    let expected = rules(&config).form(&readouts);
    assert!(expected.len() > 200);
    let produce = |config: &Config| {
        let (log, ledger) = form_packets(config, &packets);
        assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
        log.events().map(|event| (event.time_ns, event.pixel_id)).collect::<Vec<_>>()
    };
    assert_eq!(produce(&config), expected);
    assert!(produce(&self::config(&["ess_multigrid.min_adc=300"])) != expected, "a threshold is not noticed");
    assert!(
        produce(&self::config(&["ess_multigrid.vessels[3].x_offset=0"])) != expected,
        "a vessel is not noticed"
    );
}

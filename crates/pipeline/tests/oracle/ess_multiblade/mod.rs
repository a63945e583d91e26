//! Multi-Blades with the ESS readout, in production against a plain model, over random readouts and over the captures of
//! this repository.

mod model;
mod own_data;

use crate::common::form_packets;
use evforge_config::Config;
use evforge_testkit::properties::cases;
use evforge_wire::ess::{EssEncoder, EssTime, TICKS_PER_SECOND, Vmm3aFields, detector_type};
use model::{Instrument, Readout, Rules};
use proptest::prelude::*;
use std::path::Path;

/// The pulse, in seconds since 1970.
const SECOND: u32 = 1_700_000_000;

/// An instrument with its configuration, type and columns of pixels.
fn instrument(instrument: Instrument) -> (&'static str, u8, u64) {
    match instrument {
        Instrument::Freia => ("freia.toml", detector_type::FREIA, 64),
        Instrument::Estia => ("estia.toml", detector_type::ESTIA, 1536),
        Instrument::Amor => ("amor-ess.toml", detector_type::FREIA, 64),
    }
}

/// What the configuration says about the cabling.
pub(crate) fn cassettes(config: &Config) -> impl Fn(u8, u8, u8) -> Option<u64> {
    let table: toml::Table = toml::from_str(&config.text).expect("a configuration that was read");
    let entries = table["ess_multiblade"]["cassettes"].as_array().expect("a list").clone();
    move |ring, fen, hybrid| {
        let is = |entry: &toml::Value, key: &str, value: u8| entry[key].as_integer() == Some(value.into());
        let found = entries
            .iter()
            .find(|entry| is(entry, "ring", ring) && is(entry, "fen", fen) && is(entry, "hybrid", hybrid))?;
        found["cassette"].as_integer().map(|cassette| cassette as u64)
    }
}

fn packets(detector_type: u8, readouts: &[Readout]) -> Vec<Vec<u8>> {
    let record = |readout: &Readout| {
        let Readout { fen, vmm, channel, adc, over_threshold, tdc, .. } = *readout;
        let time = EssTime::from_total_ticks(readout.ticks).expect("a time of today");
        let fibre = 2 * readout.ring;
        Vmm3aFields { fibre, fen, vmm, channel, adc, over_threshold, tdc, time, ..Vmm3aFields::default() }
            .encode()
    };
    let records: Vec<_> = readouts.iter().map(record).collect();
    let mut packets = Vec::new();
    let pulse = EssTime { seconds: SECOND, ticks: 0 };
    EssEncoder::new(detector_type, 0, 11).pulse(pulse, &records, &mut packets);
    packets
}

/// A shipped configuration with the settings of the model.
pub(crate) fn config(path: &Path, rules: &Rules) -> Config {
    let overrides = [
        format!("ess_multiblade.wire_threshold={}", rules.threshold_of_wires),
        format!("ess_multiblade.strip_threshold={}", rules.threshold_of_strips),
        format!("ess_multiblade.window.max_gap_wires={}", rules.max_gap_wires),
        format!("ess_multiblade.window.max_gap_strips={}", rules.max_gap_strips),
        // The reference makes one event of all that is close in time.
        "ess_multiblade.pairing.ambiguous=join".into(),
        "ess_multiblade.window.max_time_gap=500ns".into(),
        "ess.sorting.max_held_hits=8192".into(),
        "ess.sorting.max_group_hits=1024".into(),
    ];
    Config::read(path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Production and model.
fn compare(rules: &Rules, steps: &[(u64, Readout)]) -> Result<usize, TestCaseError> {
    let (configuration, detector_type, _) = instrument(rules.instrument);
    let config =
        config(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(configuration), rules);
    // The fine time can put a hit before its time stamp: the first ones stay behind the pulse.
    let mut ticks = u64::from(SECOND) * u64::from(TICKS_PER_SECOND) + 100;
    let mut readouts = Vec::new();
    for &(step, readout) in steps {
        ticks += step;
        readouts.push(Readout { ticks, ..readout });
    }
    let expected = rules.form(&readouts, cassettes(&config));
    let (log, ledger) = form_packets(&config, &packets(detector_type, &readouts));
    prop_assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
    let found: Vec<_> = log
        .pulses()
        .iter()
        .flat_map(|pulse| pulse.events.iter().map(|event| (event.time_ns, event.pixel_id)))
        .collect();
    prop_assert_eq!(&found, &expected);
    Ok(found.len())
}

pub(crate) fn rules(of: Instrument) -> Rules {
    Rules {
        instrument: of,
        columns: instrument(of).2,
        threshold_of_wires: 0,
        threshold_of_strips: 0,
        // 500 ns.
        max_gap: 352,
        max_gap_wires: 0,
        max_gap_strips: 0,
    }
}

fn readout() -> impl Strategy<Value = (u64, Readout)> {
    // A step of 45 ticks is about 500 ns; few cassettes and channels, so that hits meet.
    let step = prop_oneof![4 => 0..4_u64, 2 => 35..55_u64, 1 => 50..300_u64];
    let place = (0..2_u8, 0..2_u8, 0..4_u8, prop_oneof![40 => 28..34_u8, 1 => 0..64_u8]);
    let signal = (0..1024_u16, any::<bool>(), any::<u8>());
    (step, place, signal).prop_map(|(step, (ring, fen, vmm, channel), (adc, over_threshold, tdc))| {
        (step, Readout { ticks: 0, ring, fen, vmm, channel, adc, over_threshold, tdc })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn section_3_events_are_those_of_the_plain_model(
        of in prop_oneof![Just(Instrument::Freia), Just(Instrument::Estia), Just(Instrument::Amor)],
        thresholds in (0..200_u16, 0..200_u16),
        gaps in (0..3_u64, 0..3_u64),
        steps in proptest::collection::vec(readout(), 0..400),
    ) {
        let rules = Rules {
            threshold_of_wires: thresholds.0,
            threshold_of_strips: thresholds.1,
            max_gap_wires: gaps.0,
            max_gap_strips: gaps.1,
            ..rules(of)
        };
        compare(&rules, &steps)?;
    }
}

/// The gap that still joins is exactly 500 ns, whichever planes the hits are on.
#[test]
fn section_3_clusters_join_over_both_planes() {
    let readout = |vmm, channel, tdc| Readout {
        ticks: 0,
        ring: 0,
        fen: 0,
        vmm,
        channel,
        adc: 100,
        over_threshold: false,
        tdc,
    };
    // Eighths of a tick from hit to hit: the fine time 145 adds nothing, 115 adds 7 ns, which are 5.
    for (step, tdc, events) in [(43, 115, 1), (44, 145, 1), (44, 115, 0), (45, 145, 0)] {
        let steps = [(0, readout(0, 20, 145)), (step, readout(1, 20, tdc)), (500, readout(0, 30, 145))];
        let found = compare(&rules(Instrument::Freia), &steps).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found, events, "{step} ticks and fine time {tdc}");
    }
    // A wire joins two strips that are too far from each other.
    let steps = [(0, readout(1, 20, 145)), (40, readout(0, 20, 145)), (40, readout(1, 21, 145))];
    assert_eq!(compare(&rules(Instrument::Freia), &steps).unwrap_or_else(|error| panic!("{error}")), 1);
}

//! Helium-3 tubes against what the reference makes of the same records: golden tables of single records, and whole packets.
//!
//! The instruments' own files of wiring and calibration are read as they are. Where evforge decides otherwise, the case is named here
//! and in `docs/helium3.md`.

use crate::common::form_packets;
use evforge_config::{Config, DetectorSettings};
use evforge_core::counter::Role;
use evforge_core::ledger::DetectorLedger;
use evforge_testkit::{pkts_payloads, shared_file, shared_folder};
use evforge_wire::ess::{
    EssHeader, EssPacket, EssTime, HeaderRules, R5560Fault, R5560Fields, R5560Payload, RecordRules,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

const FOLDER: &str = "vectors/ess_instruments";

/// A configuration of an instrument by its own files. Readouts come in no order: there is room for a second.
fn config(instrument: &str, mapping: &str, calibration: &str) -> Config {
    let file = |name: &str| shared_folder().join(FOLDER).join("configs").join(format!("{name}.json"));
    let distance = if instrument == "tbl3he" { "71428600ns" } else { "357142855ns" };
    let text = format!(
        "name = '{instrument}'\n[ess]\ntype = '{instrument}'\nmax_time_of_flight = '1428571420ns'\nmax_pulse_distance = '{distance}'\n\
         [ess.sorting]\nwindow = '1s'\nforward_jump = '1s'\nrestart = '10s'\nsource_lag = '10s'\n[ess_helium3]\nmapping_file = {:?}\ncalibration_file = {:?}\n",
        file(mapping),
        file(calibration)
    );
    Config::parse(Path::new("instrument.toml"), &text, &[])
        .unwrap_or_else(|error| panic!("{mapping}: {error}"))
}

fn unpacked(test: &str, path: &str) -> Option<String> {
    let packed = shared_file(test, &format!("{FOLDER}/{path}"))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("a packed text");
    Some(text)
}

/// A row of a golden table.
struct Row {
    record: R5560Fields,
    pixel: u32,
    counters: String,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let columns: Vec<&str> = line.split(',').collect();
        let number = |at: usize| columns[at].parse::<i64>().expect("a number");
        let record = R5560Fields {
            fibre: number(0) as u8,
            fen: number(1) as u8,
            group: number(2) as u8,
            charges: [3, 4, 5, 6].map(|at| number(at) as u16),
            ..R5560Fields::default()
        };
        Row { record, pixel: number(7) as u32, counters: columns[9].to_owned() }
    };
    text.lines().skip(1).map(row).collect()
}

const PULSE: EssTime = EssTime { seconds: 1_760_000_000, ticks: 12_345 };

/// Tables: name, instrument, wiring, calibration.
const TABLES: &[(&str, &str, &str, &str)] = &[
    ("bifrost_edges", "bifrost", "bifrost", "bifrostnullcalib"),
    ("bifrost_llbcalib", "bifrost", "bifrost", "bifrostllbcalib"),
    ("bifrost_nullcalib", "bifrost", "bifrost", "bifrostnullcalib"),
    ("cspec", "cspec", "cspec", "cspecnullcalib"),
    ("cspec_edges", "cspec", "cspec", "cspecnullcalib"),
    ("loki_edges_nullcalib", "loki", "LokiFull", "lokinullcalib"),
    ("loki_mapping_nullcalib", "loki", "LokiFull", "lokinullcalib"),
    ("loki_positions_constcalib", "loki", "LokiFull", "lokiconstcalib"),
    ("loki_positions_nullcalib", "loki", "LokiFull", "lokinullcalib"),
    ("loki_positions_synthcalib", "loki", "LokiFull", "loki_synthetic_calib"),
    ("miracles", "miracles", "miracles", "miraclesnullcalib"),
    ("miracles_edges", "miracles", "miracles", "miraclesnullcalib"),
    ("miracles_random", "miracles", "miracles", "miraclesnullcalib"),
    ("tbl3he_constcalib", "tbl3he", "tbl3he", "tbl3heconstcalib"),
    ("tbl3he_edges", "tbl3he", "tbl3he", "tbl3henullcalib"),
    ("tbl3he_nullcalib", "tbl3he", "tbl3he", "tbl3henullcalib"),
    ("tbl3he_synthcalib", "tbl3he", "tbl3he", "tbl3he_synthetic_calib"),
];

/// The pixels of records, 0 for those without; each record is a tick later than the one before.
fn pixels(config: &Config, records: &[R5560Fields]) -> (Vec<u32>, DetectorLedger) {
    let mut header = EssHeader {
        version: 1,
        detector_type: config_type(config),
        pulse: PULSE,
        previous_pulse: PULSE,
        ..EssHeader::default()
    };
    let mut packets = Vec::new();
    let first = PULSE.total_ticks() + 1;
    for (part, chunk) in records.chunks(372).enumerate() {
        let mut content = Vec::new();
        for (record, tick) in chunk.iter().zip(first + 372 * part as u64..) {
            let time = EssTime::from_total_ticks(tick).expect("before 2106");
            content.extend(R5560Fields { time, ..*record }.encode());
        }
        let mut packet = Vec::new();
        header.sequence = part as u32;
        header.write_packet(&content, &mut packet);
        packets.push(packet);
    }
    let (log, ledger) = form_packets(config, &packets);
    let place: BTreeMap<u64, usize> = (0..records.len())
        .map(|number| {
            (EssTime::from_total_ticks(first + number as u64).expect("before 2106").nanoseconds(), number)
        })
        .collect();
    let mut found = vec![0; records.len()];
    for event in log.pulses().iter().flat_map(|pulse| &pulse.events) {
        found[place[&event.time_ns]] = event.pixel_id;
    }
    (found, ledger)
}

fn config_type(config: &Config) -> u8 {
    let table: toml::Table = toml::from_str(&config.text).expect("a configuration that was read");
    evforge_wire::ess::detector_type::named(table["ess"]["type"].as_str().expect("a name"))
        .expect("a known name")
}

/// The counters of what was discarded.
fn discarded(ledger: &DetectorLedger) -> BTreeMap<&'static str, u64> {
    let is_discard = |role: &Role| matches!(role, Role::Discarded(_));
    ledger
        .counters
        .iter()
        .filter(|(info, value)| is_discard(&info.role) && *value > 0)
        .map(|(info, value)| (info.name, value))
        .collect()
}

/// What the counters of the reference, joined by +, are here. Several: which one depends on the instrument.
const COUNTERS: &[(&str, &[&str])] = &[
    ("", &[]),
    ("ring_mapping_errors+validation_errors", &["unmapped_ring"]),
    ("topology_errors+validation_errors", &["unmapped_ring", "unmapped_fen"]),
    ("fen_errors+validation_errors", &["unmapped_fen"]),
    ("validation_errors+group_errors", &["unmapped_group"]),
    // A sum of 0 that is one of charges below 0 has a charge of 32 768 or more, read without a sign.
    ("validation_errors+ampl_zero", &["no_charge", "saturated"]),
    ("pixel_errors+ampl_zero", &["no_charge"]),
    ("validation_errors+ampl_high", &["sum_too_large"]),
    ("validation_errors+ampl_low", &["charge_too_small", "saturated"]),
    ("pixel_errors+globalpos_invalid", &["saturated"]),
    ("pixel_errors+outside_tube", &["outside_tubes"]),
    ("pixel_errors+unitid_invalid+outside_tube", &["outside_tubes", "unmapped_group"]),
    ("pixel_errors+calib_group_errors", &["unmapped_group"]),
    ("pixel_errors+unitid_invalid+calib_group_errors", &["unmapped_ring", "unmapped_group"]),
    // Beyond the geometry, beyond the ends of a tube, or without an event because A + B = 0 (CSPEC).
    (
        "pixel_errors",
        &[
            "outside_detector",
            "position_outside",
            "unmapped_ring",
            "unmapped_group",
            "saturated",
            "no_charge",
        ],
    ),
    ("pos_low", &[]),
    ("pos_high", &[]),
];

/// Rows in which evforge decides otherwise than the reference, with the reason.
fn decision(table: &str, row: &Row) -> Option<&'static str> {
    let R5560Fields { fibre, group, charges, .. } = row.record;
    let instrument = table.split('_').next().unwrap_or_default();
    let [a, b, ..] = charges.map(u16::cast_signed);
    match instrument {
        "loki" if group > 7 => Some("LOKI: a FEN has groups 0 to 7"),
        "bifrost" if group > 14 => Some("BIFROST: a ring has groups 0 to 14"),
        "tbl3he" if group > 3 => Some("TBL3HE: a bank has tubes 0 to 3"),
        "miracles" if group > 11 => Some("MIRACLES: a ring has groups 0 to 11"),
        "miracles" if fibre > 7 => Some("MIRACLES: there are rings 0 to 3"),
        // Side A rounds to the nearest; the reference divides in 32 bits, whose error decides.
        "miracles"
            if 2 * (126 * i64::from(b)) % (2 * (i64::from(a) + i64::from(b))).max(1)
                == i64::from(a) + i64::from(b) =>
        {
            Some("MIRACLES: a place exactly between two pixels")
        }
        "loki" => None,
        _ if a < 0 || b < 0 => Some("of two charges, none is below 0"),
        _ => None,
    }
}

#[test]
fn every_row_of_the_golden_tables_gives_its_pixel() {
    let test = "every_row_of_the_golden_tables_gives_its_pixel";
    let mut compared = 0;
    let mut decided: BTreeMap<&str, usize> = BTreeMap::new();
    for &(table, instrument, mapping, calibration) in TABLES {
        let Some(text) = unpacked(test, &format!("geometry/{table}.csv.gz")) else { return };
        let config = config(instrument, mapping, calibration);
        let mut groups: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        let rows = rows(&text);
        for row in &rows {
            groups.entry(&row.counters).or_default().push(row);
        }
        for (counters, of_counters) in groups {
            let records: Vec<R5560Fields> = of_counters.iter().map(|row| row.record).collect();
            let (found, ledger) = pixels(&config, &records);
            for (row, found) in of_counters.iter().zip(found) {
                compared += 1;
                match decision(table, row).filter(|_| row.pixel != found) {
                    Some(reason) => *decided.entry(reason).or_default() += 1,
                    None => assert_eq!(found, row.pixel, "{table}: {:?}, counters {counters}", row.record),
                }
            }
            let ours = COUNTERS.iter().find(|(reference, _)| *reference == counters);
            let (_, ours) = ours.unwrap_or_else(|| panic!("{table}: {counters} is in no line of COUNTERS"));
            let is_decided = of_counters.iter().any(|row| decision(table, row).is_some());
            let others: BTreeSet<_> =
                discarded(&ledger).into_keys().filter(|name| !ours.contains(name)).collect();
            assert!(others.is_empty() || is_decided, "{table}: {counters} is {others:?} here");
            for (reference, name) in [("pos_low", "corrected_below"), ("pos_high", "corrected_above")] {
                let expected = if counters == reference { records.len() as u64 } else { 0 };
                assert_eq!(ledger.counters.value(name), Some(expected), "{table}: {counters}");
            }
        }
    }
    println!("{compared} rows compared; decided otherwise: {decided:?}");
    assert_eq!(compared, 108_873);
}

/// Pixels of the list that LOKI's NeXus geometry is made of.
#[test]
fn straws_of_loki_have_the_pixels_of_its_nexus_geometry() {
    let test = "straws_of_loki_have_the_pixels_of_its_nexus_geometry";
    let Some(text) = unpacked(test, "geometry/loki_nexus_pixels.csv.gz") else { return };
    let config = config("loki", "LokiFull", "lokinullcalib");
    let DetectorSettings::EssHelium3(settings) = &config.detector else { panic!("no helium-3 tubes") };
    let groups = settings.expand().expect("a wiring that was read");
    let straws: BTreeSet<u32> = groups
        .all()
        .iter()
        .flat_map(|group| settings.calibrated_tubes(group).map(|tube| tube.first_pixel).collect::<Vec<_>>())
        .collect();
    assert_eq!(straws.len(), 6272);
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let columns: Vec<u32> = line.split(',').map(|column| column.parse().expect("a number")).collect();
        let [.., straw, position, pixel] = columns[..] else { panic!("{line}") };
        assert_eq!(pixel, straw * 512 + position + 1);
        assert!(straws.contains(&(pixel - position)) && position < 512, "{line}");
        rows += 1;
    }
    assert_eq!(rows, 7616);
}

/// What the reference made of whole packets.
struct Outcome {
    /// The packet, the time of flight and the pixel of each event.
    events: Vec<(usize, u64, u32)>,
    counters: BTreeMap<String, u64>,
}

fn outcome(text: &str) -> Outcome {
    let mut outcome = Outcome { events: Vec::new(), counters: BTreeMap::new() };
    let mut packet = 0;
    for line in text.lines() {
        let columns: Vec<&str> = line.split(',').collect();
        let number = |at: usize| columns[at].parse::<u64>().expect("a number");
        match columns[0] {
            "packet" => packet = number(1) as usize,
            "event" => outcome.events.push((packet, number(3), number(4) as u32)),
            "counter" => {
                outcome.counters.insert(columns[1].to_owned(), number(2));
            }
            _ => {}
        }
    }
    outcome
}

/// Why the reference made no event of a record that has a pixel here.
fn given_up(packets: &[Vec<u8>], rules: &HeaderRules) -> BTreeMap<u64, &'static str> {
    let longest = 1_428_571_420;
    let mut reasons = BTreeMap::new();
    for packet in packets.iter().filter_map(|bytes| EssPacket::parse(bytes, rules).ok()) {
        let mut is_behind = false;
        for record in R5560Payload::parse(packet.payload).readouts() {
            let time = record.time().nanoseconds();
            let flight = time.checked_sub(packet.pulse.nanoseconds());
            if is_behind {
                reasons.insert(time, "behind a record with an impossible fibre or FEN");
            } else if flight.is_some_and(|flight| flight > longest) {
                reasons.insert(time, "later than any pulse");
            } else if time < packet.previous_pulse.nanoseconds() {
                reasons.insert(time, "earlier than both pulses of its packet");
            }
            is_behind |=
                matches!(record.fault(&RecordRules::default()), Some(R5560Fault::Fibre | R5560Fault::Fen));
        }
    }
    reasons
}

/// Counters of the reference, and the sum of which ones is the same here, less what the reference has given up.
const SAME: &[(&str, &[&str])] = &[
    ("parser.readout.error_ringfen", &["impossible_fibre", "impossible_fen"]),
    ("parser.essheader.errors.type", &["packets_wrong_type"]),
    ("parser.essheader.errors.timehigh", &["packets_pulse_too_far"]),
    ("parser.essheader.errors.timefrac", &["packets_wrong_time_fraction"]),
    ("parser.essheader.heartbeats", &["heartbeats"]),
    ("parser.essheader.errors.even_fibre_sync", &["packets_time_source"]),
];

#[test]
fn whole_packets_give_the_events_of_the_reference() {
    let test = "whole_packets_give_the_events_of_the_reference";
    for (instrument, mapping, calibration, events) in [
        ("loki", "LokiFull", "loki_synthetic_calib", 395),
        ("bifrost", "bifrost", "bifrostllbcalib", 304),
        ("miracles", "miracles", "miraclesnullcalib", 286),
        ("cspec", "cspec", "cspecnullcalib", 296),
        ("tbl3he", "tbl3he", "tbl3he_synthetic_calib", 478),
    ] {
        let Some(text) = unpacked(test, &format!("e2e/{instrument}.csv.gz")) else { return };
        let Some(bytes) = shared_file(test, &format!("{FOLDER}/e2e/{instrument}.pkts")) else { return };
        let reference = outcome(&text);
        assert_eq!(reference.events.len(), events);
        let config = config(instrument, mapping, calibration);
        let packets = pkts_payloads(&bytes);
        let (log, ledger) = form_packets(&config, &packets);
        assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
        let mut found: Vec<(u64, u32)> = log
            .pulses()
            .iter()
            .flat_map(|pulse| &pulse.events)
            .map(|event| (event.time_ns, event.pixel_id))
            .collect();
        let rules = HeaderRules::strict(
            config_type(&config),
            if instrument == "tbl3he" { 6_289_466 } else { 31_447_321 },
        );
        for &(packet, flight, pixel) in &reference.events {
            let header =
                EssPacket::parse(&packets[packet], &rules).expect("a packet that the reference has used");
            // The time of flight of a neutron before the pulse of its packet counts from the pulse before, and only it.
            let times = [header.pulse, header.previous_pulse].map(|pulse| pulse.nanoseconds() + flight);
            let place = found.iter().position(|&(time, own)| own == pixel && times.contains(&time));
            assert!(place.is_some(), "{instrument}: pixel {pixel} of packet {packet} is missing");
            found.swap_remove(place.unwrap_or_default());
        }
        let reasons = given_up(&packets, &rules);
        let mut more: BTreeMap<&str, usize> = BTreeMap::new();
        for (time, pixel) in found {
            let reason = reasons.get(&time);
            *more
                .entry(reason.unwrap_or_else(|| panic!("{instrument}: an event at {time}, pixel {pixel}")))
                .or_default() += 1;
        }
        for (reference_name, ours) in SAME {
            let sum: u64 = ours.iter().filter_map(|name| ledger.counters.value(name)).sum();
            assert_eq!(Some(&sum), reference.counters.get(*reference_name), "{instrument}: {reference_name}");
        }
        println!("{instrument}: {events} events of the reference, and {more:?}");
    }
}

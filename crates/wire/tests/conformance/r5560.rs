//! Records of CAEN R5560 digitisers (document "Event formation of ESS's other instruments", section 1.1) against the
//! reference's unit tests and whole packets that its classes have parsed (vectors `ess_instruments`).
//!
//! The reference ends a packet at the first record with a fault. Here a record with an impossible fibre or front end is
//! skipped, and those behind it stay; at a wrong length the packet ends here too. So there are more sound records, by
//! those that stand behind an impossible address.

use evforge_testkit::{pkts_payloads, shared_file, shared_folder, skip};
use evforge_wire::ess::*;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::process::Command;

/// What the reference counts of records: `parser.readout.…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// `header.count`: fibre and front end are possible.
    headers: usize,
    /// `count`: the length is right, too.
    readouts: usize,
    /// `error_headersize`: fewer than 4 bytes are left.
    header_size: usize,
    /// `error_datlen_mismatch`: a record states more bytes than are left.
    length_mismatch: usize,
    /// `error_datlen_invalid`: a record states another length than 24.
    length_invalid: usize,
    /// `error_ringfen`.
    ring_fen: usize,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.headers += other.headers;
        self.readouts += other.readouts;
        self.header_size += other.header_size;
        self.length_mismatch += other.length_mismatch;
        self.length_invalid += other.length_invalid;
        self.ring_fen += other.ring_fen;
    }
}

/// What the reference counts, from what our decoder says of records and of the bytes behind them.
fn as_the_reference(bytes: &[u8]) -> Counters {
    let rules = RecordRules::default();
    let payload = R5560Payload::parse(bytes);
    let mut counters = Counters::default();
    for (place, readout) in payload.readouts().enumerate() {
        let left = bytes.len() - R5560_RECORD * place;
        if usize::from(readout.length()) > left {
            counters.length_mismatch = 1;
            return counters;
        }
        match readout.fault(&rules) {
            Some(R5560Fault::Fibre | R5560Fault::Fen) => {
                counters.ring_fen = 1;
                return counters;
            }
            Some(R5560Fault::Length) => {
                counters.headers += 1;
                counters.length_invalid = 1;
                return counters;
            }
            None => {
                counters.headers += 1;
                counters.readouts += 1;
            }
        }
    }
    match bytes[bytes.len() - payload.bytes_left()..] {
        [] => {}
        [_, _, low, high, ..] => {
            // The stray bytes of the vectors state more than is left, as a record that was cut does.
            assert!(usize::from(u16::from_le_bytes([low, high])) > payload.bytes_left());
            counters.length_mismatch = 1;
        }
        _ => counters.header_size = 1,
    }
    counters
}

/// Sound records up to one of another length: what evforge takes.
fn taken(bytes: &[u8]) -> usize {
    let rules = RecordRules::default();
    let ends = |readout: &R5560Readout| readout.fault(&rules) == Some(R5560Fault::Length);
    let records = R5560Payload::parse(bytes).readouts().take_while(|readout| !ends(readout));
    records.filter(|readout| readout.is_sound(&rules)).count()
}

fn rules(detector_type: u8) -> HeaderRules {
    HeaderRules::strict(detector_type, 31_447_320)
}

#[test]
fn section_1_1_what_the_reference_says_about_records() {
    let test = "section_1_1_what_the_reference_says_about_records";
    let one = Counters { headers: 1, readouts: 1, ..Counters::default() };
    let two = Counters { headers: 2, readouts: 2, ..one };
    let six = Counters { headers: 6, readouts: 6, ..one };
    let invalid = Counters { headers: 1, length_invalid: 1, ..Counters::default() };
    let ring_fen = Counters { ring_fen: 1, ..Counters::default() };
    let mismatch = Counters { length_mismatch: 1, ..Counters::default() };
    let header_size = Counters { header_size: 1, ..Counters::default() };
    // File, how many bytes of it its test uses, and what it states.
    let cases = [
        ("DataParserTestData_ErrBadRingGoodFEN", 3, header_size),
        ("DataParserTestData_ErrBadRingGoodFEN", 24, ring_fen),
        ("DataParserTestData_ErrGoodRingBadFEN", 24, ring_fen),
        ("DataParserTestData_ErrSizeMismatch", 24, invalid),
        ("DataParserTestData_OkCaenReadout", 23, mismatch),
        ("DataParserTestData_OkCaenReadout", 24, one),
        ("DataParserTestData_ErrThreeCaenReadouts", 64, invalid),
        ("DataParserTestData_Ok2xCaenReadout", 48, two),
        ("CaenBaseTest_TestPacket2", 174, six),
        ("CombinedParserTest_UdpPayload", 78, two),
    ];
    for (file, length, expected) in cases {
        let path = format!("vectors/ess_instruments/caen_{file}.bin");
        let Some(bytes) = shared_file(test, &path) else { return };
        let bytes = &bytes[..length];
        let is_packet = !file.starts_with("DataParser");
        let packet = || EssPacket::parse(bytes, &rules(detector_type::LOKI)).expect("a sound header");
        let payload = if is_packet { packet().payload } else { bytes };
        assert_eq!(as_the_reference(payload), expected, "{file}");
        assert_eq!(taken(payload), expected.readouts, "{file}");
    }
    let path = "vectors/ess_instruments/caen_CaenBaseTest_BadTestPacket.bin";
    let Some(bytes) = shared_file(test, path) else { return };
    assert_eq!(EssPacket::parse(&bytes, &rules(detector_type::LOKI)), Err(HeaderFault::Size));

    let files = std::fs::read_dir(shared_folder().join("vectors/ess_instruments")).expect("the folder");
    let names = files.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let mut found: Vec<_> = names.filter(|name| name.starts_with("caen_")).collect();
    found.sort_unstable();
    let mut listed: Vec<_> = cases.iter().map(|(file, ..)| format!("caen_{file}.bin")).collect();
    listed.push("caen_CaenBaseTest_BadTestPacket.bin".to_owned());
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(found, listed, "a file has no line");
}

#[test]
fn section_1_1_fields() {
    let path = "vectors/ess_instruments/caen_CaenBaseTest_TestPacket2.bin";
    let Some(bytes) = shared_file("section_1_1_fields", path) else { return };
    let packet = EssPacket::parse(&bytes, &rules(detector_type::LOKI)).expect("a sound header");
    let readout = R5560Payload::parse(packet.payload).readout(2).expect("six records");
    let expected = R5560Fields {
        fibre: 1,
        fen: 0x13,
        time: EssTime { seconds: 0x11, ticks: 0x202 },
        charges: [0x201, 0x202, 0x203, 0x204],
        ..R5560Fields::default()
    };
    assert_eq!((readout.fields(), readout.ring()), (expected, 0));
}

/// Whole packets, made with one fault of each kind: header and records have the counts of the reference.
#[test]
fn section_1_1_whole_packets_count_as_in_the_reference() {
    let test = "section_1_1_whole_packets_count_as_in_the_reference";
    for instrument in ["loki", "bifrost", "miracles", "cspec", "tbl3he"] {
        let rules = rules(detector_type::named(instrument).expect("a known detector"));
        let path = format!("vectors/ess_instruments/e2e/{instrument}");
        let Some(packets) = shared_file(test, &format!("{path}.pkts")) else { return };
        let Some(stated) = counters_of(test, &format!("{path}.csv.gz")) else { return };
        let mut found = Counters::default();
        let mut sound = 0;
        let mut headers: BTreeMap<&str, usize> = BTreeMap::new();
        for bytes in pkts_payloads(&packets) {
            let counter = match EssPacket::parse(&bytes, &rules) {
                Ok(packet) => {
                    found += as_the_reference(packet.payload);
                    sound += taken(packet.payload);
                    if packet.is_heartbeat() { "heartbeats" } else { continue }
                }
                Err(HeaderFault::Length) => "errors.size",
                Err(HeaderFault::Type) => "errors.type",
                Err(HeaderFault::TimeSource(HeaderRelaxations::EVEN_FIBRE_SYNC)) => "errors.even_fibre_sync",
                Err(HeaderFault::TimeFraction) => "errors.timefrac",
                Err(HeaderFault::PulseDistance) => "errors.timehigh",
                Err(fault) => panic!("{instrument}: {fault:?}"),
            };
            *headers.entry(counter).or_default() += 1;
        }
        let of = |name: &str| stated[&format!("parser.readout.{name}")];
        let expected = Counters {
            headers: of("header.count"),
            readouts: of("count"),
            header_size: of("error_headersize"),
            length_mismatch: of("error_datlen_mismatch"),
            length_invalid: of("error_datlen_invalid"),
            ring_fen: of("error_ringfen"),
        };
        assert_eq!(found, expected, "{instrument}");
        // One behind an impossible fibre, one behind an impossible front end.
        assert_eq!(sound - found.readouts, 2, "{instrument}");
        assert_eq!(headers.len(), 6, "{instrument}");
        for (name, count) in headers {
            assert_eq!(count, stated[&format!("parser.essheader.{name}")], "{instrument}: {name}");
        }
    }
}

/// The counters at the end of a list of the reference.
fn counters_of(test: &str, path: &str) -> Option<BTreeMap<String, usize>> {
    let output = Command::new("gzip").arg("-dc").arg(shared_folder().join(path)).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        skip(test, &format!("{path}, or gzip, which unpacks it"));
        return None;
    };
    let text = String::from_utf8(output.stdout).expect("text");
    let counter = |line: &str| {
        let (name, value) = line.strip_prefix("counter,")?.split_once(',')?;
        Some((name.to_owned(), value.parse().expect("a number")))
    };
    Some(text.lines().filter_map(counter).collect())
}

//! The reference's unit tests of the ESS readout (vectors `ess`), document "ESS readout formats", sections 1
//! (header), 2.1 (VMM3a) and 2.4 (beam monitors).
//!
//! Every file and every test of the vectors' index has its line in [`cases::CASES`]. What a test states beyond
//! headers and records (geometry, matching, time of flight) is for the tests of the detectors.

mod cases;

use cases::CASES;
use evforge_testkit::{shared_file, shared_folder};
use evforge_wire::ess::beam_monitor::{MonitorFault, MonitorKind, MonitorPayload, MonitorReadout};
use evforge_wire::ess::*;
use std::collections::BTreeSet;

/// Bytes of a file as a test uses them.
#[derive(Clone, Copy, Debug)]
enum Bytes {
    /// As they are.
    Whole,
    /// As they are, where another detector type is expected.
    ForType(u8),
    /// The first ones only.
    First(usize),
    /// All beginnings that are shorter than the whole, from this length on.
    EachFrom(usize),
    /// Zeros behind them, to this length.
    Padded(usize),
    /// One byte, by its place, has another value.
    Byte(usize, u8),
}

use Bytes::*;

/// What is checked.
#[derive(Clone, Copy, Debug)]
enum Check {
    /// The header: bytes of the payload, or the fault.
    Header(&'static [(Bytes, Result<usize, HeaderFault>)]),
    /// Queue 11 and this sequence number.
    Sequence(u32),
    /// The payload is cut to this length and then is not a whole number of records.
    Ragged(usize),
    /// Sound VMM3a records, and how many have which fault.
    Vmm3a(usize, &'static [(RecordFault, usize)]),
    /// Sound monitor records of the three kinds, and how many have which fault.
    Monitor(Bytes, [usize; 3], &'static [(MonitorFault, usize)]),
}

use Check::*;

/// Whether the check is all that the test states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stated {
    /// It is.
    Everything,
    /// The test states more, which needs a detector.
    NeedsDetector,
    /// The test states more about bytes that it makes itself.
    NotReproducible,
    /// No test uses the file: what the records must be was read off the bytes.
    NoTest,
}

/// The rules of the reference's tests: the detector type is that of the file's packets; a pulse is at most five
/// times 71 428 571 ns after the previous one.
fn rules(file: &str) -> HeaderRules {
    let by_prefix =
        [("esshdr", "loki"), ("freia", "freia"), ("nmx", "nmx"), ("trex", "trex"), ("cbm", "cbm")];
    let detector = by_prefix.iter().find(|(prefix, _)| file.starts_with(prefix)).expect("a known prefix").1;
    HeaderRules::strict(detector_type::named(detector).expect("a known detector"), 31_447_320)
}

/// The records of a file: the whole of it, or what is behind the header of a packet.
fn payload<'a>(file: &str, bytes: &'a [u8]) -> &'a [u8] {
    if !file.contains("BaseTest") {
        return bytes;
    }
    EssPacket::parse(bytes, &rules(file)).expect("a sound header").payload
}

fn check_header(file: &str, whole: &[u8], bytes: Bytes, expected: Result<usize, HeaderFault>) {
    let mut rules = rules(file);
    let mut changed = whole.to_vec();
    match bytes {
        Whole => (),
        ForType(detector_type) => rules.detector_type = detector_type,
        First(length) => changed.truncate(length),
        EachFrom(shortest) => {
            return (shortest..whole.len())
                .for_each(|length| check_header(file, whole, First(length), expected));
        }
        Padded(length) => changed.resize(length, 0),
        Byte(place, value) => changed[place] = value,
    }
    let parsed = EssPacket::parse(&changed, &rules);
    assert_eq!(parsed.map(|packet| packet.payload.len()), expected, "{file}, {bytes:?}");
    assert_eq!(parsed.is_ok_and(|packet| packet.is_heartbeat()), expected == Ok(0), "{file}, {bytes:?}");
    // The sequence is looked at before the times (rule 12).
    let numbered = matches!(
        expected,
        Ok(_) | Err(HeaderFault::TimeSource(_) | HeaderFault::TimeFraction | HeaderFault::PulseDistance)
    );
    assert_eq!(EssPacket::numbering(&changed, &rules).is_some(), numbered, "{file}, {bytes:?}");
}

/// How many of the records are sound by the quick check, and how many have which fault by the slow one.
fn tally<Fault: Copy + Ord>(
    verdicts: impl Iterator<Item = (bool, Option<Fault>)>,
) -> (usize, Vec<(Fault, usize)>) {
    let mut sound = 0;
    let mut faults: Vec<(Fault, usize)> = Vec::new();
    for (is_sound, fault) in verdicts {
        sound += usize::from(is_sound);
        let Some(fault) = fault else { continue };
        match faults.iter_mut().find(|(known, _)| *known == fault) {
            Some((_, count)) => *count += 1,
            None => faults.push((fault, 1)),
        }
    }
    faults.sort_unstable();
    (sound, faults)
}

fn check(file: &str, bytes: &[u8], check: Check) {
    let strict = RecordRules::default();
    match check {
        Header(cases) => {
            cases.iter().for_each(|(given, expected)| check_header(file, bytes, *given, *expected))
        }
        Sequence(sequence) => {
            let packet = EssPacket::parse(bytes, &rules(file)).expect("a sound packet");
            let Numbering { detector_type, output_queue, sequence: number, pulse } =
                EssPacket::numbering(bytes, &rules(file)).expect("a number");
            assert_eq!((detector_type, output_queue), (rules(file).detector_type, 11), "{file}");
            assert_eq!((number, packet.sequence, pulse), (sequence, sequence, packet.pulse), "{file}");
        }
        Ragged(length) => {
            assert_eq!(Vmm3aPayload::parse(&bytes[..length]), Err(RaggedPayload), "{file}");
            assert_eq!(MonitorPayload::parse(&bytes[..length]), Err(RaggedPayload), "{file}");
        }
        Vmm3a(sound, faults) => {
            let payload = Vmm3aPayload::parse(payload(file, bytes)).expect("whole records");
            let readouts = payload.readouts();
            let found = tally(readouts.map(|readout| (readout.is_sound(&strict), readout.fault(&strict))));
            assert_eq!(found, (sound, faults.to_vec()), "{file}");
        }
        Monitor(given, kinds, faults) => {
            let bytes = if let First(length) = given { &bytes[..length] } else { bytes };
            let payload = MonitorPayload::parse(payload(file, bytes)).expect("whole records");
            let readouts = payload.readouts();
            let found = tally(readouts.map(|readout| (readout.is_sound(&strict), readout.fault(&strict))));
            assert_eq!(found, (kinds.iter().sum(), faults.to_vec()), "{file}");
            let of_kind = |kind| {
                let has_kind = |readout: &MonitorReadout| readout.kind() == Some(kind);
                payload.readouts().filter(|readout| readout.is_sound(&strict)).filter(has_kind).count()
            };
            let found = [MonitorKind::Event0D, MonitorKind::Event2D, MonitorKind::Integrating].map(of_kind);
            assert_eq!(found, kinds, "{file}");
        }
    }
}

fn vector(test: &str, file: &str) -> Option<Vec<u8>> {
    shared_file(test, &format!("vectors/ess/{file}.bin"))
}

#[test]
fn sections_1_and_2_what_the_reference_says_about_headers_and_records() {
    let test = "sections_1_and_2_what_the_reference_says_about_headers_and_records";
    for (file, _, expected, _) in CASES {
        let Some(bytes) = vector(test, file) else { return };
        check(file, &bytes, expected);
    }
}

/// The table is the index: no file and no test is missing, none is made up, and nobody moves a line to the
/// classes that are not replayed here without saying so.
#[test]
fn every_file_and_every_test_of_the_index_has_its_line() {
    let test = "every_file_and_every_test_of_the_index_has_its_line";
    let Some(index) = shared_file(test, "vectors/ess/INDEX.md") else { return };
    let index = String::from_utf8(index).expect("text");
    let mut stated = BTreeSet::new();
    for line in index.lines().filter(|line| line.contains(".bin |")) {
        let (file, rest) = line.trim_start_matches("| ").split_once(".bin |").expect("a file");
        // Names of tests stand between pairs of asterisks.
        let names: Vec<&str> = rest.split("**").skip(1).step_by(2).collect();
        let none = names.is_empty().then_some("");
        stated.extend(names.into_iter().chain(none).map(|name| (file.to_owned(), name.to_owned())));
    }
    let lines: BTreeSet<_> =
        CASES.iter().map(|(file, test, ..)| ((*file).to_owned(), (*test).to_owned())).collect();
    assert_eq!(lines, stated);
    assert_eq!(lines.len(), CASES.len(), "a line is there twice");

    let folder = std::fs::read_dir(shared_folder().join("vectors/ess")).expect("the folder of the index");
    let files: BTreeSet<String> = folder
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".bin").map(str::to_owned))
        .collect();
    let in_table: BTreeSet<String> = CASES.iter().map(|(file, ..)| (*file).to_owned()).collect();
    assert_eq!(files, in_table);
    assert_eq!(files.len(), 83);

    let of_class = |class| CASES.iter().filter(|(.., stated)| *stated == class).count();
    let classes = [Stated::Everything, Stated::NeedsDetector, Stated::NotReproducible, Stated::NoTest];
    assert_eq!(classes.map(of_class), [57, 42, 1, 7]);
}

/// `VMM3ParserTest.ErrorADC` and `GoodCalib1`: what else the reference counts about sound records.
#[test]
fn section_2_1_over_threshold_and_calibration() {
    let test = "section_2_1_over_threshold_and_calibration";
    for (file, over_threshold, calibration) in
        [("VMMADCError", 1, 0), ("VMMCalib1", 0, 2), ("VMMData1", 0, 0)]
    {
        let Some(bytes) = vector(test, &format!("vmm3_VMM3ParserTestData_{file}")) else { return };
        let payload = Vmm3aPayload::parse(&bytes).expect("whole records");
        let sound = || payload.readouts().filter(|readout| readout.is_sound(&RecordRules::default()));
        assert_eq!(sound().filter(|readout| readout.over_threshold()).count(), over_threshold, "{file}");
        assert_eq!(sound().filter(|readout| readout.is_calibration()).count(), calibration, "{file}");
    }
}

#[test]
fn section_2_1_fields() {
    let Some(bytes) = vector("section_2_1_fields", "vmm3_VMM3ParserTestData_VMMADCError") else { return };
    let payload = Vmm3aPayload::parse(&bytes).expect("whole records");
    let readout = payload.readouts().nth(1).expect("four records");
    let expected = Vmm3aFields {
        fibre: 1,
        fen: 1,
        time: EssTime { seconds: 1, ticks: 1 },
        bc: 1,
        over_threshold: true,
        adc: 1023,
        ..Vmm3aFields::default()
    };
    assert_eq!(readout.fields(), expected);
    assert_eq!(readout.fault(&RecordRules::default()), None);
    let above = payload.readouts().nth(2).expect("four records");
    let lax = RecordRules { any_adc: true, ..RecordRules::default() };
    assert_eq!((above.adc(), above.fault(&lax), above.is_sound(&lax)), (1024, None, true));
}

/// `CbmParserTest.CheckSDACStructure` and `Check2DValues`.
#[test]
fn section_2_4_sums_and_places() {
    let test = "section_2_4_sums_and_places";
    let Some(bytes) = vector(test, "cbm_ParserTest_SADCTestData") else { return };
    let payload = MonitorPayload::parse(&bytes).expect("whole records");
    let sums: Vec<_> = payload.readouts().map(|readout| (readout.summed_adc(), readout.samples())).collect();
    assert_eq!(sums, [(16_777_215, 0), (10_682_640, 74)]);
    let Some(bytes) = vector(test, "cbm_ParserTest_Good2DData") else { return };
    let payload = MonitorPayload::parse(&bytes).expect("whole records");
    assert!(payload.readouts().all(|readout| (readout.x(), readout.y()) == (255, 511)));
}

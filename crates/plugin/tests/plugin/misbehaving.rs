//! Libraries that are no detectors, refuse, report failures or say what cannot be: each is refused or stopped with a
//! message that says what was found and what is expected. What it did before stands, and everything is accounted for.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_plugin::{PluginDetector, PluginLibrary};
use evforge_testkit::outside::c_library;
use evforge_testkit::properties::cases;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misbehaving.c")
}

fn misbehaving(folder: &Path, arguments: &[&str]) -> PathBuf {
    c_library(&source(), folder, "misbehaving", arguments)
}

#[test]
fn libraries_that_are_no_detectors_of_this_version_are_refused() {
    for (arguments, expected) in [
        (
            &["-DVERSION=2"][..],
            "it speaks version 2 of the interface, this evforge speaks version 1: build it",
        ),
        (&["-DTABLE_SIZE=90"], "its table has 90 bytes, expected at least"),
        (&["-DTABLE=NULL"], "it does not work with version 1 of the interface"),
        (&["-DINGEST=NULL"], "its table lacks the function ingest"),
        (&["-DCOUNTERS=0"], "it declares 0 counters, expected 1 to 1024"),
        (&["-DENTRY_POINT=detector"], "it does not export the function evforge_detector"),
        (&["-DUNDEFINED"], "undefined symbol: this_function_is_nowhere"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let library = misbehaving(folder.path(), arguments);
        let error = PluginLibrary::load(&library).expect_err(expected).to_string();
        assert!(error.starts_with(library.to_str().unwrap()) && error.contains(expected), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    let error = PluginLibrary::load(&text).unwrap_err().to_string();
    assert!(error.contains("text.so: it is no shared library"), "{error}");
    let error = PluginLibrary::load(&folder.path().join("none.so")).unwrap_err().to_string();
    assert!(error.contains("none.so: No such file"), "{error}");
}

/// Loading a library runs what it has for that. So its file is looked at before: who can write it, and what it exports.
#[test]
fn no_code_runs_of_a_library_that_others_can_write_or_that_is_no_detector() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("it-ran");
    let source = folder.path().join("evil.c");
    let text = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void run(void) {{ fclose(fopen({:?}, \"w\")); }}\nvoid *ENTRY(unsigned \
         version) {{ (void)version; return 0; }}\n",
        mark.to_str().unwrap()
    );
    std::fs::write(&source, text).unwrap();
    let may = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let refused = |library: &Path, expected: &str| {
        let error = PluginLibrary::load(library).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
        assert!(!mark.exists(), "{expected}");
    };
    let other = c_library(&source, folder.path(), "other", &["-DENTRY=other"]);
    refused(&other, "it does not export the function evforge_detector");
    let evil = c_library(&source, folder.path(), "evil", &["-DENTRY=evforge_detector"]);
    may(&evil, 0o757);
    refused(&evil, "everybody can write it, and would run code here: chmod o-w");
    may(&evil, 0o755);
    may(folder.path(), 0o777);
    refused(&evil, "of its folder: everybody can write it");
    // As /tmp is.
    may(folder.path(), 0o1777);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&evil, Some(65534), None).unwrap();
        refused(&evil, "it belongs to user 65534, expected root or user 0, who would run its code: chown 0");
        std::os::unix::fs::chown(&evil, Some(0), Some(65534)).unwrap();
        may(&evil, 0o775);
        refused(&evil, "group 65534 can write it");
        may(&evil, 0o755);
    }
    let error = PluginLibrary::load(&evil).unwrap_err().to_string();
    assert!(error.contains("it does not work with version 1") && mark.exists(), "now it is loaded: {error}");
}

#[test]
fn detectors_that_refuse_their_settings_or_cannot_be_are_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let library = PluginLibrary::load(&misbehaving(folder.path(), &[])).unwrap();
    assert_eq!(library.name(), "misbehaving");
    for (fault, expected) in [
        ("create", "the library refuses the settings: no voltage is given"),
        ("silent create", "the library refuses the settings: it does not say why"),
        ("geometry", "what the library describes is invalid: a geometry of 4 x 0 x 1 pixels"),
        ("wide packets", "events_per_packet is 33554432, expected at most 16777216"),
        ("counts at first", "before the first packet, the law of packets does not hold: in less out is -1"),
    ] {
        let error = PluginDetector::new(library, &format!("fault = \"{fault}\"\n")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
    }
}

/// Packets that tell the library what to answer: whatever it is, the host comes to an end, takes over only events that can
/// be, and accounts for every packet.
#[test]
fn no_answer_harms_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let library = PluginLibrary::load(&misbehaving(folder.path(), &[])).unwrap();
    // Packets taken, more, events, pulses, pixel, first event of the pulse, three counters, received by the source, code.
    let good = vec![1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0];
    // One or two answers differ from good ones.
    let wrong = prop::collection::vec((0..11_usize, 0..4_u8), 1..3);
    let packet = prop_oneof![4 => Just(Vec::new()), 1 => wrong].prop_map(move |wrong| {
        let mut bytes = good.clone();
        wrong.into_iter().for_each(|(index, byte)| bytes[index] = byte);
        bytes
    });
    let packets = prop::collection::vec(packet, 1..12);
    let (failed, worked) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: cases(400), failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&(packets, 1..4_usize, 1..5_usize), |(packets, per_slab, per_batch)| {
            let settings = "fault = \"bytes, pulses\"\n";
            let mut detector = PluginDetector::new(library, settings).expect("good settings");
            let mut batch = EventBatch::new(per_batch);
            let (mut events, mut sound) = (0, true);
            let mut deliver = |batch: &mut EventBatch| {
                events += batch.len() as u64;
                sound &= batch.pixel_ids().iter().all(|pixel| (1..=16).contains(pixel));
                sound &= batch.by_pulse().all(|(pulse, _)| pulse.is_some());
                batch.clear();
            };
            for packets in packets.chunks(per_slab) {
                let mut slab = PacketSlab::new(per_slab, 0);
                for packet in packets {
                    assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
                }
                form(&mut detector, &slab.batch(), &mut batch, &mut deliver);
            }
            form_rest(&mut detector, &mut batch, &mut deliver);
            let ledger = detector.ledger();
            prop_assert!(sound && ledger.unaccounted() == 0);
            prop_assert_eq!(ledger.counters.value("events"), Some(events));
            prop_assert_eq!(ledger.counters.value("packets_received"), Some(packets.len() as u64));
            let counted = if detector.failure().is_some() { &failed } else { &worked };
            counted.set(counted.get() + 1);
            Ok(())
        })
        .unwrap();
    assert!(
        4 * failed.get() > cases(400) && 10 * worked.get() > cases(400),
        "{} failed, {} worked",
        failed.get(),
        worked.get()
    );
}

/// What became of 3 good packets, one without bytes, a bad one and 3 more, of which each slab has `per_slab`.
struct Outcome {
    failure: Option<String>,
    events: usize,
    received: u64,
    after_failure: u64,
    refused: u64,
    lost_by_the_source: u64,
}

fn run(fault: &str, per_slab: usize, events_per_batch: usize) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let library = PluginLibrary::load(&misbehaving(folder.path(), &[])).expect("a good table");
    let settings = format!("fault = \"{fault}\"\n");
    let mut detector = PluginDetector::new(library, &settings).expect("good settings");
    let mut batch = EventBatch::new(events_per_batch);
    let mut events = 0;
    let mut deliver = |batch: &mut EventBatch| {
        events += batch.len();
        batch.clear();
    };
    let packets: [&[u8]; 8] = [b"a", b"b", b"c", b"", b"!", b"d", b"e", b"f"];
    for packets in packets.chunks(per_slab) {
        let mut slab = PacketSlab::new(8, 0);
        for packet in packets {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        form(&mut detector, &slab.batch(), &mut batch, &mut deliver);
        while detector.publish_closed(&mut batch) {
            deliver(&mut batch);
        }
        assert_eq!(detector.ledger().unaccounted(), 0, "{fault}");
    }
    form_rest(&mut detector, &mut batch, &mut deliver);
    let ledger = detector.ledger();
    assert_eq!(ledger.unaccounted(), 0, "{fault}");
    let value = |name: &str| ledger.counters.value(name).expect("a counter");
    assert_eq!(value("events"), events as u64, "{fault}");
    Outcome {
        failure: detector.failure().map(str::to_owned),
        events,
        received: value("packets_received"),
        after_failure: value("packets_after_failure"),
        refused: value("events_refused"),
        lost_by_the_source: ledger.packets().lost,
    }
}

#[test]
fn a_detector_without_faults_has_all_its_events_in_batches_of_any_size() {
    for (per_slab, per_batch) in [(8, 100), (8, 1), (1, 1), (3, 2)] {
        let outcome = run("none", per_slab, per_batch);
        assert_eq!((outcome.failure, outcome.events, outcome.received), (None, 7, 8));
        assert_eq!((outcome.after_failure, outcome.refused, outcome.lost_by_the_source), (0, 0, 0));
    }
}

#[test]
fn a_failure_that_is_reported_keeps_what_was_done_before_it() {
    for per_slab in [1, 3, 8] {
        for (fault, expected) in [
            ("error", "ingest reported a failure (code 7): the board has a fire"),
            ("silent error", "ingest reported a failure (code -1): it does not say why"),
        ] {
            let outcome = run(fault, per_slab, 2);
            let failure = outcome.failure.unwrap();
            assert!(failure.ends_with(expected) && failure.contains("libmisbehaving.so: "), "{failure}");
            // The bad packet, and the three behind it.
            assert_eq!((outcome.events, outcome.received, outcome.after_failure), (3, 8, 4), "{fault}");
        }
    }
    let outcome = run("close", 3, 2);
    let failure = outcome.failure.unwrap();
    assert!(failure.ends_with("close reported a failure (code 3): the last event is gone"), "{failure}");
    assert_eq!((outcome.events, outcome.after_failure), (7, 0));
}

#[test]
fn what_cannot_be_stops_the_detector_before_anything_of_it_is_taken_over() {
    for (fault, expected) in [
        ("takes more", "ingest took 2 packets; it was given 1"),
        ("takes less", "ingest took 0 of 1 packets without saying that it has no room"),
        ("no room", "ingest said that it has no room; there was room for 8192 more events"),
        ("many events", "ingest wrote 8193 events; there was room for 8192"),
        ("pixel 0", "ingest wrote pixel 0 (event 0); expected 1 to 16"),
        ("pixel 17", "ingest wrote pixel 17 (event 0); expected 1 to 16"),
        ("pulses", "ingest wrote pulse 1 with the first event 0; expected 1 to 1"),
        ("many pulses", "ingest wrote 8193 pulses; there was room for 8192"),
        ("falls", "ingest left impossible counts: the law of events does not hold: in less out is -2"),
        ("packets", "the law of packets does not hold: in less out is -1"),
        ("events", "the law of events does not hold: in less out is -1"),
        ("source law", "source \"board\": sent + duplicated less received + lost is -1; expected 0"),
        ("source received", "105 packets of all sources received; 5 were taken"),
        ("source falls", "source \"board\": received fell from 4 to 1"),
        ("many sources", "2 sources are reported; it was described to have at most 1"),
        (
            "bad error",
            "ingest reported a failure (code 7): the board has a fire; and it left impossible counts",
        ),
    ] {
        let outcome = run(fault, 1, 2);
        let failure = outcome.failure.unwrap_or_else(|| panic!("{fault} is not noticed"));
        assert!(failure.contains(expected), "{fault}: {failure}\n  expected {expected}");
        assert_eq!((outcome.events, outcome.received, outcome.after_failure), (3, 8, 4), "{fault}");
    }
    // What came in the same call goes with it: nothing of a call that lies can be trusted.
    let outcome = run("pixel 0", 8, 2);
    assert_eq!((outcome.events, outcome.after_failure, outcome.refused), (0, 8, 4));
    let outcome = run("close takes", 8, 2);
    let failure = outcome.failure.unwrap();
    assert!(failure.ends_with("close took 1 packets; it was given 0"), "{failure}");
    assert_eq!(outcome.events, 7);
}

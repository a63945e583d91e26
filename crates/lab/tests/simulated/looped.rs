//! A capture that is sent again and again: each pass has the events of the first one, no packet is missing between passes.

use evforge_config::Config;
use evforge_config::shipped;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_lab::looped_capture::LoopedCapture;
use evforge_net::capture::{CaptureReader, CaptureWriter};
use evforge_testkit::{shared_file, shared_folder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(format!("{name}.pcapng"))
}

fn looped(path: &Path, times: u64) -> Result<LoopedCapture, String> {
    let reader = CaptureReader::open(path).expect("a capture");
    LoopedCapture::read(Box::new(reader), Some(times)).map_err(|error| error.to_string())
}

fn formed(config: &Config, mut source: LoopedCapture) -> (Vec<Event>, DetectorLedger) {
    let mut detector = config.build_detector().expect("a checked configuration");
    let (mut batch, mut events) = (EventBatch::new(10_000), Vec::<Event>::new());
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    let mut slab = PacketSlab::new(100, 1 << 20);
    loop {
        slab.clear();
        let fill = source.fill(&mut slab).expect("packets");
        form(&mut *detector, &slab.batch(), &mut batch, &mut keep);
        if fill == Fill::End {
            break;
        }
    }
    form_rest(&mut *detector, &mut batch, &mut keep);
    let ledger = detector.ledger();
    (events, ledger)
}

/// How many of these are not among the others.
fn missing(these: impl Iterator<Item = u32>, others: impl Iterator<Item = u32>) -> usize {
    let mut left = BTreeMap::<u32, usize>::new();
    others.for_each(|pixel| *left.entry(pixel).or_default() += 1);
    let is_missing = |pixel: &u32| match left.get_mut(pixel).filter(|left| **left > 0) {
        Some(left) => {
            *left -= 1;
            false
        }
        None => true,
    };
    these.filter(is_missing).count()
}

#[test]
fn each_pass_has_the_events_of_the_first_and_numbers_go_on() {
    let names = [
        "freia",
        "estia",
        "trex",
        "let",
        "nmx",
        "amor-ess",
        "gdgem-srs",
        "multiblade",
        "multiblade-50",
        "multigrid",
        "sonde-module",
        "sonde",
    ];
    for name in names {
        let config = shipped::configuration(name, &[]).expect("a shipped configuration");
        let (once, ledger) = formed(&config, looped(&capture(name), 1).expect(name));
        let packets = ledger.packets();
        let (thrice, ledger) = formed(&config, looped(&capture(name), 3).expect(name));
        assert!(once.len() > 100, "{name}: {}", once.len());
        assert_eq!(ledger.unaccounted(), 0, "{name}");
        assert_eq!(ledger.packets().received, 3 * packets.received, "{name}");
        assert_eq!(ledger.packets().lost, 3 * packets.lost, "{name}");
        // At the seams a cluster may find a partner less or more.
        let expected = 3 * once.len();
        assert!(
            thrice.len().abs_diff(expected) <= expected / 500 + 2,
            "{name}: {} of {expected}",
            thrice.len()
        );
        assert!(thrice.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns), "{name}: times go back");
        // Each event of a single pass is there three times, but for those at the seams.
        let three_times = once.iter().flat_map(|event| [event.pixel_id; 3]);
        let missing = missing(three_times, thrice.iter().map(|event| event.pixel_id));
        assert!(missing <= expected / 500 + 2, "{name}: {missing} of {expected} are in other pixels");
    }
}

#[test]
fn what_cannot_be_moved_is_said_by_its_format() {
    for (name, format) in [("multigrid-cncs", "CNCS"), ("adc-readout", "adc_readout")] {
        let said = looped(&capture(name), 2).err().expect("cannot be moved");
        assert!(said.contains(format) && said.contains("--loop"), "{name}: {said}");
    }
}

#[test]
fn a_real_capture_of_milliseconds_lasts_as_long_as_wanted() {
    const CAPTURE: &str = "captures/gdgem/vmm3a_srs.pcapng";
    if shared_file("a_real_capture_of_milliseconds_lasts_as_long_as_wanted", CAPTURE).is_none() {
        return;
    }
    let path = shared_folder().join(CAPTURE);
    let config = shipped::configuration("gdgem-srs", &[]).expect("a shipped configuration");
    let (once, ledger) = formed(&config, looped(&path, 1).expect("a capture"));
    let lost = ledger.packets().lost;
    let (all, ledger) = formed(&config, looped(&path, 20).expect("a capture"));
    assert_eq!((ledger.packets().received, ledger.unaccounted()), (2000, 0));
    // The two that the capture lacks, and the numbers of which they are, in every pass.
    assert_eq!(ledger.packets().lost, 20 * lost);
    // Readouts before the first marker of their chip have one from the second pass on.
    assert!(all.len() >= 19 * once.len(), "{} of {}", all.len(), once.len());
}

/// Recordings of the other three detectors: whatever their times are, a pass is behind the one before, and has its events.
#[test]
fn recordings_of_the_other_detectors_have_their_events_in_each_pass() {
    for (name, capture) in [
        ("multigrid", "captures/multigrid/recorded_ws1to4.pkts"),
        ("multiblade", "captures/multiblade/recorded_2018.pkts"),
        ("sonde-module", "captures/sonde/generated_255.pkts"),
    ] {
        if shared_file("recordings_of_the_other_detectors_have_their_events_in_each_pass", capture).is_none()
        {
            return;
        }
        let path = shared_folder().join(capture);
        let config = shipped::configuration(name, &[]).expect("a shipped configuration");
        let (once, ledger) = formed(&config, looped(&path, 1).expect(name));
        let packets = ledger.packets().received;
        let (all, ledger) = formed(&config, looped(&path, 5).expect(name));
        assert_eq!((ledger.packets().received, ledger.unaccounted()), (5 * packets, 0), "{name}");
        // The recording of a Multi-Grid is four datagrams far apart: each is a jump in time, and some wait for a datagram that confirms it.
        let unconfirmed = ledger.counters.value("unconfirmed_jump").unwrap_or(0) as usize;
        let (found, expected) = (all.len() + unconfirmed, 5 * once.len());
        assert!(found >= expected - expected / 50 - 10, "{name}: {found} of {expected}");
        assert!(all.len() <= expected + 10, "{name}: {} of {expected}", all.len());
    }
}

/// Both versions: a frame of one pass never meets one of the next, and no frame is missing between them.
#[test]
fn frames_of_isis_are_complete_in_each_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    for name in ["isis-v2", "isis-lvds"] {
        let changes = ["simulation.isis.datagram_bytes=1000", "simulation.isis.events_per_message=50"];
        let config = Config::read(&configs.join(format!("{name}.toml")), &changes.map(str::to_owned))
            .expect("a shipped configuration");
        let mut simulation = evforge_lab::simulation::simulation(&config).expect("it is simulated");
        let mut packets: Vec<_> =
            simulation.next_pulses(5).into_iter().flat_map(|pulse| pulse.packets).collect();
        packets.extend(simulation.finish());
        let path = folder.path().join(format!("{name}.pcapng"));
        let mut writer = CaptureWriter::create(&path).expect("a capture");
        packets.iter().for_each(|packet| writer.write(&packet.packet()).expect("room for a packet"));
        writer.finish().expect("a whole capture");
        let (once, ledger) = formed(&config, looped(&path, 1).expect(name));
        let frames = ledger.frames.expect("frames").all.raw;
        assert!(once.len() > 500 && frames == 5, "{name}: {} events in {frames} frames", once.len());
        let (thrice, ledger) = formed(&config, looped(&path, 3).expect(name));
        assert_eq!((thrice.len(), ledger.unaccounted()), (3 * once.len(), 0), "{name}");
        assert_eq!(ledger.packets().lost, 0, "{name}");
        assert_eq!(ledger.counters.value("frames_complete"), Some(15), "{name}");
        let ids = |events: &[Event]| events.iter().map(|event| event.pixel_id).collect::<Vec<_>>();
        assert_eq!(ids(&thrice), ids(&once).repeat(3), "{name}");
    }
}

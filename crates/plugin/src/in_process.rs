//! The host's side of the interface against a detector of this program: every pointer between the two, without a library that is loaded,
//! so that Miri can follow them (`make miri`).
#![allow(clippy::unwrap_used)]

use crate::PluginDetector;
use crate::library::PluginLibrary;
use evforge_core::detector::Detector as _;
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_plugin_interface::author::Failure;
use evforge_plugin_interface::layout::DetectorInterface;
use evforge_plugin_interface::table::interface;
use evforge_plugin_interface::{
    Counter, Description, Detector, Events, Outcome, Packet, Source, counter, law, role, unit,
};
use std::ffi::CStr;
use std::path::Path;

/// Makes an event of each byte of a packet, as many as there is room for; fails at a packet that says so.
struct Bytes {
    packets: u64,
    events: u64,
    /// Bytes of the packet at hand that have become events.
    done: usize,
}

impl Detector for Bytes {
    const NAME: &'static CStr = c"bytes";
    const COUNTERS: &'static [Counter] = &[
        counter(c"packets_used", unit::PACKETS, role::LEAVES, law::PACKETS, c"Packets."),
        counter(c"hits", unit::HITS, role::ENTERS, law::HITS, c"Hits."),
        counter(c"hits_in_events", unit::HITS, role::LEAVES, law::HITS, c"Hits that are events."),
    ];

    fn new(settings: &str) -> Result<Self, String> {
        if settings.is_empty() {
            Ok(Self { packets: 0, events: 0, done: 0 })
        } else {
            Err(format!("found {settings}"))
        }
    }

    fn description(&self) -> Description {
        Description {
            nx: 16,
            ny: 16,
            nz: 1,
            panels: 1,
            events_per_packet: 2,
            sources: 1,
            tells_pulses: 1,
            ..Description::default()
        }
    }

    fn ingest(&mut self, packets: &[Packet<'_>], events: &mut Events<'_>) -> Result<Outcome, Failure> {
        for (taken, packet) in packets.iter().enumerate() {
            if packet.bytes() == b"fail" {
                return Err(Failure { taken, problem: "no voltage".into() });
            }
            if self.done == 0 && !events.begin_pulse(1000 * (self.packets + 1)) {
                return Ok(Outcome::More { taken });
            }
            while let Some(byte) = packet.bytes().get(self.done) {
                if !events.push(1000 * (self.packets + 1) + u64::from(*byte), u32::from(*byte) + 1) {
                    return Ok(Outcome::More { taken });
                }
                (self.done, self.events) = (self.done + 1, self.events + 1);
            }
            (self.done, self.packets) = (0, self.packets + 1);
        }
        Ok(Outcome::Done)
    }

    fn counters(&self, values: &mut [u64]) {
        values.copy_from_slice(&[self.packets, self.events, self.events]);
    }

    fn sources(&self, sources: &mut [Source]) -> usize {
        sources[0] = Source { sent: self.packets, received: self.packets, ..Source::numbered("all") };
        1
    }
}

unsafe extern "C" fn entry_point(_version: u32) -> *const DetectorInterface {
    interface::<Bytes>()
}

unsafe extern "C" fn nothing(_version: u32) -> *const DetectorInterface {
    std::ptr::null()
}

fn library() -> &'static PluginLibrary {
    // SAFETY: it is of this program, and made by what makes those of plugins.
    let library = unsafe { PluginLibrary::of_entry_point(Path::new("bytes"), entry_point, None) };
    Box::leak(Box::new(library.unwrap()))
}

fn packets(bytes: &[&[u8]]) -> PacketSlab {
    let mut slab = PacketSlab::new(16, 4096);
    bytes.iter().for_each(|bytes| assert!(slab.push(bytes, bytes.len(), PacketOrigin::default())));
    slab
}

#[test]
fn events_come_whole_through_columns_that_are_too_small() {
    let mut detector = PluginDetector::new(library(), "").unwrap();
    let slab = packets(&[b"\x01\x02\x03\x04\x05", b"", b"\x06", b"\x07\x08"]);
    let mut events = EventBatch::new(3);
    let (mut from, mut found) = (0, Vec::new());
    loop {
        let progress = detector.ingest(&slab.batch(), from, &mut events);
        found.extend(events.pixel_ids().iter().map(|id| *id - 1));
        from = progress.taken;
        let is_blank = events.is_blank();
        events.clear();
        if !progress.full && (from == slab.len() || is_blank) {
            break;
        }
    }
    while detector.close(&mut events) {
        found.extend(events.pixel_ids().iter().map(|id| *id - 1));
        events.clear();
    }
    found.extend(events.pixel_ids().iter().map(|id| *id - 1));
    assert_eq!(detector.failure(), None);
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(detector.ledger().counters.value("packets_used"), Some(4));
}

#[test]
fn a_failure_and_a_refusal_come_in_their_own_words() {
    let refused = PluginDetector::new(library(), "nx = 5").unwrap_err().to_string();
    assert!(refused.contains("found nx = 5"), "{refused}");
    let mut detector = PluginDetector::new(library(), "").unwrap();
    let slab = packets(&[b"\x01", b"fail", b"\x02"]);
    let mut events = EventBatch::new(8);
    detector.ingest(&slab.batch(), 0, &mut events);
    assert!(detector.failure().unwrap().contains("no voltage"), "{:?}", detector.failure());
    // SAFETY: as above.
    let problem = unsafe { PluginLibrary::of_entry_point(Path::new("nothing"), nothing, None) }.unwrap_err();
    assert!(problem.contains("does not work with version"), "{problem}");
}

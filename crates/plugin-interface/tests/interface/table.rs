//! The table that is made of a detector in Rust, called as a host calls it: what a detector returns arrives, and a panic
//! becomes a failure.

use evforge_plugin_interface::author::Failure;
use evforge_plugin_interface::layout::{self, DetectorInterface, Handle, Progress, RawEvents};
use evforge_plugin_interface::table::interface;
use evforge_plugin_interface::{
    Counter, Description, Detector, Events, Outcome, Packet, Pulse, Source, counter, law, role, unit,
};
use std::ffi::{CStr, c_char};

/// Does what the first byte of the first packet says.
struct Obedient {
    packets: u64,
}

impl Detector for Obedient {
    const NAME: &'static CStr = c"obedient";
    const COUNTERS: &'static [Counter] =
        &[counter(c"packets_used", unit::PACKETS, role::LEAVES, law::PACKETS, c"Packets.")];

    fn new(settings: &str) -> Result<Self, String> {
        match settings {
            "" => Ok(Self { packets: 0 }),
            "panic" => panic!("at the start"),
            other => Err(format!("found {other}")),
        }
    }

    fn description(&self) -> Description {
        Description { nx: 3, ny: 2, nz: 1, panels: 1, ..Description::default() }
    }

    fn ingest(&mut self, packets: &[Packet<'_>], events: &mut Events<'_>) -> Result<Outcome, Failure> {
        let packet = packets[0];
        self.packets += 1;
        assert!(events.begin_pulse(5) && events.push(7, 2) && events.room() == 1);
        match packet.bytes() {
            b"more" => Ok(Outcome::More { taken: 1 }),
            b"fail" => Err(Failure { taken: 1, problem: "no voltage".into() }),
            b"panic" => panic!("in {}", packet.source().map_or("none".into(), |source| source.to_string())),
            _ => {
                assert!(events.push(8, 3) && !events.push(9, 4) && packet.is_cut());
                assert_eq!((packet.destination_port(), packet.arrival_ns()), (9, Some(11)));
                Ok(Outcome::Done)
            }
        }
    }

    fn counters(&self, values: &mut [u64]) {
        values[0] = self.packets;
    }

    fn sources(&self, sources: &mut [Source]) -> usize {
        sources[0] = Source { received: self.packets, ..Source::numbered(&"x".repeat(99)) };
        1
    }
}

fn words(problem: &[c_char]) -> String {
    let bytes: Vec<u8> = problem.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8(bytes).expect("UTF-8")
}

fn create(table: &DetectorInterface, settings: &str, problem: &mut [c_char]) -> *mut Handle {
    let create = table.create.expect("create");
    // SAFETY: called as the header says.
    unsafe { create(settings.as_ptr().cast(), settings.len(), problem.as_mut_ptr(), problem.len()) }
}

#[test]
fn a_detector_is_called_as_the_header_says() {
    let table = interface::<Obedient>();
    assert_eq!((table.version, table.counter_count), (layout::INTERFACE_VERSION, 1));
    let mut problem = [1; 20];
    assert!(create(table, "voltage = 5", &mut problem).is_null());
    assert_eq!(words(&problem), "found voltage = 5");
    assert!(create(table, "panic", &mut problem).is_null());
    assert_eq!(words(&problem), "panicked: at the st", "what does not fit is left out");
    let detector = create(table, "", &mut problem);
    let mut description = Description { struct_size: 99, ..Description::default() };
    // SAFETY: a description has its size, and the handle is good.
    unsafe { table.describe.expect("describe")(detector, &raw mut description) };
    assert_eq!((description.struct_size, description.nx, description.ny), (99, 3, 2));
    let mut older = Description { struct_size: 8, ..Description::default() };
    // SAFETY: as above.
    unsafe { table.describe.expect("describe")(detector, &raw mut older) };
    assert_eq!((older.struct_size, older.nx, older.ny), (8, 3, 0), "an older host has no more room");

    for (bytes, expected_code, expected_progress, expected_events, expected_words) in [
        (&b"done"[..], 0, (2, 0), 2, ""),
        (b"more", 0, (1, 1), 1, ""),
        (b"fail", 1, (1, 0), 1, "no voltage"),
        (b"panic", 2, (0, 0), 1, "panicked: in 10.0.0."),
    ] {
        let (mut times, mut pixels, mut pulses) = ([0; 2], [0; 2], [Pulse::default(); 2]);
        let mut events = RawEvents {
            times_ns: times.as_mut_ptr(),
            pixel_ids: pixels.as_mut_ptr(),
            capacity: 2,
            used: 0,
            pulses: pulses.as_mut_ptr(),
            pulse_capacity: 2,
            pulses_used: 0,
        };
        let packet = layout::Packet {
            bytes: bytes.as_ptr(),
            length: bytes.len() as u32,
            original_length: bytes.len() as u32 + 1,
            arrival_ns: 11,
            source_address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 2],
            source_port: 6006,
            destination_port: 9,
            arrival_clock: layout::arrival_clock::KERNEL,
        };
        let (packets, mut progress) = ([packet; 2], Progress::default());
        let mut problem = [0; 21];
        let ingest = table.ingest.expect("ingest");
        // SAFETY: called as the header says, with places of the sizes that are said.
        let code = unsafe {
            let (events, progress) = (&raw mut events, &raw mut progress);
            ingest(detector, packets.as_ptr(), 2, events, progress, problem.as_mut_ptr(), problem.len())
        };
        assert_eq!(
            (code, progress.taken, progress.more),
            (expected_code, expected_progress.0, expected_progress.1)
        );
        assert_eq!(
            (events.used, events.pulses_used, words(&problem).as_str()),
            (expected_events, 1, expected_words)
        );
        assert_eq!((times[0], pixels[0], pulses[0]), (7, 2, Pulse { time_ns: 5, first_event: 0 }));
    }

    let (mut values, mut sources) = ([0; 1], [Source::default(); 1]);
    // SAFETY: called as the header says; the handle is not used after `destroy`.
    let count = unsafe {
        table.counters.expect("counters")(detector, values.as_mut_ptr(), 1);
        let count = table.sources.expect("sources")(detector, sources.as_mut_ptr(), 1);
        table.destroy.expect("destroy")(detector);
        count
    };
    assert_eq!((values, count, sources[0].received), ([4], 1, 4));
    assert_eq!(words(&sources[0].name), "x".repeat(63));
}

//! The memory of a Multi-Blade with today's readout is bounded whatever it is fed, and forming events does not
//! allocate.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

mod hostile_stream;

use evforge_core::geometry::LogicalGeometry;
use evforge_detect::ess::{EssSettings, ticks};
use evforge_detect::multiblade::EssMultiBladeSettings;
use evforge_detect::multiblade::ess::{CassetteHybrid, CassetteLayout};
use evforge_detect::multiblade::settings::{WindowRule, WindowSettings};
use evforge_detect::settings::SortingSettings;
use evforge_wire::ess::{
    EssHeader, EssTime, HeaderRelaxations, HeaderRules, RecordRules, TICKS_PER_SECOND, Vmm3aFields,
    detector_type,
};
use hostile_stream::{Growth, check};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Records of a packet.
const RECORDS: u64 = 200;

/// Two cassettes; time waits for queues 0 and 1.
fn settings() -> EssMultiBladeSettings {
    let cassette = |cassette, fen| CassetteHybrid {
        cassette,
        ring: 0,
        fen,
        hybrid: 0,
        wire_threshold: 0,
        strip_threshold: 0,
    };
    EssMultiBladeSettings {
        ess: EssSettings {
            header: HeaderRules {
                detector_type: detector_type::FREIA,
                max_pulse_distance: u64::from(TICKS_PER_SECOND),
                relaxed: HeaderRelaxations::NONE,
            },
            records: RecordRules::default(),
            odd_output_queue: None,
            output_queues: vec![0, 1],
            max_time_of_flight: 1_000_000_000_000,
            pulse_period: 71_428_571_000,
            sorting: SortingSettings {
                window: 1_000_000_000,
                leap: 1_000_000_000_000,
                restart: 1_000_000_000_000,
                source_lag: 500_000_000_000,
                max_held_hits: 8192,
                max_group_hits: 512,
                decimation: 0,
            },
        },
        layout: CassetteLayout::Freia,
        cassettes: vec![cassette(0, 0), cassette(1, 1)],
        window: WindowSettings {
            rule: WindowRule::Gap,
            ticks: ticks::in_duration(500_000) as u32 + 1,
            max_wires: 64,
            max_strips: 64,
            max_gap_wires: 0,
            max_gap_strips: 0,
            max_amplitude_ratio: Some(4000),
            separate: true,
        },
        mask: vec![],
        calibration: vec![],
        geometry: LogicalGeometry::flat(64, 64).expect("a geometry"),
    }
}

/// What a stream sends: the pulse, and the time of a record, in ticks; and the FEN and channel of the record.
type Sent = (u64, u64, u8, u8);

/// Streams that try to make the pipeline hold more and more: (name, what is sent by packet and place in it).
type Hostile = (&'static str, fn(u64, u64) -> Sent);

const SECOND: u64 = TICKS_PER_SECOND as u64;
const START: u64 = 1_700_000_000 * SECOND;

const STREAMS: &[Hostile] = &[
    ("time stands still", |_, place| (START, START, 0, place as u8)),
    ("one queue is silent", |packet, place| {
        let time = START + packet * 20_000 + place * 100;
        (time - place * 100, time, 0, place as u8)
    }),
    ("a pulse with every packet", |packet, place| {
        (START + packet * 100, START + packet * 100, 0, place as u8)
    }),
    ("time leaps with every packet", |packet, place| {
        let time = START + packet * 3 * SECOND;
        (time, time + place, 0, place as u8)
    }),
    ("time leaps with every hit", |packet, place| {
        (START, START + (packet * RECORDS + place) * 2 * SECOND % (SECOND << 20), 0, place as u8)
    }),
    ("time runs back", |packet, place| {
        let time = START + SECOND * 1000 - packet * 1000 - place;
        (time, time, 0, place as u8)
    }),
    ("one endless window beside many short ones", |packet, place| {
        let time = START + packet * 8_000 + place * 40;
        if place % 2 == 0 { (START, time, 0, 20) } else { (START, time, 1, place as u8) }
    }),
    ("heartbeats far from each other", |packet, _| (START + packet * SECOND * 20, 0, 99, 0)),
];

fn packet(number: u64, sent: fn(u64, u64) -> Sent) -> Vec<u8> {
    let time = |ticks| EssTime::from_total_ticks(ticks).expect("a time of today");
    let record = |place| {
        let (_, ticks, fen, channel) = sent(number, place);
        let (vmm, channel) = (channel >> 6 & 1, channel & 63);
        let fields = Vmm3aFields { fen, vmm, channel, adc: 100, time: time(ticks), ..Vmm3aFields::default() };
        (fen < 24).then(|| fields.encode())
    };
    let records: Vec<_> = (0..RECORDS).filter_map(record).collect();
    let pulse = time(sent(number, 0).0);
    let header = EssHeader {
        detector_type: detector_type::FREIA,
        pulse,
        previous_pulse: pulse,
        sequence: number as u32,
        ..EssHeader::default()
    };
    let mut packet = Vec::new();
    header.write_packet(records.as_flattened(), &mut packet);
    packet
}

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let settings = settings();
    for (name, sent) in STREAMS {
        let build = || settings.detector().expect("sound settings");
        check(name, Growth::None, build, (0..300).map(|number| packet(number, *sent)));
    }
    println!("hostile streams stay within the bound and allocate nothing");
}

//! The memory of a SoNDe pipeline is bounded whatever it is fed, and forming events does not allocate.

use crate::hostile_stream::check;
use evforge_core::geometry::LogicalGeometry;
use evforge_detect::settings::SortingSettings;
use evforge_detect::sonde::Sonde;
use evforge_detect::sonde::settings::{
    EventSequence, GroupAddress, GroupSettings, MaskSettings, ModuleSettings, SondeSettings, TimeSettings,
};
use evforge_wire::sonde::{AmplitudeSample, Header, SondeEncoder, TriggerTime};

/// A group of four modules.
fn settings(sequence: EventSequence) -> SondeSettings {
    let module = |system: u8| ModuleSettings {
        system: Some(system),
        x: 8 * u32::from(system % 2),
        y: 8 * u32::from(system / 2),
    };
    SondeSettings {
        geometry: LogicalGeometry::flat(16, 16).expect("a geometry"),
        groups: vec![GroupSettings {
            address: GroupAddress::Port(0),
            x: 0,
            y: 0,
            modules: (0..4).map(module).collect(),
        }],
        time: TimeSettings { extended: true, tick: Some(10_000) },
        sequence,
        sorting: SortingSettings {
            window: 500_000_000,
            forward_jump: 2_000_000_000,
            restart: 1_000_000_000_000,
            source_lag: 60_000_000_000_000,
            max_held_hits: 8192,
            max_group_hits: 1,
            decimation: 0,
            highest_rate: None,
        },
        mask: vec![MaskSettings { group: 0, module: 1, asic: 0, channel: 3, reason: "hot".into() }],
    }
}

/// A packet of trigger times: header's time, and those of its entries by their number.
fn trigger_times(system: u8, number: u64, header: u64, time: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut encoder = SondeEncoder::default();
    let packet_count = number as u16;
    encoder.begin_trigger_times(&Header { system, packet_count, time: header as u32, sequence_flag: 0 });
    for n in 0..255_u64 {
        let asic_channel = (((n % 4) << 6) | (n % 17)) as u8;
        assert!(encoder.push_trigger_time(&TriggerTime { time: time(n) as u32, asic_channel }));
    }
    encoder.packet().to_vec()
}

/// Streams that try to make the pipeline hold more and more: (name, packet by number).
type Hostile = (&'static str, fn(u64) -> Vec<u8>);

const STREAMS: &[Hostile] = &[
    ("time stands still", |number| trigger_times((number % 4) as u8, number / 4, 5, |_| 5)),
    ("only one module sends", |number| trigger_times(2, number, number * 300, |n| number * 300 + n)),
    ("time runs back", |number| trigger_times(0, number, 1 << 30, |n| (1 << 30) - number * 300 - n)),
    ("every packet leaps", |number| {
        trigger_times((number % 4) as u8, number / 4, number << 29, |n| (number << 29) + n)
    }),
    ("every readout leaps", |number| trigger_times(1, number, number << 30, |n| n * 0x0123_4567)),
    ("many samples", |number| {
        let mut encoder = SondeEncoder::default();
        let header = Header { packet_count: number as u16, time: number as u32, ..Header::default() };
        encoder.begin_multi_event(&header, 1000);
        let sample = |n: u16| AmplitudeSample {
            asic: n as u8 % 4,
            channel: n as u8 % 16,
            trigger_type: 0,
            amplitude: n,
        };
        let samples: Vec<_> = (0..1000).map(sample).collect();
        assert!(encoder.push_event(number as u32 * 1000, &samples));
        encoder.packet().to_vec()
    }),
    ("nonsense", |number| (0..1286_u64).map(|n| ((n * n * number) >> 7) as u8).collect()),
];

pub(crate) fn check_all() {
    for (name, stream) in STREAMS {
        for sequence in [EventSequence::Arrival, EventSequence::Time] {
            let build = || Sonde::new(&settings(sequence)).expect("sound settings");
            check(name, build, (0..300).map(stream));
        }
    }
}

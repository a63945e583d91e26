//! Today's ESS readout with packets that nobody would send.

use evforge_detect::ess::EssSettings;
use evforge_detect::settings::SortingSettings;
use evforge_wire::ess::{EssHeader, EssTime, HeaderRules, RecordRules, TICKS_PER_SECOND, Vmm3aFields};

/// Records of a packet.
const RECORDS: u64 = 200;

/// Time waits for queues 0 and 1, of which the streams use 0.
pub(crate) fn ess_settings(detector_type: u8) -> EssSettings {
    EssSettings {
        header: HeaderRules::strict(detector_type, u64::from(TICKS_PER_SECOND)),
        records: RecordRules::default(),
        odd_output_queue: None,
        output_queues: vec![0, 1],
        max_time_of_flight: 1_000_000_000_000,
        pulse_period: Some(71_428_571_000),
        sorting: SortingSettings {
            window: 1_000_000_000,
            forward_jump: 1_000_000_000_000,
            restart: 1_000_000_000_000,
            source_lag: 500_000_000_000,
            max_held_hits: 8192,
            max_group_hits: 512,
            decimation: 0,
            highest_rate: None,
        },
    }
}

/// What a stream sends: the pulse, and the time of a record, in ticks; and the FEN and channel of the record.
pub(crate) type Sent = (u64, u64, u8, u8);

/// Streams that try to make the pipeline hold more and more: (name, what is sent by packet and place in it).
pub(crate) type Hostile = (&'static str, fn(u64, u64) -> Sent);

const SECOND: u64 = TICKS_PER_SECOND as u64;
const START: u64 = 1_700_000_000 * SECOND;

pub(crate) const STREAMS: &[Hostile] = &[
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

/// A packet of a stream. `vmms` are those that the first and the other 64 channels of a stream are on.
pub(crate) fn packet(number: u64, sent: fn(u64, u64) -> Sent, detector_type: u8, vmms: [u8; 2]) -> Vec<u8> {
    let time = |ticks| EssTime::from_total_ticks(ticks).expect("a time of today");
    let record = |place| {
        let (_, ticks, fen, channel) = sent(number, place);
        let (vmm, channel) = (vmms[usize::from(channel >> 6 & 1)], channel & 63);
        let fields = Vmm3aFields { fen, vmm, channel, adc: 100, time: time(ticks), ..Vmm3aFields::default() };
        (fen < 24).then(|| fields.encode())
    };
    let records: Vec<_> = (0..RECORDS).filter_map(record).collect();
    let pulse = time(sent(number, 0).0);
    let header = EssHeader {
        detector_type,
        pulse,
        previous_pulse: pulse,
        sequence: number as u32,
        ..EssHeader::default()
    };
    let mut packet = Vec::new();
    header.write_packet(records.as_flattened(), &mut packet);
    packet
}

//! Messages of topics, one after the other: for the page, for frames, for the file writer.

use super::Seed;
use super::pieces::joined;
use crate::kafka_aggregate::choice;
use crate::writer_modules::STRUCTURES;
use evforge_messages::{Encoder, Ev44, Pu00, examples};

/// The time that frames begin with, in nanoseconds since 1970, and from frame to frame.
const BEGIN: i64 = 1_787_229_296_000_000_000;
const PERIOD: i64 = 20_000_000;

/// Looks what may leave behind the message.
const LOOK: u8 = 1 << 6;
/// The work is interrupted behind the message.
const RESTART: u8 = 1 << 7;
/// The offset goes back.
const BACK: u8 = 1 << 5;

fn ev44(id: i64, times: &[i64], events: &[(i32, i32)]) -> Vec<u8> {
    let (flights, pixels): (Vec<i32>, Vec<i32>) = events.iter().copied().unzip();
    let first = vec![0; times.len()];
    let message = Ev44 {
        source_name: "board",
        message_id: id,
        reference_time: times.into(),
        reference_time_index: first.as_slice().into(),
        time_of_flight: flights.as_slice().into(),
        pixel_id: pixels.as_slice().into(),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

fn pu00(id: i64, time: i64, told: Option<u32>) -> Vec<u8> {
    let message = Pu00 {
        source_name: "board",
        message_id: id,
        reference_time: time,
        vetos: told,
        period_number: told,
        proton_charge: told.map(|told| told as f32 / 100.0),
    };
    message.encode(&mut Encoder::new()).to_vec()
}

/// A message behind its place and what is done besides, and the milliseconds that it comes later.
fn message(kind: u8, wait_ms: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind, wait_ms][..], payload].concat()
}

/// Frames of two boards: pulses and events, in two partitions.
fn boards(frames: i64, also: u8) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for frame in 0..frames {
        let time = BEGIN + frame * PERIOD;
        for board in 0..2_u8 {
            let time = time + i64::from(board) * 4;
            pieces.push(message(board, 1, &pu00(2 * frame, time, Some(frame as u32))));
            let events = [(30 + i32::from(board), 7), (10, 9)];
            pieces.push(message(board | also, 3, &ev44(2 * frame + 1, &[time], &events)));
        }
    }
    pieces
}

/// Boards that are in step, early, late, silent; restarts; messages that are no part of a frame.
pub fn aggregate_seeds() -> Vec<Seed> {
    let late = [boards(4, LOOK), boards(2, LOOK)].concat();
    let two = BEGIN + PERIOD;
    let odd = [
        message(0, 0, &ev44(1, &[BEGIN, two], &[(1, 2)])),
        message(0, 0, &ev44(2, &[0], &[(1, 2)])),
        message(0, 0, &ev44(3, &[i64::MAX], &[(1, 2)])),
        message(0, 0, &ev44(4, &[BEGIN], &[])),
        message(3, 0, &pu00(5, BEGIN - 1, None)),
        message(BACK, 2, &pu00(6, BEGIN, Some(1))),
        message(1, 0, b"damaged"),
        message(1, 0, &[]),
    ];
    let any: Vec<Vec<u8>> = examples::messages(7).iter().map(|(_, bytes)| message(0, 1, bytes)).collect();
    let committed = b"\0\0evforge1 7 1787229296000000000 0+1,3+2".to_vec();
    let resumed = [vec![committed], boards(3, RESTART)].concat();
    [
        ("in-step", 0, boards(3, LOOK)),
        ("few", choice::FEW, boards(5, 0)),
        ("small", choice::SMALL | choice::TWO, boards(5, LOOK)),
        ("late", choice::IMPATIENT | choice::DROP, late.clone()),
        ("tolerant", choice::TOLERANT | choice::UNORDERED, late),
        ("restarted", choice::FEW, boards(4, RESTART)),
        ("resumed", choice::RESUMED, resumed),
        ("odd", 0, odd.to_vec()),
        ("other-schemas", 0, any),
    ]
    .into_iter()
    .map(|(name, choice, pieces)| Seed::new(name, joined(vec![choice], &pieces)))
    .collect()
}

/// Every example message for every use of a topic; numbers that are missing, that come twice and go back.
pub fn event_seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (role, name) in ["events", "monitors", "logs", "ledgers"].into_iter().enumerate() {
        let also = (role as u8) << 6;
        let all: Vec<Vec<u8>> =
            examples::messages(7).iter().map(|(_, bytes)| message(also | 1 << 2, 1, bytes)).collect();
        // A length has 16 bits: the examples are small.
        seeds.push(Seed::new(format!("all-as-{name}"), joined(Vec::new(), &all)));
        seeds.push(Seed::new(format!("frames-as-{name}"), joined(Vec::new(), &boards(3, also))));
    }
    let numbers = [1, 2, 2, 5, 3, 100, 1, i64::MAX, i64::MIN];
    let messages: Vec<Vec<u8>> =
        numbers.iter().map(|&id| message(0, 1, &ev44(id, &[BEGIN], &[(5, 6), (-1, 7)]))).collect();
    seeds.push(Seed::new("numbers", joined(Vec::new(), &messages)));
    seeds
}

/// Every example message for the modules of both structures, with commits, and structures of an input's own.
pub fn writer_seeds() -> Vec<Seed> {
    let all = |also: u8| -> Vec<Vec<u8>> {
        examples::messages(7).iter().map(|(_, bytes)| [&[also][..], bytes].concat()).collect()
    };
    let mut seeds = vec![
        Seed::new("reference", joined(vec![0], &all(0))),
        Seed::new("own", joined(vec![1], &all(0))),
        Seed::new("reference-commits", joined(vec![0], &all(1)[..12])),
        Seed::new("own-commits", joined(vec![1], &all(1)[..12])),
    ];
    let with_structure = |structure: &str, messages: &[Vec<u8>]| {
        joined(vec![255], &[&[structure.as_bytes().to_vec()][..], messages].concat())
    };
    for (number, structure) in STRUCTURES.iter().enumerate() {
        let compact: String = structure.split_whitespace().collect::<Vec<_>>().join(" ");
        seeds.push(Seed::new(format!("structure-{number}"), with_structure(&compact, &all(0)[..4])));
    }
    for (name, kind, settings) in [
        ("chunk-too-large", "ev44", r#""chunk_size": 18446744073709551615"#),
        ("chunk-zero", "f144", r#""chunk_size": 0"#),
        ("array-too-large", "ad00", r#""array_size": [4294967295, 4294967295]"#),
        ("array-of-nothing", "ad00", r#""array_size": []"#),
        ("unknown-type", "se00", r#""dtype": "int128""#),
        ("histogram-without-shape", "hs01", r#""dtype": "double""#),
        ("unknown-key", "tdct", r#""chunksize": 3"#),
        ("pixels-the-wrong-way", "ev44", r#""layout": "evforge", "pixels": [5, 1]"#),
        (
            "variables-twice",
            "da00",
            r#""variables": [{"name": "a", "shape": [1]}, {"name": "a", "shape": [1]}]"#,
        ),
    ] {
        let structure = format!(
            r#"{{"children": [{{"module": "{kind}", "config": {{"topic": "t", "source": "s", {settings}}}}}]}}"#
        );
        seeds.push(Seed::new(name, with_structure(&structure, &all(1)[..2])));
    }
    seeds
}

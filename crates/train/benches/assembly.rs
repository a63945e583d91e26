//! What it costs to assemble trains: LPD trains from memory, against `memcpy` of the same bytes.
//!
//! Datagrams lie in memory one after the other, as a receive ring has them, and are more than any cache holds. Trains that are whole are
//! held for a while, as by a file writer, so that the memory that is written is as cold. Rounds of three members take turns on one core:
//! all data bytes copied at once, all data bytes copied datagram by datagram into memory in a row, and the assembly. The figure is the
//! bandwidth of the assembly over that of each copy, in bytes of trains; the median of all rounds with its quartiles.
//!
//! `cargo bench -p evforge-train --bench assembly [-- ROUNDS]` (15 rounds)

use evforge_testkit::bench_history::{Figure, keep};
use evforge_train::assembly::{
    AssembledTrain, Assembly, AssemblySettings, ImageContent, TrainBuffer, TrainContent, TrainSource,
};
use evforge_wire::train::{
    DATA_BYTES, ImageDescriptor, PacketTrailer, TrainDetector, TrainHeader, TrainLayout, TrainTrailer,
};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Bytes of trains that are held after they are whole.
const HELD: usize = 256 << 20;
const DATAGRAM: usize = DATA_BYTES + PacketTrailer::BYTES;

/// What one line is about.
struct Case {
    images: u32,
    sources: u16,
    /// Trains of each source, one after the other.
    trains: u32,
    /// Trains of a source whose packets take turns.
    interleaved: u32,
}

const CASES: [Case; 9] = [
    Case { images: 64, sources: 1, trains: 32, interleaved: 1 },
    Case { images: 128, sources: 1, trains: 16, interleaved: 1 },
    Case { images: 256, sources: 1, trains: 8, interleaved: 1 },
    Case { images: 512, sources: 1, trains: 4, interleaved: 1 },
    // As many bytes each: trains of 16 images.
    Case { images: 16, sources: 1, trains: 400, interleaved: 1 },
    Case { images: 16, sources: 1, trains: 400, interleaved: 16 },
    Case { images: 16, sources: 1, trains: 400, interleaved: 400 },
    Case { images: 16, sources: 16, trains: 25, interleaved: 1 },
    Case { images: 16, sources: 400, trains: 1, interleaved: 1 },
];

/// A datagram of the stream: its bytes, and whose it is.
struct Place {
    start: usize,
    length: usize,
    source: TrainSource,
}

struct Stream {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// Bytes of trains, without trailers of packets.
    data: usize,
}

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(15);
    println!(
        "{:>6} {:>7} {:>6} {:>5} {:>7} | {:>9} {:>9} {:>9} {:>9} | {:>22} {:>22}",
        "images",
        "sources",
        "trains",
        "open",
        "MB",
        "copy GB/s",
        "by piece",
        "assembly",
        "ns/packet",
        "of copy",
        "of copy by piece"
    );
    for case in &CASES {
        measure(case, rounds);
    }
}

fn measure(case: &Case, rounds: usize) {
    let stream = stream(case);
    let mut settings = AssemblySettings {
        open_trains_of_source: case.interleaved.max(2) as usize,
        ..AssemblySettings::new(TrainDetector::Lpd, case.images).with_sources(usize::from(case.sources))
    };
    settings.open_trains = usize::from(case.sources) * case.interleaved as usize + 1;
    settings.open_trains_of_source = settings.open_trains_of_source.min(settings.open_trains);
    let held = HELD.div_ceil(settings.largest_train);
    settings.buffers = settings.open_trains + held;
    // The same trains come in every round.
    settings.remembered_for = Duration::from_millis(1);
    settings.content =
        TrainContent::Images(ImageContent { stride: None, ..ImageContent::of(TrainDetector::Lpd) });
    let mut assembly = Assembly::new(settings).unwrap_or_else(|error| panic!("{error}"));
    let mut whole_trains = VecDeque::with_capacity(held + 1);
    let mut copy = vec![1_u8; stream.data];
    let (mut now_ns, mut good) = (0, 0);
    let mut times = [vec![], vec![], vec![]];
    let expected = u64::from(case.sources) * u64::from(case.trains);
    // The first round only warms up.
    for round in 0..=rounds {
        for place in 0..3 {
            let member = (place + round) % 3;
            let begin = Instant::now();
            match member {
                0 => copy.copy_from_slice(&stream.bytes[..stream.data]),
                1 => {
                    let mut rest = &mut copy[..];
                    for place in &stream.places {
                        let data = place.length - PacketTrailer::BYTES;
                        let (piece, after) = rest.split_at_mut(data);
                        piece.copy_from_slice(&stream.bytes[place.start..place.start + data]);
                        rest = after;
                    }
                }
                _ => {
                    now_ns += 1_000_000_000;
                    good += assemble(&mut assembly, &stream, now_ns, (&mut whole_trains, held));
                }
            }
            let seconds = begin.elapsed().as_secs_f64();
            black_box(&copy);
            if round > 0 {
                times[member].push(seconds);
            }
        }
    }
    assert_eq!(good, expected * (rounds as u64 + 1), "all trains came out good");
    let ratio = |other: usize| {
        let mut ratios: Vec<f64> =
            times[other].iter().zip(&times[2]).map(|(other, own)| other / own).collect();
        ratios.sort_by(f64::total_cmp);
        [ratios.len() / 2, ratios.len() / 4, 3 * ratios.len() / 4].map(|at| ratios[at])
    };
    let shown = |[median, low, high]: [f64; 3]| {
        format!("{:.0} % ({:.0} to {:.0})", 100.0 * median, 100.0 * low, 100.0 * high)
    };
    let (whole, pieces) = (ratio(0), ratio(1));
    let medians = times.each_ref().map(|times| {
        let mut times = times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let rates = medians.map(|seconds| stream.data as f64 / seconds / 1e9);
    println!(
        "{:>6} {:>7} {:>6} {:>5} {:>7.0} | {:>9.2} {:>9.2} {:>9.2} {:>9.0} | {:>22} {:>22}",
        case.images,
        case.sources,
        case.trains,
        u32::from(case.sources) * case.interleaved,
        stream.data as f64 / 1e6,
        rates[0],
        rates[1],
        rates[2],
        1e9 * medians[2] / stream.places.len() as f64,
        shown(whole),
        shown(pieces),
    );
    let name = format!(
        "LPD trains of {} images, {} sources, {} open",
        case.images,
        case.sources,
        u32::from(case.sources) * case.interleaved
    );
    for (figure, value) in [("bandwidth / memcpy", whole[0]), ("bandwidth / memcpy by datagram", pieces[0])] {
        keep(&Figure {
            bench: "assembling",
            case: &name,
            figure,
            value,
            unit: "ratio",
            keys_per_second: None,
        });
    }
}

/// One pass over all datagrams: good trains.
fn assemble(
    assembly: &mut Assembly,
    stream: &Stream,
    now_ns: u64,
    (whole, held): (&mut VecDeque<AssembledTrain>, usize),
) -> u64 {
    let mut good = 0;
    let mut deliver = |train: AssembledTrain| -> Option<TrainBuffer> {
        good += u64::from(train.train().is_some());
        whole.push_back(train);
        let oldest = if whole.len() > held { whole.pop_front() } else { None };
        oldest.and_then(AssembledTrain::into_buffer)
    };
    for place in &stream.places {
        let datagram = &stream.bytes[place.start..place.start + place.length];
        assembly.take(place.source, now_ns, datagram, &mut deliver);
    }
    good
}

/// The datagrams of a case, in the order of their arrival: sources take turns packet by packet.
fn stream(case: &Case) -> Stream {
    let layout = TrainLayout::of(TrainDetector::Lpd, case.images);
    let packets = layout.packets(DATA_BYTES) as u32;
    let count = usize::from(case.sources) * case.trains as usize * packets as usize;
    let mut stream = Stream { bytes: Vec::with_capacity(count * DATAGRAM), places: vec![], data: 0 };
    let mut train = vec![1; layout.total()];
    let descriptors = vec![ImageDescriptor::default(); case.images as usize];
    for first in (0..case.trains).step_by(case.interleaved as usize) {
        let frames = first..case.trains.min(first + case.interleaved);
        for packet in 0..packets {
            for (frame, source) in
                frames.clone().flat_map(|frame| (0..case.sources).map(move |source| (frame, source)))
            {
                if packet == 0 || packet + 1 == packets {
                    let header = header(u64::from(frame), case.images);
                    layout.write_ends(&header, &descriptors, &TrainTrailer::default(), &mut train);
                }
                let from = packet as usize * DATA_BYTES;
                let data = &train[from..train.len().min(from + DATA_BYTES)];
                let trailer =
                    PacketTrailer { frame, packet, is_first: packet == 0, is_last: packet + 1 == packets };
                let start = stream.bytes.len();
                stream.bytes.extend_from_slice(data);
                stream.bytes.extend_from_slice(&trailer.to_bytes());
                let length = stream.bytes.len() - start;
                stream.places.push(Place { start, length, source: TrainSource::Module(source) });
                stream.data += data.len();
            }
        }
    }
    stream
}

fn header(train: u64, images: u32) -> TrainHeader {
    TrainHeader {
        major_version: 2,
        minor_version: 1,
        train,
        data: 0,
        detector_link: 0,
        builder_link: 0,
        images: u64::from(images),
        specific_bytes: TrainDetector::Lpd.specific_bytes() as u32,
        builder_bytes: 0,
        reserved: [0; 8],
    }
}

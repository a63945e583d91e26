//! Nothing is allocated per packet, nor per train, once an assembly has begun; whatever it is sent.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

use evforge_train::assembly::{
    AssembledTrain, Assembly, AssemblySettings, IncompletePolicy, TrainBuffer, TrainSource,
};
use evforge_wire::train::{DATA_BYTES, PacketTrailer, TrainDetector, TrainLayout, TrainTrailer};
use evforge_wire::train::{ImageDescriptor, TrainHeader};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const SOURCES: u16 = 16;
const IMAGES: u32 = 3;

/// A train, in datagrams that are overwritten for each frame.
fn datagrams() -> Vec<Vec<u8>> {
    let layout = TrainLayout::of(TrainDetector::Lpd, IMAGES);
    let header = TrainHeader {
        major_version: 2,
        minor_version: 1,
        train: 0,
        data: 0,
        detector_link: 0,
        builder_link: 0,
        images: u64::from(IMAGES),
        specific_bytes: TrainDetector::Lpd.specific_bytes() as u32,
        builder_bytes: 0,
        reserved: [0; 8],
    };
    let mut train = vec![1; layout.total()];
    let descriptors = [ImageDescriptor::default(); IMAGES as usize];
    layout.write_ends(&header, &descriptors, &TrainTrailer::default(), &mut train);
    train.chunks(DATA_BYTES).map(|data| [data, &[0; PacketTrailer::BYTES]].concat()).collect()
}

fn write_trailer(datagram: &mut [u8], trailer: PacketTrailer) {
    let start = datagram.len() - PacketTrailer::BYTES;
    datagram[start..].copy_from_slice(&trailer.to_bytes());
}

fn main() {
    let mut packets = datagrams();
    let count = packets.len() as u32;
    let settings = AssemblySettings {
        incomplete: IncompletePolicy::Zero,
        ..AssemblySettings::new(TrainDetector::Lpd, IMAGES).with_sources(usize::from(SOURCES))
    };
    let mut assembly = Assembly::new(settings).expect("settings");
    let mut closed = 0_u64;
    let mut deliver = |train: AssembledTrain| -> Option<TrainBuffer> {
        closed += 1;
        train.into_buffer()
    };
    // Every source is known, and has had its first train, before allocations are counted.
    let mut now_ns = 0;
    let mut send = |frames: std::ops::Range<u32>, deliver: &mut _| {
        for frame in frames {
            packets[0][16..24].copy_from_slice(&u64::from(frame).to_le_bytes());
            for (packet, datagram) in packets.iter_mut().enumerate() {
                let packet = packet as u32;
                for source in 0..SOURCES {
                    now_ns += 10_000;
                    // Some are lost, some are of frames that have been or never come.
                    let dice = (frame * 7919 + packet * 31 + u32::from(source) * 17) % 499;
                    let frame = match dice {
                        0 => continue,
                        1 => frame.wrapping_sub(1),
                        2 => frame.wrapping_mul(0x9E37_79B9),
                        _ => frame,
                    };
                    let (is_first, is_last) = (packet == 0, packet + 1 == count);
                    write_trailer(datagram, PacketTrailer { frame, packet, is_first, is_last });
                    assembly.take(TrainSource::Module(source), now_ns, datagram, deliver);
                }
                // A sender of whom nobody has heard.
                assembly.take(TrainSource::Module(1000 + (frame % 64) as u16), now_ns, datagram, deliver);
            }
        }
    };
    send(0..3, &mut deliver);
    let profiler = dhat::Profiler::builder().testing().build();
    send(3..103, &mut deliver);
    let blocks = dhat::HeapStats::get().total_blocks;
    drop(profiler);
    let counters = assembly.counters();
    println!("{closed} trains closed, {blocks} blocks allocated");
    assert_eq!(blocks, 0, "allocated by the assembly");
    let kinds = [
        counters.trains_good,
        counters.trains_kept,
        counters.packets_late,
        counters.packets_of_further_sources,
    ];
    assert!(kinds.iter().all(|&count| count > 0), "the stream has everything in it: {counters:?}");
}

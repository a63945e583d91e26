//! What a plugin costs, on one core: the examples in C and in Rust with packets of several sizes, in slabs
//! of one packet and of many.
//!
//! The examples do as little as a detector can: they read a header, follow a number, and copy time and place. So what is
//! left of the time with packets without readouts is the host's: describing packets, calling, checking what comes
//! back. With one packet a slab that is paid for each packet; a run has slabs of up to 256 packets, live up to 4096.
//!
//! `cargo bench -p evforge-lab --bench plugin`; EVFORGE_BENCH_SECONDS sets the time per line. There is no figure of the
//! reference: it has plugins, but in C++ classes that share its memory and count for themselves.

use evforge_config::Config;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_lab::benchmark::measure;
use evforge_testkit::outside::{c_library, rust_example};
use std::path::Path;

/// Packets of a pass.
const PACKETS: u32 = 8192;

fn main() {
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0);
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugin-c/detector.c");
    let in_c = c_library(&source, folder.path(), "pixel_stream_c", &["-O3"]);
    let in_rust = rust_example(folder.path(), &["--release"]);
    println!(
        "{:<6} {:>14} {:>12} {:>10} {:>10} {:>9} {:>8} {:>8}",
        "", "readouts/pack.", "packets/slab", "ns/packet", "ns/readout", "Mread/s", "Mkeys/s", "read/key"
    );
    for (language, library) in [("C", &in_c), ("Rust", &in_rust)] {
        for (readouts, per_slab) in [(0, 1), (0, 256), (1, 256), (100, 1), (100, 256), (1000, 256)] {
            let config = Config::read_with_library(None, library, &[]).expect("a good configuration");
            let slabs = slabs(readouts, per_slab);
            let measured =
                measure(&config, &slabs, None, &[], seconds).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(measured.readouts, u64::from(PACKETS * readouts));
            assert_eq!(measured.events, measured.readouts);
            println!(
                "{language:<6} {readouts:>14} {per_slab:>12} {:>10.1} {:>10.2} {:>9.1} {:>8.1} {:>8.2}",
                1e9 / measured.packets_per_second(),
                measured.nanoseconds_per_readout(),
                measured.readouts_per_second() / 1e6,
                measured.keys_per_second / 1e6,
                measured.readouts_per_key(),
            );
        }
    }
}

/// Packets of the examples with so many readouts each, all on the detector.
fn slabs(readouts: u32, per_slab: usize) -> Vec<PacketSlab> {
    let numbers: Vec<u32> = (0..PACKETS).collect();
    let slab = |numbers: &[u32]| {
        let bytes = numbers.len() * (16 + 8 * readouts as usize);
        let mut slab = PacketSlab::new(numbers.len(), bytes);
        for &sequence in numbers {
            let packet = packet(sequence, readouts);
            assert!(slab.push(&packet, packet.len(), PacketOrigin::default()));
        }
        slab
    };
    numbers.chunks(per_slab).map(slab).collect()
}

fn packet(sequence: u32, readouts: u32) -> Vec<u8> {
    let mut bytes = b"PXST".to_vec();
    for number in [sequence, readouts, 0] {
        bytes.extend(number.to_le_bytes());
    }
    for number in 0..readouts {
        let tick = (sequence * readouts + number) * 3;
        bytes.extend(tick.to_le_bytes());
        bytes.extend(((tick.wrapping_mul(0x9e37_79b1) >> 26) as u16).to_le_bytes());
        bytes.extend(((tick.wrapping_mul(0x85eb_ca77) >> 26) as u16).to_le_bytes());
    }
    bytes
}

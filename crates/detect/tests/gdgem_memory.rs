//! The memory of a pipeline is bounded whatever it is fed, and forming events does not allocate.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

mod common;
mod hostile_stream;

use common::{packet, settings};
use evforge_detect::gdgem::settings::PartitionSettings;
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use hostile_stream::{Growth, check};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Streams that try to make the pipeline hold more and more: (name, packet of a FEC by number).
type Hostile = (&'static str, fn(u64) -> Vec<u8>);

const STREAMS: &[Hostile] = &[
    ("time stands still", |number| {
        packet(2, number as u32, &(0..1400).map(|n| (5, 100, (n % 64) as u8)).collect::<Vec<_>>())
    }),
    ("one source is silent", |number| {
        packet(2, number as u32, &(0..1000).map(|n| (number, n * 60, (n % 64) as u8)).collect::<Vec<_>>())
    }),
    ("time leaps with every packet", |number| {
        packet(2, number as u32, &(0..700).map(|n| (number * 100_000, n, 3)).collect::<Vec<_>>())
    }),
    ("time leaps with every hit", |number| {
        let hits: Vec<_> = (0..700).map(|n| ((number * 700 + n) * 300, 7, 3)).collect();
        packet(2, number as u32, &hits)
    }),
    ("time runs back", |number| {
        packet(2, number as u32, &(0..700).map(|n| (3_000_000 - number * 1000, n, 3)).collect::<Vec<_>>())
    }),
    ("one endless group", |number| {
        let hits: Vec<_> = (0..1300).map(|n| (number, n * 50, (n % 64) as u8)).collect();
        packet(if number % 2 == 0 { 1 } else { 2 }, (number / 2) as u32, &hits)
    }),
];

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    // Regions take memory as they need it, within the bound as well.
    let cut = PartitionSettings { regions: 3, overlap: 2, threads: 1 };
    let cases = STREAMS.iter().flat_map(|stream| [(stream, None), (stream, Some(cut))]);
    for ((name, stream), partition) in cases {
        let growth = if partition.is_none() { Growth::None } else { Growth::WithinBound };
        let build = || GdGem::new(&GdGemSettings { partition, ..settings() }).expect("sound settings");
        check(name, growth, build, (0..300).map(stream));
    }
    println!("hostile streams stay within the bound and allocate nothing");
}

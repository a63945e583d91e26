//! How fast datagrams of trains are made, and their pattern is checked, by one core: `cargo bench -p evforge-train --bench generate`.
//!
//! For comparison: a module of LPD with 512 images sends 0.67 GB/s, and a network of 10 Gbit/s carries 1.25 GB/s.

use evforge_train::generate::{
    CounterPattern, FaultPlan, FaultRates, ImageContent, NoiseSettings, TrainSequence, TrainSource,
    TrainStructure,
};
use evforge_wire::train::TrainDetector;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each is measured.
const TIME: Duration = Duration::from_secs(1);

/// Runs `turn`, which says how many packets and bytes it has made, and prints how fast that is.
fn measure(what: &str, mut turn: impl FnMut() -> (u64, u64)) {
    let start = Instant::now();
    let (mut packets, mut bytes) = (0, 0);
    while start.elapsed() < TIME {
        let (more_packets, more_bytes) = turn();
        packets += more_packets;
        bytes += more_bytes;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what:38} {:8.3} million packets/s {:8.2} GB/s",
        packets as f64 / seconds / 1e6,
        bytes as f64 / seconds / 1e9
    );
}

fn main() {
    let structure = TrainStructure::of(TrainDetector::Lpd, 512);
    let noise = ImageContent::NoiseAndPedestals(NoiseSettings::default());
    // As many as one call of the kernel takes, so that the memory is that of a sender.
    let mut memory = vec![0; 64 * 8192];
    for (what, content) in [("counter pattern", ImageContent::Counter), ("noise and pedestals", noise)] {
        let source = Arc::new(TrainSource::new(structure, content).expect("a structure"));
        let (mut index, mut packet) = (0, 0);
        measure(what, || {
            let mut bytes = 0;
            for place in memory.chunks_mut(8192) {
                bytes += source.write_packet(index, packet, place).expect("a packet") as u64;
                packet += 1;
                if packet == source.packets() {
                    (index, packet) = (index + 1, 0);
                }
            }
            (64, bytes)
        });
        for (faults, lost) in [("without faults", 0.0), ("with faults by chance", 1e-3)] {
            let rates = FaultRates { lost, displaced: lost, ..FaultRates::default() };
            let plan = FaultPlan::new(&[], &rates, 1).expect("probabilities");
            let mut sequence = TrainSequence::new(Arc::clone(&source), plan, None);
            measure(&format!("{what}, in sequence, {faults}"), || {
                let sent = |place| sequence.write_next(place).expect("a packet").bytes as u64;
                (64, memory.chunks_mut(8192).map(sent).sum())
            });
        }
    }
    let mut image = vec![0; TrainDetector::Lpd.image_bytes()];
    let pattern = CounterPattern::new(1, 1);
    pattern.fill(0, &mut image);
    measure("check of the counter pattern (images)", || {
        assert_eq!(black_box(pattern).check(0, black_box(&image)), None);
        (1, image.len() as u64)
    });
}

//! Making the datagrams of trains does not allocate, with faults or without.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

use evforge_train::generate::{
    CounterPattern, FaultPlan, FaultRates, ImageContent, NoiseSettings, TrainSequence, TrainSource,
    TrainStructure,
};
use evforge_wire::train::{TrainDetector, TrainHeader};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let rates = FaultRates {
        lost: 0.01,
        repeated: 0.01,
        displaced: 0.01,
        truncated: 0.01,
        shortened: 0.01,
        missing_first: 0.1,
        wrong_end: 0.1,
        late: 0.1,
        interleaved: 0.1,
        ..FaultRates::default()
    };
    let noise = ImageContent::NoiseAndPedestals(NoiseSettings::default());
    for (content, rates) in
        [(ImageContent::Counter, FaultRates::default()), (ImageContent::Counter, rates), (noise, rates)]
    {
        let source =
            TrainSource::new(TrainStructure::of(TrainDetector::Lpd, 5), content).expect("a structure");
        let plan = FaultPlan::new(&[], &rates, 3).expect("probabilities");
        let mut sequence = TrainSequence::new(Arc::new(source), plan, None);
        let mut memory = vec![0; 8192];
        let mut packets = 0_u64;
        let mut turn = |most: u64| {
            for _ in 0..most {
                let sent = sequence.write_next(&mut memory).expect("trains go on");
                // The check of the receiver: of the first packet, behind the header.
                let image =
                    memory.get(TrainHeader::BYTES..).filter(|_| sent.packet == 0 && sent.bytes == 8192);
                if let (Some(image), ImageContent::Counter) = (image, content) {
                    let train = sequence.source().structure().train(sent.train);
                    let fault = CounterPattern::new(train, 0).check(0, &image[..8184 - TrainHeader::BYTES]);
                    assert_eq!(fault, None);
                }
                packets += 1;
            }
        };
        // Until the lists of displaced packets are as long as they get.
        turn(20_000);
        let before = dhat::HeapStats::get().total_blocks;
        turn(20_000);
        let allocated = dhat::HeapStats::get().total_blocks - before;
        assert_eq!(allocated, 0, "20 000 datagrams must not allocate");
        let counts = sequence.counts();
        assert_eq!(counts.datagrams, packets);
        println!("generate_memory: {packets} datagrams of {} trains without allocating", counts.trains_ended);
    }
}

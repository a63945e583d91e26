//! A load that is sent again and again gives, in each pass, the events of the first one, later by the length of the load.

use evforge_config::shipped;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_lab::simulated_source::SimulatedSource;
use evforge_lab::simulation::{simulation, slab_of};
use evforge_lab::truth_files::TruthFiles;
use evforge_sim::packet::SimulatedPacket;

/// All packets of so many pulses of a shipped configuration, and how long they are.
fn built(name: &str, neutrons: &str, pulses: u64) -> (SimulatedSource, Vec<SimulatedPacket>) {
    let overrides = [format!("simulation.beam.neutrons={neutrons}")];
    let config = shipped::configuration(name, &overrides).expect("a shipped configuration");
    let simulation = simulation(&config).expect("a detector that can be simulated");
    let truth = TruthFiles::create(None, None).expect("no files");
    let mut source = SimulatedSource::new(simulation, pulses, Box::new(truth));
    let mut packets = Vec::new();
    while let Some(packet) = source.next_packet().expect("no observer that fails") {
        packets.push(packet);
    }
    (source, packets)
}

/// Passes of a load of whole seconds through one detector.
fn passes(name: &str, neutrons: &str, pulses: u64, passes: u64) {
    let (source, packets) = built(name, neutrons, pulses);
    let mut load = source.simulation().repeated(packets, source.length_ns()).expect("can be moved");
    let config = shipped::configuration(name, &[]).expect("a shipped configuration");
    let form_all = |slabs: &[Vec<SimulatedPacket>]| {
        let mut detector = config.build_detector().expect("a checked configuration");
        let (mut batch, mut events) = (EventBatch::new(10_000), Vec::<Event>::new());
        let mut keep = |batch: &mut EventBatch| {
            events.extend(batch.iter());
            batch.clear();
        };
        for slab in slabs {
            form(&mut *detector, &slab_of(slab).batch(), &mut batch, &mut keep);
        }
        form_rest(&mut *detector, &mut batch, &mut keep);
        let ledger = detector.ledger();
        assert_eq!(ledger.unaccounted(), 0, "{name}");
        let discarded =
            ["late", "forced_closings"].map(|counter| ledger.counters.value(counter).unwrap_or(0));
        assert_eq!(discarded, [0, 0], "{name}");
        assert_eq!(ledger.packets().lost, 0, "{name}");
        events
    };
    let first = form_all(&[load.packets().to_vec()]);
    assert!(first.len() > 1000, "{name}: {}", first.len());
    let mut slabs = vec![load.packets().to_vec()];
    for _ in 1..passes {
        load.move_on();
        slabs.push(load.packets().to_vec());
    }
    let later = |pass: u64| {
        let by_ns = pass * load.length_ns();
        first.iter().map(move |event| Event { time_ns: event.time_ns + by_ns, ..*event })
    };
    let expected: Vec<Event> = (0..passes).flat_map(later).collect();
    let found = form_all(&slabs);
    assert_eq!(found.len(), expected.len(), "{name}");
    assert!(found == expected, "{name}: other events");
}

#[test]
fn passes_of_the_ess_readout_have_the_events_of_the_first() {
    for (name, neutrons) in
        [("freia", "20kHz"), ("estia", "20kHz"), ("trex", "20kHz"), ("let", "5kHz"), ("nmx", "5kHz")]
    {
        passes(name, neutrons, 14, 3);
    }
}

#[test]
fn passes_of_a_sonde_have_the_events_of_the_first() {
    passes("sonde", "100kHz", 14, 6);
}

/// Where a pass is no whole second, each is as long to the tick.
#[test]
fn a_load_of_any_number_of_pulses_is_moved_by_whole_crossings() {
    let (source, packets) = built("freia", "5kHz", 3);
    let length_ns = source.length_ns();
    let mut load = source.simulation().repeated(packets, length_ns).expect("can be moved");
    assert!(load.length_ns().abs_diff(length_ns) <= 12, "{} {length_ns}", load.length_ns());
    let (count, first) = (load.packets().len() as u64, load.packets()[0].clone());
    load.move_on();
    let moved = &load.packets()[0];
    assert_eq!(moved.origin.arrival_ns - first.origin.arrival_ns, load.length_ns());
    assert_eq!(moved.sender.number, first.sender.number.map(|number| number + count));
    let (source, packets) = built("multiblade", "5kHz", 1);
    assert!(source.simulation().repeated(packets, 1).is_none());
}

//! Loss carried into the physics: counts divided by the live fraction of their source are those of a run without loss.

use evforge_config::Config;
use evforge_core::detector::{form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::ledger::DetectorLedger;
use evforge_lab::simulation::{settings, simulation_with, slab_of};
use evforge_sim::packet::SimulatedPacket;
use std::collections::BTreeMap;
use std::path::Path;

const SECOND_NS: u64 = 1_000_000_000;

fn simulated(name: &str, neutrons: &str, seconds: usize, faults: &[&str]) -> (Config, Vec<SimulatedPacket>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
    let rate = format!("simulation.beam.neutrons={neutrons}");
    let config = Config::read(&path, &[rate]).expect("a shipped configuration");
    let mut settings = settings(&config).expect("a shipped configuration");
    settings.fault = faults.iter().map(|fault| fault.parse().expect("a fault")).collect();
    let mut simulation = simulation_with(&config, &settings).expect("a detector that can be simulated");
    let pulses = simulation.next_pulses(seconds * 14);
    let mut packets: Vec<_> = pulses.into_iter().flat_map(|pulse| pulse.packets).collect();
    packets.extend(simulation.finish());
    (config, packets)
}

fn formed(config: &Config, packets: &[SimulatedPacket]) -> (EventLog, DetectorLedger) {
    let mut detector = config.build_detector().expect("a configuration that was read");
    let (mut events, mut log) = (EventBatch::new(1000), EventLog::default());
    let mut deliver = |events: &mut EventBatch| {
        log.take(events);
        events.clear();
    };
    form(detector.as_mut(), &slab_of(packets).batch(), &mut events, &mut deliver);
    form_rest(detector.as_mut(), &mut events, &mut deliver);
    (log, detector.ledger())
}

/// The module of a pixel, as the ledger calls it: modules of 8 x 8 pixels, read in groups of 2 x 2.
fn module(pixel_id: u32) -> String {
    let (x, y) = ((pixel_id - 1) % 160, (pixel_id - 1) / 160);
    format!("group {}, system {}", y / 16 * 10 + x / 16, y % 16 / 8 * 2 + x % 16 / 8)
}

/// Events of each module in each second of the arrivals; `offset` leads from the clock of the events to that of the arrivals.
fn counts(log: &EventLog, offset: i64) -> BTreeMap<(String, u64), u64> {
    let mut counts = BTreeMap::new();
    for event in log.events() {
        let second = event.time_ns.wrapping_add_signed(offset) / SECOND_NS;
        *counts.entry((module(event.pixel_id), second)).or_default() += 1;
    }
    counts
}

/// Four seconds. A fifth of all packets is lost in the second one, and more than half of those of one module in the third.
#[test]
fn counts_of_a_sonde_with_known_loss_are_corrected_to_the_truth() {
    let of_all = "lose:probability=0.2,pulses=14+15+16+17+18+19+20+21+22+23+24+25+26+27";
    let of_one =
        "lose:probability=0.6,pulses=28+29+30+31+32+33+34+35+36+37+38+39+40+41,source=group 45, system 2";
    let (config, clean) = simulated("sonde", "400kHz", 4, &[]);
    let (_, faulty) = simulated("sonde", "400kHz", 4, &[of_all, of_one]);
    let ((clean_events, clean_ledger), (events, ledger)) =
        (formed(&config, &clean), formed(&config, &faulty));
    assert!(ledger.packets().lost > 10_000, "{}", ledger.packets().lost);
    let first_arrival = clean.iter().map(|packet| packet.origin.arrival_ns).min().expect("packets");
    let first_event = clean_events.events().map(|event| event.time_ns).min().expect("events");
    let offset = first_arrival.cast_signed() - first_event.cast_signed();
    let (truth, found) = (counts(&clean_events, offset), counts(&events, offset));
    assert_eq!(ledger.sources.len(), clean_ledger.sources.len());
    let (mut lost, mut put_back, mut worst) = (0, 0.0, 0.0_f64);
    for source in &ledger.sources {
        let live = &source.live_time;
        assert_eq!(live.width_ns(), SECOND_NS);
        let first = live.begin_ns() / SECOND_NS;
        for (second, bin) in (first..).zip(live.bins()) {
            let key = (source.name.clone(), second);
            let [truth, found] = [&truth, &found].map(|counts| counts.get(&key).copied().unwrap_or(0));
            let share = bin.live_fraction().expect("packets in every second");
            let corrected = found as f64 / share;
            let spread = (truth as f64 * (1.0 - share) / share).sqrt().max(3.0);
            worst = worst.max((corrected - truth as f64).abs() / spread);
            lost += truth.saturating_sub(found);
            put_back += corrected - found as f64;
        }
    }
    println!("{lost} events lost, {put_back:.0} put back; at most {worst:.1} standard deviations off");
    assert!(lost > 10_000 && worst < 6.0, "{worst} standard deviations");
    assert!((put_back / lost as f64 - 1.0).abs() < 0.02, "{put_back} of {lost}");
    let of_one = ledger.sources.iter().find(|source| source.name == "group 45, system 2");
    let worst = of_one.and_then(|source| source.live_time.worst()).expect("packets");
    assert!((0.3..0.5).contains(&worst.1), "{worst:?}");
}

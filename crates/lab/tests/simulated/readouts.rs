//! Beam monitors and sampled channels: every readout is an event, so all neutrons are found, and sums are exact.

use evforge_config::Config;
use evforge_config::shipped;
use evforge_core::beam_monitor::BeamMonitorKind;
use evforge_core::event::Event;
use evforge_lab::simulated::{Choice, Simulated, Wishes};
use evforge_lab::simulation::{FormedSimulation, form_simulation};
use evforge_sim::faults::settings::Kind;
use evforge_sim::score::{ScoreSettings, score};
use evforge_sim::truth::Neutron;

fn formed(name: &str, overrides: &[&str], pulses: usize) -> (Config, FormedSimulation) {
    let overrides: Vec<String> = overrides.iter().map(|text| format!("simulation.{text}")).collect();
    let config = shipped::configuration(name, &overrides).expect("a shipped configuration");
    let formed = form_simulation(&config, pulses).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(formed.detector.ledger().unaccounted(), 0, "{name}");
    (config, formed)
}

fn counter(formed: &FormedSimulation, name: &str) -> u64 {
    formed.detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn every_shipped_configuration_is_simulated_by_its_name() {
    for name in shipped::names() {
        let simulated = Simulated::of(Choice::Shipped(name), &Wishes::default()).expect(name);
        let mut simulation = simulated.simulation().expect(name);
        assert!((0..14).any(|_| !simulation.next_pulse().packets.is_empty()), "{name} sends nothing");
    }
}

/// Pixels of what can be found, and the times, in order.
fn found(formed: &FormedSimulation) -> Vec<Event> {
    formed.events.events().collect()
}

/// Neutrons that have a pixel, and are resolvable.
fn wanted(formed: &FormedSimulation) -> Vec<Neutron> {
    formed.truth.iter().filter(|neutron| neutron.pixel_id > 0 && neutron.resolvable).copied().collect()
}

#[test]
fn every_neutron_of_a_monitor_is_an_event_in_its_pixel() {
    let (config, formed) = formed("beam-monitors", &["beam.neutrons=30kHz"], 14);
    let (truth, events) = (wanted(&formed), found(&formed));
    assert!(truth.len() > 15_000, "{}", truth.len());
    // Half a tick of the clock, and what nanoseconds are rounded by.
    let mut events: Vec<(u32, u64)> = events.iter().map(|event| (event.pixel_id, event.time_ns)).collect();
    let mut truth: Vec<(u32, u64)> =
        truth.iter().map(|neutron| (neutron.pixel_id, neutron.time_ns)).collect();
    events.sort_unstable();
    truth.sort_unstable();
    assert_eq!(events.len(), truth.len());
    for (event, neutron) in events.iter().zip(&truth) {
        assert!(event.0 == neutron.0 && event.1.abs_diff(neutron.1) <= 7, "{event:?} and {neutron:?}");
    }
    let monitors = formed.detector.ledger().beam_monitors;
    let geometry = config.build_detector().expect("a detector").geometry();
    let score = score(&geometry, &formed.truth, &found(&formed), &ScoreSettings::default()).expect("a score");
    assert!(score.resolvable.efficiency.is_some_and(|share| share > 0.999), "{:?}", score.resolvable);
    assert_eq!(score.ghost_share, Some(0.0));
    let of_kind =
        |kind: BeamMonitorKind| monitors.iter().find(|data| data.plan().kind == kind).expect("a monitor");
    let of_module =
        |module: u32| formed.truth.iter().filter(move |of| of.module == module && of.resolvable).count();
    assert_eq!(of_kind(BeamMonitorKind::Event0D).total(), of_module(0) as u64);
    assert_eq!(of_kind(BeamMonitorKind::Event2D).total(), of_module(1) as u64);
    // Each of the three sees a third of them.
    for module in 0..3 {
        let seen = formed.truth.iter().filter(|of| of.module == module).count();
        let share = seen as f64 / formed.arrived as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.02, "monitor {module}: {share}");
    }
}

#[test]
fn an_integrating_monitor_has_the_sum_of_its_neutrons_and_they_have_no_pixel() {
    // Each neutron leaves the same, so that the sum says how many they were.
    let same = ["beam_monitors.spread=0.0", "beam_monitors.amplitude=500.0", "beam_monitors.samples=1"];
    let more = ["beam.neutrons=3kHz", "electronics.dead_time=0ns"];
    let (_, formed) = formed("beam-monitors", &[&same[..], &more].concat(), 14);
    let integrated = formed.truth.iter().filter(|of| of.module == 2);
    assert!(integrated.clone().all(|of| of.pixel_id == 0 && !of.resolvable));
    let count = integrated.count();
    assert!(count > 500, "{count}");
    let monitors = formed.detector.ledger().beam_monitors;
    let data = monitors.iter().find(|data| data.plan().name == "monitor_3").expect("the third monitor");
    assert_eq!(data.value(data.total()), 500.0 * count as f64);
    // A sum for each 100 µs of each pulse, those of nothing included.
    assert_eq!((counter(&formed, "integrated"), data.pulses()), (715 * 14, 14));
    let inside = data.total() - data.above() - data.below();
    assert!(inside as f64 >= 0.99 * data.total() as f64, "sums are at their time of flight");
}

#[test]
fn the_second_monitor_shows_the_picture_in_the_beam() {
    let (_, formed) = formed("beam-monitors", &["beam.neutrons=100kHz"], 14);
    let [mut lower, mut upper] = [0_u32; 2];
    let of_two = formed.truth.iter().filter(|neutron| neutron.module == 1);
    for pixel in of_two.map(|neutron| neutron.pixel_id - 2) {
        // Pixel 1 is the first monitor; the letter of the mask is in the upper left quarter.
        let (x, y) = (pixel % 512, pixel / 512);
        let quarter = if y >= 256 && x < 256 { Some(&mut upper) } else { None };
        *quarter.unwrap_or(&mut lower) += 1;
    }
    assert!(upper > lower / 3 + lower / 10, "{upper} in the quarter of the letter, {lower} in the others");
}

#[test]
fn every_neutron_of_a_sampled_channel_is_an_event() {
    let (config, formed) = formed("adc-readout", &["beam.neutrons=20kHz"], 14);
    let (truth, events) = (wanted(&formed), found(&formed));
    assert!(truth.len() > 15_000, "{}", truth.len());
    assert_eq!(events.len(), truth.len());
    let geometry = config.build_detector().expect("a detector").geometry();
    // Against those that can be found: an event may lie nearer to a neutron that came while its run was being sampled.
    let settings =
        ScoreSettings { largest_time_ns: 100, largest_distance: [0.75; 3], ..ScoreSettings::default() };
    let score = score(&geometry, &truth, &events, &settings).expect("a score");
    assert_eq!((score.all.efficiency, score.ghost_share), (Some(1.0), Some(0.0)));
    let rms = score.resolvable.time_ns.rms.expect("a spread");
    // A sample lasts 22.7 ns.
    assert!((6.0..7.5).contains(&rms), "{rms} ns");
}

#[test]
fn noise_is_seen_and_lost_packets_are_counted() {
    for (name, readouts) in [("beam-monitors", "hits"), ("adc-readout", "hits")] {
        let noisy = formed(name, &["electronics.noise=50kHz"], 14).1;
        let quiet = formed(name, &[], 14).1;
        assert!(counter(&noisy, readouts) > counter(&quiet, readouts) + 10_000, "{name}");
        let lossy = formed(name, &["fault=[{ kind = \"lose\", probability = 0.1 }]"], 42).1;
        let lost = lossy.detector.ledger().packets().lost;
        assert!(lost > 0 && lossy.events.len() < quiet.events.len() * 3, "{name}: {lost} lost");
        // Those behind the last packet that came are not known.
        let injected = lossy.faults.of(Kind::Lose).count() as u64;
        assert!(lost <= injected && injected <= lost + 5, "{name}: {lost} found of {injected}");
    }
}

#[test]
fn what_cannot_be_simulated_is_refused_by_its_key() {
    let problem = |name: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let config = shipped::configuration(name, &overrides).expect("a shipped configuration");
        form_simulation(&config, 1).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let samples = problem("beam-monitors", &["simulation.beam_monitors.samples=0"]);
    assert_eq!(samples, "simulation.beam_monitors.samples: found 0, expected 1 to 255");
    let period = problem("beam-monitors", &["simulation.beam_monitors.sum_period=1ns"]);
    assert!(period.contains("sum_period: shorter than a tick"), "{period}");
    let samples = problem("adc-readout", &["simulation.adc_readout.samples=3"]);
    assert_eq!(samples, "simulation.adc_readout.samples: found 3, expected 4 to 1000");
    let clock = problem("beam-monitors", &["ess.clock=88.9MHz"]);
    assert!(clock.contains("leave it out for simulations"), "{clock}");
}

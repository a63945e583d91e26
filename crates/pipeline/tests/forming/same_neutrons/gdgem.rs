//! A Gd-GEM of two panels of 128 x 128 strips: SRS with VMM3a chips, and the hybrids of NMX.

use super::{PULSE, config, events};
use evforge_testkit::properties::cases;
use evforge_wire::ess::{EssEncoder, EssTime, Vmm3aFields, detector_type};
use evforge_wire::srs_vmm::{TimeMarker, Vmm3Encoder, Vmm3Variant, VmmReadout};
use proptest::prelude::*;

/// A hit on a strip, so many steps after its neutron begins.
#[derive(Clone, Copy, Debug)]
struct Hit {
    plane: u8,
    strip: u8,
    step: u64,
    adc: u16,
}

/// A neutron by the strips that it fires.
#[derive(Clone, Debug)]
struct Neutron {
    /// Steps after the neutron before.
    after: u64,
    panel: u8,
    hits: Vec<Hit>,
}

/// Two bunch crossings of 22.5 ns, and four ticks but for 0.4 ns: times that differ do so in both electronics.
const STEP: u64 = 45;
const CROSSINGS: u64 = 2;

/// What becomes of hits, for both.
fn rules(section: &str, by: &str, weighting: &str) -> String {
    let plane = "{ adc_threshold = 50, max_time_gap = '500ns', max_strip_gap = 2, min_hits = 2 }";
    format!(
        "[{section}]\ngeometry = {{ nx = 128, ny = 128, panels = 2 }}\nclustering = {{ x = {plane}, y = {plane} }}\n\
         matching = {{ by = '{by}', max_difference = '500ns' }}\n\
         position = {{ weighting = '{weighting}', spans = {{ max_x = 20, max_y = 20, max_time = '1us' }} }}\n"
    )
}

fn prototype_config(by: &str, weighting: &str) -> evforge_config::Config {
    let chip = |number: u8| {
        let (panel, plane, offset) = (number / 4, ["x", "y"][usize::from(number / 2 % 2)], number % 2 * 64);
        format!("{{ fec = 1, vmm = {number}, panel = {panel}, plane = '{plane}', strip_offset = {offset} }}")
    };
    let chips: Vec<_> = (0..8).map(chip).collect();
    let text = format!(
        "name = 'prototype'\n{}readout = 'vmm3a'\nmapping = [{}]\n\
         time = {{ convention = 'signed-offset', bunch_crossing = '22.5ns', marker_tick = '22.5ns' }}\n",
        rules("gdgem", by, weighting),
        chips.join(", ")
    );
    config(&text, &[])
}

/// The strips of y run against the channels.
fn todays_config(by: &str, weighting: &str) -> evforge_config::Config {
    let hybrid = |number: u8| {
        let (panel, plane) = (number / 2, ["x", "y"][usize::from(number % 2)]);
        format!(
            "{{ ring = {panel}, fen = 3, hybrid = {}, panel = {panel}, plane = '{plane}', offset = 0, reversed = {} }}",
            number % 2,
            number % 2 == 1
        )
    };
    let hybrids: Vec<_> = (0..4).map(hybrid).collect();
    let text = format!(
        "name = 'today'\n[ess]\ntype = 'nmx'\noutput_queues = [0]\n{}hybrid = [{}]\n",
        rules("ess_gdgem", by, weighting),
        hybrids.join(", ")
    );
    config(&text, &[])
}

/// A packet for each neutron, with a marker for each chip.
fn prototype_packets(neutrons: &[Neutron]) -> Vec<Vec<u8>> {
    let mut begin = 0;
    let packet = |(number, neutron): (usize, &Neutron)| {
        begin += neutron.after;
        let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
        encoder.begin(number as u32, 1, 0);
        for chip in 0..8 {
            assert!(encoder.push_marker(&TimeMarker { chip, stamp: begin * CROSSINGS }));
        }
        for hit in &neutron.hits {
            assert!(encoder.push_readout(&VmmReadout {
                chip: 4 * neutron.panel + 2 * hit.plane + hit.strip / 64,
                channel: hit.strip % 64,
                bunch_crossing: (hit.step * CROSSINGS) as u16,
                trigger_offset: 0,
                tdc: 0,
                adc: hit.adc,
                over_threshold: false,
            }));
        }
        encoder.packet().to_vec()
    };
    neutrons.iter().enumerate().map(packet).collect()
}

fn todays_packets(neutrons: &[Neutron]) -> Vec<Vec<u8>> {
    let mut begin = 0;
    let mut records = Vec::new();
    for neutron in neutrons {
        begin += neutron.after;
        for hit in &neutron.hits {
            let channel = if hit.plane == 1 { 127 - hit.strip } else { hit.strip };
            let time = EssTime::nearest(PULSE.nanoseconds() + STEP * (begin + hit.step));
            let fields = Vmm3aFields {
                fibre: 2 * neutron.panel,
                fen: 3,
                vmm: 2 * hit.plane + channel / 64,
                channel: channel % 64,
                adc: hit.adc,
                time: time.expect("a time of today"),
                ..Vmm3aFields::default()
            };
            records.push(fields.encode());
        }
    }
    let mut packets = Vec::new();
    EssEncoder::new(detector_type::NMX, 0, 7).pulse(PULSE, &records, &mut packets);
    packets
}

/// Tracks, and some hits that are too weak or on their own.
fn neutron() -> impl Strategy<Value = Neutron> {
    let track = |plane: u8| {
        let hits = proptest::collection::vec((0..3_u8, 0..6_u64, 30..1024_u16), 2..8);
        (0..110_u8, hits).prop_map(move |(first, hits)| {
            let mut strip = first;
            let hit = |(gap, step, adc): (u8, u64, u16)| {
                strip += gap;
                Hit { plane, strip, step, adc }
            };
            hits.into_iter().map(hit).collect::<Vec<_>>()
        })
    };
    let noise = (0..2_u8, 0..128_u8, 0..6_u64, 30..1024_u16);
    let noise = noise.prop_map(|(plane, strip, step, adc)| Hit { plane, strip, step, adc });
    let all = (60..2_000_u64, 0..2_u8, track(0), track(1), proptest::collection::vec(noise, 0..3));
    all.prop_map(|(after, panel, x, y, noise)| Neutron { after, panel, hits: [x, y, noise].concat() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn a_gdgem_has_the_same_pixels_in_both(
        neutrons in proptest::collection::vec(neutron(), 20..60),
    ) {
        for (by, weighting) in [("gap", "plain"), ("end", "plain"), ("gap", "charge"), ("overlap", "charge")] {
            let prototype = events(&prototype_config(by, weighting), &prototype_packets(&neutrons), 0);
            let today =
                events(&todays_config(by, weighting), &todays_packets(&neutrons), PULSE.nanoseconds());
            prop_assert!(prototype.len() >= neutrons.len() / 4, "{} of {}", prototype.len(), neutrons.len());
            prop_assert_eq!(prototype.len(), today.len());
            for (one, other) in prototype.iter().zip(&today) {
                prop_assert_eq!(one.1, other.1, "{} {}", by, weighting);
                // The fine time of the prototype begins 33.75 ns after the crossing; a tick is 11.4 ns.
                prop_assert!((one.0 - 33).abs_diff(other.0) <= 12, "{} and {}", one.0, other.0);
            }
        }
    }
}

//! A Gd-GEM with the ESS readout, in production against a plain model, over random hits and over the capture of this
//! repository.

mod model;
mod own_data;

use crate::common::form_packets;
use evforge_config::Config;
use evforge_testkit::properties::cases;
use evforge_wire::ess::{EssEncoder, EssTime, TICKS_PER_SECOND, Vmm3aFields, detector_type};
use model::{Hit, Outcome, Rules};
use proptest::prelude::*;
use std::path::Path;

/// The pulse, in seconds since 1970.
const SECOND: u32 = 1_700_000_000;

/// Strips of a plane: those of the one hybrid of each.
const SIDE: u64 = 128;

/// Three panels; ring = panel, FEN = plane.
fn config(rules: &Rules) -> Config {
    let hybrid = |number: u8| {
        let (panel, plane) = (number / 2, ["x", "y"][usize::from(number % 2)]);
        format!(
            "{{ ring = {panel}, fen = {}, hybrid = 0, panel = {panel}, plane = '{plane}', offset = 0 }}",
            number % 2
        )
    };
    let hybrids: Vec<_> = (0..6).map(hybrid).collect();
    // Rounded up to nanoseconds: durations are rounded down to eighths of a tick.
    let duration = |ticks: u64| format!("{}ns", (ticks * 1_000_000_000).div_ceil(88_052_500));
    let Rules { threshold, max_strip_gap, min_hits, max_span, min_span, .. } = rules;
    let plane = format!(
        "{{ adc_threshold = {threshold}, max_time_gap = '{}', max_strip_gap = {max_strip_gap}, min_hits = {min_hits} }}",
        duration(rules.max_cluster_gap)
    );
    let text = format!(
        "name = 'oracle'\n[ess]\ntype = 'nmx'\noutput_queues = [0]\n[ess.sorting]\nmax_held_hits = 8192\n\
         max_group_hits = 1024\n[ess_gdgem]\ngeometry = {{ nx = {SIDE}, ny = {SIDE}, panels = 3 }}\n\
         hybrid = [{}]\nclustering = {{ x = {plane}, y = {plane} }}\n\
         matching = {{ max_difference = '{}' }}\nposition.spans = {{ max_x = {max_span}, max_y = {max_span}, \
         min_x = {min_span}, min_y = {min_span}, max_time = '{}' }}\n",
        hybrids.join(", "),
        duration(rules.max_matching_gap),
        duration(rules.max_time)
    );
    Config::parse(Path::new("oracle.toml"), &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn packets(hits: &[Hit]) -> Vec<Vec<u8>> {
    let record = |hit: &Hit| {
        Vmm3aFields {
            fibre: 2 * hit.panel,
            fen: u8::from(hit.is_y),
            vmm: hit.strip as u8 / 64,
            channel: hit.strip as u8 % 64,
            adc: hit.adc,
            time: EssTime::from_total_ticks(hit.ticks).expect("a time of today"),
            ..Vmm3aFields::default()
        }
        .encode()
    };
    let records: Vec<_> = hits.iter().map(record).collect();
    let mut packets = Vec::new();
    EssEncoder::new(detector_type::NMX, 0, 11).pulse(
        EssTime { seconds: SECOND, ticks: 0 },
        &records,
        &mut packets,
    );
    packets
}

fn rules() -> impl Strategy<Value = Rules> {
    let gaps = (10..50_u64, 10..50_u64, 0..3_u64);
    let limits = (1..15_u64, 1..3_u64, 10..80_u64);
    (gaps, limits, 1..4_usize, 0..200_u16).prop_map(|(gaps, limits, min_hits, threshold)| Rules {
        side: SIDE,
        threshold,
        max_cluster_gap: gaps.0,
        max_strip_gap: gaps.2,
        min_hits,
        max_matching_gap: gaps.1,
        max_span: limits.0.max(limits.1),
        min_span: limits.1,
        max_time: limits.2,
    })
}

/// A hit after a step back or ahead in time: few panels and strips, so that hits meet.
fn hit() -> impl Strategy<Value = (u64, u64, Hit)> {
    let step = prop_oneof![6 => 0..4_u64, 2 => 5..55_u64, 1 => 50..300_u64];
    let place = (0..3_u8, any::<bool>(), prop_oneof![8 => 60..72_u64, 1 => 0..SIDE]);
    (step, 0..30_u64, place, 0..1024_u16).prop_map(|(step, back, (panel, is_y, strip), adc)| {
        (step, back, Hit { ticks: 0, panel, is_y, strip, adc })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn section_3_nmx_events_are_those_of_the_plain_model(
        rules in rules(),
        steps in proptest::collection::vec(hit(), 0..400),
    ) {
        let mut ticks = u64::from(SECOND) * u64::from(TICKS_PER_SECOND) + 100;
        let hits: Vec<_> = steps
            .iter()
            .map(|&(step, back, hit)| {
                ticks += step;
                Hit { ticks: ticks - back, ..hit }
            })
            .collect();
        let expected = rules.form(&hits);
        let (log, ledger) = form_packets(&config(&rules), &packets(&hits));
        prop_assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
        let value = |name: &str| ledger.counters.value(name).unwrap_or(u64::MAX);
        let found = Outcome {
            events: log.events().map(|event| (event.time_ns, event.pixel_id)).collect(),
            cluster_too_small: value("cluster_too_small"),
            only_x: value("only_x"),
            only_y: value("only_y"),
            too_wide: [value("too_wide_x"), value("too_wide_y")],
            too_narrow: [value("too_narrow_x"), value("too_narrow_y")],
            too_long: [value("too_long_x"), value("too_long_y")],
        };
        prop_assert_eq!(found, expected);
    }
}

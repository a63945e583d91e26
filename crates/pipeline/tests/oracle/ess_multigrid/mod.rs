//! Multi-Grids with the ESS readout, in production against a plain model, over random readouts and over the capture of this
//! repository.

mod model;
mod own_data;

use crate::common::form_packets;
use evforge_config::Config;
use evforge_testkit::properties::cases;
use evforge_wire::ess::{EssEncoder, EssTime, TICKS_PER_SECOND, Vmm3aFields, detector_type};
use model::{Readout, Rules, Vessel};
use proptest::prelude::*;
use std::path::Path;

/// The pulse, in seconds since 1970.
const SECOND: u32 = 1_700_000_000;

/// Two vessels of TREX, the second one short and upside down.
fn config(rules: &Rules) -> Config {
    let text = format!(
        "name = 'model'\n[ess]\ntype = 'trex'\noutput_queues = [0]\n[ess_multigrid]\nwiring = 'trex'\ncolumns = 24\n\
         max_grid_span = {}\nmin_adc = {}\nvessels = [{{ rings = [0], fens = [0, 1] }}, \
         {{ rings = [0], fens = [2, 3], x_offset = 12, short = true, rotated = true, y_offset = 60 }}]",
        rules.max_grid_span, rules.min_adc
    );
    Config::parse(Path::new("model.toml"), &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn packets(readouts: &[Readout]) -> Vec<Vec<u8>> {
    let record = |readout: &Readout| {
        let Readout { fen, vmm, channel, adc, .. } = *readout;
        let time = EssTime::from_total_ticks(readout.ticks).expect("a time of today");
        Vmm3aFields { fen, vmm, channel, adc, time, ..Vmm3aFields::default() }.encode()
    };
    let records: Vec<_> = readouts.iter().map(record).collect();
    let mut packets = Vec::new();
    let pulse = EssTime { seconds: SECOND, ticks: 0 };
    EssEncoder::new(detector_type::TREX, 0, 11).pulse(pulse, &records, &mut packets);
    packets
}

fn readout() -> impl Strategy<Value = (u64, Readout)> {
    // 44 ticks are just below 500 ns; few front ends and channels, so that hits meet.
    let step = prop_oneof![6 => 0..4_u64, 2 => 40..48_u64, 1 => 40..300_u64];
    let channel = prop_oneof![20 => 56..64_u8, 4 => 0..8_u8, 4 => 30..36_u8, 1 => 0..64_u8];
    (step, 0..4_u8, 0..6_u8, channel, 0..1024_u16).prop_map(|(step, fen, vmm, channel, adc)| {
        (step, Readout { ticks: 0, ring: 0, fen, vmm, channel, adc })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn section_3_events_are_those_of_the_plain_model(
        max_grid_span in 1..8_u16,
        min_adc in 0..200_u16,
        steps in proptest::collection::vec(readout(), 0..400),
    ) {
        let vessels = vec![
            Vessel { ring: 0, first_fen: 0, x_offset: 0, short: None },
            Vessel { ring: 0, first_fen: 2, x_offset: 12, short: Some((60, true)) },
        ];
        let rules = Rules { vessels, columns: 24, max_grid_span, min_adc };
        let mut ticks = u64::from(SECOND) * u64::from(TICKS_PER_SECOND);
        let mut readouts = Vec::new();
        for (step, readout) in steps {
            ticks += step;
            readouts.push(Readout { ticks, ..readout });
        }
        let (log, ledger) = form_packets(&config(&rules), &packets(&readouts));
        prop_assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
        let found: Vec<_> = log.events().map(|event| (event.time_ns, event.pixel_id)).collect();
        prop_assert_eq!(found, rules.form(&readouts));
    }
}

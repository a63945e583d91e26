//! Two recordings: test pulses in the real NMX, and integrating beam monitors.

use super::{config, count};
use crate::common::form_packets;
use evforge_config::Config;
use evforge_core::packet::PacketSlab;
use evforge_net::capture::{CaptureReader, Fill};
use evforge_testkit::{shared_folder, skip};
use evforge_wire::ess::beam_monitor::MonitorPayload;
use evforge_wire::ess::{
    EssClock, EssPacket, EssTime, HeaderRules, RecordRules, TICKS_PER_SECOND, Vmm3aPayload, detector_type,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn file(test: &str, name: &str) -> Option<PathBuf> {
    let path = shared_folder().join("captures/ess").join(name);
    if !path.is_file() {
        skip(test, &format!("{} is not there", path.display()));
        return None;
    }
    Some(path)
}

fn packets(path: &std::path::Path) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(path).expect("a capture");
    let mut slab = PacketSlab::new(256, 4 << 20);
    let mut packets = Vec::new();
    loop {
        slab.clear();
        let fill = reader.fill(&mut slab).expect("a whole capture");
        packets.extend(slab.batch().iter().map(|packet| packet.bytes.to_vec()));
        if fill == Fill::End {
            return packets;
        }
    }
}

/// NMX with the files of the event formation unit.
fn nmx(test: &str, more: &str) -> Option<Config> {
    let wiring = file(test, "nmx_efu_config.json")?;
    let calibration = file(test, "nmx_efu_time_calib.json")?;
    Some(config(&format!(
        "name = 'nmx'\n[ess]\ntype = 'nmx'\n[ess_gdgem]\ngeometry = {{ nx = 1280, ny = 1280 }}\nsectors = 4\n\
         mapping_file = {wiring:?}\ncalibration_file = {calibration:?}\n{more}"
    )))
}

/// Every readout of the recording is placed by the real wiring, but for one with an impossible time.
#[test]
fn nmx_test_pulses_are_placed_by_the_wiring_of_the_event_formation_unit() {
    let test = "nmx_test_pulses_are_placed_by_the_wiring_of_the_event_formation_unit";
    let Some(capture) = file(test, "nmx_monitoring.pcapng") else { return };
    let Some(config) = nmx(test, "") else { return };
    let (_, ledger) = form_packets(&config, &packets(&capture));
    let named = ["readouts", "wrong_time_fraction", "below_threshold", "hits"];
    assert_eq!(named.map(|name| count(&ledger, name)), [44_700, 1, 0, 44_699]);
    for name in ["unmapped_ring", "unmapped_fen", "unmapped_hybrid", "unmapped_channel", "late"] {
        assert_eq!(count(&ledger, name), 0, "{name}");
    }
    for problem in ["pulses_late", "pulses_absent", "pulses_repeated", "pulses_backwards", "pulses_irregular"]
    {
        assert_eq!(count(&ledger, problem), 0, "{problem}");
    }
    assert_eq!((ledger.unaccounted(), ledger.notes.len()), (0, 0), "{:?}", ledger.notes);
}

/// Time of y less time of x in each sector, modulo 8192 ticks (section 7).
const SHIFTS: [i64; 4] = [3591, 1706, -370, 2083];

/// The test pulses fire x and y apart, and nearly all VMMs of a plane at once: with one VMM of each plane and sector, and
/// both planes at the same time, they are events.
#[test]
fn nmx_test_pulses_make_events_in_all_four_sectors_once_both_planes_have_one_time() {
    let test = "nmx_test_pulses_make_events_in_all_four_sectors_once_both_planes_have_one_time";
    let Some(capture) = file(test, "nmx_monitoring.pcapng") else { return };
    let Some(config) =
        nmx(test, "position.spans = { max_x = 20, min_x = 1, max_y = 20, min_y = 1, max_time = '500ns' }\n")
    else {
        return;
    };
    let rules = HeaderRules::strict(detector_type::NMX, u64::MAX);
    let mut kept: BTreeMap<(u8, u8), u8> = BTreeMap::new();
    let mut readouts_kept = 0;
    let shifted: Vec<Vec<u8>> = packets(&capture)
        .iter()
        .map(|bytes| {
            let packet = EssPacket::parse(bytes, &rules).expect("a sound packet");
            let readouts = Vmm3aPayload::parse(packet.payload).expect("whole records").readouts();
            let records: Vec<_> = readouts
                .map(|readout| readout.fields())
                .filter(|fields| {
                    *kept.entry((fields.fibre / 2, fields.fen)).or_insert(fields.vmm) == fields.vmm
                })
                .map(|mut fields| {
                    if fields.fen == 1 && fields.time.ticks < TICKS_PER_SECOND {
                        let shift = SHIFTS[usize::from(fields.fibre / 2)];
                        let ticks = fields.time.total_ticks().checked_add_signed(-shift);
                        fields.time = ticks.and_then(EssTime::from_total_ticks).expect("a time");
                    }
                    fields.encode()
                })
                .collect();
            readouts_kept += records.len() as u64;
            let mut packet_again = Vec::new();
            packet.header().write_packet(records.as_flattened(), &mut packet_again);
            packet_again
        })
        .collect();
    let (log, ledger) = form_packets(&config, &shifted);
    let mut of_sectors = [0; 4];
    for event in log.events() {
        let (x, y) = ((event.pixel_id - 1) % 1280, (event.pixel_id - 1) / 1280);
        of_sectors[(x / 640 + 2 * (y / 640)) as usize] += 1;
    }
    assert!(of_sectors.iter().all(|&events| events > 50), "{of_sectors:?}");
    let alone = count(&ledger, "only_x") + count(&ledger, "only_y");
    let in_events = count(&ledger, "hits_in_events");
    assert_eq!(count(&ledger, "readouts"), readouts_kept);
    assert!(in_events > alone && alone > 0, "{in_events} hits in events, {alone} without a partner");
    assert_eq!((ledger.unaccounted(), ledger.held()), (0, 0));
}

/// Sums over readouts of value / samples, computed here as fractions.
#[test]
fn sums_of_integrating_monitors_are_exact() {
    let test = "sums_of_integrating_monitors_are_exact";
    let Some(capture) = file(test, "integrating_monitors.pcapng") else { return };
    let packets = packets(&capture);
    let rules = HeaderRules::strict(detector_type::CBM, u64::MAX);
    // By FEN: the numerators for each number of samples.
    let mut exact: BTreeMap<u8, BTreeMap<u8, u128>> = BTreeMap::new();
    for bytes in &packets {
        let packet = EssPacket::parse(bytes, &rules).expect("a sound packet");
        assert_eq!(rules.clock, EssClock::ESS);
        for readout in MonitorPayload::parse(packet.payload).expect("whole records").readouts() {
            assert!(readout.is_sound(&RecordRules::default()) && readout.channel() == 0);
            *exact.entry(readout.fen()).or_default().entry(readout.samples()).or_default() +=
                u128::from(readout.summed_adc());
        }
    }
    let monitors: String = (0..3)
        .map(|fen| format!("{{ name = 'm{fen}', fen = {fen}, channel = 0, kind = 'integrating' }},\n"))
        .collect();
    let text = format!("name = 'm'\n[ess]\ntype = 'cbm'\n[ess_beam_monitors]\nmonitor = [\n{monitors}]\n");
    let (_, ledger) = form_packets(&config(&text), &packets);
    assert_eq!(
        (count(&ledger, "readouts"), count(&ledger, "integrated"), ledger.unaccounted()),
        (11_622, 11_622, 0)
    );
    for (fen, sums) in exact {
        let data = &ledger.beam_monitors[usize::from(fen)];
        let denominator = u128::from(data.denominator());
        // In whole parts: exactly if every number of samples divides the denominator.
        let parts: u128 = sums
            .iter()
            .map(|(&samples, &sum)| {
                assert_eq!(denominator % u128::from(samples), 0);
                sum * (denominator / u128::from(samples))
            })
            .sum();
        assert_eq!(u128::from(data.total()), parts, "FEN {fen}");
        let floored: f64 = data.value(data.total());
        assert!(floored.fract() != 0.0 || fen == 0, "rounding would have shown in FEN {fen}");
    }
}

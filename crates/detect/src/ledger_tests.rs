//! A readout that vanishes without being counted shows in the ledger, whatever the pipeline.
//!
//! In tests every pipeline asks [`vanishes`] once for each readout, and drops the one for which it reports it.

use evforge_core::counter::Law;
use evforge_core::detector::Detector;
use evforge_core::geometry::LogicalGeometry;
use std::cell::Cell;

#[allow(dead_code)]
#[path = "../tests/forming/gdgem_ess/common.rs"]
mod ess;
#[path = "../tests/common/mod.rs"]
mod gdgem;
#[path = "../tests/multiblade_common/mod.rs"]
mod multiblade;
#[allow(dead_code)]
#[path = "../tests/forming/multigrid/common.rs"]
mod multigrid;

thread_local! {
    /// Readouts up to the one that vanishes; 0 if none is to.
    static COUNTDOWN: Cell<u32> = const { Cell::new(0) };
}

/// True for the one readout that has to be dropped.
pub(crate) fn vanishes() -> bool {
    let left = COUNTDOWN.get();
    COUNTDOWN.set(left.saturating_sub(1));
    left == 1
}

/// Takes packets of at least five readouts, once all of them and once with the fifth of them gone.
fn shows(name: &str, packets: &[Vec<u8>], build: impl Fn() -> Box<dyn Detector>) {
    for (vanishing, expected) in [(0, 0), (5, 1)] {
        COUNTDOWN.set(vanishing);
        let mut detector = build();
        gdgem::form(&mut *detector, packets);
        assert_eq!(COUNTDOWN.get(), 0, "{name}: no readout was dropped");
        let ledger = detector.ledger();
        assert_eq!(ledger.counters.imbalance(Law::Readouts), expected, "{name}");
        assert_eq!(i128::from(ledger.unaccounted()), expected, "{name}");
    }
}

#[test]
fn in_a_gdgem() {
    let track: Vec<_> = (0..8).map(|n| (3, 100 + u16::from(n), 10 + n)).collect();
    let packets = [gdgem::packet(2, 0, &track), gdgem::packet(1, 0, &track)];
    shows("gdgem", &packets, || {
        Box::new(crate::gdgem::GdGem::new(&gdgem::settings()).expect("sound settings"))
    });
}

#[test]
fn in_the_ess_readout() {
    use crate::gdgem::settings::Plane::{X, Y};
    let settings = ess::settings();
    let hits = [(0, X, 20, 100, 60), (0, X, 21, 105, 60), (0, Y, 40, 100, 60), (0, Y, 41, 105, 60)];
    let records = hits.map(|hit| ess::record(&settings, hit));
    let packets = [ess::packet(0, [0, 0], &records), ess::packet(1, [0, 0], &records)];
    shows("ess_gdgem", &packets, || Box::new(crate::gdgem::ess::new(&settings).expect("sound settings")));
}

#[test]
fn in_beam_monitors_of_the_ess_readout() {
    use crate::beam_monitors::settings::{BeamMonitorSettings, MonitorSettings};
    use evforge_core::beam_monitor::{BeamMonitorKind, TimeOfFlightBins};
    use evforge_wire::ess::{EssHeader, MonitorFields, detector_type};
    let mut ess = ess::settings().ess;
    ess.header.detector_type = detector_type::CBM;
    let monitor = MonitorSettings {
        name: "first".into(),
        fen: 0,
        channel: 0,
        kind: BeamMonitorKind::Event0D,
        nx: 1,
        ny: 1,
        threshold: 0,
        normalise: false,
        histogram: TimeOfFlightBins::new(0, 1000, 10).expect("bins"),
    };
    let settings = BeamMonitorSettings { ess, packet_type: None, ring: Some(0), monitors: vec![monitor] };
    let time = ess::at(100);
    let record = MonitorFields { time, kind: 1, ..MonitorFields::default() }.encode();
    let header = EssHeader {
        detector_type: detector_type::CBM,
        pulse: ess::at(0),
        previous_pulse: ess::at(0),
        ..EssHeader::default()
    };
    let mut packet = Vec::new();
    header.write_packet(&record.repeat(8), &mut packet);
    shows("ess_beam_monitors", &[packet], || {
        Box::new(crate::beam_monitors::new(&settings).expect("sound settings"))
    });
}

#[test]
fn in_helium_3_tubes() {
    use evforge_wire::ess::{EssHeader, R5560Fields, detector_type};
    let settings = crate::helium3::tests::settings("wiring = [{ ring = 0 }]").expect("sound settings");
    let time = ess::at(100);
    let record = R5560Fields { time, charges: [100, 900, 0, 0], ..R5560Fields::default() }.encode();
    let header = EssHeader {
        detector_type: detector_type::BIFROST,
        pulse: ess::at(0),
        previous_pulse: ess::at(0),
        ..EssHeader::default()
    };
    let mut packet = Vec::new();
    header.write_packet(&record.repeat(8), &mut packet);
    shows("ess_helium3", &[packet], || {
        Box::new(crate::helium3::new(&settings, None).expect("sound settings"))
    });
}

#[test]
fn in_a_multiblade_in_both_orders() {
    use crate::multiblade::caen::settings::HitOrder;
    let neutron = |n: u32| multiblade::records(&multiblade::neutron(7, 1000 * n, 3, 9));
    let packets: Vec<_> = (0..20).map(neutron).collect();
    for order in [HitOrder::Arrival, HitOrder::Time] {
        shows("multiblade", &packets, || {
            let settings = multiblade::settings(order);
            Box::new(crate::multiblade::MultiBlade::new(&settings).expect("sound settings"))
        });
    }
}

#[test]
fn in_a_multigrid() {
    let readouts =
        [(17, 900), (95, 300), (94, 200)].map(|(channel, adc)| multigrid::readout(1, channel, adc));
    let triggers: Vec<_> = (0..20).map(|time| multigrid::trigger(time, &readouts)).collect();
    shows("multigrid", &[multigrid::packet(&triggers)], || {
        Box::new(crate::multigrid::MultiGrid::new(&multigrid::settings()).expect("sound settings"))
    });
}

#[test]
fn in_the_demonstrator_at_cncs() {
    use evforge_wire::cncs::{Group, GroupEncoder};
    let mut encoder = GroupEncoder::default();
    encoder.begin();
    for time in 0..8 {
        assert!(encoder.push(&Group { module: 0, values: [500, 10, 4, 0, 400, 0, 60, 0], time }));
    }
    let packet = encoder.packet().to_vec();
    shows("multigrid_cncs", &[packet], || {
        Box::new(crate::multigrid::MultiGridCncs::new(&multigrid::cncs_settings()).expect("sound settings"))
    });
}

#[test]
fn in_a_sonde() {
    use crate::sonde::settings::{
        EventSequence, GroupAddress, GroupSettings, ModuleSettings, SondeSettings, TimeSettings,
    };
    use evforge_wire::sonde::{Header, SondeEncoder, TriggerTime};
    let modules = vec![ModuleSettings { system: Some(0), x: 0, y: 0 }];
    let settings = SondeSettings {
        geometry: LogicalGeometry::flat(8, 8).expect("a geometry"),
        groups: vec![GroupSettings { address: GroupAddress::Port(0), x: 0, y: 0, modules }],
        time: TimeSettings { extended: true, tick: Some(10_000) },
        sequence: EventSequence::Time,
        sorting: gdgem::settings().sorting,
        mask: Vec::new(),
    };
    let mut encoder = SondeEncoder::default();
    encoder.begin_trigger_times(&Header::default());
    for n in 0..8 {
        assert!(encoder.push_trigger_time(&TriggerTime { time: 1000 + u32::from(n), asic_channel: n }));
    }
    let packet = encoder.packet().to_vec();
    shows("sonde", &[packet], || Box::new(crate::sonde::Sonde::new(&settings).expect("sound settings")));
}

#[test]
fn in_sampled_channels() {
    use crate::adc_readout::{AdcReadout, AdcReadoutSettings};
    use evforge_core::pulse::PulseChannel;
    use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};
    let settings = AdcReadoutSettings { ignore_oversampling: true, ..AdcReadoutSettings::default() };
    let mut encoder = AdcEncoder::default();
    encoder.begin(&Header::default());
    for channel in [0, 1, 2, 3, 0, 1] {
        let time = RawTime { seconds: 1, fraction: 0 };
        assert!(encoder.push_module(channel, 1, time, &[1, 5, 2]));
    }
    encoder.finish(3);
    let packet = encoder.packet().to_vec();
    let packets = [packet];
    shows("adc_readout", &packets, || Box::new(AdcReadout::new(&settings).expect("sound settings")));
    let frequency = evforge_core::quantity::Frequency { millihertz: 14_000 };
    let pulses = PulseChannel { channel: 3, threshold: 5, frequency, max_time_of_flight: 1_000_000_000_000 };
    let settings = AdcReadoutSettings { pulse_channel: Some(pulses), ..settings };
    let with_pulses =
        || -> Box<dyn Detector> { Box::new(AdcReadout::new(&settings).expect("sound settings")) };
    shows("adc_readout with pulses", &packets, with_pulses);
}

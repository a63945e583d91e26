//! A Multi-Grid as at ILL, and packets for it.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::multigrid::amplitude::{AmplitudeFilter, Factor};
use evforge_detect::multigrid::settings::{
    BusSettings, CncsSettings, EventTime, FilterSettings, MesytecSettings, Ordering, Strategy, TimeSettings,
};
use evforge_wire::mesytec::{DatagramEncoder, TriggerEnd, VmmrReadout, Word, trigger_words};

/// One panel of two modules of the demonstrator at CNCS (section 2.5).
pub(crate) fn cncs_settings() -> CncsSettings {
    CncsSettings {
        time: TimeSettings { tick: None, event_time: EventTime::Clock, order: Ordering::Arrival },
        wire_threshold: 230,
        grid_threshold: 170,
        drop_double_neutrons: true,
        panels: 1,
        panel: 1,
        modules: 2,
        grids: 48,
        wires_x: 4,
        wires_z: 16,
        wire_calibration: Vec::new(),
        grid_calibration: Vec::new(),
    }
}

/// Three buses of 4 columns, 40 grids and 20 layers; some grids of bus 1 are rescaled (section 2.3).
pub(crate) fn settings() -> MesytecSettings {
    let bus = BusSettings { swap_wires: true, flipped_x: true, flipped_z: true, ..BusSettings::default() };
    let rescaled = |idx, factor| {
        let factor = Factor::new(factor).expect("a factor");
        (idx, AmplitudeFilter { factor, ..AmplitudeFilter::default() })
    };
    let exceptions =
        vec![rescaled(26, 1.5), rescaled(28, 1.5), rescaled(29, 0.5), rescaled(33, 1.5), rescaled(34, 1.5)];
    let grid_filters = FilterSettings { exceptions, ..FilterSettings::default() };
    MesytecSettings {
        strategy: Strategy::Maximum,
        time: TimeSettings { tick: None, event_time: EventTime::Clock, order: Ordering::Arrival },
        spoof_high_time: false,
        discard_damaged_packets: false,
        double_neutrons: None,
        drop_double_neutrons: false,
        buses: vec![bus.clone(), BusSettings { grid_filters, ..bus.clone() }, bus],
        mask: Vec::new(),
    }
}

/// A readout.
pub(crate) fn readout(bus: u8, channel: u16, adc: u16) -> VmmrReadout {
    VmmrReadout { module: 0, bus, channel, adc, time_difference: 0 }
}

/// The words of a trigger at `time`.
pub(crate) fn trigger(time: u64, readouts: &[VmmrReadout]) -> Vec<Word> {
    trigger_words(0, readouts, TriggerEnd { time, external_trigger: false })
}

/// The words of a trigger from outside.
pub(crate) fn pulse(time: u64, readouts: &[VmmrReadout]) -> Vec<Word> {
    trigger_words(0, readouts, TriggerEnd { time, external_trigger: true })
}

/// A packet of triggers.
pub(crate) fn packet(triggers: &[Vec<Word>]) -> Vec<u8> {
    let mut encoder = DatagramEncoder::default();
    encoder.begin(0, 0);
    for (counter, words) in (0..).zip(triggers) {
        assert!(encoder.push(counter, words), "a packet without room");
    }
    encoder.packet().to_vec()
}

/// Feeds packets in slabs of one and batches of `batch_events`, and closes: the events.
pub(crate) fn form_all(
    detector: &mut dyn Detector,
    packets: &[Vec<u8>],
    batch_events: usize,
) -> Vec<(u64, u32)> {
    let mut batch = EventBatch::new(batch_events);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter().map(|Event { time_ns, pixel_id }| (time_ns, pixel_id)));
        batch.clear();
    };
    let mut slab = PacketSlab::new(1, 0);
    for packet in packets {
        slab.clear();
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        form(detector, &slab.batch(), &mut batch, &mut keep);
    }
    form_rest(detector, &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.counters.value("held")), (0, Some(0)));
    events
}

/// The value of a counter.
pub(crate) fn value(detector: &dyn Detector, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

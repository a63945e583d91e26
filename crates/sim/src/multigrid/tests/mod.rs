//! What the tests of the simulated Multi-Grid share.

mod charge;
mod readouts;

use super::*;
use crate::detector_model::Strike;
use evforge_detect::multigrid::settings::{
    BusSettings, CncsSettings, EventTime, MesytecSettings, Ordering, Strategy, TimeSettings,
};
use evforge_wire::mesytec::{Trigger, TriggerClock, VmmrReadout as Measured};

/// Buses as in the shipped configuration, one of them wired otherwise.
fn settings() -> MesytecSettings {
    let bus = BusSettings { swap_wires: true, flipped_x: true, flipped_z: true, ..BusSettings::default() };
    let other = BusSettings { swap_grids: true, flipped_x: true, ..BusSettings::default() };
    MesytecSettings {
        strategy: Strategy::Maximum,
        time: TimeSettings { tick: Some(62_500), event_time: EventTime::Clock, order: Ordering::Arrival },
        spoof_high_time: false,
        discard_damaged_packets: false,
        double_neutrons: None,
        drop_double_neutrons: false,
        buses: vec![bus.clone(), other, bus],
        mask: Vec::new(),
    }
}

fn model() -> MultiGridModel {
    MultiGridModel::of_vmmr(&settings(), MultiGridPhysics::default()).expect("sound settings")
}

fn strike(x: f64, y: f64) -> Strike {
    Strike { time_ps: 1_000_000, x, y, panel: 0, wavelength: 2.5 }
}

/// The demonstrator at CNCS, with less of everything.
fn cncs_settings() -> CncsSettings {
    CncsSettings {
        time: TimeSettings { tick: Some(62_500), event_time: EventTime::Clock, order: Ordering::Arrival },
        wire_threshold: 230,
        grid_threshold: 170,
        drop_double_neutrons: true,
        panels: 2,
        panel: 1,
        modules: 3,
        grids: 10,
        wires_x: 4,
        wires_z: 6,
        wire_calibration: Vec::new(),
        // Two positions for each grid.
        grid_calibration: (0..62).map(|position| position / 2).collect(),
    }
}

/// Time and readouts of a trigger.
fn readouts(trigger: &Trigger<'_>) -> (u64, Vec<Measured>) {
    let (readouts, end) =
        trigger.read(&mut TriggerClock::extended(), Vec::new(), |readouts, word, context| {
            readouts.extend(Measured::of(word, context));
        });
    (end.expect("a time").time, readouts)
}

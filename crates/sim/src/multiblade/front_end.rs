//! What the front ends of each readout make of charge.

use crate::electronics::Electronics;

/// A kind of front end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FrontEnd {
    /// Steps of the converter for a keV in the gas, at the gain of the wires and at that of the strips.
    pub(super) steps_per_kev: [f64; 2],
    /// This many steps of a signal have come before its channel notices it, and are not measured.
    pub(super) missed: f64,
    /// A signal is seen so much later, in picoseconds, …
    pub(super) walk_ps: f64,
    /// … divided by 1 + its amplitude in this unit: the smaller it is the later it crosses the threshold.
    pub(super) walk_amplitude: f64,
    /// Standard deviation of that delay, as a share of it.
    pub(super) walk_spread: f64,
    /// Thresholds, noise and times of all channels.
    pub(super) electronics: Electronics,
    /// Mean excess of noise above the threshold, in steps.
    pub(super) noise_amplitude: f64,
}

/// CAEN V1740D as in the recording: amplitudes are charges (16 bits), and times are those of a threshold that is
/// crossed: a strip with 400 steps comes 1 µs after the wire, one with 12 000 after 60 ns.
pub(super) const CAEN: FrontEnd = FrontEnd {
    // So that half of the neutrons leave more than 11 500 steps on the wires, as there.
    steps_per_kev: [19.5; 2],
    // So that strips have the smaller a share of the charge the fewer there are, as there: 0.2 of that of the wires if
    // there is one, 0.45 if there are two, 0.6 if there are three.
    missed: 700.0,
    walk_ps: 1_360_000.0,
    walk_amplitude: 1400.0,
    walk_spread: 0.12,
    electronics: Electronics {
        // Gains of wires and strips differ there by some 10 %, but for the last wires.
        gain_spread: 0.1,
        dead_channels: 0.0,
        // 97 % of its hits have more.
        threshold: 100,
        largest_amplitude: u16::MAX,
        // Two hits of a channel are at least so far apart there, but for a single pair.
        dead_time_ps: 4_300_000,
        // Large signals follow the first one of their neutron within two ticks.
        jitter_ps: 32_000,
        latency_ps: 0,
        noise_per_second: 0.0,
    },
    noise_amplitude: 500.0,
};

/// VMM3a (10 bits): the gain is set for each chip, and a chip reads wires or strips only, so that both planes fill the
/// range. The chip times the peak of a signal, which does not depend on its amplitude.
pub(super) const VMM3A: FrontEnd = FrontEnd {
    // Chosen: 1.5 MeV and 20 % more still fit.
    steps_per_kev: [0.55, 1.1],
    missed: 0.0,
    walk_ps: 0.0,
    walk_amplitude: 1.0,
    walk_spread: 0.0,
    electronics: Electronics {
        // Chosen: channels of a chip are equalised.
        gain_spread: 0.05,
        dead_channels: 0.0,
        // Chosen: about half of the energy that the prototype needs.
        threshold: 20,
        largest_amplitude: 1023,
        // Chosen: peaking time 200 ns and the conversion of the amplitude after it.
        dead_time_ps: 450_000,
        // Chosen: half a bunch crossing of 22.7 ns.
        jitter_ps: 11_000,
        latency_ps: 0,
        noise_per_second: 0.0,
    },
    noise_amplitude: 10.0,
};

//! Parameters of the simulated Multi-Grid.
//!
//! "The recording" is `recorded_ws1to4` of 2018: 23 triggers with neutrons, of which one has two. The tests compare with
//! the other 22.

use crate::error::SimulationError;
use evforge_core::quantity::TimeSpan;
use evforge_wire::mesytec::LARGEST_PACKET;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.multigrid]`: coatings, gas and triggers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MultiGridPhysics {
    /// Thickness of each coating of boron carbide in micrometres. Chosen: coatings are thin compared with the range of
    /// fragments in them.
    pub coating_um: f64,
    /// Sides of a cell in millimetres: across the beam along a row of cells, along the wires, along the beam. 23.5, 24
    /// and 9.5: the cells of the prototype for T-REX (Backis et al., arXiv:2511.02512, figure 1).
    pub cell_mm: [f64; 3],
    /// By how many degrees the detector is turned about its wires: neutrons drift along a row of cells on their way through. 0; the
    /// Multi-Grid of the first EFU paper (section 10.6, figure 11) was turned by 2.
    pub tilt_deg: f64,
    /// Thickness in micrometres of each of the two coatings between neighbouring columns of cells, which neutrons meet only in a tilted
    /// detector. What is caught there leaves nothing in the gas. 1, as that of the blades.
    pub side_coating_um: f64,
    /// Amplitude on a wire for 1 MeV in the gas, in steps of a converter with 12 bits. Chosen so that the mean
    /// amplitude of wires is that of the recording within its error: 1100 for 1160 ± 160 steps.
    pub gain_per_mev: f64,
    /// Standard deviation of the logarithm of that amplitude from neutron to neutron: gas gain along and between wires.
    /// Chosen so that the standard deviation of amplitudes is near that of the recording: 590 for 750 ± 120 steps.
    pub gain_fluctuation: f64,
    /// Amplitude of all grids together, as a share of the wire's. 0.86: the recording has 0.82 with what remains below
    /// threshold lost.
    pub grid_share: f64,
    /// Standard deviation of that share. 0.07, with which it is that of the recording, 0.09, after threshold.
    pub grid_share_spread: f64,
    /// Distance over which the charge that is induced beyond the border of a grid falls to 1/e, in millimetres. Chosen
    /// so that a ninth of the neutrons fire several grids; in the recording it is 5 of 22.
    pub induction_mm: f64,
    /// Share of the neutrons that also leave charge on a neighbouring wire along the beam: a tenth to four tenths of what
    /// there is. 0.001, chosen small: none of 22 in the recording, and the EFU paper (section 4.2) knows of several wires
    /// for two neutrons only.
    pub wire_sharing: f64,
    /// Longest time that electrons drift to the wire. Half a cell at some 50 mm/µs, which is usual in argon with carbon
    /// dioxide.
    pub drift_time: TimeSpan,
    /// Mean energy that a gamma of the background leaves in the gas, in MeV; it falls off exponentially. Chosen:
    /// electrons leave a few keV in a centimetre of gas, and several times that where they curl.
    pub gamma_mev: f64,
    /// VMMR modules and CNCS: all that comes so long after the first signal is read with its trigger. Chosen: longer than
    /// electrons drift.
    pub trigger_window: TimeSpan,
    /// VMMR modules and CNCS: for so long after the window nothing triggers. Chosen: window and dead time together are shorter
    /// than the shortest time between two triggers of the recording, 3 µs.
    pub trigger_dead_time: TimeSpan,
    /// SIS3153 and CNCS: largest packet in bytes. 1400: the recording's is full with 1355.
    pub packet_bytes: usize,
    /// SIS3153 and CNCS: a packet is sent when its oldest trigger is so old, and at the end of a pulse. Chosen.
    pub packet_flush: TimeSpan,
}

impl Default for MultiGridPhysics {
    fn default() -> Self {
        let nanoseconds = |nanoseconds: u64| TimeSpan { picoseconds: nanoseconds * 1000 };
        Self {
            coating_um: 1.0,
            cell_mm: [23.5, 24.0, 9.5],
            tilt_deg: 0.0,
            side_coating_um: 1.0,
            gain_per_mev: 1300.0,
            gain_fluctuation: 0.25,
            grid_share: 0.86,
            grid_share_spread: 0.07,
            induction_mm: 1.1,
            wire_sharing: 0.001,
            drift_time: nanoseconds(100),
            gamma_mev: 0.02,
            trigger_window: nanoseconds(1000),
            trigger_dead_time: nanoseconds(1000),
            packet_bytes: 1400,
            packet_flush: nanoseconds(10_000_000),
        }
    }
}

/// No time of the physics is longer: pulses are not much longer.
const LONGEST: TimeSpan = TimeSpan { picoseconds: 1_000_000_000_000 };

impl MultiGridPhysics {
    /// Refuses values that no detector has.
    ///
    /// # Errors
    /// Names the key, what was found and what is expected.
    pub fn check(&self) -> Result<(), SimulationError> {
        let [across, along, deep] = self.cell_mm;
        for (key, value, least, most) in [
            ("coating_um", self.coating_um, 0.001, 100.0),
            ("cell_mm", across, 0.1, 1000.0),
            ("cell_mm", along, 0.1, 1000.0),
            ("cell_mm", deep, 0.1, 1000.0),
            ("tilt_deg", self.tilt_deg, -45.0, 45.0),
            ("side_coating_um", self.side_coating_um, 0.0, 100.0),
            ("gain_per_mev", self.gain_per_mev, 0.0, 1e6),
            ("gain_fluctuation", self.gain_fluctuation, 0.0, 2.0),
            ("grid_share", self.grid_share, 0.0, 10.0),
            ("grid_share_spread", self.grid_share_spread, 0.0, 1.0),
            ("induction_mm", self.induction_mm, 0.001, 100.0),
            ("wire_sharing", self.wire_sharing, 0.0, 1.0),
            ("gamma_mev", self.gamma_mev, 0.0, 10.0),
        ] {
            if !(least..=most).contains(&value) {
                return refuse(key, value, format!("{least} to {most}"));
            }
        }
        for (key, value) in [
            ("drift_time", self.drift_time),
            ("trigger_window", self.trigger_window),
            ("trigger_dead_time", self.trigger_dead_time),
            ("packet_flush", self.packet_flush),
        ] {
            if value > LONGEST {
                return refuse(key, format!("{}ms", value.picoseconds / 1_000_000_000), "at most 1s");
            }
        }
        if !(1..=LARGEST_PACKET).contains(&self.packet_bytes) {
            return refuse("packet_bytes", self.packet_bytes, format!("1 to {LARGEST_PACKET} bytes"));
        }
        Ok(())
    }
}

fn refuse(
    key: &str,
    found: impl std::fmt::Display,
    expected: impl std::fmt::Display,
) -> Result<(), SimulationError> {
    Err(SimulationError(format!("simulation.multigrid.{key}: found {found}, expected {expected}")))
}

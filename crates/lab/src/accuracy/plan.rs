//! How much of a beam is simulated: pulses, or parts of them.

use evforge_config::Config;
use evforge_core::quantity::Frequency;
use evforge_sim::beam::parts::Parts;

/// A pulse with more neutrons is not simulated as a whole: with what becomes of them, they would take some GB.
const MOST_OF_A_PULSE: f64 = 4e6;
/// Parts of a pulse, and how long each is: twice as long as hits wait for their order in the shipped configurations
/// of the instruments with such rates, so that buffers fill as they would.
const PARTS: u64 = 16;
const LONGEST_PART_PS: u64 = 2_000_000_000;
/// Rates are those of this share of a part: nearly nothing of it lies beyond the edges.
const PARTS_OF_A_RATE: u64 = 100;

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// So many pulses.
    pub(super) pulses: u64,
    /// Of each a part.
    pub(super) parts: Option<Parts>,
}

impl Plan {
    /// Pulses during which this many neutrons come; all parts once if a pulse has too many.
    pub(super) fn new(config: &Config, rate: Frequency, neutrons: u64) -> Self {
        let starts = [0, 1].map(|pulse| config.pulses.start_ns(pulse).unwrap_or_default());
        let period_ns = starts[1] - starts[0];
        let in_a_pulse = rate.millihertz as f64 / 1000.0 * period_ns as f64 / 1e9;
        if in_a_pulse > MOST_OF_A_PULSE {
            let length_ps = LONGEST_PART_PS.min(period_ns.saturating_mul(1000) / PARTS);
            return Self { pulses: PARTS, parts: Some(Parts { count: PARTS, length_ps, around_ps: None }) };
        }
        // Without neutrons a single pulse is as good as many.
        let pulses = if in_a_pulse > 0.0 { (neutrons as f64 / in_a_pulse).ceil().max(1.0) as u64 } else { 1 };
        Self { pulses, parts: None }
    }
}

/// Nanoseconds before and after a moment whose neutrons make its rate.
pub(super) fn rate_window_ns(parts: &Parts) -> u64 {
    parts.length_ps / 1000 / PARTS_OF_A_RATE
}

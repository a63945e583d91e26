//! What each frame is like: period, vetoes and protons; and the true frames as a file.

use super::settings::IsisSimulation;
use crate::random::{Stream, stream};
use rand::RngExt;
use std::io::Write;

/// What a frame is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameState {
    pub(super) period: u16,
    pub(super) vetoes: u32,
    pub(super) is_hard_vetoed: bool,
}

/// What frames are like. That of a frame is a function of the seed and its number alone.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    simulation: IsisSimulation,
    seed: u64,
}

impl Frames {
    pub(super) fn new(simulation: IsisSimulation, seed: u64) -> Self {
        Self { simulation, seed }
    }

    /// That of a frame, counted from 0 with the first one of the simulation.
    pub(super) fn state(&self, number: u64) -> FrameState {
        let of = &self.simulation;
        let mut random = stream(self.seed, Stream::Frame(number));
        let mut state = FrameState {
            period: (number / of.frames_per_period.max(1) % u64::from(of.periods.max(1))) as u16,
            ..FrameState::default()
        };
        for veto in &of.vetoes {
            let is_due = veto.every.is_some_and(|every| (number + 1).is_multiple_of(every));
            // Drawn in any case: one veto does not change the chance of the next.
            let is_drawn = random.random_bool(veto.probability.clamp(0.0, 1.0));
            if is_due || is_drawn {
                state.vetoes |= 1 << (veto.bit & 31);
                state.is_hard_vetoed |= veto.hard;
            }
        }
        state
    }
}

/// What is known of a simulated frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrueFrame {
    /// Its number, from 0.
    pub number: u64,
    /// Its reference time in nanoseconds since 1970: the start of its pulse.
    pub reference_ns: u64,
    /// Its period, from 0.
    pub period: u16,
    /// The vetoes that are present, a bit for each.
    pub vetoes: u32,
    /// Protons of its pulse, in units of 1.738e-6 µAh.
    pub protons: u8,
    /// Events that the boards have sent of it, all together.
    pub events: u64,
}

/// The first line of the file.
pub const HEADER: &str = "frame,reference_ns,period,vetoes,protons,events";

/// Writes frames, a line for each.
///
/// # Errors
/// What the writer says.
pub fn write(frames: &[TrueFrame], writer: &mut impl Write) -> std::io::Result<()> {
    for frame in frames {
        let TrueFrame { number, reference_ns, period, vetoes, protons, events } = frame;
        writeln!(writer, "{number},{reference_ns},{period},{vetoes},{protons},{events}")?;
    }
    Ok(())
}

//! How a capture is laid over itself.

/// Where the copies begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyShift {
    /// At random times.
    Random,
    /// Each this many picoseconds after the one before it.
    Every(u64),
}

/// How a capture is laid over itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlayOptions {
    /// How many times the capture is there; 1 for the labels alone.
    pub copies: u32,
    /// Time between groups, in multiples of what it was; 1 or more. Groups themselves stay as they are, so that rates
    /// below that of the capture have its pulses all the same.
    pub stretch: u32,
    /// Where copies begin.
    pub shift: CopyShift,
    /// Whether copies are also moved on the detector, by a random number of coordinates.
    pub move_channels: bool,
    /// Whether what is no label is laid over as well.
    pub background: bool,
    /// A readout that comes less than this after another one of its channel is lost; 0 for none.
    pub dead_time_ps: u64,
    /// The same seed gives the same overlay.
    pub seed: u64,
}

impl Default for OverlayOptions {
    fn default() -> Self {
        Self {
            copies: 1,
            stretch: 1,
            shift: CopyShift::Random,
            move_channels: false,
            background: false,
            dead_time_ps: 0,
            seed: 1,
        }
    }
}

//! What a neutron leaves on the channels.

/// Charge that a channel collects from one neutron, before the electronics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// The channel.
    pub channel: u32,
    /// Picoseconds since the start of the pulse.
    pub time_ps: u64,
    /// Amplitude in steps of the analogue-to-digital converter, at nominal gain and without an upper limit.
    pub amplitude: f32,
}

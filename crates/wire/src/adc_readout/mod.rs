//! Sampled channels: the analogue-to-digital converter of 2018 that watches beam monitors.
//!
//! Source: EFU formats of 2018, section 5. All words are big-endian. A packet is a header of 10 bytes and
//! either a heartbeat with a time, or *modules*: runs of consecutive samples of one channel each.
//!
//! ```text
//! header ── module ── module … ── filler 0x55 ── 0xFEEDF00D
//!             └── 0xABCD, length, channel, oversampling, time, samples, 0xBEEFCAFE
//! ```
//!
//! [`AdcPacket::parse`] checks the header. [`DataPacket::modules`] then walks over the modules and checks each
//! one wholly, its trailer included, before it hands it on. (The reference hands a module on before it looks
//! at the trailer.) A fault behind good modules does not take them away, and where only the trailer of a
//! module is wrong, its length still leads to the next one.

mod encode;
mod packet;

pub use encode::AdcEncoder;
pub use packet::{
    AdcPacket, Content, DataPacket, Fault, Header, IdlePacket, Module, Modules, Numbering, Rejection,
};

/// Width of the global count in bits.
pub const GLOBAL_COUNT_BITS: u32 = 16;

/// Frequency in hertz of the clock that the fractions of a second count in: one tick per sample of a channel
/// without oversampling.
pub const FRACTIONS_PER_SECOND: u32 = 44_026_250;

/// Channels of the electronics of 2018.
pub const CHANNELS: usize = 4;

/// Largest packet that the reference receives, in bytes.
pub const LARGEST_PACKET: usize = 10_000;

/// A moment as the electronics send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawTime {
    /// Seconds, said to count from 1980.
    pub seconds: u32,
    /// Ticks of [`FRACTIONS_PER_SECOND`] since then.
    pub fraction: u32,
}

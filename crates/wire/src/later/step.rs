//! By how much packets are moved, and numbers in them changed.

/// By how much a packet is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Ticks of the format's clock.
    pub ticks: u64,
    /// Nanoseconds, for a clock that is not that of the readout.
    pub nanoseconds: u64,
    /// By how much numbers go on.
    pub count: u64,
}

/// Changes a number in a packet; nothing if the packet ends before.
macro_rules! number_in_place {
    ($name:ident, $number:ty, $from:ident, $to:ident) => {
        pub(super) fn $name(bytes: &mut [u8], at: usize, change: impl FnOnce($number) -> $number) {
            if let Some(field) = bytes.get_mut(at..).and_then(|bytes| bytes.first_chunk_mut()) {
                *field = change(<$number>::$from(*field)).$to();
            }
        }
    };
}

number_in_place!(change_u32_be, u32, from_be_bytes, to_be_bytes);
number_in_place!(change_u32_le, u32, from_le_bytes, to_le_bytes);
number_in_place!(change_u64_le, u64, from_le_bytes, to_le_bytes);
number_in_place!(change_u16_be, u16, from_be_bytes, to_be_bytes);

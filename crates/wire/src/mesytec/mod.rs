//! Mesytec VMMR-8/16 modules read through a Struck SIS3153 Ethernet-to-VME interface.
//!
//! Source: EFU formats of 2018, sections 2.1 (SIS3153 datagrams) and 2.2 (VMMR words). All words are 32 bits,
//! little-endian.
//!
//! ```text
//! datagram   0x60, packet id, status, then words: one block per trigger
//! block      beginning with length │ 0xBB counter │ VMMR words … │ 0x87654321 │ 0xEE end
//! VMMR       header │ high time │ readouts and fill words … │ end of event with low time
//! ```
//!
//! [`Datagram::parse`] checks the first bytes; [`Datagram::triggers`] finds the blocks; [`Trigger::read`] walks
//! the words of one and hands out its readouts. What the rules for damage are stands at [`Triggers`] and at
//! [`Trigger::read`].

mod encode;
mod sis3153;
mod vmmr;

pub use encode::{DatagramEncoder, trigger_words, write_trigger_words};
pub use sis3153::{BlockFault, Damage, Datagram, HEADER, Rejection, Trigger, Triggers};
pub use vmmr::{
    ADDRESSES, Context, DataWord, HIGH_TIME_BITS, LARGEST_ADC, LOW_TIME_BITS, SLOTS, TriggerClock,
    TriggerEnd, TriggerFault, VmmrReadout, Word,
};

/// Largest payload on a link with 9000-byte frames, in bytes.
pub const LARGEST_PACKET: usize = 8972;

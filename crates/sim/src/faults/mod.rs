//! Faults on demand: what goes wrong between the electronics and the receiver, known to the last packet.
//!
//! ```text
//! electronics ─► disturb ─► readout ─► packets ─► lose, repeat, reorder … ─► wire        log of every fault
//! ```
//!
//! | what | module |
//! |---|---|
//! | what is to happen, how often and to whom: `[[simulation.fault]]`, `--fault` | [`settings`] |
//! | makes it happen, pulse by pulse | [`injector`] |
//! | what is on its way to the wire: packets that are held back | `wire` |
//! | what has happened | [`log`] |
//!
//! # Who is hit
//! Packets count from 0, over the whole stream or, if a fault names a source, over the packets of that source; pulses
//! count from 0 with the first simulated one. Which packets are hit is a function of the settings and of the seed.
//!
//! **No packet gets two faults**, so that what a receiver finds can be compared with the log by number: a packet that a
//! fault has hit is passed over by all later ones in the list, and so are the packets that a reordered one is put
//! behind. Faults at given numbers of packets are the exception: they happen in any case, in the order of the list,
//! because whoever names a packet twice wants both. A burst and a pause change sending times and nothing else, so their
//! packets can be hit by another fault.
//!
//! # What a receiver can know
//! It sees numbers, where the format has them, and nothing else: a lost packet shows when a later one of its source
//! arrives. So the loss of the **last** packets of a source is invisible, and that of the first as well; a packet that is
//! reordered or delayed shows only if another one of its source has passed it, and the last one has nobody to be passed
//! by. The log says what was done, with how many packets came in between
//! ([`Injected::passed_by`](log::Injected::passed_by)), and the [sender's report](log::SenderReport) says how many
//! packets there were. Formats without numbers show none of the four.

pub mod injector;
pub mod log;
pub mod settings;
mod wire;

#[cfg(test)]
mod tests;

//! A receive session: packets are received until somebody says stop, the time is up or nothing comes any more, and then
//! what the sockets still hold is fetched.
//!
//! Everything that receives for longer than a moment is built on this: `evforge run`, `record`, `receive` and `drop receive`.
//! They differ in what they do with the packets. When to stop, how to end, and who tells whom what on the way are here, once.
//!
//! ```text
//!   receiving thread, one or more                     the caller's thread
//!   ┌───────────────────────────────────┐            ┌──────────────────────────────┐
//!   │ PacketReceiver ─► slab            │   packets, │ SessionClock: is it over?    │
//!   │                   │               │    state   │   stop, ends_after,          │
//!   │                   ▼               │ ─────────► │   idle_limit                 │
//!   │           PacketHandler::received │            │                              │
//!   │                                   │ ◄───────── │ attend(progress): lines,     │
//!   └───────────────────────────────────┘    over    │   pages, forming events      │
//!                                                    └──────────────────────────────┘
//! ```
//!
//! | part | what it is |
//! |---|---|
//! | [`PacketReceiver`] | where packets come from: a [`LiveReceiver`](crate::live_receiver::LiveReceiver), a [`ReceiverGroup`](crate::receiver_group::ReceiverGroup), or what a test puts in their place |
//! | [`PacketHandler`] | what happens to them: gives the slab to fill, and is called after every attempt to fill it |
//! | [`SessionLimits`], [`SessionClock`] | the one rule that decides when a session is over |
//! | [`ReceiveState`] | what a receiving side knows: counters, losses, alarms |
//! | [`receive_with_threads`] | receives in threads, while the caller's thread watches, or does work of its own |
//! | [`receive_in_turn`] | receives and handles in turn, in the caller's thread |
//!
//! # How a session goes
//!
//! 1. A thread waits at most 20 ms ([`PATIENCE`]) for packets, hands over what came, and looks whether the session is over.
//! 2. It is over when `stop` is set, `ends_after` has passed, or no packet has come for `idle_limit`. The idle time starts
//!    with the first packet: senders may start later than the receiver. A sender whose report is expected (`sent`) and missing
//!    is waited for.
//! 3. When it is over, threads *drain*: they no longer wait, and go on until nothing more comes, but not for longer than a
//!    second ([`LONGEST_DRAIN`]): a sender may never stop.
//! 4. A thread that fails or panics ends the session for all, because without it nothing would be complete. The others
//!    drain first. All are joined before the first error is looked at, and a panic goes on in the caller's thread.
//!
//! # Example
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//!
//! use evforge_core::packet::PacketSlab;
//! use evforge_net::live_receiver::LiveReceiver;
//! use evforge_net::session::{
//!     Attend, PacketHandler, PacketReceiver, ReceivingThread, SessionClock, SessionLimits, receive_with_threads,
//! };
//!
//! struct Bytes {
//!     slab: PacketSlab,
//!     sum: usize,
//! }
//!
//! impl PacketHandler for Bytes {
//!     fn slab_to_fill(&mut self) -> &mut PacketSlab {
//!         &mut self.slab
//!     }
//!     fn received(&mut self, _packets: usize, _receiver: &dyn PacketReceiver) {
//!         self.sum += self.slab.batch().iter().map(|packet| packet.bytes.len()).sum::<usize>();
//!         self.slab.clear();
//!     }
//! }
//!
//! # fn receive(receivers: Vec<LiveReceiver>) -> Result<(), Box<dyn std::error::Error>> {
//! let stop = AtomicBool::new(false);
//! let threads = receivers.into_iter().enumerate().map(|(number, receiver)| ReceivingThread {
//!     name: format!("receive {number}"),
//!     receiver,
//!     handler: Bytes { slab: PacketSlab::new(4096, 8 << 20), sum: 0 },
//! });
//! let clock = SessionClock::start(SessionLimits::default(), &stop);
//! let anywhere = |_number| Ok::<(), std::io::Error>(());
//! let received = receive_with_threads(clock, threads.collect(), &anywhere, |progress| {
//!     println!("{} packets", progress.packets);
//!     Attend::Pause
//! })?;
//! for thread in received {
//!     println!("{} bytes, {} packets lost", thread.handler.sum, thread.end.state.losses.socket.count);
//!     if let Some(failure) = thread.end.failure {
//!         println!("{failure}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod handler;
mod limits;
mod receiver;
mod receiving;
mod state;
#[cfg(test)]
mod tests;
mod threads;

pub use handler::PacketHandler;
pub use limits::{SENDER_PATIENCE, SessionClock, SessionLimits};
pub use receiver::{PacketReceiver, ReceiverSummary};
pub use receiving::{LARGEST_PIECE, LONGEST_DRAIN, PATIENCE, SessionEnd, receive_in_turn};
pub use state::ReceiveState;
pub use threads::{Attend, Received, ReceivingThread, SessionError, SessionProgress, receive_with_threads};

//! UDP by AF_XDP: frames come from the network interface into memory of this program, bypassing the kernel's protocols.
//!
//! A small program in the kernel (`steer.bpf.c`) looks at every frame that the interface receives. What is sent to
//! the port of a [`XdpReceiver`] goes to the socket of the queue that it arrived in; everything else goes on as
//! without it. Headers, lengths and checksums are looked at here.
//!
//! Only whole datagrams in plain frames can be steered. Fragments of IP packets, packets with options, and what comes
//! over another interface or a queue without socket are left to the kernel and received by a kernel socket alongside, at
//! the same address, which also keeps the port from being taken by others.
//!
//! What is sent by AF_XDP leaves as whole frames, bypassing the kernel's protocols: see
//! [`UdpSender::open_by_xdp`](crate::socket::UdpSender::open_by_xdp).
//!
//! It needs privileges, which the [helper](crate::helper) has, and Linux: written for 5.10 and later (frames of more than 3818 bytes: 6.6), tested with 6.18.
//! The program goes when the receiver is dropped or the process ends, in whatever way.

mod attachment;
mod counters;
mod delivery;
mod error;
pub(crate) mod frame_sender;
pub(crate) mod interface;
mod memory;
pub(crate) mod opening;
mod options;
mod queue;
mod receiver;
mod ring;
mod ring_entry;
pub(crate) mod steering;
pub(crate) mod transmit;
mod watch;
mod xsk;

pub use counters::XdpCounters;
pub use error::XdpError;
pub use options::{ChecksumPolicy, XdpMode, XdpOptions};
pub use receiver::XdpReceiver;

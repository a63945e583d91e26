//! UDP through the kernel's sockets: the default receive backend, which needs no privilege, and sending.
//!
//! [`UdpReceiver`] takes datagrams in batches straight into a slab: first it spins, then it sleeps in the
//! kernel. With UDP_GRO the kernel hands over several datagrams of a stream in one piece, which are taken
//! apart here. [`UdpSender`] sends batches at a [`Pace`](crate::pace::Pace).
//!
//! What gets lost is never silent: [`UdpReceiver::drops`] tells what this socket dropped,
//! [`KernelCounters`](crate::kernel_counters::KernelCounters) what the host dropped, and a datagram larger
//! than its place is delivered as a cut packet.
//!
//! Multicast: a receiver joins groups ([`UdpReceiver::join`]); a sender sends to a group by the interface of its source address.
//! Broadcasts of a network reach every receiver that takes all addresses of its port.
//!

mod arrivals;
mod busy_poll;
mod departures;
mod descriptor;
mod error;
mod leftover;
mod multicast;
pub(crate) mod option;
mod options;
pub(crate) mod privileged;
mod receiver;
mod report;
mod sender;

pub use error::{ReceiveError, SendError};
pub use options::{ReceiverOptions, SenderOptions};
pub use receiver::UdpReceiver;
pub use report::{Deviation, ReceiveBuffer, ReceiverCounters, SendReport, SocketDrops};
pub use sender::UdpSender;

//! UDP through the kernel's sockets: the default way in, which needs no privilege, and the way out.
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
//! Both work on Linux only; elsewhere opening them fails and says so.

#[cfg(target_os = "linux")]
mod arrivals;
#[cfg(target_os = "linux")]
mod busy_poll;
#[cfg(target_os = "linux")]
mod departures;
#[cfg(target_os = "linux")]
mod descriptor;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod leftover;
#[cfg(target_os = "linux")]
mod multicast;
#[cfg(target_os = "linux")]
mod option;
mod options;
#[cfg(target_os = "linux")]
pub(crate) mod privileged;
#[cfg(target_os = "linux")]
mod receiver;
mod report;
#[cfg(target_os = "linux")]
mod sender;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{UdpReceiver, UdpSender};
pub use error::{ReceiveError, SendError};
pub use options::{ReceiverOptions, SenderOptions};
#[cfg(target_os = "linux")]
pub use receiver::UdpReceiver;
pub use report::{Deviation, ReceiveBuffer, ReceiverCounters, SendReport, SocketDrops};
#[cfg(target_os = "linux")]
pub use sender::UdpSender;

//! Packets in and out: capture files, kernel sockets, pacing, and the kernel's own loss counters.
//!
//! | you want to | use |
//! |---|---|
//! | read UDP packets from a capture file (pcap, pcapng, `.pkts`) | [`capture::CaptureReader`] |
//! | write packets into a capture file | [`capture::PcapngWriter`], [`capture::PktsWriter`] |
//! | record packets at full rate, without ever holding up whoever receives them | [`record::Recorder`] |
//! | receive UDP from the network | [`socket::UdpReceiver`] |
//! | receive UDP from a network interface, bypassing the kernel's protocols | [`xdp::XdpReceiver`] |
//! | receive UDP in either way, as configured | [`live_receiver::LiveReceiver`] |
//! | receive from several ports or sockets in one thread | [`receiver_group::ReceiverGroup`] |
//! | receive until it is over, in threads or in turn with the work on the packets | [`session`] |
//! | send UDP, at a rate or with recorded timing, through sockets or by AF_XDP | [`socket::UdpSender`], [`pace::Pace`] |
//! | know what the kernel lost | [`socket::UdpReceiver::drops`], [`host_counters::HostCounterReader`] |
//! | know where packets were lost, from all that was counted | [`losses`] |
//! | know what this host lost of what it sent | [`departure_counters::DepartureCounters`] |
//! | have as many open files and sockets as the system allows | [`descriptors::raise_limit`] |
//! | know what this process cannot do, and how to fix it (the host's settings: `evforge_host`) | [`host_check::check_process`] |
//! | do without privileges, and have a small helper do what needs them | [`helper::Helper`], [`privileges::drop_all`] |
//! | know what a reading of the clock costs | [`clock::ClockReport`] |
//! | know whether something keeps the clock right | [`synchronisation::Synchronisation`] |
//! | know what the driver of a network card counts | [`interfaces::driver_counters`] |
//! | give a thread a core of its own, away from interrupts, before all others | [`affinity::pin_current_thread`], `evforge_host::interrupt_cores`, [`priority::set_real_time_priority`] |
//!
//! Packets are always handed over in an [`evforge_core::packet::PacketSlab`], so that whoever forms events
//! from them never learns where they came from:
//!
//! ```no_run
//! use evforge_core::packet::PacketSlab;
//! use evforge_net::capture::{CaptureReader, Fill};
//!
//! let mut capture = CaptureReader::open("run.pcapng".as_ref())?.only_port(9000);
//! let mut slab = PacketSlab::new(256, 4 << 20);
//! loop {
//!     let fill = capture.fill(&mut slab)?;
//!     for packet in slab.batch().iter() {
//!         println!("{} bytes from {}", packet.bytes.len(), packet.origin.source);
//!     }
//!     slab.clear();
//!     if fill == Fill::End {
//!         break;
//!     }
//! }
//! # Ok::<(), evforge_net::capture::CaptureError>(())
//! ```
//!
//! From the network it is the same loop with another source of packets, which has to be asked again and again
//! and tells what it could not get:
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//!
//! use evforge_core::packet::PacketSlab;
//! use evforge_net::socket::{ReceiverOptions, UdpReceiver};
//!
//! let mut receiver = UdpReceiver::open(&ReceiverOptions::new(([0, 0, 0, 0], 9000).into()))?;
//! for warning in receiver.warnings() {
//!     eprintln!("{warning}");
//! }
//! let mut slab = PacketSlab::new(4096, 8 << 20);
//! for _ in 0..100 {
//!     receiver.receive(&mut slab, Instant::now() + Duration::from_millis(100))?;
//!     println!("{} packets", slab.len());
//!     slab.clear();
//! }
//! println!("{} dropped", receiver.drops()?.count);
//! # Ok::<(), evforge_net::socket::ReceiveError>(())
//! ```
//!
//! The memory of a slab is written by the kernel itself: `unsafe` is confined to
//! `socket::arrivals`, `socket::departures`, `socket::option`, `readiness`, `affinity`, `priority`, `privileges`, `thread_time`, `freed_memory`, `crash_note`, `synchronisation`, `descriptors`, `record::reserve`, `staged_file::no_replace`, in `helper` to signals and descriptors that were inherited
//! (`program`), and in `xdp` to what is shared with the kernel: `memory`, `ring`, `queue`, `xsk`, `transmit`, `interface` and the types of the
//! program's maps in `steering`.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "evforge receives on Linux only: build it there, or in a container. The crates evforge-core, evforge-wire and \
     evforge-detect, which form events, build anywhere"
);

pub mod affinity;
pub mod capture;
mod checksum;
pub mod clock;
pub mod crash_note;
pub mod departure_counters;
pub mod descriptors;
mod frame;
pub mod freed_memory;
pub mod helper;
pub mod host_check;
pub mod host_counters;
pub mod host_health;
pub mod interfaces;
pub mod kernel_counters;
pub mod lateness;
pub mod live_receiver;
pub mod losses;
pub mod pace;
pub mod priority;
pub mod privileges;
mod readiness;
pub mod receiver_group;
pub mod record;
pub mod session;
pub mod socket;
pub mod staged_file;
pub mod synchronisation;
pub mod thread_time;
pub mod user;
pub mod xdp;

//! Packets in and out: capture files, kernel sockets, pacing, and the kernel's own loss counters.
//!
//! | you want to | use |
//! |---|---|
//! | read UDP packets from a capture file (pcap, pcapng, `.pkts`) | [`capture::CaptureReader`] |
//! | write packets into a capture file | [`capture::PcapngWriter`], [`capture::PktsWriter`] |
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

pub mod capture;

//! Capture files: the payloads of UDP datagrams, read from and written to disk.
//!
//! Read are pcap (both byte orders, micro- and nanoseconds), pcapng (both byte orders, any number of
//! sections and interfaces, any time resolution), recognised by their first bytes, and `.pkts`, recognised
//! by its name: repeated {length: u32 little-endian, payload}, which knows neither source, port nor time.
//!
//! Frames may be Ethernet II (with VLAN tags), Linux cooked (SLL, SLL2), raw IP or BSD loopback, with IPv4
//! (options included) or IPv6 (extension headers included). What is not a whole UDP datagram is skipped and
//! counted by reason in [`CaptureCounters`]. Checksums are not verified: in a capture taken on the sending
//! host they are not filled in yet.
//!
//! All of this is plain file I/O and works on every system; only pipes that are read until somebody asks to stop
//! ([`CaptureReader::open_until`]) are of Linux.

mod counters;
mod error;
mod format;
mod joined;
mod named_writer;
mod pcap;
mod pcapng;
mod pcapng_block;
mod pcapng_writer;
mod pipe;
mod pkts;
mod reader;
mod record;
mod window;
mod writer;

/// Most memory of a file that is read, in bytes: the window over the largest record.
pub const MEMORY_BOUND: usize = record::LARGEST_RECORD + window::READ_AHEAD;

pub use counters::CaptureCounters;
pub use error::CaptureError;
pub use evforge_core::packet_source::Fill;
pub use joined::JoinedFiles;
pub use named_writer::CaptureWriter;
pub(crate) use pcapng_block::{append_packet, beginning};
pub use pcapng_writer::PcapngWriter;
pub use reader::CaptureReader;
pub use writer::{PktsWriter, Written};

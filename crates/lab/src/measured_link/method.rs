//! Ways to send and to receive.

use std::fmt;
use std::str::FromStr;

/// A way to send and to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkMethod {
    /// One call of the kernel for each packet at both ends, the receiver's waiting: *Reliable UDP at 10 Gb/s*.
    Paper,
    /// Many packets in one call, at both ends.
    Batched,
    /// The sender hands runs of packets over in one piece, which the kernel cuts; the receiver takes many packets in one call.
    Segmented,
    /// The same, and the kernel joins packets again for the receiver (UDP_GRO).
    Coalesced,
    /// Segments, received by AF_XDP.
    Xdp,
    /// A TCP connection, in pieces of the same size: what is lost is sent again.
    Tcp,
    /// Trains of images as a train builder sends them, put together by a node of the PC layer.
    Trains,
}

impl LinkMethod {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Paper, Self::Batched, Self::Segmented, Self::Coalesced, Self::Xdp, Self::Tcp, Self::Trains];

    /// Its name in options and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Batched => "batched",
            Self::Segmented => "segmented",
            Self::Coalesced => "coalesced",
            Self::Xdp => "xdp",
            Self::Tcp => "tcp",
            Self::Trains => "trains",
        }
    }

    /// What it is, for the report.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Paper => "one call a packet at both ends, the receiver's waiting, as in the paper",
            Self::Batched => "up to 64 packets a call at both ends, the receiver spinning",
            Self::Segmented => {
                "sent in pieces that the kernel cuts (UDP_SEGMENT), received up to 64 packets a call"
            }
            Self::Coalesced => "sent in pieces, and received in pieces (UDP_GRO)",
            Self::Xdp => "sent in pieces, received by AF_XDP",
            Self::Tcp => "a TCP connection, a call of the kernel for each piece at the sender",
            Self::Trains => "batches as trains of images, which the receiver puts together in memory",
        }
    }

    /// Options of `evforge send`.
    pub(crate) const fn sender_options(self) -> &'static [&'static str] {
        match self {
            Self::Paper => &["--single-calls"],
            Self::Batched => &["--segment", "off"],
            Self::Trains => &[],
            Self::Segmented | Self::Coalesced | Self::Xdp => &["--segment", "on"],
            Self::Tcp => &["--tcp"],
        }
    }

    /// Options of `evforge receive` that needs no further ones.
    pub(super) const fn receiver_options(self) -> &'static [&'static str] {
        match self {
            Self::Paper => &["--single-calls"],
            Self::Batched | Self::Segmented => &["--receive", "socket"],
            Self::Coalesced => &["--receive", "socket", "--coalesce"],
            Self::Xdp => &["--receive", "xdp", "--interface"],
            Self::Tcp => &["--tcp"],
            Self::Trains => &[],
        }
    }

    /// True if `evforge send` and `evforge receive` have it: its packets are numbered, of any size from some bytes on.
    pub const fn is_numbered(self) -> bool {
        !matches!(self, Self::Trains)
    }

    /// True if a packet that is lost stays so: there is a rate at which none is.
    pub const fn can_lose(self) -> bool {
        !matches!(self, Self::Tcp)
    }

    /// True if the network interface of the receiver is the last of its options.
    pub(super) const fn names_interface(self) -> bool {
        matches!(self, Self::Xdp)
    }
}

impl fmt::Display for LinkMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LinkMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|method| method.name()).collect();
            format!("`{text}` is no method; expected one of {}", names.join(", "))
        })
    }
}

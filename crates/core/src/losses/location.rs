//! Where packets are lost.

/// Where packets were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossLocation {
    /// They were not in the capture that was read.
    Input,
    /// The sender's host: the queue of its interface, or the interface.
    Sender,
    /// The wire: frames with a wrong checksum of Ethernet, or out of shape.
    Link,
    /// The network card: the host had given it no memory, or its own overflowed.
    NetworkCard,
    /// Between driver and protocols, where nothing else explains what the interface dropped.
    DriverRing,
    /// The kernel's backlog of a core was full.
    KernelBacklog,
    /// Wrong checksums or headers of IP or UDP, found by the kernel.
    Checksum,
    /// Fragments of IP packets that did not all arrive.
    Reassembly,
    /// The socket's receive buffer was full.
    SocketBuffer,
    /// The receive ring of an AF_XDP socket was full.
    XdpRing,
    /// An AF_XDP socket had no free memory, or too short pieces of it.
    XdpMemory,
    /// Our own checks of frames that came by AF_XDP: headers, checksums, packets merged by the kernel.
    FrameChecks,
    /// The queue between the receiving thread and the one that forms events of its packets, or checks them, was full.
    OwnQueue,
    /// The queue between the receiving thread and the one that records was full.
    RecordQueue,
}

impl LossLocation {
    /// All locations.
    pub const ALL: [LossLocation; 14] = [
        Self::Input,
        Self::Sender,
        Self::Link,
        Self::NetworkCard,
        Self::DriverRing,
        Self::KernelBacklog,
        Self::Checksum,
        Self::Reassembly,
        Self::SocketBuffer,
        Self::XdpRing,
        Self::XdpMemory,
        Self::FrameChecks,
        Self::OwnQueue,
        Self::RecordQueue,
    ];

    /// The location as it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Sender => "sender",
            Self::Link => "link",
            Self::NetworkCard => "network card",
            Self::DriverRing => "driver ring",
            Self::KernelBacklog => "kernel backlog",
            Self::Checksum => "checksum",
            Self::Reassembly => "fragment reassembly",
            Self::SocketBuffer => "socket buffer",
            Self::XdpRing => "AF_XDP ring",
            Self::XdpMemory => "AF_XDP memory",
            Self::FrameChecks => "frame checks",
            Self::OwnQueue => "own queue",
            Self::RecordQueue => "record queue",
        }
    }

    /// The location in a sentence, behind "in the".
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Sender => "sender's host",
            location => location.name(),
        }
    }

    /// True if the kernel counts pieces there, of several packets each, when UDP_GRO is on.
    pub(super) fn may_count_pieces(self) -> bool {
        matches!(self, Self::SocketBuffer | Self::KernelBacklog)
    }
}

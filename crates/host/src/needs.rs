//! What a host is to do.

/// What is to be received, as far as it depends on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNeeds {
    /// Receive buffer of a socket in bytes, without the doubling of Linux.
    pub buffer: usize,
    /// The process gets such a buffer whatever the limit of the host is: says how.
    pub buffer_granted_by: Option<String>,
    /// Sockets that are opened, over all ports.
    pub sockets: usize,
    /// The interfaces that packets come in by.
    pub interfaces: Vec<String>,
    /// The ports.
    pub ports: Vec<u16>,
    /// Receive by AF_XDP: wanted, required, or not at all.
    pub xdp: XdpNeed,
    /// Cores that threads are to run on.
    pub cores: Vec<usize>,
    /// Those of them that receive.
    pub receiving_cores: Vec<usize>,
    /// Receiving threads may run on cores that serve interrupts.
    pub share_interrupt_core: bool,
    /// A real-time priority is asked for, the highest of these.
    pub priority: Option<u8>,
}

/// Whether AF_XDP is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpNeed {
    /// It is not.
    #[default]
    No,
    /// It is taken if it can be had, else a socket.
    IfPossible,
    /// It must be had.
    Must,
}

impl XdpNeed {
    /// True if it is wanted or required.
    pub fn is_asked_for(self) -> bool {
        self != Self::No
    }
}

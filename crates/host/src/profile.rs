//! Sets of values: those of evforge for a configuration, and those of the papers.

/// Where the wanted values come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// What this configuration needs.
    #[default]
    Evforge,
    /// *Reliable UDP at 10 Gb/s with BSD sockets*, section 3.2 and appendix: 10 Gb/s, sockets.
    Udp,
    /// *10GE network tests with UDP*, the slides on host tuning: 10 Gb/s, ixgbe.
    Xfel,
    /// *FPGA-to-server with the eXpress Data Path*, test setup: 100 Gb/s, mlx5, AF_XDP.
    Xdp,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Evforge, Self::Udp, Self::Xfel, Self::Xdp];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evforge => "evforge",
            Self::Udp => "udp",
            Self::Xfel => "xfel",
            Self::Xdp => "xdp",
        }
    }

    /// The paper, for a person.
    pub fn title(self) -> &'static str {
        match self {
            Self::Evforge => "what this configuration needs",
            Self::Udp => "Reliable UDP at 10 Gb/s with BSD sockets",
            Self::Xfel => "10GE network tests with UDP (European XFEL)",
            Self::Xdp => "FPGA-to-server with the eXpress Data Path",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }
}

//! What is looked for, and what is found.

/// How good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be, or of no consequence.
    Good,
    /// It works, and would be better or safer otherwise.
    Advice,
    /// What was asked for cannot be had.
    Missing,
}

impl Verdict {
    /// The verdict as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Advice => "advice",
            Verdict::Missing => "MISSING",
        }
    }
}

/// One thing about this host or process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about: "receive buffer".
    pub subject: String,
    /// How good it is.
    pub verdict: Verdict,
    /// What was found, and what is expected.
    pub found: String,
    /// The command or the setting that fixes it.
    pub fix: Option<String>,
}

impl Finding {
    pub(super) fn good(subject: &str, found: impl Into<String>) -> Self {
        Self { subject: subject.into(), verdict: Verdict::Good, found: found.into(), fix: None }
    }

    pub(super) fn advice(subject: &str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self { subject: subject.into(), verdict: Verdict::Advice, found: found.into(), fix }
    }

    pub(super) fn missing(subject: &str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Missing, ..Self::advice(subject, found, fix) }
    }
}

/// What is to be received, as far as it depends on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNeeds {
    /// Receive buffer of a socket in bytes, without the doubling of Linux.
    pub buffer: usize,
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
    pub(super) fn is_asked_for(self) -> bool {
        self != Self::No
    }
}

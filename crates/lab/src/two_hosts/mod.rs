//! Two hosts for a measurement, on one machine: two network namespaces with a pair of virtual interfaces between them, or
//! loopback where namespaces cannot be had.
//!
//! ```text
//!  evforge measure …             the process that was started: asks for an end by closing a pipe
//!   └─ unshare                   namespaces of their own: processes, mounts, network
//!       └─ evforge measure …     the same command again, process 1 in there; the receiver's host
//!           ├─ unshare --net     keeps the sender's host
//!           ├─ evforge receive   …
//!           └─ evforge send      …
//! ```
//!
//! Interfaces and programs belong to namespaces that exist only as long as process 1 of them: whatever ends it, `kill -9`
//! of any of these included, takes everything along. So there is nothing to clean up, and nothing that could be left.
//!
//! | you look for | it is in |
//! |---|---|
//! | the same command again, in namespaces of its own | [`within`] |
//! | the two hosts | [`TwoHosts`], [`End`] |
//! | a sender on another host than this | [`OtherHost`] |

mod error;
mod link;
pub(crate) mod namespace;
mod steering;
pub mod within;

pub use error::TwoHostsError;

use evforge_host::LocalHost;
use link::Link;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where packets come from.
    Sender,
    /// Where they go to.
    Receiver,
}

/// A sender's host that is another one, with an agent ([`remote_host`](crate::remote_host)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHost {
    /// Address of the agent.
    pub agent: SocketAddr,
    /// File of its token.
    pub token_file: PathBuf,
    /// Address of this host that packets are sent to.
    pub address: IpAddr,
    /// The interface that they come in by; none if it is not named.
    pub interface: Option<String>,
}

/// What a host that sends and receives cannot show unless packets are steered.
const SENDER_RECEIVES: &str = "The sender's core does the kernel's work of receiving (softirq) while it sends, so that its speed limits both, and an \
                               error ratio of 0 says little about the receiver.";

/// Two hosts; those in namespaces vanish with the process.
pub struct TwoHosts(Place);

enum Place {
    /// Both are this host.
    Loopback,
    /// Network namespaces with a link between them.
    Namespaces(Link),
    /// Another host sends.
    Other(OtherHost),
}

/// A program that ends with this process, whatever ends it: without input, and without what the environment says of options of
/// evforge, which the measurement sets itself.
pub(crate) fn program_ending_with_this(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    without_surroundings(&mut command);
    command
}

/// Leaves out what the environment says of options of evforge, and gives no input.
pub(crate) fn without_surroundings(command: &mut Command) {
    let options = std::env::vars_os().map(|(name, _)| name);
    for name in options.filter(|name| name.to_string_lossy().starts_with("EVFORGE_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
}

impl TwoHosts {
    /// Both ends are this host.
    pub const fn on_loopback() -> Self {
        Self(Place::Loopback)
    }

    /// This host receives, and another one sends.
    pub const fn with_other(other: OtherHost) -> Self {
        Self(Place::Other(other))
    }

    /// The other host, if there is one.
    pub const fn other(&self) -> Option<&OtherHost> {
        match &self.0 {
            Place::Other(other) => Some(other),
            Place::Loopback | Place::Namespaces(_) => None,
        }
    }

    /// Two namespaces, with interfaces that take packets of `mtu` bytes. The receiver's is that of this process, which must be in
    /// namespaces of its own ([`within`]). Segments are cut before the link, as a network card does it: else pieces of up to 64
    /// packets would travel as one, which no wire carries.
    ///
    /// # Errors
    /// If `ip` or `ethtool` is missing or fails.
    pub fn in_namespaces(mtu: u32) -> Result<Self, TwoHostsError> {
        Ok(Self(Place::Namespaces(Link::lay(mtu)?)))
    }

    /// Gives the link between two namespaces another MTU, in bytes; that of loopback, or of another host, stays as it is.
    ///
    /// # Errors
    /// If `ip` fails.
    pub(crate) fn set_mtu(&self, mtu: u32) -> Result<(), TwoHostsError> {
        match &self.0 {
            Place::Namespaces(link) => link.set_mtu(mtu),
            Place::Loopback | Place::Other(_) => Ok(()),
        }
    }

    /// A program at one end: without input, and without what the environment says of options of evforge, which the measurement
    /// sets itself.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Command {
        match (&self.0, end) {
            (Place::Namespaces(link), End::Sender) => {
                let mut command = link.sender.command(program);
                without_surroundings(&mut command);
                command
            }
            (Place::Namespaces(_), End::Receiver) => {
                let mut command = Command::new(program);
                without_surroundings(&mut command);
                command
            }
            (Place::Other(other), End::Sender) => {
                let mut command = program_ending_with_this(program);
                command.args(["measure", "at", &other.agent.to_string(), "--token-file"]);
                command.arg(&other.token_file).arg("--");
                command
            }
            (Place::Loopback, _) | (Place::Other(_), End::Receiver) => program_ending_with_this(program),
        }
    }

    /// The address of an end.
    pub fn address(&self, end: End) -> IpAddr {
        match (&self.0, end) {
            (Place::Loopback, _) => Ipv4Addr::LOCALHOST.into(),
            (Place::Namespaces(_), End::Sender) => link::SENDER_ADDRESS.into(),
            (Place::Namespaces(_), End::Receiver) => link::RECEIVER_ADDRESS.into(),
            (Place::Other(other), End::Sender) => other.agent.ip(),
            (Place::Other(other), End::Receiver) => other.address,
        }
    }

    /// The network interface that packets come in by, apart from loopback; none if that of this host is not named.
    pub fn interface(&self) -> Option<&str> {
        match &self.0 {
            Place::Loopback => None,
            Place::Namespaces(_) => Some(link::RECEIVER),
            Place::Other(other) => other.interface.as_deref(),
        }
    }

    /// The network interface of an end, apart from loopback; none if that is not known here.
    pub fn interface_of(&self, end: End) -> Option<&str> {
        match (&self.0, end) {
            (Place::Namespaces(_), End::Sender) => Some(link::SENDER),
            (Place::Other(_), End::Sender) => None,
            _ => self.interface(),
        }
    }

    /// True if there are two network namespaces.
    pub const fn has_namespaces(&self) -> bool {
        matches!(self.0, Place::Namespaces(_))
    }

    /// Has packets come in one by one between namespaces. Else the sender's core joins them (GRO) before they are [steered](Self::steer_to), and the
    /// core that they are steered to has next to nothing to do, unlike that of a card's interrupt.
    ///
    /// # Errors
    /// If there are no namespaces, or `ethtool` is missing or fails.
    pub fn take_singly(&self) -> Result<(), TwoHostsError> {
        match &self.0 {
            Place::Namespaces(link) => link.take_singly(),
            Place::Loopback | Place::Other(_) => Err(TwoHostsError::NoLink),
        }
    }

    /// Has the kernel work on the packets that come in (softirq) on this core, by RPS, where an interrupt of a card would have it done. Between
    /// namespaces only: the interface is of this measurement, and ends with it.
    ///
    /// # Errors
    /// If there are no namespaces, or the system refuses.
    pub fn steer_to(&self, core: usize) -> Result<(), TwoHostsError> {
        match &self.0 {
            Place::Namespaces(_) => steering::steer(&LocalHost::new(), core),
            Place::Loopback | Place::Other(_) => Err(TwoHostsError::NoLink),
        }
    }

    /// What such hosts cannot show of packets that are sent in pieces (UDP_SEGMENT), as streams are; nothing where pieces are cut.
    pub fn of_pieces(&self) -> Option<&'static str> {
        matches!(self.0, Place::Loopback).then_some(
            "Packets are sent in pieces of up to 64 (UDP_SEGMENT), which loopback hands on uncut: rates are higher than those of any network.",
        )
    }

    /// As [`TwoHosts::cannot_show`], where the kernel's work was [steered](Self::steer_to) to a core.
    pub fn cannot_show_steered(&self) -> Vec<&'static str> {
        self.cannot_show().into_iter().filter(|sentence| *sentence != SENDER_RECEIVES).collect()
    }

    /// What such hosts cannot show, a sentence each.
    pub fn cannot_show(&self) -> Vec<&'static str> {
        if self.other().is_some() {
            return vec![
                "The fingerprint is that of the receiver's host. Keep a result of the sender's host with it: `evforge measure link --interface \
                 NAME --output FOLDER` there.",
                "Latencies are true only as far as both clocks agree.",
            ];
        }
        let mut sentences = vec![
            "There is no wire and no network card: neither limits the rate, loses a frame or makes an interrupt.",
            SENDER_RECEIVES,
            "Both ends share processor caches, memory bandwidth and the clock.",
        ];
        if !self.has_namespaces() {
            sentences.push(
                "Loopback hands packets on by itself, with an MTU of 65536: there is no fragmentation and no interface queue.",
            );
        }
        sentences
    }
}

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
pub mod within;

pub use error::TwoHostsError;

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

/// Two hosts; those in namespaces vanish with the process.
pub struct TwoHosts {
    /// None on loopback, and with another host.
    link: Option<Link>,
    other: Option<OtherHost>,
}

/// Outside of namespaces, which end with their first process, a program has to be told that it is to end with this one.
fn ending_with_this(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

impl TwoHosts {
    /// Both ends are this host.
    pub const fn on_loopback() -> Self {
        Self { link: None, other: None }
    }

    /// This host receives, and another one sends.
    pub const fn with_other(other: OtherHost) -> Self {
        Self { link: None, other: Some(other) }
    }

    /// The other host, if there is one.
    pub const fn other(&self) -> Option<&OtherHost> {
        self.other.as_ref()
    }

    /// Two namespaces, with interfaces that take packets of `mtu` bytes. The receiver's is that of this process, which must be in
    /// namespaces of its own ([`within`]). Segments are cut before the link, as a network card does it: else pieces of up to 64
    /// packets would travel as one, which no wire carries.
    ///
    /// # Errors
    /// If `ip` or `ethtool` is missing or fails.
    pub fn in_namespaces(mtu: u32) -> Result<Self, TwoHostsError> {
        Ok(Self { link: Some(Link::lay(mtu)?), other: None })
    }

    /// A program at one end: without input, and without what the environment says of options of evforge, which the measurement
    /// sets itself.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Command {
        let mut command = match (&self.link, &self.other, end) {
            (_, Some(other), End::Sender) => {
                let mut command = ending_with_this(program);
                command.args(["measure", "at", &other.agent.to_string(), "--token-file"]);
                command.arg(&other.token_file).arg("--");
                command
            }
            (Some(link), None, End::Sender) => {
                let mut command = Command::new("nsenter");
                command.args(link.sender_namespaces()).arg("--").arg(program);
                command
            }
            (Some(_), _, _) => Command::new(program),
            (None, _, _) => ending_with_this(program),
        };
        let options = std::env::vars_os().map(|(name, _)| name);
        for name in options.filter(|name| name.to_string_lossy().starts_with("EVFORGE_")) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The address of an end.
    pub fn address(&self, end: End) -> IpAddr {
        match (&self.link, end) {
            (None, end) => match (&self.other, end) {
                (None, _) => Ipv4Addr::LOCALHOST.into(),
                (Some(other), End::Sender) => other.agent.ip(),
                (Some(other), End::Receiver) => other.address,
            },
            (Some(_), End::Sender) => link::SENDER_ADDRESS.into(),
            (Some(_), End::Receiver) => link::RECEIVER_ADDRESS.into(),
        }
    }

    /// The network interface of an end; empty if it is not known.
    pub fn interface(&self, end: End) -> &str {
        match (&self.link, end) {
            (None, end) => match (&self.other, end) {
                (None, _) => "lo",
                (Some(other), End::Receiver) => other.interface.as_deref().unwrap_or_default(),
                (Some(_), End::Sender) => "",
            },
            (Some(_), End::Sender) => link::SENDER,
            (Some(_), End::Receiver) => link::RECEIVER,
        }
    }

    /// True if there are two network namespaces.
    pub const fn has_namespaces(&self) -> bool {
        self.link.is_some()
    }

    /// What such hosts cannot show, a sentence each.
    pub fn cannot_show(&self) -> Vec<&'static str> {
        if self.other.is_some() {
            return vec![
                "The fingerprint is that of the receiver's host. Keep a result of the sender's host with it: `evforge measure link --interface \
                 NAME --output FOLDER` there.",
                "Latencies are true only as far as both clocks agree.",
            ];
        }
        let mut sentences = vec![
            "There is no wire and no network card: neither limits the rate, loses a frame or makes an interrupt.",
            "The sender's core does the kernel's work of receiving (softirq) while it sends, so that its speed limits both, and an \
             error ratio of 0 says little about the receiver.",
            "Both ends share processor caches, memory bandwidth and the clock.",
        ];
        if self.link.is_none() {
            sentences.push(
                "Loopback hands packets on by itself, with an MTU of 65536: there is no fragmentation and no interface queue.",
            );
        }
        sentences
    }
}

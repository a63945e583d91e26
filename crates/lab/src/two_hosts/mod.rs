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

mod error;
mod link;
pub mod within;

pub use error::TwoHostsError;

use link::Link;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where packets come from.
    Sender,
    /// Where they go to.
    Receiver,
}

/// Two hosts; those in namespaces vanish with the process.
pub struct TwoHosts {
    /// None on loopback.
    link: Option<Link>,
}

impl TwoHosts {
    /// Both ends are this host.
    pub const fn on_loopback() -> Self {
        Self { link: None }
    }

    /// Two namespaces, with interfaces that take packets of `mtu` bytes. The receiver's is that of this process, which must be in
    /// namespaces of its own ([`within`]). Segments are cut before the link, as a network card does it: else pieces of up to 64
    /// packets would travel as one, which no wire carries.
    ///
    /// # Errors
    /// If `ip` or `ethtool` is missing or fails.
    pub fn in_namespaces(mtu: u32) -> Result<Self, TwoHostsError> {
        Ok(Self { link: Some(Link::lay(mtu)?) })
    }

    /// A program at one end: without input, and without what the environment says of options of evforge, which the measurement
    /// sets itself.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Command {
        let mut command = match (&self.link, end) {
            (Some(link), End::Sender) => {
                let mut command = Command::new("nsenter");
                command.args(link.sender_namespaces()).arg("--").arg(program);
                command
            }
            _ => Command::new(program),
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
            (None, _) => Ipv4Addr::LOCALHOST.into(),
            (Some(_), End::Sender) => link::SENDER_ADDRESS.into(),
            (Some(_), End::Receiver) => link::RECEIVER_ADDRESS.into(),
        }
    }

    /// The network interface of an end.
    pub const fn interface(&self, end: End) -> &'static str {
        match (&self.link, end) {
            (None, _) => "lo",
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

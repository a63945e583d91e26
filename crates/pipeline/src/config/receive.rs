//! The `[receive]` and `[cores]` sections: how packets come in live.

use evforge_core::quantity::{ByteSize, Duration};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};

/// `[receive]`: the UDP socket.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveSettings {
    /// Local address and port. A multicast address is joined, too.
    pub address: SocketAddr,
    /// Multicast groups to join.
    pub groups: Vec<MulticastGroup>,
    /// Receive buffer to ask the kernel for.
    pub buffer: ByteSize,
    /// Let the kernel hand over several datagrams in one piece (UDP_GRO).
    pub coalesce: bool,
    /// Memory for one datagram without `coalesce`; larger ones are cut and counted.
    pub slot: ByteSize,
    /// How long to spin for packets before sleeping.
    pub spin: Duration,
}

/// A multicast group to receive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MulticastGroup {
    /// Its address.
    pub address: IpAddr,
    /// The network interface to receive it from; none: that of the route to it.
    pub interface: Option<String>,
}

impl Default for ReceiveSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([0, 0, 0, 0], 6006)),
            groups: Vec::new(),
            buffer: ByteSize { bytes: 16_000_000 },
            coalesce: true,
            slot: ByteSize { bytes: 9216 },
            spin: Duration { picoseconds: 50_000_000 },
        }
    }
}

impl ReceiveSettings {
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let refuse = |key: &str, problem: &str| {
            Err(SettingsError { key: format!("receive.{key}"), problem: problem.to_owned() })
        };
        if !(1..1 << 30).contains(&self.buffer.bytes) {
            return refuse("buffer", "must be in 1B..1GiB");
        }
        if let Some(group) = self.groups.iter().find(|group| !group.address.is_multicast()) {
            let problem = format!(
                "{} is no multicast address: those are 224.0.0.0 to 239.255.255.255, and ff00:: and above",
                group.address
            );
            return refuse("groups", &problem);
        }
        if !(1..=1 << 16).contains(&self.slot.bytes) {
            return refuse("slot", "must be in 1B..=64KiB");
        }
        Ok(())
    }
}

/// `[cores]`: which processor core each thread is kept on. Threads that are not named go where the system
/// puts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoreSettings {
    /// The thread that receives (with `input.threads = 1` it forms as well).
    pub receive: Option<usize>,
    /// The thread that forms events, with `input.threads = 2`.
    pub form: Option<usize>,
}

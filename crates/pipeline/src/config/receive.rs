//! The `[receive]` and `[cores]` sections: how packets come in live.

use evforge_core::quantity::{ByteSize, Duration};
use evforge_detect::settings::SettingsError;
use serde::Deserialize;
use std::net::SocketAddr;

/// `[receive]`: the UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveSettings {
    /// Local address and port.
    pub address: SocketAddr,
    /// Receive buffer to ask the kernel for.
    pub buffer: ByteSize,
    /// Let the kernel hand over several datagrams in one piece (UDP_GRO).
    pub coalesce: bool,
    /// Memory for one datagram without `coalesce`; larger ones are cut and counted.
    pub slot: ByteSize,
    /// How long to spin for packets before sleeping.
    pub spin: Duration,
}

impl Default for ReceiveSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([0, 0, 0, 0], 6006)),
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

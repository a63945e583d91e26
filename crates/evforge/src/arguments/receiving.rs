//! Where and how packets are received, for the commands that form their events live.

use super::Method;
use clap::Args;
use evforge_config::Config;
use evforge_core::endpoint::host;
use std::net::{IpAddr, SocketAddr};

/// Where and how packets are received.
#[derive(Args)]
pub(crate) struct ReceivingArguments {
    /// Receive at this local address [configuration: receive.address]
    #[arg(long, short = 'i', env = "EVFORGE_ADDRESS", value_name = "HOST", value_parser = host, help_heading = "Receiving")]
    address: Option<IpAddr>,
    /// Receive at this UDP port [configuration: receive.address]; from a capture, take only what was sent to it
    #[arg(long, short = 'p', env = "EVFORGE_PORT", value_name = "PORT", help_heading = "Receiving")]
    pub(crate) port: Option<u16>,
    /// Receive by AF_XDP (xdp), through a kernel socket (socket), or whichever suits (auto) [configuration: receive.method]
    #[arg(long, env = "EVFORGE_RECEIVE", value_name = "METHOD", help_heading = "Receiving")]
    receive: Option<Method>,
    /// Receive from this network interface by AF_XDP [configuration: receive.interface]
    #[arg(long, env = "EVFORGE_INTERFACE", value_name = "NAME", help_heading = "Receiving")]
    interface: Option<String>,
}

impl ReceivingArguments {
    /// Puts address, port and method into a configuration.
    pub(crate) fn apply(&self, config: &mut Config) {
        let configured = config.receive.address;
        let address = self.address.unwrap_or(configured.ip());
        config.receive.address = SocketAddr::new(address, self.port.unwrap_or(configured.port()));
        if let Some(method) = self.receive {
            config.receive.method = method.setting();
        }
    }

    /// Keys of the configuration that have to be there when it is read, with the options that set them.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let interface = |name: &String| (format!("receive.interface={name:?}"), "--interface".to_owned());
        self.interface.iter().map(interface)
    }
}

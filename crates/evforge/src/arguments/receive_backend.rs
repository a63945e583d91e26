//! The receive backend, for commands that receive without a configuration.

use clap::Args;
use evforge_core::endpoint::host;
use evforge_net::live_receiver::ReceiveMethod;
use std::net::IpAddr;

/// The receive backend, for commands that receive without a configuration.
#[derive(Args)]
pub(crate) struct WayArguments {
    /// Receive at this local address
    #[arg(
        long,
        short = 'i',
        env = "EVFORGE_ADDRESS",
        value_name = "HOST",
        default_value = "0.0.0.0",
        value_parser = host,
        help_heading = "Receiving"
    )]
    pub(crate) address: IpAddr,
    /// Receive by AF_XDP (xdp), through a kernel socket (socket), or whichever suits (auto); see docs/receive.md
    #[arg(
        long,
        env = "EVFORGE_RECEIVE",
        value_name = "METHOD",
        default_value = "auto",
        help_heading = "Receiving"
    )]
    pub(crate) receive: Method,
    /// Receive from this network interface by AF_XDP; one thread then takes all ports
    #[arg(long, env = "EVFORGE_INTERFACE", value_name = "NAME", help_heading = "Receiving")]
    pub(crate) interface: Option<String>,
}

/// Ways to receive, by the names of the configuration.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Method {
    /// By AF_XDP where an interface is named and its driver runs XDP programs itself, else through a socket
    Auto,
    /// Through a kernel socket, without privileges
    Socket,
    /// By AF_XDP, or not at all
    Xdp,
}

impl Method {
    /// The same in a configuration.
    pub(crate) fn setting(self) -> ReceiveMethod {
        match self {
            Self::Auto => ReceiveMethod::Auto,
            Self::Socket => ReceiveMethod::Socket,
            Self::Xdp => ReceiveMethod::Xdp,
        }
    }
}

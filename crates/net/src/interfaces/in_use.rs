//! Which interfaces are asked for, and why their counters could not be read.

use std::fmt;
use std::io;
use std::net::IpAddr;

/// Which interfaces packets come in by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfacesInUse {
    /// The one with this name.
    Named(String),
    /// The one that has this address of the host; all that are up for `0.0.0.0`, `[::]`, and groups.
    OfAddress(IpAddr),
}

/// The counters of interfaces could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfacesError {
    /// There is no such interface, or none with this address.
    None(InterfacesInUse),
    /// The kernel did not answer.
    Unreadable(#[source] io::Error),
}

impl fmt::Display for InterfacesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None(InterfacesInUse::Named(name)) => {
                write!(f, "there is no network interface {name:?}. See which there are: ip -brief link")
            }
            Self::None(InterfacesInUse::OfAddress(address)) => write!(
                f,
                "no network interface has the address {address}. See which they have: ip -brief address"
            ),
            Self::Unreadable(error) => {
                write!(f, "the kernel does not tell the counters of network interfaces (rtnetlink): {error}")
            }
        }
    }
}

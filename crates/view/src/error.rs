//! What can go wrong when a live view is started, told to a person.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// A live view cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum ViewError {
    /// The address and port could not be taken.
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// An option is outside its range.
    Option {
        /// The option's name.
        option: &'static str,
        /// What it was.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// The system gave no thread or no memory for the server.
    Start {
        /// The system's reason.
        source: io::Error,
    },
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, source } => {
                write!(f, "the live view cannot listen on http://{address}: ")?;
                let port = address.port();
                match source.kind() {
                    ErrorKind::AddrInUse => write!(
                        f,
                        "another program has TCP port {port}. `ss -ltnp 'sport = :{port}'` shows which; choose \
                         another port (port 0 takes any that is free)"
                    ),
                    ErrorKind::AddrNotAvailable => write!(
                        f,
                        "this host has no address {}. `ip -brief address` lists those it has; 127.0.0.1 is for \
                         browsers on this host, 0.0.0.0 for all",
                        address.ip()
                    ),
                    ErrorKind::PermissionDenied => write!(
                        f,
                        "port {port} is reserved to the system's administrator. Choose a port from 1024 to 65535"
                    ),
                    _ => write!(f, "{source}"),
                }
            }
            Self::Option { option, found, expected } => {
                write!(f, "the live view's {option} is {found}; it must be {expected}")
            }
            Self::Start { source } => {
                write!(f, "the live view's server could not be started: {source}")
            }
        }
    }
}

impl std::error::Error for ViewError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen { source, .. } | Self::Start { source } => Some(source),
            Self::Option { .. } => None,
        }
    }
}

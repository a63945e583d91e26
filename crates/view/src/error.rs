//! What can go wrong when a live view is started, in words for a person.

use crate::views::ViewFileError;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// A live view cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The address and port could not be taken.
    #[error("the live view cannot listen on http://{address}: {}", listen_reason(*.address, .source))]
    Listen {
        /// The address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// An option is outside its range.
    #[error("the live view's {option} is {found}; it must be {expected}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What it was.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// A file of views does not fit the pictures.
    #[error("the live view's views: {0}")]
    Views(#[from] ViewFileError),
    /// The system gave no thread or no memory for the server.
    #[error("the live view's server could not be started: {source}")]
    Start {
        /// The system's reason.
        source: io::Error,
    },
}

fn listen_reason(address: SocketAddr, source: &io::Error) -> String {
    let port = address.port();
    match source.kind() {
        ErrorKind::AddrInUse => format!(
            "another program has TCP port {port}. `ss -ltnp 'sport = :{port}'` shows which; choose another port (port 0 \
             takes any that is free)"
        ),
        ErrorKind::AddrNotAvailable => format!(
            "this host has no address {}. `ip -brief address` lists those it has; 127.0.0.1 is for browsers on this host, \
             0.0.0.0 for all",
            address.ip()
        ),
        ErrorKind::PermissionDenied => {
            format!("port {port} is reserved to the system's administrator. Choose a port from 1024 to 65535")
        }
        _ => source.to_string(),
    }
}

//! Why AF_XDP cannot be had, in words for the person at the terminal.

use std::fmt;
use std::io;

use crate::helper::Helper;
use crate::socket::ReceiveError;

/// Packets cannot be received by AF_XDP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XdpError {
    /// An option is outside its range.
    Option {
        /// The option's name.
        option: &'static str,
        /// What it was.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// There is no such interface, or it cannot be asked.
    Interface {
        /// Its name.
        interface: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The process lacks privileges.
    Privileges {
        /// Names of the capabilities that are missing, each with its purpose.
        missing: Vec<(&'static str, &'static str)>,
    },
    /// The steering program could not be loaded.
    Program {
        /// The system's reason.
        source: io::Error,
    },
    /// The memory could not be locked.
    Memory {
        /// Bytes needed by one queue.
        needed: u64,
        /// Queues.
        queues: usize,
        /// Bytes allowed to this process altogether.
        allowed: Option<u64>,
        /// The system's reason.
        source: io::Error,
    },
    /// Every way that was tried has been refused.
    Refused {
        /// The interface.
        interface: String,
        /// Each way with the reason.
        reasons: Vec<String>,
        /// Another program is attached to the interface, or another socket has a queue.
        in_use: bool,
    },
    /// The helper has not granted it.
    NotGranted {
        /// Its reason, in whole sentences.
        message: String,
    },
    /// The kernel socket alongside could not be opened or failed.
    Beside(#[source] ReceiveError),
    /// The system failed to receive.
    Receive {
        /// The interface.
        interface: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl fmt::Display for XdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { option, value, expected } => {
                write!(f, "the AF_XDP option {option} is {value}; it must be {expected}.")
            }
            Self::Interface { interface, source } if source.kind() == io::ErrorKind::NotFound => write!(
                f,
                "there is no network interface {interface:?} here. See which there are: ip -brief link"
            ),
            Self::Interface { interface, source } => {
                write!(f, "the network interface {interface} cannot be asked for its properties: {source}.")
            }
            Self::Privileges { missing } => {
                write!(f, "this process may not use AF_XDP: it lacks ")?;
                for (index, (name, purpose)) in missing.iter().enumerate() {
                    write!(f, "{}{name} (for {purpose})", if index > 0 { ", " } else { "" })?;
                }
                write!(
                    f,
                    ", and no evforge-helper that has it was found. Give the helper what it needs: {}; who may receive \
                     what is in /etc/evforge/helper.toml (docs/receive.md). Or receive without privileges: --receive socket",
                    Helper::install_command()
                )
            }
            Self::Program { source } => {
                write!(f, "the kernel refuses the program that steers packets to AF_XDP: {source}.")?;
                match source.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES) => write!(
                        f,
                        " It needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN outside of any user namespace (containers \
                         without root have one)."
                    ),
                    _ => write!(f, " It is written for Linux 5.10 and later."),
                }
            }
            Self::Memory { needed, queues, allowed, source } => {
                write!(
                    f,
                    "AF_XDP needs {:.0} MB of locked memory for {}, which the kernel refuses: {source}. ",
                    (*needed as f64 * *queues as f64 / 1e6).ceil(),
                    if *queues == 1 { "one queue".to_owned() } else { format!("{queues} queues") },
                )?;
                if let Some(allowed) = allowed {
                    write!(f, "This process may lock {:.1} MB. ", *allowed as f64 / 1e6)?;
                }
                write!(
                    f,
                    "Allow more: ulimit -l unlimited, in a systemd unit LimitMEMLOCK=infinity, or give evforge-helper \
                     CAP_IPC_LOCK; or take less: receive.ring"
                )
            }
            Self::Refused { interface, reasons, in_use } => {
                write!(f, "{interface} cannot be received from by AF_XDP: {}.", reasons.join("; "))?;
                if *in_use {
                    write!(
                        f,
                        " Another program has the interface or a queue of it. See which: ip link show {interface}; sudo \
                         bpftool net"
                    )?;
                }
                Ok(())
            }
            Self::NotGranted { message } => f.write_str(message),
            Self::Beside(error) => error.fmt(f),
            Self::Receive { interface, source } => {
                write!(f, "receiving from {interface} by AF_XDP failed: {source}.")
            }
        }
    }
}

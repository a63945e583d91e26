//! Where a link is measured: between two network namespaces of this host, or over loopback.

use super::link::bytes;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_control::token::Token;
use evforge_core::endpoint::endpoint;
use evforge_lab::two_hosts::{OtherHost, TwoHosts, within};
use evforge_net::affinity::allowed_cores;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where a link is measured, and its MTU.
#[derive(Args)]
pub(super) struct HostsArguments {
    #[command(flatten)]
    ends: EndsArguments,
    /// MTU of the link between the namespaces, in bytes
    #[arg(long, value_name = "BYTES", default_value = "9000", value_parser = bytes, help_heading = "Hosts")]
    pub(super) mtu: u32,
}

/// Whether namespaces are made.
#[derive(Args)]
pub(super) struct PlaceArguments {
    /// Measure over loopback, and not between two network namespaces: possible everywhere, and shows less
    #[arg(long, help_heading = "Hosts")]
    loopback: bool,
    /// How this command starts itself in there
    #[arg(long = "within-namespaces", hide = true)]
    is_within: bool,
}

/// Where a link is measured, whatever its MTU.
#[derive(Args)]
pub(super) struct EndsArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Core of the sender [default: the first that is allowed; of another host: 0]
    #[arg(long, value_name = "CORE", help_heading = "Hosts")]
    sender_core: Option<usize>,
    /// Core of the receiver [default: the last that is allowed]
    #[arg(long, value_name = "CORE", help_heading = "Hosts")]
    receiver_core: Option<usize>,
}

/// Another host that sends.
#[derive(Args)]
pub(super) struct OtherHostArguments {
    /// Send from another host, where `evforge measure agent` listens at this address
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, requires_all = ["token_file", "address"], conflicts_with = "loopback", help_heading = "Another host")]
    sender: Option<SocketAddr>,
    /// File with the token of the agent
    #[arg(long, value_name = "FILE", help_heading = "Another host")]
    token_file: Option<PathBuf>,
    /// Address of this host that packets are sent to
    #[arg(long, value_name = "ADDRESS", requires = "sender", help_heading = "Another host")]
    address: Option<IpAddr>,
    /// Network interface that they come in by: for the fingerprint, and for method xdp
    #[arg(long, value_name = "NAME", requires = "sender", help_heading = "Another host")]
    interface: Option<String>,
}

impl OtherHostArguments {
    /// Whether another host sends.
    pub(super) fn is_given(&self) -> bool {
        self.sender.is_some()
    }

    fn host(&self) -> Option<OtherHost> {
        let (agent, token_file, address) = (self.sender?, self.token_file.clone()?, self.address?);
        Some(OtherHost { agent, token_file, address, interface: self.interface.clone() })
    }
}

/// What to do.
pub(super) enum Hosts {
    /// It has been done in namespaces, by the same command.
    Done(ExitStatus),
    /// Measure here.
    Here(Here),
}

/// Measure here.
pub(super) struct Here {
    pub(super) hosts: TwoHosts,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) sender_core: usize,
    pub(super) receiver_core: usize,
}

/// Where this process is.
pub(super) enum Place {
    /// It has been done in namespaces, by the same command.
    Done(ExitStatus),
    /// In namespaces of its own, if they are wanted. What is set ends it.
    Here { has_namespaces: bool, stop: Arc<AtomicBool> },
}

impl PlaceArguments {
    /// Whether the hosts are network namespaces.
    pub(super) fn has_namespaces(&self) -> bool {
        !self.loopback
    }

    /// Enters namespaces, by running the command again in there, or stays here.
    pub(super) fn enter(&self) -> Result<Place, CommandError> {
        let stop = stop_on_signals()?;
        if self.is_within {
            within::end_with_starter(Arc::clone(&stop));
            return Ok(Place::Here { has_namespaces: true, stop });
        }
        if self.loopback {
            return Ok(Place::Here { has_namespaces: false, stop });
        }
        if !within::is_possible() {
            return Err("network namespaces cannot be had here: run this as root, allow users to make them \
                        (sudo sysctl -w kernel.unprivileged_userns_clone=1), or give --loopback, which shows less"
                .into());
        }
        let status = within::run_again(std::env::args_os().skip(1), &stop)?;
        Ok(Place::Done(status.code().map_or(ExitStatus::Failed, ExitStatus::of_number)))
    }
}

impl HostsArguments {
    /// Whether the hosts are network namespaces.
    pub(super) fn has_namespaces(&self) -> bool {
        self.ends.has_namespaces()
    }

    /// As [`HostsArguments::prepare`], or with another host.
    pub(super) fn prepare_with(&self, other: &OtherHostArguments) -> Result<Hosts, CommandError> {
        self.ends.prepare_with(other, self.mtu)
    }

    /// Prepares the hosts, or runs the command again in namespaces.
    pub(super) fn prepare(&self) -> Result<Hosts, CommandError> {
        self.ends.prepare(self.mtu)
    }
}

impl EndsArguments {
    /// Whether the hosts are network namespaces.
    pub(super) fn has_namespaces(&self) -> bool {
        self.place.has_namespaces()
    }

    /// As [`EndsArguments::prepare`], or with another host.
    pub(super) fn prepare_with(&self, other: &OtherHostArguments, mtu: u32) -> Result<Hosts, CommandError> {
        match other.host() {
            Some(other) => {
                // A token that cannot be used is said before anything is measured.
                Token::read(&other.token_file)?;
                self.here(TwoHosts::with_other(other), stop_on_signals()?)
            }
            None => self.prepare(mtu),
        }
    }

    /// Prepares the hosts, or runs the command again in namespaces with a link of this MTU between them.
    fn prepare(&self, mtu: u32) -> Result<Hosts, CommandError> {
        match self.place.enter()? {
            Place::Done(status) => Ok(Hosts::Done(status)),
            Place::Here { has_namespaces: true, stop } => self.here(TwoHosts::in_namespaces(mtu)?, stop),
            Place::Here { has_namespaces: false, stop } => self.here(TwoHosts::on_loopback(), stop),
        }
    }

    fn here(&self, hosts: TwoHosts, stop: Arc<AtomicBool>) -> Result<Hosts, CommandError> {
        let cores = allowed_cores()?;
        // Which cores another host allows is not known here.
        let of_sender = cores.first().filter(|_| hosts.other().is_none());
        let (first, last) = (of_sender.copied().unwrap_or(0), cores.last().copied().unwrap_or(0));
        let (sender_core, receiver_core) =
            (self.sender_core.unwrap_or(first), self.receiver_core.unwrap_or(last));
        Ok(Hosts::Here(Here { hosts, stop, sender_core, receiver_core }))
    }
}

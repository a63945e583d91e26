//! The same names on systems other than Linux: they cannot be opened, and say so.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use evforge_core::packet::PacketSlab;

use super::counters::XdpCounters;
use super::error::XdpError;
use super::options::{XdpMode, XdpOptions};
use crate::readiness::Readiness;
use crate::socket::{ReceiveError, ReceiverCounters, SocketDrops};

/// Receives UDP datagrams by AF_XDP; on this operating system it cannot be opened.
#[derive(Debug)]
pub struct XdpReceiver(Infallible);

impl XdpReceiver {
    /// Fails.
    ///
    /// # Errors
    /// Always, on this operating system.
    pub fn open(_: &XdpOptions) -> Result<Self, XdpError> {
        Err(XdpError::NotOnThisSystem)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn join(&self, _: IpAddr, _: Option<&str>) -> Result<(), ReceiveError> {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn receive(&mut self, _: &mut PacketSlab, _: Instant) -> Result<usize, XdpError> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn alarms(&self) -> Vec<String> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn notes(&self) -> Vec<String> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn description(&self) -> String {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn mode(&self) -> Option<XdpMode> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn is_zero_copy(&self) -> bool {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn warnings(&self) -> &[String] {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn counters(&self) -> ReceiverCounters {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn xdp_counters(&self) -> Result<XdpCounters, XdpError> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn discarded(&self) -> u64 {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn drops(&self) -> Result<SocketDrops, XdpError> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn local_address(&self) -> SocketAddr {
        match self.0 {}
    }

    pub(crate) fn watch(&self, _: &mut Readiness) {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn memory_bound(&self) -> usize {
        match self.0 {}
    }
}

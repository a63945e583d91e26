//! The same names on systems other than Linux: they cannot be opened, and say so.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use evforge_core::packet::{PacketBatch, PacketSlab};

use super::error::{ReceiveError, SendError};
use super::options::{ReceiverOptions, SenderOptions};
use super::report::{ReceiveBuffer, ReceiverCounters, SendReport, SocketDrops};
use crate::readiness::Readiness;

/// Receives UDP datagrams; on this operating system it cannot be opened.
#[derive(Debug)]
pub struct UdpReceiver(Infallible);

impl UdpReceiver {
    /// Fails.
    ///
    /// # Errors
    /// Always, on this operating system.
    pub fn open(_: &ReceiverOptions) -> Result<Self, ReceiveError> {
        Err(ReceiveError::NotOnThisSystem)
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
    pub fn receive(&mut self, _: &mut PacketSlab, _: Instant) -> Result<usize, ReceiveError> {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn drops(&self) -> Result<SocketDrops, ReceiveError> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn buffer(&self) -> ReceiveBuffer {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn coalesces(&self) -> bool {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn warnings(&self) -> &[String] {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn counters(&self) -> &ReceiverCounters {
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

/// Sends UDP datagrams; on this operating system it cannot be opened.
#[derive(Debug)]
pub struct UdpSender(Infallible);

impl UdpSender {
    /// Fails.
    ///
    /// # Errors
    /// Always, on this operating system.
    pub fn open(_: &SenderOptions) -> Result<Self, SendError> {
        Err(SendError::NotOnThisSystem)
    }

    /// Fails.
    ///
    /// # Errors
    /// Always, on this operating system.
    pub fn open_by(_: &SenderOptions, _: Option<&str>) -> Result<Self, SendError> {
        Err(SendError::NotOnThisSystem)
    }

    /// Fails.
    ///
    /// # Errors
    /// Always, on this operating system.
    pub fn open_by_xdp(_: &SenderOptions, _: &str) -> Result<Self, SendError> {
        Err(SendError::NotOnThisSystem)
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn send(&mut self, _: &PacketBatch<'_>, _: usize, _: Instant) -> Result<usize, SendError> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn report(&self) -> SendReport {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn sources(&self) -> usize {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn local_address(&self) -> SocketAddr {
        match self.0 {}
    }
}

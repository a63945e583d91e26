//! What there is to know about a network interface before its frames are taken.

use std::ffi::{CString, c_char};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// A network interface of this network namespace.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interface {
    /// Its number.
    pub(crate) index: u32,
    /// Most bytes of an IP packet in one frame.
    pub(crate) mtu: usize,
    /// Queues that frames are received in; none if the driver does not tell.
    pub(crate) queues: Option<u32>,
    /// Name of its driver; none if it does not tell.
    pub(crate) driver: Option<String>,
    /// Places of its receive ring, now and at most; none if it has none or does not tell.
    pub(crate) ring: Option<(u32, u32)>,
}

/// Bytes of a frame around an IP packet: addresses and kind, two VLAN tags.
pub(crate) const AROUND: usize = 14 + 2 * 4;

impl Interface {
    /// Looks for the interface called `name`.
    pub(crate) fn find(name: &str) -> io::Result<Self> {
        let unknown = || io::Error::from(io::ErrorKind::NotFound);
        let terminated = CString::new(name).map_err(|_| unknown())?;
        // SAFETY: a string that ends in 0.
        let index = unsafe { libc::if_nametoindex(terminated.as_ptr()) };
        if index == 0 || name.len() >= libc::IFNAMSIZ {
            return Err(unknown());
        }
        // Any socket can ask.
        let socket = UdpSocket::bind(("0.0.0.0", 0)).or_else(|_| UdpSocket::bind(("::", 0)))?;
        let mut request = request(name);
        ask(&socket, libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        Ok(Self {
            index,
            mtu: usize::try_from(mtu).unwrap_or(0),
            queues: queues(&socket, name),
            driver: driver(&socket, name),
            ring: ring(&socket, name),
        })
    }

    /// Most bytes of a frame.
    pub(crate) fn largest_frame(&self) -> usize {
        self.mtu + AROUND
    }
}

/// `struct ethtool_channels` of include/uapi/linux/ethtool.h.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_drvinfo`, of which only the name is read.
#[repr(C)]
struct Driver {
    command: u32,
    name: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_ringparam`: receive, small, jumbo and transmit ring, first the most that can be.
#[repr(C)]
#[derive(Default)]
struct Rings {
    command: u32,
    most: [u32; 4],
    receive: u32,
    others: [u32; 3],
}

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// A request about the interface with this name.
pub(crate) fn request(name: &str) -> libc::ifreq {
    // SAFETY: made of integers and a raw pointer, for which all zeros is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, &byte) in request.ifr_name.iter_mut().zip(name.as_bytes().iter().take(libc::IFNAMSIZ - 1)) {
        *place = byte as c_char;
    }
    request
}

/// Asks the kernel.
pub(crate) fn ask(socket: &UdpSocket, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the request is valid for reads and writes, and where it has a pointer, so is what that leads to.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_mut(request)) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn queues(socket: &UdpSocket, name: &str) -> Option<u32> {
    let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    ask(socket, libc::SIOCETHTOOL, &mut request).ok()?;
    Some(channels.receive.saturating_add(channels.combined)).filter(|&queues| queues > 0)
}

fn ring(socket: &UdpSocket, name: &str) -> Option<(u32, u32)> {
    let mut rings = Rings { command: ETHTOOL_GRINGPARAM, ..Rings::default() };
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut rings).cast();
    ask(socket, libc::SIOCETHTOOL, &mut request).ok()?;
    Some((rings.receive, rings.most[0])).filter(|(_, most)| *most > 0)
}

fn driver(socket: &UdpSocket, name: &str) -> Option<String> {
    let mut driver = Driver { command: ETHTOOL_GDRVINFO, name: [0; 32], rest: [0; 160] };
    let mut request = request(name);
    request.ifr_ifru.ifru_data = (&raw mut driver).cast();
    ask(socket, libc::SIOCETHTOOL, &mut request).ok()?;
    let end = driver.name.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&driver.name[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known_and_one_without_existence_is_not() {
        let loopback = Interface::find("lo").unwrap();
        assert!(loopback.index > 0 && loopback.mtu >= 1500, "{loopback:?}");
        for unknown in ["no-such-if", "", "a\0b", "a-name-that-is-longer-than-any"] {
            assert_eq!(Interface::find(unknown).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}

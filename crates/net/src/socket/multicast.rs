//! Joining multicast groups.

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;

use socket2::{InterfaceIndexOrAddress, SockRef};

use super::option;

/// Joins `group` on the interface with this name; without one, on that of the route to the group. The socket gets packets of
/// the groups that it has joined itself, and not of those that other programs have joined.
pub(super) fn join(socket: &UdpSocket, group: IpAddr, interface: Option<&str>) -> io::Result<()> {
    let index = interface.map_or(Ok(0), index_of)?;
    let reference = SockRef::from(socket);
    match group {
        IpAddr::V4(group) => {
            option::set_number(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, 0)?;
            reference.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(index))
        }
        IpAddr::V6(group) => {
            option::set_number(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_ALL, 0)?;
            reference.join_multicast_v6(&group, index)
        }
    }
}

/// The kernel's number of an interface.
fn index_of(name: &str) -> io::Result<u32> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the name is a text that ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

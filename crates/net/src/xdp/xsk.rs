//! The calls of the system that AF_XDP sockets need (Linux, Documentation/networking/af_xdp.rst).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::memory::Mapping;
use super::options::FRAME_MEMORY;

/// Makes a socket.
pub(super) fn open() -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the result is checked.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Lends memory for frames to the kernel. It must live longer than the socket.
pub(super) fn lend(socket: BorrowedFd<'_>, memory: &Mapping) -> io::Result<()> {
    let area = libc::xdp_umem_reg {
        addr: memory.base().as_ptr() as u64,
        len: memory.length() as u64,
        chunk_size: FRAME_MEMORY as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set(socket, libc::XDP_UMEM_REG, &area)
}

/// Takes a queue of an interface.
pub(super) fn bind(socket: BorrowedFd<'_>, interface: u32, queue: u32, flags: u16) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is valid for reads of the length given, and the kernel keeps no pointer.
    let status = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the kernel send what is in the ring.
pub(super) fn wake(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no memory is handed over.
    let status = unsafe {
        libc::sendto(socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
    };
    if status >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Values that the kernel takes and gives as they lie in memory.
pub(super) trait Plain: Copy {}
impl Plain for u32 {}
impl Plain for libc::xdp_umem_reg {}
impl Plain for libc::xdp_mmap_offsets {}
impl Plain for libc::xdp_options {}
impl Plain for libc::xdp_statistics {}

/// Sets an option of the socket.
pub(super) fn set<T: Plain>(socket: BorrowedFd<'_>, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is valid for reads of the length given, and the kernel keeps no pointer.
    let status = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, std::ptr::from_ref(value).cast(), length)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option of the socket. What an older kernel does not fill stays 0.
pub(super) fn get<T: Plain>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
    // SAFETY: values of `Plain` types are made of integers, for which all zeros is valid.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: both pointers are valid for writes of the lengths given, and any bytes are valid integers.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            name,
            std::ptr::from_mut(&mut value).cast(),
            &mut length,
        )
    };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

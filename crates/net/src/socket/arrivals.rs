//! One batched receive call: datagrams into slots of memory, and what the kernel says about each.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Most datagrams taken in one call.
pub(super) const MOST: usize = 64;

/// What the kernel says about one datagram, or one piece of several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Bytes it had, even if its slot is smaller.
    pub(super) length: usize,
    /// Where it came from.
    pub(super) source: SocketAddr,
    /// Bytes of each datagram of the piece but the last, which may be shorter; none for a single one.
    pub(super) segment: Option<usize>,
    /// Nanoseconds since the Unix epoch, if the kernel was asked to stamp.
    pub(super) stamp_ns: Option<u64>,
}

const NOWHERE: Arrival = Arrival {
    length: 0,
    source: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    segment: None,
    stamp_ns: None,
};

/// Memory for the control messages of one datagram: a segment size (24 bytes) and a time stamp (32).
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Memory for the answers of one receive call.
pub(super) struct Arrivals {
    sources: Box<[libc::sockaddr_in6; MOST]>,
    controls: Box<[Control; MOST]>,
    arrivals: Box<[Arrival; MOST]>,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        // SAFETY: an address is made of integers, for which all zeros is a valid value.
        let nobody: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
        Self {
            sources: Box::new([nobody; MOST]),
            controls: Box::new([Control([0; 128]); MOST]),
            arrivals: Box::new([NOWHERE; MOST]),
        }
    }

    /// Takes up to `count` (at most [`MOST`]) datagrams: the n-th into the n-th `slot` bytes of `memory`, which must be
    /// long enough for all. If none is there, the result is empty: at once, or, if it `waits`, after the socket's time-out.
    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        memory: &mut [u8],
        slot: usize,
        count: usize,
        waits: bool,
    ) -> io::Result<&[Arrival]> {
        assert!(count <= MOST && count * slot <= memory.len(), "{count} slots of {slot} bytes do not fit");
        let mut parts = MaybeUninit::<[libc::iovec; MOST]>::zeroed();
        let mut headers = MaybeUninit::<[libc::mmsghdr; MOST]>::zeroed();
        // SAFETY: both are made of integers and raw pointers, for which all zeros is a valid value.
        let (parts, headers) = unsafe { (parts.assume_init_mut(), headers.assume_init_mut()) };
        let places = memory.chunks_exact_mut(slot.max(1));
        let answers = self.sources.iter_mut().zip(self.controls.iter_mut());
        for (((header, part), place), (source, control)) in
            headers.iter_mut().zip(parts.iter_mut()).zip(places).zip(answers).take(count)
        {
            part.iov_base = place.as_mut_ptr().cast();
            part.iov_len = slot;
            let header = &mut header.msg_hdr;
            header.msg_name = (&raw mut *source).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>() as _;
        }
        // MSG_TRUNC: the kernel tells the true length of a datagram that does not fit into its slot.
        let flags = libc::MSG_TRUNC | if waits { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
        // SAFETY: the first `count` headers point to memory that is valid for writes of the lengths given and
        // lives until the end of this function; the kernel keeps no pointer beyond the call.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count as _,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        if received < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(&[]),
                _ => Err(error),
            };
        }
        let received = received as usize;
        for ((arrival, header), source) in
            self.arrivals.iter_mut().zip(&headers[..received]).zip(self.sources.iter())
        {
            let (segment, stamp_ns) = controls(&header.msg_hdr);
            *arrival =
                Arrival { length: header.msg_len as usize, source: address(source), segment, stamp_ns };
        }
        Ok(&self.arrivals[..received])
    }
}

/// The address that the kernel has written. IPv4 senders seen by an IPv6 socket are IPv4 again.
fn address(source: &libc::sockaddr_in6) -> SocketAddr {
    if i32::from(source.sin6_family) == libc::AF_INET {
        // SAFETY: the family says that the kernel wrote an IPv4 address, which is smaller than `source` and
        // not more strictly aligned; it is made of integers.
        let source = unsafe { &*(&raw const *source).cast::<libc::sockaddr_in>() };
        let ip = Ipv4Addr::from(u32::from_be(source.sin_addr.s_addr));
        return SocketAddr::new(ip.into(), u16::from_be(source.sin_port));
    }
    let ip = IpAddr::V6(Ipv6Addr::from(source.sin6_addr.s6_addr));
    SocketAddr::new(ip.to_canonical(), u16::from_be(source.sin6_port))
}

/// Segment size and time stamp, where the kernel has attached them.
fn controls(header: &libc::msghdr) -> (Option<usize>, Option<u64>) {
    let (mut segment, mut stamp) = (None, None);
    // SAFETY: the kernel has filled the control memory, which `header` describes and which is still alive;
    // the macros stay inside it.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = control.as_ref() {
            let data = libc::CMSG_DATA(control);
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let bytes = data.cast::<libc::c_int>().read_unaligned();
                    segment = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    stamp = u64::try_from(time.tv_sec).ok().map(|seconds| {
                        seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
                    });
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    (segment, stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of control memory with one message, of which `length` bytes are there.
    fn read(level: i32, kind: i32, data: &[u8], length: usize) -> (Option<usize>, Option<u64>) {
        let mut memory = Control([0; 128]);
        // SAFETY: a header is made of integers and raw pointers, for which all zeros is a valid value.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = memory.0.as_mut_ptr().cast();
        header.msg_controllen = length as _;
        // SAFETY: the memory has room for a message of this size.
        unsafe {
            let message = libc::CMSG_FIRSTHDR(&raw const header);
            if !message.is_null() {
                (*message).cmsg_level = level;
                (*message).cmsg_type = kind;
                (*message).cmsg_len = libc::CMSG_LEN(data.len() as u32) as _;
                libc::CMSG_DATA(message).copy_from_nonoverlapping(data.as_ptr(), data.len());
            }
        }
        controls(&header)
    }

    #[test]
    fn what_the_kernel_attaches_is_read() {
        let gro = |bytes: i32| read(libc::SOL_UDP, libc::UDP_GRO, &bytes.to_ne_bytes(), 24);
        assert_eq!(gro(1400), (Some(1400), None));
        assert_eq!(gro(-1), (None, None));
        let time = [7_i64.to_ne_bytes(), 9_i64.to_ne_bytes()].concat();
        let stamped = read(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time, 32);
        assert_eq!(stamped, (None, Some(7_000_000_009)));
        // Nothing, or less than a head.
        for length in [0, 8] {
            assert_eq!(read(libc::SOL_UDP, libc::UDP_GRO, &[], length), (None, None));
        }
    }

    #[test]
    fn addresses_of_both_kinds_are_read() {
        // SAFETY: an address is made of integers, for which all zeros is a valid value.
        let mut place: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
        place.sin6_family = libc::AF_INET6 as _;
        place.sin6_port = 6006_u16.to_be();
        place.sin6_addr.s6_addr = Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped().octets();
        assert_eq!(address(&place).to_string(), "10.0.0.2:6006");
        // SAFETY: an IPv4 address is smaller, and not more strictly aligned.
        unsafe {
            let place = (&raw mut place).cast::<libc::sockaddr_in>();
            (*place).sin_family = libc::AF_INET as _;
            (*place).sin_addr.s_addr = u32::from(Ipv4Addr::new(10, 0, 0, 3)).to_be();
        }
        assert_eq!(address(&place).to_string(), "10.0.0.3:6006");
    }
}

//! A wire for tests and benches: a pair of virtual network interfaces between two network namespaces of their own, which vanish
//! with the test's thread. Needs root.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use etherparse::{PacketBuilder, PacketBuilderStep, UdpHeader};

use crate::patience::wait_until;

/// The interface in the receiver's namespace, in which the test runs.
pub const RECEIVER: &str = "wire-r";
/// The one in the sender's namespace.
pub const SENDER: &str = "wire-s";
/// Address of the receiver's end.
pub const RECEIVER_ADDRESS: [u8; 4] = [10, 9, 0, 2];
/// Address of the sender's end.
pub const SENDER_ADDRESS: [u8; 4] = [10, 9, 0, 1];
const RECEIVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const SENDER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// The wire, seen from the receiver's end.
pub struct Wire {
    receiver: File,
    sender: File,
    /// Number of the thread that keeps the sender's namespace.
    holder_thread: i32,
    /// That thread.
    holder: Option<(Sender<()>, JoinHandle<()>)>,
}

/// True if namespaces and interfaces can be made; else the test is reported as skipped.
pub fn is_possible(test: &str) -> bool {
    // SAFETY: no arguments, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let has_ip = Command::new("ip").arg("-V").output().is_ok();
    if !is_root || !has_ip {
        crate::skip(test, "network namespaces need root and the command ip (iproute2)");
    }
    is_root && has_ip
}

/// Runs `test` in a thread of its own, which is in the receiver's namespace as are the programs it starts, with a fresh wire of `queues` queues whose packets have at most `mtu` bytes.
pub fn with_wire(queues: u32, mtu: u32, test: impl FnOnce(&mut Wire) + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| test(&mut Wire::lay(queues, mtu)));
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

impl Wire {
    fn lay(queues: u32, mtu: u32) -> Self {
        fresh_namespace();
        let (tell, told) = channel();
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            fresh_namespace();
            // SAFETY: no arguments, cannot fail.
            tell.send(unsafe { libc::gettid() }).expect("the other thread waits");
            // Until the wire is dropped.
            let _ = stopped.recv();
        });
        let holder = told.recv().expect("the thread of the namespace runs");
        let open = |path: &str| File::open(path).expect("a namespace of this process");
        let wire = Self {
            receiver: open("/proc/thread-self/ns/net"),
            sender: open(&format!("/proc/self/task/{holder}/ns/net")),
            holder_thread: holder,
            holder: Some((stop, thread)),
        };
        ip("link set lo up");
        wire.at_sender(|| ip("link set lo up"));
        wire.lay_cable(queues, mtu);
        wire
    }

    /// Removes both interfaces, as when a card is taken out.
    pub fn remove_cable(&self) {
        ip(&format!("link delete {RECEIVER}"));
    }

    /// Makes both interfaces, between the namespaces that are there.
    pub fn lay_cable(&self, queues: u32, mtu: u32) {
        let holder = self.holder_thread;
        let ends = format!("numrxqueues {queues} numtxqueues {queues}");
        ip(&format!("link add {RECEIVER} {ends} type veth peer name {SENDER} {ends}"));
        ip(&format!("link set {SENDER} netns {holder}"));
        ip(&format!("link set {RECEIVER} address 02:00:00:00:00:02 mtu {mtu} up"));
        ip(&format!("address add 10.9.0.2/24 dev {RECEIVER}"));
        ip(&format!("address add fd09::2/64 dev {RECEIVER} nodad"));
        self.at_sender(|| {
            ip(&format!("link set {SENDER} address 02:00:00:00:00:01 mtu {mtu} up"));
            ip(&format!("address add 10.9.0.1/24 dev {SENDER}"));
            ip(&format!("address add fd09::1/64 dev {SENDER} nodad"));
            ip(&format!("neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev {SENDER} nud permanent"));
            ip(&format!("neighbour add fd09::2 lladdr 02:00:00:00:00:02 dev {SENDER} nud permanent"));
        });
        // The kernel finds out later than these commands end.
        wait_until("both ends of the wire are up", || {
            let is_up = |end: &str| ip(&format!("link show {end}")).contains("state UP");
            is_up(RECEIVER) && self.at_sender(|| is_up(SENDER))
        });
    }

    /// Runs `action` in the sender's namespace: sockets that it opens stay there.
    pub fn at_sender<T>(&self, action: impl FnOnce() -> T) -> T {
        enter(&self.sender);
        let result = action();
        enter(&self.receiver);
        result
    }

    /// Opens the sender's end for whole frames.
    pub fn frames(&self) -> FrameSocket {
        self.at_sender(|| FrameSocket::open(SENDER))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.holder.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

fn fresh_namespace() {
    // SAFETY: concerns this thread only.
    let status = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    assert_eq!(status, 0, "a network namespace: {}", io::Error::last_os_error());
}

fn enter(namespace: &File) {
    // SAFETY: concerns this thread only.
    let status = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    assert_eq!(status, 0, "entering a network namespace: {}", io::Error::last_os_error());
}

/// Runs `ip` with these arguments in the namespace of this thread: what it prints.
///
/// # Panics
/// If it does not succeed, with what it said.
pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("the command ip");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the driver of the receiver's end and the kernel's protocols have counted, for a person to read.
pub fn receiver_statistics() -> String {
    let driver = Command::new("ethtool").args(["-S", RECEIVER]).output().expect("the command ethtool");
    let protocols =
        ["snmp", "snmp6"].map(|name| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")));
    let protocols = protocols.map(Result::unwrap_or_default).concat();
    format!("{}{protocols}", String::from_utf8_lossy(&driver.stdout))
}

/// Sets features of an interface in the namespace of this thread, as in `gro on`.
///
/// # Panics
/// If it does not succeed, with what it said.
pub fn ethtool(interface: &str, features: &str) {
    let mut command = Command::new("ethtool");
    let output = command.args(["-K", interface]).args(features.split(' ')).output();
    let output = output.expect("the command ethtool");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ethtool -K {interface} {features}: {said}");
}

/// A socket that sends and receives whole frames.
pub struct FrameSocket(OwnedFd);

impl FrameSocket {
    fn open(interface: &str) -> Self {
        let every = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: no pointers; the result is checked.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(every)) };
        assert!(socket >= 0, "a packet socket: {}", io::Error::last_os_error());
        // SAFETY: a fresh descriptor that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: made of integers, for which all zeros is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = every;
        let name = std::ffi::CString::new(interface).expect("no zero in the name");
        // SAFETY: a string that ends in 0.
        address.sll_ifindex = unsafe { libc::if_nametoindex(name.as_ptr()) } as i32;
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is valid for reads of its length.
        let status = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
        assert_eq!(status, 0, "binding a packet socket: {}", io::Error::last_os_error());
        // So that a receiving end that is behind does not hold up the sender.
        let (buffer, length): (i32, _) = (1 << 28, size_of::<i32>() as libc::socklen_t);
        let (level, option) = (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE);
        let fd = socket.as_raw_fd();
        // SAFETY: the buffer's size is valid for reads of its length.
        let status = unsafe { libc::setsockopt(fd, level, option, (&raw const buffer).cast(), length) };
        assert_eq!(status, 0, "the send buffer: {}", io::Error::last_os_error());
        Self(socket)
    }

    /// Sends a frame.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn send(&self, frame: &[u8]) {
        assert!(self.offer(frame), "sending a frame: {}", io::Error::last_os_error());
    }

    /// Sends a frame: false if the other end of the wire, or the queue to it, has dropped it.
    ///
    /// # Panics
    /// If it cannot be sent for another reason.
    pub fn offer(&self, frame: &[u8]) -> bool {
        // SAFETY: the frame is valid for reads of its length.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        let error = io::Error::last_os_error();
        assert!(sent >= 0 || error.raw_os_error() == Some(libc::ENOBUFS), "sending a frame: {error}");
        sent == frame.len() as isize
    }

    /// Waits for a frame that `wanted` is true of.
    ///
    /// # Panics
    /// If none comes within [`patience`](crate::patience::patience).
    #[track_caller]
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&[u8]) -> bool) {
        let mut frame = [0; 2048];
        let mut next = || {
            // SAFETY: the memory is valid for writes of its length.
            let length = unsafe {
                libc::recv(self.0.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
            };
            usize::try_from(length).ok().map(|length| wanted(&frame[..length]))
        };
        wait_until(what, || std::iter::from_fn(&mut next).any(|is_wanted| is_wanted));
    }
}

fn written(builder: PacketBuilderStep<UdpHeader>, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    builder.write(&mut frame, payload).expect("a frame in memory");
    frame
}

/// UDP over IPv4 with right checksums.
pub fn udp(source_port: u16, port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(SENDER_MAC, RECEIVER_MAC);
    written(builder.ipv4(SENDER_ADDRESS, RECEIVER_ADDRESS, 64).udp(source_port, port), payload)
}

/// The same with one VLAN tag, or two.
pub fn tagged(tags: u8, source_port: u16, port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(SENDER_MAC, RECEIVER_MAC);
    let vlan = |number: u16| number.try_into().expect("a number of 12 bits");
    let builder = match tags {
        1 => builder.single_vlan(vlan(7)),
        _ => builder.double_vlan(vlan(7), vlan(8)),
    };
    written(builder.ipv4(SENDER_ADDRESS, RECEIVER_ADDRESS, 64).udp(source_port, port), payload)
}

/// UDP over IPv6 with a right checksum.
pub fn udp6(source_port: u16, port: u16, payload: &[u8]) -> Vec<u8> {
    let address = |last: u8| {
        let mut address = [0; 16];
        (address[0], address[1], address[15]) = (0xfd, 0x09, last);
        address
    };
    let builder = PacketBuilder::ethernet2(SENDER_MAC, RECEIVER_MAC);
    written(builder.ipv6(address(1), address(2), 64).udp(source_port, port), payload)
}

/// A frame around an IP packet of this header, whose lengths and checksum are filled in here, and bytes.
fn around(mut header: etherparse::Ipv4Header, bytes: &[u8]) -> Vec<u8> {
    header.set_payload_len(bytes.len()).expect("a short packet");
    header.header_checksum = header.calc_header_checksum();
    [&RECEIVER_MAC[..], &SENDER_MAC, &[8, 0], &header.to_bytes(), bytes].concat()
}

fn header(protocol: etherparse::IpNumber) -> etherparse::Ipv4Header {
    etherparse::Ipv4Header::new(0, 64, protocol, SENDER_ADDRESS, RECEIVER_ADDRESS).expect("an empty packet")
}

/// A UDP datagram in two fragments.
pub fn fragments(number: u16, port: u16, payload: &[u8]) -> [Vec<u8>; 2] {
    let whole = udp(5, port, payload);
    let segment = &whole[34..];
    let middle = segment.len() / 2 / 8 * 8;
    let part = |start: usize, end: usize| {
        let mut header = header(etherparse::IpNumber::UDP);
        header.dont_fragment = false;
        header.identification = number;
        header.more_fragments = end < segment.len();
        header.fragment_offset = ((start / 8) as u16).try_into().expect("a short packet");
        around(header, &segment[start..end])
    };
    [part(0, middle), part(middle, segment.len())]
}

/// UDP in IPv4 with options (three that do nothing, and their end).
pub fn with_options(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut header = header(etherparse::IpNumber::UDP);
    header.options = [1, 1, 1, 0].into();
    around(header, &udp(6, port, payload)[34..])
}

/// An ICMP echo request, which the kernel answers.
pub fn echo_request() -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(SENDER_MAC, RECEIVER_MAC);
    let builder = builder.ipv4(SENDER_ADDRESS, RECEIVER_ADDRESS, 64).icmpv4_echo_request(1, 1);
    builder.write(&mut frame, b"echo").expect("a frame in memory");
    frame
}

/// True of the answer.
pub fn is_echo_reply(frame: &[u8]) -> bool {
    frame.len() > 34 && frame[12..14] == [8, 0] && frame[23] == 1 && frame[34] == 0
}

/// Asks by ARP for the receiver's address, which the kernel answers.
pub fn arp_request() -> Vec<u8> {
    let mut frame = [&RECEIVER_MAC[..], &SENDER_MAC, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat();
    frame.extend([&SENDER_MAC[..], &SENDER_ADDRESS, &[0; 6], &RECEIVER_ADDRESS, &[0; 18]].concat());
    frame
}

/// True of the answer.
pub fn is_arp_reply(frame: &[u8]) -> bool {
    frame.len() >= 42 && frame[12..14] == [8, 6] && frame[20..22] == [0, 2]
}

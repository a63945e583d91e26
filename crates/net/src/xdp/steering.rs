//! The program that steers frames to the sockets: loading, attaching, and what it has counted.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use aya::maps::{HashMap, Map, MapData, MapError, PerCpuArray, XskMap};
use aya::programs::links::FdLink;
use aya::programs::{ProgramError, Xdp, XdpMode as AttachMode};
use aya::{Ebpf, EbpfError, EbpfLoader, Pod};

/// Made of `steer.bpf.c` by `build-steer.sh`.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("steer.bpf.o"));

/// What happened to the frames that the program has seen, on all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct SteeringCounts {
    pub(super) seen: u64,
    pub(super) steered: u64,
    pub(super) no_socket: u64,
    pub(super) other_port: u64,
    pub(super) fragments: u64,
    pub(super) extended: u64,
    pub(super) not_udp: u64,
    pub(super) mixed: u64,
}

// SAFETY: made of integers without gaps: any bytes are valid.
unsafe impl Pod for SteeringCounts {}

/// `struct rule` of the program.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Rule {
    families: u8,
    one_address: u8,
    unused: [u8; 2],
    address: [u8; 16],
}

// SAFETY: made of bytes without gaps: any bytes are valid.
unsafe impl Pod for Rule {}

impl Rule {
    /// What a kernel socket at `address` would receive.
    fn of(address: IpAddr) -> Self {
        let mut rule = Self {
            families: 1,
            one_address: u8::from(!address.is_unspecified()),
            unused: [0; 2],
            address: [0; 16],
        };
        match address {
            IpAddr::V4(address) => rule.address[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) if address.is_unspecified() => rule.families = 3,
            IpAddr::V6(address) => {
                rule.families = 2;
                rule.address = address.octets();
            }
        }
        rule
    }
}

/// The loaded program. Nothing is left of it when it is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Steering {
    program: Ebpf,
    /// Frames may come in several pieces.
    pieces: bool,
    /// The kernel detaches the program when this is closed.
    link: Option<FdLink>,
}

/// What a program counts, for whoever has the descriptor.
pub(super) struct SteeringCounters(PerCpuArray<MapData, SteeringCounts>);

impl std::fmt::Debug for SteeringCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SteeringCounters")
    }
}

impl SteeringCounters {
    /// The counters behind a descriptor.
    pub(super) fn of(descriptor: OwnedFd) -> io::Result<Self> {
        let map = MapData::from_fd(descriptor).map_err(of_map)?;
        PerCpuArray::try_from(Map::PerCpuArray(map)).map(Self).map_err(of_map)
    }

    /// What has been counted.
    pub(super) fn counts(&self) -> io::Result<SteeringCounts> {
        let mut all = SteeringCounts::default();
        for core in self.0.get(&0, 0).map_err(of_map)?.iter() {
            all.seen += core.seen;
            all.steered += core.steered;
            all.no_socket += core.no_socket;
            all.other_port += core.other_port;
            all.fragments += core.fragments;
            all.extended += core.extended;
            all.not_udp += core.not_udp;
            all.mixed += core.mixed;
        }
        Ok(all)
    }
}

/// The names in `steer.bpf.c`.
const PROGRAMS: [(&str, bool); 2] = [("steer_pieces", true), ("steer", false)];

impl Steering {
    /// Loads the program for an interface with queues below `queues`.
    pub(super) fn load(queues: u32) -> io::Result<Self> {
        let mut loader = EbpfLoader::new();
        // Nothing in the program depends on the kernel's own types.
        loader.btf(None).map_max_entries("sockets", queues.max(1));
        let mut program = loader.load(&OBJECT.0).map_err(of_loading)?;
        let mut refusal = None;
        for (name, pieces) in PROGRAMS {
            match xdp(&mut program, name)?.load() {
                Ok(()) => return Ok(Self { program, pieces, link: None }),
                Err(error) => refusal = Some(of_program(error)),
            }
        }
        Err(refusal.unwrap_or_else(|| io::Error::other("no program in the object")))
    }

    /// True if frames may come in several pieces: Linux 5.18 and later.
    pub(super) fn takes_pieces(&self) -> bool {
        self.pieces
    }

    /// Attaches the program to the interface with this number, in the driver or in the kernel's generic way.
    pub(super) fn attach(&mut self, interface: u32, in_driver: bool) -> io::Result<()> {
        let mode = if in_driver { AttachMode::Driver } else { AttachMode::Skb };
        let program = self.loaded()?;
        let link = program.attach_to_if_index(interface, mode).map_err(of_program)?;
        let link = program.take_link(link).map_err(of_program)?;
        // Before Linux 5.9 there are only links that outlive the process.
        let link = FdLink::try_from(link).map_err(|_| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel cannot attach it so that it goes \
                with the process (Linux 5.9 and later can)",
            )
        })?;
        self.link = Some(link);
        Ok(())
    }

    /// Detaches the program, if it is attached.
    pub(super) fn detach(&mut self) {
        self.link = None;
    }

    /// Gives the frames of a queue to a socket.
    pub(super) fn enter(&mut self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let map = self.program.map_mut("sockets").ok_or_else(no_map)?;
        let mut sockets = XskMap::try_from(map).map_err(of_map)?;
        sockets.set(queue, socket.as_raw_fd(), 0).map_err(of_map)
    }

    /// Steers what is sent to `port` at `address` (or any address) from now on.
    pub(crate) fn open_port(&mut self, address: IpAddr, port: u16) -> io::Result<()> {
        let map = self.program.map_mut("ports").ok_or_else(no_map)?;
        let mut ports = HashMap::<_, u16, Rule>::try_from(map).map_err(of_map)?;
        ports.insert(port.to_be(), Rule::of(address), 0).map_err(of_map)
    }

    /// A descriptor of what the program has counted, for [`SteeringCounters`].
    pub(super) fn counters(&self) -> io::Result<OwnedFd> {
        match self.program.map("counters") {
            Some(Map::PerCpuArray(counters)) => counters.fd().as_fd().try_clone_to_owned(),
            _ => Err(no_map()),
        }
    }

    fn loaded(&mut self) -> io::Result<&mut Xdp> {
        let name = PROGRAMS.iter().find(|(_, pieces)| *pieces == self.pieces).map_or("", |(name, _)| name);
        xdp(&mut self.program, name)
    }
}

fn xdp<'a>(program: &'a mut Ebpf, name: &str) -> io::Result<&'a mut Xdp> {
    let program =
        program.program_mut(name).ok_or_else(|| io::Error::other("no such program in the object"))?;
    program.try_into().map_err(of_program)
}

fn no_map() -> io::Error {
    io::Error::other("no such map in the object")
}

fn of_loading(error: EbpfError) -> io::Error {
    match error {
        EbpfError::MapError(error) => of_map(error),
        EbpfError::ProgramError(error) => of_program(error),
        other => io::Error::other(other),
    }
}

/// The system's own error, where there is one.
fn of_map(error: MapError) -> io::Error {
    match error {
        MapError::CreateError { io_error, .. } => io_error,
        MapError::SyscallError(error) => error.io_error,
        other => io::Error::other(other),
    }
}

fn of_program(error: ProgramError) -> io::Error {
    match error {
        ProgramError::LoadError { io_error, .. } => io_error,
        ProgramError::SyscallError(error) => error.io_error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use aya::{TestRun, TestRunOptions};
    use etherparse::{IpFragOffset, IpNumber, Ipv4Header, PacketBuilder};

    use super::*;

    /// `XDP_PASS`: on to the kernel.
    const PASS: u32 = 2;

    fn loaded(test: &str) -> Option<Steering> {
        match Steering::load(1) {
            Ok(steering) => Some(steering),
            Err(error) => {
                evforge_testkit::skip(test, &format!("the kernel loads no XDP program here: {error}"));
                None
            }
        }
    }

    /// What the program has counted for one frame.
    fn counted(steering: &mut Steering, frame: &[u8]) -> SteeringCounts {
        let counters = SteeringCounters::of(steering.counters().unwrap()).unwrap();
        let before = counters.counts().unwrap();
        let options = TestRunOptions { data_in: Some(frame), ..TestRunOptions::default() };
        let result = steering.loaded().unwrap().test_run(options).unwrap();
        assert_eq!(result.return_value, PASS, "no socket has been entered");
        let after = counters.counts().unwrap();
        SteeringCounts {
            seen: after.seen - before.seen,
            steered: after.steered - before.steered,
            no_socket: after.no_socket - before.no_socket,
            other_port: after.other_port - before.other_port,
            fragments: after.fragments - before.fragments,
            extended: after.extended - before.extended,
            not_udp: after.not_udp - before.not_udp,
            mixed: after.mixed - before.mixed,
        }
    }

    const SEEN: SteeringCounts = SteeringCounts {
        seen: 1,
        steered: 0,
        no_socket: 0,
        other_port: 0,
        fragments: 0,
        extended: 0,
        not_udp: 0,
        mixed: 0,
    };
    /// Ours, but no socket has been entered here.
    const OURS: SteeringCounts = SteeringCounts { no_socket: 1, ..SEEN };
    const OTHER_PORT: SteeringCounts = SteeringCounts { other_port: 1, ..SEEN };
    const FRAGMENT: SteeringCounts = SteeringCounts { fragments: 1, ..SEEN };
    const EXTENDED: SteeringCounts = SteeringCounts { extended: 1, ..SEEN };
    const MIXED: SteeringCounts = SteeringCounts { mixed: 1, ..SEEN };
    const NOT_UDP: SteeringCounts = SteeringCounts { not_udp: 1, ..SEEN };

    fn ipv4(tags: usize, port: u16) -> Vec<u8> {
        let (mut frame, vlan) = (Vec::new(), |number: u16| number.try_into().unwrap());
        let ethernet = PacketBuilder::ethernet2([1; 6], [2; 6]);
        let builder = match tags {
            0 => ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            1 => ethernet.single_vlan(vlan(1)).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            _ => ethernet.double_vlan(vlan(1), vlan(2)).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
        };
        builder.udp(7, port).write(&mut frame, b"neutron").unwrap();
        frame
    }

    fn ipv6(port: u16) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [2; 16], 64);
        builder.udp(7, port).write(&mut frame, b"neutron").unwrap();
        frame
    }

    /// The frame with another header of IPv4 in the place of its own.
    fn with_header(frame: &[u8], change: impl FnOnce(&mut Ipv4Header)) -> Vec<u8> {
        let mut header = Ipv4Header::from_slice(&frame[14..]).unwrap().0;
        change(&mut header);
        [&frame[..14], &header.to_bytes(), &frame[34..]].concat()
    }

    #[test]
    fn each_kind_of_frame_is_counted_as_what_it_is() {
        let Some(mut steering) = loaded("each_kind_of_frame_is_counted_as_what_it_is") else { return };
        steering.open_port("::".parse().unwrap(), 6006).unwrap();
        let mut expect =
            |frame: &[u8], expected| assert_eq!(counted(&mut steering, frame), expected, "{frame:02x?}");
        for tags in 0..3 {
            expect(&ipv4(tags, 6006), OURS);
            expect(&ipv4(tags, 6005), OTHER_PORT);
        }
        expect(&ipv6(6006), OURS);
        expect(&ipv6(6005), OTHER_PORT);
        let plain = ipv4(0, 6006);
        expect(&with_header(&plain, |header| header.more_fragments = true), FRAGMENT);
        expect(
            &with_header(&plain, |header| header.fragment_offset = IpFragOffset::try_new(4).unwrap()),
            FRAGMENT,
        );
        expect(&with_header(&plain, |header| header.options = [1, 1, 1, 0].into()), EXTENDED);
        expect(&with_header(&plain, |header| header.protocol = IpNumber::TCP), NOT_UDP);
        for (next, expected) in [(0, EXTENDED), (60, EXTENDED), (44, FRAGMENT), (58, NOT_UDP)] {
            let mut frame = ipv6(6006);
            frame[20] = next;
            expect(&frame, expected);
        }
        let mut three_tags = ipv4(2, 6006);
        three_tags.splice(12..12, [0x81, 0, 0, 1]);
        expect(&three_tags, NOT_UDP);
        let mut arp = [0; 42];
        arp[12..14].copy_from_slice(&[8, 6]);
        expect(&arp, NOT_UDP);
        // Too short for a UDP header, at every length that the kernel takes.
        for end in 14..42 {
            expect(&plain[..end], NOT_UDP);
        }
    }

    #[test]
    fn a_sender_that_sends_fragments_is_left_to_the_kernel_altogether() {
        let test = "a_sender_that_sends_fragments_is_left_to_the_kernel_altogether";
        let Some(mut steering) = loaded(test) else { return };
        steering.open_port("::".parse().unwrap(), 6006).unwrap();
        let mut expect =
            |frame: &[u8], expected| assert_eq!(counted(&mut steering, frame), expected, "{frame:02x?}");
        let plain = ipv4(0, 6006);
        let first = |frame: &[u8]| with_header(frame, |header| header.more_fragments = true);
        // Fragments for another port, and later ones, say nothing about this one.
        expect(&first(&ipv4(0, 6005)), FRAGMENT);
        expect(
            &with_header(&plain, |header| header.fragment_offset = IpFragOffset::try_new(4).unwrap()),
            FRAGMENT,
        );
        expect(&plain, OURS);
        expect(&first(&plain), FRAGMENT);
        expect(&plain, MIXED);
        expect(&ipv4(2, 6006), MIXED);
        // Another port or address of a sender is another sender.
        let mut other_port = plain.clone();
        other_port[35] = 8;
        expect(&other_port, OURS);
        expect(&with_header(&plain, |header| header.source = [10, 0, 0, 9]), OURS);
        let plain = ipv6(6006);
        expect(&plain, OURS);
        let mut fragment = plain.clone();
        fragment[20] = 44;
        // At the beginning, more to come.
        fragment.splice(54..54, [17, 0, 0, 1, 0, 0, 0, 9]);
        let mut later = fragment.clone();
        later[57] = 0x49;
        expect(&later, FRAGMENT);
        expect(&plain, OURS);
        expect(&fragment, FRAGMENT);
        expect(&plain, MIXED);
    }

    #[test]
    fn an_address_takes_only_what_is_sent_to_it() {
        let Some(mut steering) = loaded("an_address_takes_only_what_is_sent_to_it") else { return };
        let cases = [
            ("0.0.0.0", OURS, OTHER_PORT),
            ("::", OURS, OURS),
            ("10.0.0.2", OURS, OTHER_PORT),
            ("10.0.0.1", OTHER_PORT, OTHER_PORT),
            ("202:202:202:202:202:202:202:202", OTHER_PORT, OURS),
            ("202:202:202:202:202:202:202:203", OTHER_PORT, OTHER_PORT),
        ];
        for (address, of_ipv4, of_ipv6) in cases {
            steering.open_port(address.parse().unwrap(), 6006).unwrap();
            assert_eq!(counted(&mut steering, &ipv4(0, 6006)), of_ipv4, "{address}");
            assert_eq!(counted(&mut steering, &ipv6(6006)), of_ipv6, "{address}");
        }
    }
}

//! An AF_XDP socket: the frames of one queue of a network interface.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::memory::Mapping;
use super::ring::{FillRing, ReceiveRing};
use crate::readiness::Readiness;

/// Memory for one frame, or one piece of a larger one, in bytes. Smaller pieces would not hold the frames that
/// detectors send, larger ones need huge pages.
pub(super) const FRAME_MEMORY: usize = 4096;
/// Most bytes of a frame in one piece: the kernel keeps room before it (XDP_PACKET_HEADROOM).
pub(super) const LARGEST_PIECE: usize = FRAME_MEMORY - 256;
/// A socket must have a ring for what has been sent, though nothing is.
const COMPLETION_RING: u32 = 64;
/// The kernel lets go of a queue some time after a socket was closed.
const BUSY_PATIENCE: Duration = Duration::from_secs(1);

/// What to open.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuePlan {
    /// Number of the interface.
    pub(super) interface: u32,
    /// Number of its queue.
    pub(super) queue: u32,
    /// Entries of the receive ring, a power of two.
    pub(super) ring: u32,
    /// Frames of memory, a power of two.
    pub(super) frames: u32,
    /// The card writes into our memory itself; else the kernel copies.
    pub(super) zero_copy: bool,
    /// Frames may come in several pieces.
    pub(super) pieces: bool,
}

/// A step of opening that failed.
#[derive(Debug)]
pub(super) struct StepError {
    /// What was tried.
    pub(super) step: &'static str,
    /// The system's reason.
    pub(super) source: io::Error,
}

/// What the kernel has counted for one socket, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueStatistics {
    /// Frames lost because there was no free memory, or they were too long for it.
    pub(super) dropped: u64,
    /// Frames lost because the receive ring was full; not in `dropped`.
    pub(super) ring_full: u64,
    /// How often there was no free memory; those of copying sockets are in `dropped`, too.
    pub(super) fill_ring_empty: u64,
}

/// The socket of one queue, with its memory.
#[derive(Debug)]
pub(super) struct Queue {
    // Closed before its memory is given back.
    socket: OwnedFd,
    receive: ReceiveRing,
    fill: FillRing,
    memory: Mapping,
    readiness: Readiness,
    zero_copy: bool,
    /// Where frames of several pieces are put together.
    whole: Vec<u8>,
    /// Such frames so far.
    gathered: u64,
}

impl Queue {
    /// Opens the socket and offers all of its memory to the kernel. Nothing arrives before it is entered into the
    /// program's map.
    pub(super) fn open(plan: &QueuePlan) -> Result<Self, StepError> {
        let failed = |step| move |source| StepError { step, source };
        // SAFETY: no pointers; the result is checked.
        let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(failed("making the socket")(io::Error::last_os_error()));
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let memory = Mapping::anonymous(plan.frames as usize * FRAME_MEMORY)
            .map_err(failed("getting memory for frames"))?;
        let area = libc::xdp_umem_reg {
            addr: memory.base().as_ptr() as u64,
            len: memory.length() as u64,
            chunk_size: FRAME_MEMORY as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set(socket.as_fd(), libc::XDP_UMEM_REG, &area).map_err(failed("locking memory for frames"))?;
        for (ring, size) in [
            (libc::XDP_UMEM_FILL_RING, plan.frames),
            (libc::XDP_UMEM_COMPLETION_RING, COMPLETION_RING),
            (libc::XDP_RX_RING, plan.ring),
        ] {
            set(socket.as_fd(), ring, &size).map_err(failed("making the rings"))?;
        }
        let offsets = get::<libc::xdp_mmap_offsets>(socket.as_fd(), libc::XDP_MMAP_OFFSETS)
            .map_err(failed("mapping the rings"))?;
        let receive =
            ReceiveRing::map(socket.as_fd(), &offsets, plan.ring).map_err(failed("mapping the rings"))?;
        let mut fill =
            FillRing::map(socket.as_fd(), &offsets, plan.frames).map_err(failed("mapping the rings"))?;
        for frame in 0..u64::from(plan.frames) {
            fill.push(frame * FRAME_MEMORY as u64);
        }
        fill.publish();
        bind(socket.as_fd(), plan).map_err(failed("taking the queue"))?;
        let options = get::<libc::xdp_options>(socket.as_fd(), libc::XDP_OPTIONS)
            .map_err(failed("asking how frames are handed over"))?;
        let mut readiness = Readiness::new();
        readiness.watch(socket.as_fd());
        Ok(Self {
            socket,
            receive,
            fill,
            memory,
            readiness,
            zero_copy: options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0,
            whole: Vec::new(),
            gathered: 0,
        })
    }

    /// True if the card writes into our memory itself.
    pub(super) fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Frames that came in several pieces and were put together by copying them.
    pub(super) fn gathered(&self) -> u64 {
        self.gathered
    }

    /// Hands the frames that are there to `accept`, oldest first, until it refuses one (false), which is then the
    /// first of the next call. Their memory goes back to the kernel. Says how many were accepted.
    pub(super) fn take(&mut self, mut accept: impl FnMut(&[u8]) -> bool) -> usize {
        let mut accepted = 0;
        if self.receive.available() == 0 {
            return 0;
        }
        while let Some(pieces) = self.next_pieces() {
            let taken = if pieces == 1 {
                let piece = self.receive.peek(0).map(|entry| self.piece(&entry));
                accept(piece.unwrap_or_default())
            } else {
                self.gather(pieces);
                let taken = accept(&self.whole);
                self.gathered += u64::from(taken);
                taken
            };
            if !taken {
                break;
            }
            for ahead in 0..pieces {
                if let Some(entry) = self.receive.peek(ahead) {
                    // There is a place for every frame.
                    self.fill.push(entry.addr & !(FRAME_MEMORY as u64 - 1));
                }
            }
            self.receive.advance(pieces);
            accepted += 1;
        }
        if accepted > 0 {
            self.fill.publish();
            self.receive.release();
        }
        if self.fill.needs_wakeup() {
            // Only looks: what the kernel has to say is in the ring.
            let _ = self.readiness.wait(Duration::ZERO);
        }
        accepted
    }

    /// Pieces of the first frame; none if it is not there, or not wholly.
    fn next_pieces(&self) -> Option<u32> {
        let mut pieces = 1;
        while self.receive.peek(pieces - 1)?.options & libc::XDP_PKT_CONTD != 0 {
            pieces += 1;
        }
        Some(pieces)
    }

    /// The bytes of an entry that has not been released.
    fn piece(&self, entry: &libc::xdp_desc) -> &[u8] {
        let place = usize::try_from(entry.addr).ok().filter(|&start| {
            start.checked_add(entry.len as usize).is_some_and(|end| end <= self.memory.length())
        });
        let Some(start) = place else {
            // The kernel never does so; a frame without bytes is counted as malformed.
            return &[];
        };
        // SAFETY: inside the mapping, as just checked. The kernel does not write there before the frame is offered
        // again, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.memory.base().add(start).as_ptr(), entry.len as usize) }
    }

    fn gather(&mut self, pieces: u32) {
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        for ahead in 0..pieces {
            if let Some(entry) = self.receive.peek(ahead) {
                whole.extend_from_slice(self.piece(&entry));
            }
        }
        self.whole = whole;
    }

    /// What the kernel has counted.
    pub(super) fn statistics(&self) -> io::Result<QueueStatistics> {
        let found = get::<libc::xdp_statistics>(self.socket.as_fd(), libc::XDP_STATISTICS)?;
        Ok(QueueStatistics {
            dropped: found.rx_dropped,
            ring_full: found.rx_ring_full,
            fill_ring_empty: found.rx_fill_ring_empty_descs,
        })
    }

    /// Upper bound of its memory in bytes.
    pub(super) fn memory_bound(&self) -> usize {
        self.memory.length() + self.whole.capacity() + size_of::<Self>()
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Takes the queue, waiting a while if an earlier socket is just being closed.
fn bind(socket: BorrowedFd<'_>, plan: &QueuePlan) -> io::Result<()> {
    let mut flags = if plan.zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    flags |= libc::XDP_USE_NEED_WAKEUP;
    if plan.pieces {
        flags |= libc::XDP_USE_SG;
    }
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: plan.interface,
        sxdp_queue_id: plan.queue,
        sxdp_shared_umem_fd: 0,
    };
    let end = Instant::now() + BUSY_PATIENCE;
    loop {
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is valid for reads of the length given, and the kernel keeps no pointer.
        if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EBUSY) || Instant::now() >= end {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Values that the kernel takes and gives as they lie in memory.
trait Plain: Copy {}
impl Plain for u32 {}
impl Plain for libc::xdp_umem_reg {}
impl Plain for libc::xdp_mmap_offsets {}
impl Plain for libc::xdp_options {}
impl Plain for libc::xdp_statistics {}

fn set<T: Plain>(socket: BorrowedFd<'_>, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is valid for reads of the length given, and the kernel keeps no pointer.
    let status = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, name, std::ptr::from_ref(value).cast(), length)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What an older kernel does not fill stays 0.
fn get<T: Plain>(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<T> {
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

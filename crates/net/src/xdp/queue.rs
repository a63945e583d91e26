//! An AF_XDP socket: the frames of one queue of a network interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use super::memory::{Mapping, shareable};
use super::options::FRAME_MEMORY;
use super::ring::{ConsumerRing, ProducerRing};
use super::xsk;
use crate::readiness::Readiness;

/// Most bytes of a frame in one piece: the kernel keeps room before it (XDP_PACKET_HEADROOM).
pub(super) const LARGEST_PIECE: usize = FRAME_MEMORY - 256;
/// A socket must have a ring for what has been sent, though nothing is.
const COMPLETION_RING: u32 = 64;
/// The kernel lets go of a queue some time after a socket was closed, and of a program some time after its holder was killed.
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
    receive: ConsumerRing<libc::xdp_desc>,
    fill: ProducerRing<u64>,
    memory: Mapping,
    readiness: Readiness,
    zero_copy: bool,
    /// Where frames of several pieces are put together.
    whole: Vec<u8>,
    /// Such frames so far.
    gathered: u64,
}

/// The socket of one queue as it is granted: bound, its rings made, its memory lent to the kernel and offered. Whoever
/// has the two descriptors can receive.
#[derive(Debug)]
pub(crate) struct QueueGrant {
    pub(crate) socket: OwnedFd,
    pub(crate) memory: OwnedFd,
}

impl QueueGrant {
    /// Opens the socket, which needs privileges, and offers all of its memory to the kernel. Nothing arrives before it is
    /// entered into the program's map.
    pub(super) fn open(plan: &QueuePlan) -> Result<Self, StepError> {
        let failed = |step| move |source| StepError { step, source };
        let socket = xsk::open().map_err(failed("making the socket"))?;
        let length = plan.frames as usize * FRAME_MEMORY;
        let memory = shareable(length).map_err(failed("getting memory for frames"))?;
        let mapping =
            Mapping::of_descriptor(memory.as_fd(), length).map_err(failed("getting memory for frames"))?;
        // The kernel holds the pages themselves from here on, so that the mapping is needed no longer.
        xsk::lend(socket.as_fd(), &mapping).map_err(failed("locking memory for frames"))?;
        for (ring, size) in [
            (libc::XDP_UMEM_FILL_RING, plan.frames),
            (libc::XDP_UMEM_COMPLETION_RING, COMPLETION_RING),
            (libc::XDP_RX_RING, plan.ring),
        ] {
            xsk::set(socket.as_fd(), ring, &size).map_err(failed("making the rings"))?;
        }
        let mut fill = map_fill_ring(socket.as_fd(), plan.frames).map_err(failed("mapping the rings"))?;
        for frame in 0..u64::from(plan.frames) {
            fill.push(frame * FRAME_MEMORY as u64);
        }
        fill.publish();
        bind(socket.as_fd(), plan).map_err(failed("taking the queue"))?;
        Ok(Self { socket, memory })
    }

    /// True if the card writes into our memory itself.
    pub(super) fn is_zero_copy(&self) -> Result<bool, StepError> {
        let options = xsk::get::<libc::xdp_options>(self.socket.as_fd(), libc::XDP_OPTIONS)
            .map_err(|source| StepError { step: "asking how frames are handed over", source })?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }
}

fn map_fill_ring(socket: BorrowedFd<'_>, frames: u32) -> io::Result<ProducerRing<u64>> {
    let offsets = xsk::get::<libc::xdp_mmap_offsets>(socket, libc::XDP_MMAP_OFFSETS)?;
    ProducerRing::map(socket, &offsets.fr, frames, libc::XDP_UMEM_PGOFF_FILL_RING)
}

impl Queue {
    /// Takes over a socket that was granted, with a receive ring of `ring` entries and memory of `frames` frames.
    pub(super) fn adopt(grant: QueueGrant, ring: u32, frames: u32, zero_copy: bool) -> io::Result<Self> {
        let QueueGrant { socket, memory } = grant;
        let memory = Mapping::of_descriptor(memory.as_fd(), frames as usize * FRAME_MEMORY)?;
        let offsets = xsk::get::<libc::xdp_mmap_offsets>(socket.as_fd(), libc::XDP_MMAP_OFFSETS)?;
        let receive = ConsumerRing::map(socket.as_fd(), &offsets.rx, ring, libc::XDP_PGOFF_RX_RING as u64)?;
        let fill = map_fill_ring(socket.as_fd(), frames)?;
        let mut readiness = Readiness::new();
        readiness.watch(socket.as_fd());
        Ok(Self { socket, receive, fill, memory, readiness, zero_copy, whole: Vec::new(), gathered: 0 })
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
        let found = xsk::get::<libc::xdp_statistics>(self.socket.as_fd(), libc::XDP_STATISTICS)?;
        Ok(QueueStatistics {
            dropped: found.rx_dropped,
            ring_full: found.rx_ring_full,
            fill_ring_empty: found.rx_fill_ring_empty_descs,
        })
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Takes the queue.
fn bind(socket: BorrowedFd<'_>, plan: &QueuePlan) -> io::Result<()> {
    let mut flags = if plan.zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    flags |= libc::XDP_USE_NEED_WAKEUP;
    if plan.pieces {
        flags |= libc::XDP_USE_SG;
    }
    while_busy(|| xsk::bind(socket, plan.interface, plan.queue, flags))
}

/// Tries again for a while what is busy: of a program that has just ended, or was killed, the kernel closes sockets and takes programs
/// off an interface a little later.
pub(super) fn while_busy<T>(mut take: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let end = Instant::now() + BUSY_PATIENCE;
    loop {
        match take() {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_busy_for_a_moment_is_waited_for_and_nothing_else() {
        let tries = |busy: usize, then: i32| {
            let mut made = 0;
            let result = while_busy(|| {
                made += 1;
                match (made <= busy, then) {
                    (true, _) => Err(io::Error::from_raw_os_error(libc::EBUSY)),
                    (false, 0) => Ok(()),
                    (false, code) => Err(io::Error::from_raw_os_error(code)),
                }
            });
            (made, result.err().and_then(|error| error.raw_os_error()))
        };
        assert_eq!(tries(3, 0), (4, None));
        assert_eq!(tries(0, libc::EPERM), (1, Some(libc::EPERM)));
        assert_eq!(tries(usize::MAX, 0).1, Some(libc::EBUSY), "not for ever");
    }
}

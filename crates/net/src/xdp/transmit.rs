//! Sending frames by AF_XDP: they are written into memory that the kernel copies them from, past its protocols.
//!
//! The kernel copies (XDP_COPY), so no program is attached and receiving by the same queue goes on as before. With zero
//! copy the queue would belong to this socket in both directions, and what the kernel receives by it would be lost.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use super::interface::Interface;
use super::memory::{Mapping, shareable};
use super::options::FRAME_MEMORY;
use super::ring::{ConsumerRing, ProducerRing};
use super::xsk;

/// Frames of memory, and places in each ring.
const FRAMES: u32 = 2048;
/// Bytes of memory.
const MEMORY: usize = FRAMES as usize * FRAME_MEMORY;
/// Longest wait for an interface that takes no frames.
const PATIENCE: Duration = Duration::from_secs(5);
/// Frames of more bytes need several pieces of memory.
pub(super) const LARGEST_PIECE: usize = FRAME_MEMORY;

/// An AF_XDP socket that only sends.
#[derive(Debug)]
pub(super) struct Transmitter {
    // Closed before its memory is given back.
    socket: OwnedFd,
    transmit: ProducerRing<libc::xdp_desc>,
    completion: ConsumerRing<u64>,
    memory: Mapping,
    /// Frames of memory that hold nothing which is still to be sent.
    free: Vec<u64>,
    /// Frames that the interface has refused.
    dropped: u64,
}

/// An AF_XDP socket that sends, as it is granted, with the memory of its frames.
#[derive(Debug)]
pub(crate) struct TransmitGrant {
    pub(crate) socket: OwnedFd,
    pub(crate) memory: OwnedFd,
}

/// Takes the first free queue of the interface, to send frames of up to `longest` bytes. Needs privileges.
///
/// # Errors
/// With the step that failed.
pub(crate) fn grant(name: &str, longest: usize) -> Result<TransmitGrant, (&'static str, io::Error)> {
    let failed = |step| move |error| (step, error);
    let interface = Interface::find(name).map_err(failed("looking for the interface"))?;
    let socket = xsk::open().map_err(failed("making the socket"))?;
    let memory = shareable(MEMORY).map_err(failed("getting memory for frames"))?;
    let mapping =
        Mapping::of_descriptor(memory.as_fd(), MEMORY).map_err(failed("getting memory for frames"))?;
    xsk::lend(socket.as_fd(), &mapping).map_err(failed("locking memory for frames"))?;
    // The kernel wants a ring of free frames with the memory, though nothing is received.
    for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_TX_RING] {
        xsk::set(socket.as_fd(), ring, &FRAMES).map_err(failed("making the rings"))?;
    }
    let pieces = if longest > LARGEST_PIECE { libc::XDP_USE_SG } else { 0 };
    let flags = libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP | pieces;
    let mut bound = Err(io::Error::from_raw_os_error(libc::EBUSY));
    for queue in 0..interface.queues.unwrap_or(1) {
        bound = xsk::bind(socket.as_fd(), interface.index, queue, flags);
        if bound.as_ref().err().and_then(io::Error::raw_os_error) != Some(libc::EBUSY) {
            break;
        }
    }
    bound.map_err(failed("taking a queue"))?;
    Ok(TransmitGrant { socket, memory })
}

impl Transmitter {
    /// Takes over a socket that was granted.
    ///
    /// # Errors
    /// With the step that failed.
    pub(super) fn adopt(grant: TransmitGrant) -> Result<Self, (&'static str, io::Error)> {
        let failed = |step| move |error| (step, error);
        let TransmitGrant { socket, memory } = grant;
        let memory =
            Mapping::of_descriptor(memory.as_fd(), MEMORY).map_err(failed("getting memory for frames"))?;
        let offsets = xsk::get::<libc::xdp_mmap_offsets>(socket.as_fd(), libc::XDP_MMAP_OFFSETS)
            .map_err(failed("mapping the rings"))?;
        let at_transmit = libc::XDP_PGOFF_TX_RING as u64;
        let transmit = ProducerRing::map(socket.as_fd(), &offsets.tx, FRAMES, at_transmit)
            .map_err(failed("mapping the rings"))?;
        let at_completion = libc::XDP_UMEM_PGOFF_COMPLETION_RING;
        let completion = ConsumerRing::map(socket.as_fd(), &offsets.cr, FRAMES, at_completion)
            .map_err(failed("mapping the rings"))?;
        let free = (0..u64::from(FRAMES)).map(|frame| frame * FRAME_MEMORY as u64).collect();
        Ok(Self { socket, transmit, completion, memory, free, dropped: 0 })
    }

    /// Puts a frame of these parts into the ring; the next [`Transmitter::flush`] sends it. If the ring is full, what is
    /// in it is sent first.
    ///
    /// # Errors
    /// If the interface takes no frames.
    pub(super) fn push(&mut self, header: &[u8], payload: &[u8]) -> io::Result<()> {
        let length = header.len() + payload.len();
        let pieces = length.div_ceil(FRAME_MEMORY);
        if self.free.len() < pieces {
            self.collect();
            if self.free.len() < pieces {
                self.flush()?;
                self.wait_for(pieces)?;
            }
        }
        let mut rest = [header, payload];
        for piece in 0..pieces {
            let Some(address) = self.free.pop() else {
                return Err(io::Error::other("a frame of more pieces than there is memory for"));
            };
            let mut filled = 0;
            for part in &mut rest {
                let (now, later) = part.split_at(part.len().min(FRAME_MEMORY - filled));
                self.write(address as usize + filled, now);
                filled += now.len();
                *part = later;
            }
            let options = if piece + 1 < pieces { libc::XDP_PKT_CONTD } else { 0 };
            // There is a place for every frame of memory.
            self.transmit.push(libc::xdp_desc { addr: address, len: filled as u32, options });
        }
        Ok(())
    }

    /// Copies bytes to a place inside a frame of memory that is ours.
    fn write(&mut self, place: usize, bytes: &[u8]) {
        assert!(place + bytes.len() <= self.memory.length(), "a frame outside of the memory");
        // SAFETY: inside the mapping, as just checked; the kernel reads there only what was pushed and not completed,
        // which this frame is not.
        unsafe {
            let target = self.memory.base().add(place);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.as_ptr(), bytes.len());
        }
    }

    /// Has the kernel take everything out of the ring.
    ///
    /// # Errors
    /// If the interface takes no frames, for example because it is down.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.transmit.publish();
        let (mut end, mut before) = (None, u32::MAX);
        loop {
            let waiting = self.transmit.waiting();
            if waiting == 0 {
                break;
            }
            if waiting < before {
                (end, before) = (None, waiting);
            }
            if !self.transmit.needs_wakeup() {
                self.check_patience(&mut end)?;
                continue;
            }
            match xsk::wake(self.socket.as_fd()).map_err(|error| (error.raw_os_error(), error)) {
                Ok(()) => {}
                // Exactly one frame was taken and dropped by the interface.
                Err((Some(libc::EBUSY), _)) => self.dropped += 1,
                // There is more to be sent than goes at a time, or no memory for it at the moment.
                Err((Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR), _)) => {
                    self.collect();
                    self.check_patience(&mut end)?;
                }
                Err((_, error)) => return Err(error),
            }
        }
        self.collect();
        Ok(())
    }

    /// Waits until this many frames of memory are free.
    fn wait_for(&mut self, pieces: usize) -> io::Result<()> {
        let mut end = None;
        while self.free.len() < pieces {
            self.check_patience(&mut end)?;
            self.collect();
        }
        Ok(())
    }

    fn check_patience(&self, end: &mut Option<Instant>) -> io::Result<()> {
        let now = Instant::now();
        if now >= *end.get_or_insert(now + PATIENCE) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the interface takes no frames any more"));
        }
        std::thread::yield_now();
        Ok(())
    }

    /// Takes back the memory of frames that have been sent.
    fn collect(&mut self) {
        let sent = self.completion.available();
        for ahead in 0..sent {
            self.free.extend(self.completion.peek(ahead).map(|frame| frame & !(FRAME_MEMORY as u64 - 1)));
        }
        self.completion.advance(sent);
        self.completion.release();
    }

    /// Frames that the interface, or the kernel, has taken and dropped.
    pub(super) fn dropped(&self) -> u64 {
        let statistics = xsk::get::<libc::xdp_statistics>(self.socket.as_fd(), libc::XDP_STATISTICS);
        self.dropped + statistics.map_or(0, |statistics| statistics.tx_invalid_descs)
    }
}

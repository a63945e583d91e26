//! Rings shared with the kernel: one side writes entries and advances `producer`, the other reads them and
//! advances `consumer` (Linux, Documentation/networking/af_xdp.rst, "Rings").
//!
//! Both positions count on and wrap at 2^32; the place of an entry is its position modulo the ring's size, a power
//! of two. Entries are published by storing the position with *release* and seen by loading it with *acquire*.

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use super::memory::Mapping;
use super::ring_entry::RingEntry;
use evforge_core::sync::{AtomicU32, Ordering};

#[cfg(test)]
mod tests;

/// Memory shared with the kernel, its two positions, flags and entries.
#[derive(Debug)]
struct Shared<T> {
    /// Keeps the pointers below valid: a mapping, or in tests memory of their own.
    _memory: Box<dyn Debug + Send>,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<RingEntry<T>>,
    mask: u32,
}

// SAFETY: the pointers lead into the memory that moves along with them.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// Maps the ring of `size` entries (a power of two) that `socket` shares at `page_offset`.
    fn map(
        socket: BorrowedFd<'_>,
        offsets: &libc::xdp_ring_offset,
        size: u32,
        page_offset: u64,
    ) -> io::Result<Self> {
        let strange = || io::Error::other("the kernel describes a ring that lies outside of its memory");
        let entries = usize::try_from(offsets.desc).map_err(|_| strange())?;
        let length = entries + size as usize * size_of::<T>();
        let memory = Mapping::shared(socket, length, page_offset)?;
        let base = memory.base();
        let word = |offset: u64| {
            let offset = usize::try_from(offset).map_err(|_| strange())?;
            if !offset.is_multiple_of(4) || offset + 4 > length {
                return Err(strange());
            }
            // SAFETY: inside the mapping, as just checked.
            Ok(unsafe { base.add(offset) }.cast::<AtomicU32>())
        };
        let (producer, consumer, flags) =
            (word(offsets.producer)?, word(offsets.consumer)?, word(offsets.flags)?);
        if !entries.is_multiple_of(align_of::<RingEntry<T>>()) {
            return Err(strange());
        }
        // SAFETY: inside the mapping, whose length was computed from it.
        let entries = unsafe { base.add(entries) }.cast();
        Ok(Self { _memory: Box::new(memory), producer, consumer, flags, entries, mask: size - 1 })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: points into the mapping, aligned, and both sides access it atomically only.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as for `producer`.
        unsafe { self.consumer.as_ref() }
    }

    fn entry(&self, position: u32) -> &RingEntry<T> {
        // SAFETY: the mask keeps the place below the ring's size, and the memory holds this many entries, each a cell that both sides
        // reach at any time; what is in it is only touched by the side whose it is.
        unsafe { self.entries.add((position & self.mask) as usize).as_ref() }
    }
}

/// A ring that the kernel fills and we empty: of packets received, or of frames that have been sent.
#[derive(Debug)]
pub(super) struct ConsumerRing<T> {
    shared: Shared<T>,
    /// First entry that has not been taken.
    position: u32,
    /// The kernel's position when it was last looked at.
    filled: u32,
}

impl<T: Copy> ConsumerRing<T> {
    /// Maps the ring of `size` entries that `socket` shares at `page_offset`.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        offsets: &libc::xdp_ring_offset,
        size: u32,
        page_offset: u64,
    ) -> io::Result<Self> {
        Ok(Self::of(Shared::map(socket, offsets, size, page_offset)?))
    }

    fn of(shared: Shared<T>) -> Self {
        let position = shared.consumer().load(Ordering::Relaxed);
        Self { shared, position, filled: position }
    }

    /// Looks how many entries there are to be taken.
    pub(super) fn available(&mut self) -> u32 {
        self.filled = self.shared.producer().load(Ordering::Acquire);
        self.filled.wrapping_sub(self.position)
    }

    /// The entry that is `ahead` of the first one that has not been taken; none beyond those last seen.
    pub(super) fn peek(&self, ahead: u32) -> Option<T> {
        if ahead >= self.filled.wrapping_sub(self.position) {
            return None;
        }
        // SAFETY: the entry was written before the position that `available` has acquired, and the kernel leaves it
        // alone until `release`.
        Some(unsafe { self.shared.entry(self.position.wrapping_add(ahead)).read() })
    }

    /// Takes `count` entries, which have been peeked at.
    pub(super) fn advance(&mut self, count: u32) {
        debug_assert!(count <= self.filled.wrapping_sub(self.position));
        self.position = self.position.wrapping_add(count);
    }

    /// Gives the places of all taken entries back to the kernel.
    pub(super) fn release(&mut self) {
        self.shared.consumer().store(self.position, Ordering::Release);
    }
}

/// A ring that we fill and the kernel empties: of free frames, or of packets to be sent.
#[derive(Debug)]
pub(super) struct ProducerRing<T> {
    shared: Shared<T>,
    /// First place that has not been written.
    position: u32,
    /// The kernel's position when it was last looked at.
    emptied: u32,
}

impl<T: Copy> ProducerRing<T> {
    /// Maps the ring of `size` entries that `socket` shares at `page_offset`.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        offsets: &libc::xdp_ring_offset,
        size: u32,
        page_offset: u64,
    ) -> io::Result<Self> {
        Ok(Self::of(Shared::map(socket, offsets, size, page_offset)?))
    }

    fn of(shared: Shared<T>) -> Self {
        let position = shared.producer().load(Ordering::Relaxed);
        Self { shared, position, emptied: position }
    }

    /// Offers an entry to the kernel, from the next [`ProducerRing::publish`] on. False if there is no place, which
    /// cannot happen as long as there are no more frames than places.
    pub(super) fn push(&mut self, entry: T) -> bool {
        if self.position.wrapping_sub(self.emptied) > self.shared.mask && self.waiting() > self.shared.mask {
            return false;
        }
        // SAFETY: the place is ours: the kernel has read what was there, and looks at it again only after `publish`.
        unsafe { self.shared.entry(self.position).write(entry) };
        self.position = self.position.wrapping_add(1);
        true
    }

    /// Lets the kernel see what was pushed.
    pub(super) fn publish(&mut self) {
        self.shared.producer().store(self.position, Ordering::Release);
    }

    /// Entries that the kernel has not taken yet.
    pub(super) fn waiting(&mut self) -> u32 {
        self.emptied = self.shared.consumer().load(Ordering::Acquire);
        self.position.wrapping_sub(self.emptied)
    }

    /// True if the kernel wants to be called to go on.
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: points into the mapping, aligned, and both sides access it atomically only.
        let flags = unsafe { self.shared.flags.as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

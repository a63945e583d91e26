//! Memory mapped from the kernel: frames of packets, and rings shared with it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// Fresh memory of `length` bytes, all zero, which other processes can map by its descriptor and nobody can resize.
pub(super) fn shareable(length: usize) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let memory =
        rustix::fs::memfd_create(c"evforge frames", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&memory, length as u64)?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(memory)
}

/// A piece of mapped memory, given back when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to the mapping alone (the kernel's side apart), wherever the mapping moves to.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Memory that other processes map, too, by its descriptor: all of it.
    pub(super) fn of_descriptor(memory: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let there = rustix::fs::fstat(memory)?.st_size;
        if u64::try_from(there) != Ok(length as u64) {
            // Beyond its end, reading it would end the process.
            return Err(io::Error::other(format!("memory for frames has {there} bytes, expected {length}")));
        }
        Self::map(length, libc::MAP_SHARED, memory.as_raw_fd(), 0)
    }

    /// Memory that `file` shares from `offset` on.
    pub(super) fn shared(file: BorrowedFd<'_>, length: usize, offset: u64) -> io::Result<Self> {
        Self::map(length, libc::MAP_SHARED | libc::MAP_POPULATE, file.as_raw_fd(), offset as libc::off_t)
    }

    fn map(length: usize, flags: libc::c_int, file: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: no fixed address is asked for, so no memory in use is replaced.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, file, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("memory at address 0"))?;
        Ok(Self { base, length })
    }

    /// The first byte.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody has a pointer into it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

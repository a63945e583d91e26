//! Memory that was freed, and that the allocator keeps.

/// Gives memory that was freed back to the host. The allocator of the GNU C library keeps what threads have freed for later threads, in a pool
/// for some threads each: a program that has one run after the other, each with threads of its own, would hold the most that each pool
/// was ever asked for. Takes some milliseconds; with another C library it does nothing.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches only what is free, under the locks of the allocator.
    unsafe {
        libc::malloc_trim(0)
    };
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    /// Resident memory of this process in bytes.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").expect("the state of this process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        1024 * line.trim().trim_end_matches(" kB").parse::<usize>().expect("kilobytes")
    }

    #[test]
    fn what_a_thread_has_freed_goes_back() {
        const PIECE: usize = 4096;
        const PIECES: usize = 16_384;
        // Other tests of this process take memory meanwhile.
        let goes_back = (0..5).any(|_| {
            // Pieces too small to be given back one by one; the last one keeps the end of the pool in use.
            let last = std::thread::spawn(|| {
                let mut pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| vec![1; PIECE]).collect();
                pieces.pop()
            });
            let last = last.join().expect("no panic");
            let before = resident();
            super::give_back();
            let after = resident();
            drop(last);
            after + PIECES * PIECE / 2 < before
        });
        assert!(goes_back);
    }
}

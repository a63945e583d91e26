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

/// Memory from which on a piece is one of its own, which goes back to the host when it is freed: 1 MiB.
const LARGE: i32 = 1 << 20;

/// Has large pieces of memory (buffers of packets, events and pictures) taken from the host and given back by themselves, from now on.
/// The allocator of the GNU C library does so at first, and stops after it has seen some freed: they lie among small ones then, and a
/// program that has one run after the other comes to hold twice what it uses. With another C library it does nothing. To be called
/// before other threads are started.
pub fn keep_large_pieces_apart() {
    #[cfg(target_env = "gnu")]
    // SAFETY: a number, for a setting that has been there since the first version of the library.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE)
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
    fn large_pieces_go_back_wherever_small_ones_lie() {
        const PIECE: usize = 4 << 20;
        const PIECES: usize = 32;
        super::keep_large_pieces_apart();
        // After this one the allocator would take all smaller ones for small.
        drop(std::hint::black_box(vec![1_u8; 30 << 20]));
        let goes_back = (0..5).any(|_| {
            let mut small = Vec::new();
            let mut large = Vec::new();
            for _ in 0..PIECES {
                large.push(vec![1_u8; PIECE]);
                small.push(vec![1_u8; 100]);
            }
            let before = resident();
            drop(large);
            let after = resident();
            drop(small);
            after + PIECES * PIECE / 2 < before
        });
        assert!(goes_back);
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

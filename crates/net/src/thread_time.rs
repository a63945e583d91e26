//! How much of a processor a thread has needed.

use std::time::Duration;

/// Processor time of this thread since it began, in the kernel and outside.
pub fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is valid for writes. The clock exists on every Linux; if it did not, the time would stay 0.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_takes_time() {
        let before = processor_time();
        while processor_time() < before + Duration::from_millis(1) {
            std::hint::spin_loop();
        }
    }
}

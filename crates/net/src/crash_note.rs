//! What a process says when it crashes: the last words, written before the signal does what it would have done anyway.
//!
//! For calls into libraries that can crash on a damaged file: whoever sees the process end knows at what.

use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// Signals by which a crash ends a process.
const CRASHES: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGFPE, libc::SIGILL];

/// True of a signal by which a crash ends a process, and not a person or the kernel for want of memory.
pub fn is_crash(signal: c_int) -> bool {
    CRASHES.contains(&signal)
}

/// The words, and how many of their bytes there are. They lie here and not on the heap, which may be what is broken.
static WORDS: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];
static LENGTH: AtomicUsize = AtomicUsize::new(0);
const MOST: usize = 1024;
/// What each signal did before.
static BEFORE: [AtomicPtr<libc::sigaction>; CRASHES.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CRASHES.len()];

/// As long as it lives, a crash of this process says that this file was being read. There is one at a time: the newest counts.
#[derive(Debug)]
pub struct CrashNote(());

impl CrashNote {
    /// Says of a crash that `path` was being read by the HDF5 library.
    pub fn while_hdf5_reads(path: &Path) -> Self {
        let words = format!(
            "evforge: crashed while {} was read: the HDF5 library does so on some damaged files.\n",
            path.display()
        );
        for (place, byte) in WORDS.iter().zip(words.bytes()) {
            place.store(byte, Ordering::Relaxed);
        }
        LENGTH.store(words.len().min(MOST), Ordering::Release);
        for (signal, before) in CRASHES.into_iter().zip(&BEFORE) {
            if before.load(Ordering::Acquire).is_null() {
                listen(signal, before);
            }
        }
        Self(())
    }
}

impl Drop for CrashNote {
    fn drop(&mut self) {
        LENGTH.store(0, Ordering::Release);
    }
}

/// Has a signal say the words first, and keeps what it did before.
fn listen(signal: c_int, before: &AtomicPtr<libc::sigaction>) {
    // SAFETY: zeros are a valid structure of these integers and of a set of signals that is empty.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = last_words as extern "C" fn(c_int) as usize;
    // The stack of a thread may be what has overflowed.
    new.sa_flags = libc::SA_ONSTACK;
    // SAFETY: both structures live longer than the call; the handler does only what a handler may.
    if unsafe { libc::sigaction(signal, &raw const new, &raw mut old) } == 0 {
        before.store(Box::into_raw(Box::new(old)), Ordering::Release);
    }
}

/// Says the words, and has the signal do what it did before: what has crashed does so again when this returns.
extern "C" fn last_words(signal: c_int) {
    let length = LENGTH.load(Ordering::Acquire);
    // The stack of a handler has room for little more.
    let mut words = [0; MOST];
    for (word, byte) in words.iter_mut().zip(&WORDS) {
        *word = byte.load(Ordering::Relaxed);
    }
    // SAFETY: a call that handlers of signals may make, with no more bytes than there are.
    unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), length.min(MOST)) };
    for (of, before) in CRASHES.into_iter().zip(&BEFORE) {
        let before = before.load(Ordering::Acquire);
        if of == signal && !before.is_null() {
            // SAFETY: a call that handlers may make; the structure is never freed.
            unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    /// Set for the process that crashes, to what it does.
    const CRASH: &str = "EVFORGE_TEST_CRASH";

    #[test]
    fn a_crash_says_at_what_and_is_the_crash_that_it_was() {
        if let Ok(how) = std::env::var(CRASH) {
            let note = CrashNote::while_hdf5_reads(Path::new("/data/run 1.nxs"));
            if how == "later" {
                drop(note);
            }
            if how == "abort" {
                std::process::abort();
            }
            // SAFETY: it is not: nothing is there, which ends this process as a library would.
            unsafe { ptr::read_volatile(std::hint::black_box(8) as *const u8) };
        }
        let name = "crash_note::tests::a_crash_says_at_what_and_is_the_crash_that_it_was";
        for (how, signal, is_said) in
            [("read", libc::SIGSEGV, true), ("abort", libc::SIGABRT, true), ("later", libc::SIGSEGV, false)]
        {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let ended = command.args(["--exact", name, "--nocapture"]).env(CRASH, how).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.signal(), Some(signal), "{how}: {said}");
            assert_eq!(said.contains("while /data/run 1.nxs was read"), is_said, "{how}: {said}");
        }
    }
}

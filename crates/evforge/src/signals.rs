//! Signals: which ones end a run cleanly, and which are ignored.
//!
//! | signal | what it does |
//! |---|---|
//! | SIGINT, SIGTERM | end the run in good order; a second one of them ends the process at once. The first one does not, if the run has been asked to end otherwise: by a command, the page, SIGHUP |
//! | SIGHUP (the terminal has gone) | the same, unless the program was started with it ignored (`nohup`). It often comes twice: no number of them ends the process at once |
//! | SIGUSR1, SIGUSR2, SIGALRM and others that would kill, and that mean nothing here | nothing |

use crate::CommandError;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Signals that end a process which does not expect them, sent by supervisors and scripts that take it for another.
const IGNORED: &[i32] =
    &[SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];

/// Has signals ignored that mean nothing to this program, from now on.
///
/// # Errors
/// If the system refuses.
pub(crate) fn ignore_others() -> io::Result<()> {
    let unread = Arc::new(AtomicBool::new(false));
    for &signal in IGNORED {
        // A handler that does nothing to speak of. It is not passed on to programs that this one starts.
        signal_hook::flag::register(signal, Arc::clone(&unread))?;
    }
    Ok(())
}

/// A flag that is set by what ends a run cleanly; see the [module](self).
pub(crate) fn stop_on_signals() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    // Its own: whoever has asked for the end otherwise (a command, the page, SIGHUP) has not asked for haste.
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second))?;
        signal_hook::flag::register(signal, Arc::clone(&is_second))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    if !is_ignored(SIGHUP) {
        signal_hook::flag::register(SIGHUP, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Has the same signals set another flag as well, after that of [`stop_on_signals`].
pub(crate) fn also_on_signals(flag: &Arc<AtomicBool>) -> Result<(), CommandError> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal != SIGHUP || !is_ignored(SIGHUP) {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
        }
    }
    Ok(())
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_in_mask(&status, signal)
}

/// Whether a signal is in the line `SigIgn` of a process's status.
fn is_in_mask(status: &str, signal: i32) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "Name:\tevforge\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        assert!(is_in_mask(status, SIGHUP) && is_in_mask(status, 13));
        assert!(!is_in_mask(status, SIGTERM) && !is_in_mask("", SIGHUP));
    }
}

//! What systemd is told: readiness, a heartbeat, the end.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// The service manager, if one has started this program and wants to know.
#[derive(Debug)]
pub(super) struct Supervisor {
    /// How often it wants a heartbeat.
    every: Option<Duration>,
    told: Instant,
    is_ready: bool,
    status: String,
}

impl Supervisor {
    /// The one that has started this program.
    pub(super) fn of_this_program() -> Self {
        // It ends the program when it hears nothing for so long: half of it is what it recommends.
        let every = sd_notify::watchdog_enabled().map(|limit| limit / 2);
        Self { every, told: Instant::now(), is_ready: false, status: String::new() }
    }

    /// Packets are taken from now on.
    pub(super) fn ready(&mut self) {
        if !std::mem::replace(&mut self.is_ready, true) {
            tell(&[NotifyState::Ready]);
        }
    }

    /// The thread that forms events is at work. Called about once a second; between phases, too.
    pub(super) fn alive(&mut self) {
        if self.every.is_some_and(|every| self.told.elapsed() + Duration::from_millis(1200) >= every) {
            self.told = Instant::now();
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// What it does, in a line that `systemctl status` shows.
    pub(super) fn status(&mut self, status: String) {
        if self.status != status {
            tell(&[NotifyState::Status(&status)]);
            self.status = status;
        }
    }

    /// The program is about to end.
    pub(super) fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }
}

/// Nobody may listen: then nothing happens.
fn tell(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}

//! Disks and clock of the host, as far as a run depends on them.

use super::kind::{Alarm, AlarmKind};

/// A disk with less than both of its share and these bytes left is nearly full: alarm, warning.
const FULL: (f64, u64) = (0.03, 20_000_000_000);
const LOW: (f64, u64) = (0.10, 100_000_000_000);

/// A file system that outputs write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// A folder on it that an output writes to.
    pub folder: String,
    /// Bytes that this program may still write.
    pub free: u64,
    /// All bytes of it.
    pub size: u64,
}

impl DiskSpace {
    fn alarm(&self) -> Option<Alarm> {
        let Self { folder, free, size } = self;
        let share = *free as f64 / (*size).max(1) as f64;
        let is_below = |(least, bytes): (f64, u64)| share < least && *free < bytes;
        let kind = match () {
            () if is_below(FULL) => AlarmKind::DiskFull,
            () if is_below(LOW) => AlarmKind::DiskLow,
            () => return None,
        };
        let text = format!("disk nearly full: {:.1} GB left at {folder}", *free as f64 / 1e9);
        Some(Alarm::of(kind, text.clone(), text).about(folder.clone()))
    }
}

/// The host at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostHealth {
    /// The file systems that outputs write to, each once.
    pub disks: Vec<DiskSpace>,
    /// Whether something keeps the clock right; none where it does not matter or cannot be known.
    pub clock_synchronised: Option<bool>,
}

impl HostHealth {
    /// What a person has to look at.
    pub(super) fn alarms(&self) -> impl Iterator<Item = Alarm> + '_ {
        let clock = (self.clock_synchronised == Some(false)).then(|| {
            let text = "clock not synchronised (no chrony, ntpd or PTP running)";
            Alarm::of(AlarmKind::Clock, text, text)
        });
        self.disks.iter().filter_map(DiskSpace::alarm).chain(clock)
    }
}

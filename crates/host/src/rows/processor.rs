//! Cores.

use super::row::{At, Paper, Row};
use crate::finding::Verdict;
use crate::profile::Profile;
use crate::wanted::Wanted;

/// The rows of this table.
pub(super) const ROWS: &[Row] = &[Row {
    name: "governor",
    subject: "core frequency",
    at: At::EachCore("cpufreq/scaling_governor"),
    wish: |_| Some(Wanted::Exactly("performance".to_owned())),
    papers: &[(Profile::Udp, Paper::Value("performance")), (Profile::Xfel, Paper::Value("performance"))],
    verdict: Verdict::Advice,
    weight: 6,
    why: "Cores slow down in the pauses between pulses, and are slow when the next one comes.",
    source: "10GE network tests with UDP, host tuning (cpuspeed is stopped); Reliable UDP at 10 Gb/s, 3.4 (throttling)",
    risk: "More power, more heat.",
}];

//! Looks at a detector's monitor data while it forms events, and switches it on and off.
//!
//! The thread that forms events is never waited for and never waits: it looks at some flags before each slab, and
//! the lock between it and those who look is held only to exchange a pointer. Monitor data is copied only when
//! somebody has asked, and when the run ends.

use crate::mask_report::{Proposal, propose_masks};
use evforge_control::requests::Wishes;
use evforge_core::detector::Detector;
use evforge_core::monitor::{MonitorData, PlaneMonitor, SPECTRUM_BINS, Track};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on the monitor data of a run; clones belong to the same run.
#[derive(Clone, Debug, Default)]
pub struct MonitorTap {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    wanted: AtomicBool,
    wishes: Wishes,
    latest: Mutex<Option<Arc<MonitorData>>>,
}

impl MonitorTap {
    /// Switches the collection on or off; it follows with the next packets. What was collected is forgotten when
    /// it is switched off.
    pub fn switch(&self, on: bool) {
        self.shared.wanted.store(on, Ordering::Relaxed);
    }

    /// True if it is switched on.
    pub fn is_on(&self) -> bool {
        self.shared.wanted.load(Ordering::Relaxed)
    }

    /// Forgets what has been collected, and goes on; it follows with the next packets.
    pub fn forget(&self) {
        self.shared.wishes.forget();
    }

    /// Asks for a copy of what has been collected; it is there after the next packets.
    pub fn ask(&self) {
        self.shared.wishes.ask();
    }

    /// The latest copy; none while monitoring is off or before the first copy.
    pub fn latest(&self) -> Option<Arc<MonitorData>> {
        self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The forming thread's side: does what has been asked for. `following` is whether the detector collects.
    pub(crate) fn serve(&self, detector: &mut dyn Detector, following: &mut bool) {
        let wanted = self.is_on();
        if wanted != *following {
            detector.set_monitoring(wanted);
            *following = wanted;
            self.copy(detector);
        }
        if let Some(wished) = self.shared.wishes.take() {
            if wished.forget && *following {
                detector.set_monitoring(false);
                detector.set_monitoring(true);
            }
            self.copy(detector);
        }
    }

    /// Copies what has been collected.
    pub(crate) fn copy(&self, detector: &dyn Detector) {
        let copy = detector.monitor().cloned().map(Arc::new);
        let mut latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *latest, copy);
        drop(latest);
        drop(old);
    }
}

/// Monitor data as JSON. Channels without readouts are left out.
pub fn monitor_json(monitor: &MonitorData) -> Value {
    let plan = monitor.plan();
    let counts = monitor.readouts().iter().zip(monitor.spectra()).enumerate();
    let channels: Vec<Value> = counts
        .filter(|(_, (readouts, _))| **readouts > 0)
        .map(|(index, (readouts, spectrum))| {
            let mut channel = json!({
                "index": index,
                "name": plan.channel_name(index),
                "readouts": readouts,
                "spectrum": &spectrum[..],
            });
            let limits = monitor.thresholds().get(index).zip(monitor.below().get(index));
            if let Some((threshold, below)) = limits.filter(|(threshold, _)| **threshold > 0) {
                channel["threshold"] = json!(threshold);
                channel["below"] = json!(below);
            }
            if let Some(plane) = plan.plane_of(index) {
                channel["plane"] = json!(plane);
            }
            channel
        })
        .collect();
    let planes = plan.planes.iter().zip(monitor.planes()).map(|(name, plane)| plane_json(name, plane));
    json!({
        "channel_count": plan.channel_count(),
        "spectrum_bins": SPECTRUM_BINS,
        "amplitude_bits": plan.amplitude_bits,
        "cluster_amplitude_bits": plan.cluster_amplitude_bits,
        "channels": channels,
        "noticed": propose_masks(monitor).iter().map(noticed_json).collect::<Vec<_>>(),
        "planes": planes.collect::<Vec<_>>(),
        "correlation": monitor.correlation(),
        "tracks": monitor.tracks().map(track_json).collect::<Vec<_>>(),
    })
}

fn noticed_json(proposal: &Proposal) -> Value {
    json!({
        "index": proposal.index,
        "name": proposal.channel,
        "fault": proposal.fault.name(),
        "readouts": proposal.readouts,
        "expected": proposal.expected,
    })
}

fn plane_json(name: &str, plane: &PlaneMonitor) -> Value {
    json!({
        "name": name,
        "multiplicity": &plane.multiplicity[..],
        "lone_multiplicity": &plane.lone_multiplicity[..],
        "lone_spectrum": &plane.lone_spectrum[..],
    })
}

fn track_json(track: &Track) -> Value {
    let hits = track.hits.iter().map(|hit| {
        json!({"plane": hit.plane, "strip": hit.strip, "amplitude": hit.amplitude, "time_ns": hit.time_ns})
    });
    json!({"time_ns": track.time_ns, "pixel_id": track.pixel_id, "hits": hits.collect::<Vec<_>>()})
}

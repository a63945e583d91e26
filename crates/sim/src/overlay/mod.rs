//! Truth from real data: a capture, laid several times over itself.
//!
//! What a pipeline makes of simulated pulses says how good it is on pulses as somebody thought they are. Here the
//! pulses are real: those neutrons of a capture that stand alone, of which nobody doubts that they are one neutron
//! and where it was, are copied to other times, so densely that they run into one another. As their events are known
//! from when they stood alone, they are labels: the truth of the overlay.
//!
//! ```text
//! capture ─► readouts ─► groups with silence around them ─► labels ─► copies, moved ─► packets
//!        └─► the configured pipeline ─► events ──────────────┘                    └─► truth
//! ```
//!
//! | step | module |
//! |---|---|
//! | packets to readouts and back, exactly | [`mod@format`] (the trait), [`srs_vmm`], [`caen_records`] |
//! | groups, and which of them are labels | [`recording`] |
//! | where copies go in time and on the detector | [`copies`] |
//!
//! A *label* is a group of readouts of one module of which the pipeline formed exactly one event, which is one
//! cluster on each plane, and around which there is silence: no other readout on any plane of the module within
//! a multiple of the separation in time ([`Recording::new`]). That is at least what the pipeline needs, so
//! that a label alone gives the very event that it gave in the capture. All other readouts are left out, so that the
//! labels are all that there is and an event without a label is a ghost; or they are laid over as well
//! ([`OverlayOptions::background`]), and their events stand in the truth as not resolvable.
//!
//! A neutron of the overlay is *resolvable* by the definition for simulated ones ([`crate::resolvable`]), with the dead
//! time of the overlay ([`OverlayOptions::dead_time_ps`]) and the resolution that the format has in the recording
//! ([`CaptureFormat::limits`]). Only labels are: what else is laid over may be several neutrons.
//!
//! What an overlay does not know: what the amplifier of a channel makes of two pulses that overlap in it. With
//! [`OverlayOptions::dead_time_ps`] the second one is lost, as in electronics that are busy with the first.

pub mod caen_records;
pub mod copies;
pub mod format;
mod options;
pub mod recording;
pub mod srs_vmm;

use crate::layout::Place;
use crate::packet::SimulatedPacket;
use crate::resolvable::{Limits, TrueHit, resolvable};
use crate::truth::Neutron;
use copies::{CopyLayout, Placement};
use format::{CaptureFormat, RecordedReadout};
pub use options::{CopyShift, OverlayOptions};
use recording::Recording;
use std::collections::HashMap;

/// Why a capture cannot be overlaid, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OverlayError(pub String);

/// A readout of the overlay: a copy of one of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Copied {
    step: u64,
    placement: u32,
    readout: u32,
}

/// A capture, laid over itself.
#[derive(Clone, Debug)]
pub struct Overlay<'a, C> {
    recording: &'a Recording<C>,
    placements: Vec<Placement>,
    /// In the order of steps.
    readouts: Vec<Copied>,
    /// The neutrons, in the order of time.
    pub truth: Vec<Neutron>,
    /// Copies of groups that were left out, because moved on the detector they would be torn or reach channels that
    /// are not there.
    pub left_out: u64,
    /// Readouts that were lost in the dead time of their channel.
    pub lost_in_dead_time: u64,
    /// How long the overlay is, in seconds.
    pub seconds: f64,
}

/// Most readouts of an overlay: 16 bytes of memory each.
pub const MOST_READOUTS: u64 = 1 << 30;

impl<'a, C: Copy> Overlay<'a, C> {
    /// Lays a recording over itself.
    ///
    /// # Errors
    /// If there are no labels, or more readouts or a longer time than there is room for; or if readouts cannot be
    /// moved to other channels and should be.
    pub fn new<F: CaptureFormat<Content = C>>(
        format: &F,
        recording: &'a Recording<C>,
        options: &OverlayOptions,
    ) -> Result<Self, OverlayError> {
        if recording.label_count() == 0 {
            return Err(OverlayError(format!(
                "no neutron of the capture stands alone: of {} groups of readouts with {} ns of silence around them \
                 none gave exactly one event and is one cluster on each plane; take a capture of a lower rate, or \
                 less isolation",
                recording.groups.len(),
                recording.silence_ps / 1000
            )));
        }
        let copied = recording.readouts.len() as u64 * u64::from(options.copies);
        if options.copies == 0 || copied > MOST_READOUTS {
            return Err(OverlayError(format!(
                "{} copies of {} readouts: an overlay has 1 to {MOST_READOUTS} readouts",
                options.copies,
                recording.readouts.len()
            )));
        }
        let extents = match (options.move_channels, format.fixed_channels()) {
            (false, _) => None,
            (true, None) => Some(format.extents()),
            (true, Some(reason)) => {
                return Err(OverlayError(format!("readouts cannot be moved to other channels: {reason}")));
            }
        };
        let layout = CopyLayout::new(recording, options, extents);
        let layout = layout.ok_or_else(|| {
            OverlayError(format!(
                "{} times {:.3} s is longer than times of 64 bits: stretch the capture less",
                options.stretch,
                recording.seconds()
            ))
        })?;
        let takes = |group: &recording::Group| group.is_label || options.background;
        let fits = |group: &recording::Group, by| {
            let own = &recording.readouts[group.readouts.clone()];
            let events = &recording.events[group.events.clone()];
            own.iter().all(|readout| format.moved(readout, by).is_some())
                && events.iter().all(|event| format.moved_pixel(event.pixel_id, by).is_some())
        };
        let (placements, left_out) = layout.placements(recording, takes, fits);
        let limits = format.limits(options.dead_time_ps);
        let truth = truth(format, recording, &placements, &limits);
        let mut readouts = copied_readouts(recording, &placements);
        let lost_in_dead_time = lose(recording, &placements, &mut readouts, options.dead_time_ps);
        let seconds = layout.length() as f64 * recording.step_ps as f64 * 1e-12;
        Ok(Self { recording, placements, readouts, truth, left_out, lost_in_dead_time, seconds })
    }

    /// Number of readouts.
    pub fn readout_count(&self) -> usize {
        self.readouts.len()
    }

    /// The readouts, in the order of their steps.
    pub fn readouts<F: CaptureFormat<Content = C>>(
        &self,
        format: &F,
    ) -> impl Iterator<Item = RecordedReadout<C>> {
        self.readouts.iter().filter_map(|copied| self.placed(format, copied))
    }

    /// Hands the packets to `take`, in the order in which they are sent.
    pub fn write<F: CaptureFormat<Content = C>>(
        &self,
        format: &mut F,
        mut take: impl FnMut(SimulatedPacket),
    ) {
        for copied in &self.readouts {
            if let Some(readout) = self.placed(format, copied) {
                format.write(&readout, &mut take);
            }
        }
        format.finish(&mut take);
    }

    /// A readout where it was put. There is always one: that it has a channel was seen when its group was placed.
    fn placed<F: CaptureFormat<Content = C>>(
        &self,
        format: &F,
        copied: &Copied,
    ) -> Option<RecordedReadout<C>> {
        let by = self.placements[copied.placement as usize].by;
        let readout = &self.recording.readouts[copied.readout as usize];
        let moved = if by == [0; 2] { *readout } else { format.moved(readout, by)? };
        Some(RecordedReadout { step: copied.step, ..moved })
    }
}

/// The events of all copies, with whether they can be told apart.
fn truth<F: CaptureFormat>(
    format: &F,
    recording: &Recording<F::Content>,
    placements: &[Placement],
    limits: &Limits,
) -> Vec<Neutron> {
    let step_ps = i128::from(recording.step_ps);
    let resolvable = which_are_resolvable(recording, placements, limits);
    let mut neutrons = Vec::new();
    for (placement, is_resolvable) in placements.iter().zip(resolvable) {
        let group = &recording.groups[placement.group as usize];
        for event in &recording.events[group.events.clone()] {
            let moved = format.moved_pixel(event.pixel_id, placement.by);
            let Some((pixel_id, position)) = moved.and_then(|id| Some((id, format.centre(id)?))) else {
                continue;
            };
            // Moves are whole nanoseconds.
            let later_ns = (i128::from(placement.steps) * step_ps / 1000) as i64;
            neutrons.push(Neutron {
                number: 0,
                time_ns: event.time_ns.wrapping_add_signed(later_ns),
                pixel_id,
                module: u32::from(group.span.module),
                position,
                resolvable: group.is_label && is_resolvable,
            });
        }
    }
    neutrons.sort_by_key(|neutron| (neutron.time_ns, neutron.pixel_id));
    neutrons.iter_mut().zip(0..).for_each(|(neutron, number)| neutron.number = number);
    neutrons
}

/// Says of each placed group whether it can be told from the others, each taken for a neutron.
fn which_are_resolvable<C: Copy>(
    recording: &Recording<C>,
    placements: &[Placement],
    limits: &Limits,
) -> Vec<bool> {
    let group = |placement: &Placement| &recording.groups[placement.group as usize];
    let step_ps = i128::from(recording.step_ps);
    let moved_ps = |placement: &Placement| i128::from(placement.steps) * step_ps;
    let start = |placement: &Placement| group(placement).span.start_ps + moved_ps(placement);
    let mut order: Vec<usize> = (0..placements.len()).collect();
    order.sort_by_key(|&index| (start(&placements[index]), index));
    let first_ps = order.first().map_or(0, |&index| start(&placements[index]));
    let mut hits = Vec::new();
    for (&index, neutron) in order.iter().zip(0..) {
        let placement = &placements[index];
        for readout in &recording.readouts[group(placement).readouts.clone()] {
            let since = readout.time_ps(recording.step_ps) + moved_ps(placement) - first_ps;
            if let (Some(place), Ok(time_ps)) = (readout.place.moved(placement.by), u64::try_from(since)) {
                hits.push(TrueHit { place, neutron, time_ps });
            }
        }
    }
    let found = resolvable(hits, placements.len(), limits);
    let mut of_placements = vec![false; placements.len()];
    for (&index, found) in order.iter().zip(found) {
        of_placements[index] = found;
    }
    of_placements
}

/// The readouts of all copies in the order of their steps.
fn copied_readouts<C>(recording: &Recording<C>, placements: &[Placement]) -> Vec<Copied> {
    let group = |placement: &Placement| &recording.groups[placement.group as usize];
    let count = placements.iter().map(|placement| group(placement).readouts.len()).sum();
    let mut copied = Vec::with_capacity(count);
    for (placement, number) in placements.iter().zip(0..) {
        copied.extend(group(placement).readouts.clone().map(|index| Copied {
            step: recording.readouts[index].step.wrapping_add_signed(placement.steps),
            placement: number,
            readout: index as u32,
        }));
    }
    copied.sort_unstable();
    copied
}

/// Takes out what comes too soon after a readout of the same channel and returns how many those were.
fn lose<C>(
    recording: &Recording<C>,
    placements: &[Placement],
    readouts: &mut Vec<Copied>,
    dead_time_ps: u64,
) -> u64 {
    if dead_time_ps == 0 {
        return 0;
    }
    let before = readouts.len();
    let mut latest: HashMap<Place, i128> = HashMap::new();
    readouts.retain(|copied| {
        let readout = &recording.readouts[copied.readout as usize];
        let Some(place) = readout.place.moved(placements[copied.placement as usize].by) else { return false };
        let time = i128::from(copied.step) * i128::from(recording.step_ps) + i128::from(readout.fine_ps);
        let known = latest.entry(place).or_insert(i128::MIN);
        let is_taken = known.checked_add(i128::from(dead_time_ps)).is_none_or(|until| time >= until);
        if is_taken {
            *known = time;
        }
        is_taken
    });
    (before - readouts.len()) as u64
}

#[cfg(test)]
mod tests;

//! A capture, cut into groups of readouts with silence around them, and the groups that are labels.

use super::format::{CaptureFormat, RecordedReadout, Separation};
use crate::layout::Place;
use evforge_core::event::Event;
use std::collections::HashMap;
use std::ops::Range;

/// The time that the readouts of a group take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The part of the detector that is reconstructed by itself.
    pub module: u16,
    /// Time of the first readout on any plane, in picoseconds.
    pub start_ps: i128,
    /// Time of the last one.
    pub end_ps: i128,
}

/// Readouts of one module with silence before and after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// When and where.
    pub span: Span,
    /// Its readouts, in [`Recording::readouts`].
    pub readouts: Range<usize>,
    /// Events that were formed of it, in [`Recording::events`].
    pub events: Range<usize>,
    /// The earliest step of a readout.
    pub first_step: u64,
    /// Lowest and highest coordinate on each plane; none on a plane without readouts.
    pub coordinates: [Option<(u16, u16)>; 2],
    /// True if it is a label: one event was formed of it, and its readouts are one cluster on each plane.
    pub is_label: bool,
}

/// A capture with what was formed of it.
#[derive(Clone, Debug)]
pub struct Recording<C> {
    /// The readouts that have a place and a time, in the order of module and time.
    pub readouts: Vec<RecordedReadout<C>>,
    /// The groups, in the same order.
    pub groups: Vec<Group>,
    /// The events that belong to a group, in the same order.
    pub events: Vec<Event>,
    /// Events that lie in no group: of readouts that were left out.
    pub stray_events: u64,
    /// Picoseconds in a step.
    pub step_ps: u64,
    /// Silence around a group in picoseconds: nothing else happens on its module for longer than this.
    pub silence_ps: u64,
    /// Separation that the configured reconstruction needs.
    pub separation: Separation,
    /// The earliest step of all.
    pub first_step: u64,
    /// Steps from the earliest to the latest readout.
    pub steps: u64,
    /// The shortest time between two readouts of one channel, in picoseconds: what the electronics' dead time allows,
    /// if there are enough readouts.
    pub shortest_repetition_ps: Option<u64>,
}

impl<C: Copy> Recording<C> {
    /// Cuts `readouts` into groups and finds out which of them are labels, given the events that the configured
    /// pipeline forms of the whole capture. Around a group there is silence of more than `isolation` times the
    /// separation in time; a factor below 1 is taken as 1, because with less the groups could not be formed one by
    /// one.
    pub fn new<F: CaptureFormat<Content = C>>(
        format: &F,
        mut readouts: Vec<RecordedReadout<C>>,
        events: &[Event],
        isolation: f64,
    ) -> Self {
        let (step_ps, separation) = (format.step_ps(), format.separation());
        let silence_ps = (separation.time_ps as f64 * isolation.max(1.0)) as u64;
        readouts.sort_by_key(|readout| (readout.place.module, readout.time_ps(step_ps)));
        let mut groups: Vec<Group> = Vec::new();
        for (index, readout) in readouts.iter().enumerate() {
            let time = readout.time_ps(step_ps);
            match groups.last_mut().filter(|group| {
                group.span.module == readout.place.module
                    && time - group.span.end_ps <= i128::from(silence_ps)
            }) {
                Some(group) => group.add(index, readout, time),
                None => groups.push(Group::of(index, readout, time)),
            }
        }
        let (events, stray_events) = assign(format, &mut groups, events);
        for group in &mut groups {
            let own = &readouts[group.readouts.clone()];
            group.is_label = group.events.len() == 1 && is_one_cluster(own, step_ps, &separation);
        }
        let first_step = readouts.iter().map(|readout| readout.step).min().unwrap_or(0);
        let last_step = readouts.iter().map(|readout| readout.step).max().unwrap_or(0);
        let shortest_repetition_ps = shortest_repetition(&readouts, step_ps);
        Self {
            readouts,
            groups,
            events,
            stray_events,
            step_ps,
            silence_ps,
            separation,
            first_step,
            steps: last_step - first_step,
            shortest_repetition_ps,
        }
    }

    /// Number of labels.
    pub fn label_count(&self) -> usize {
        self.groups.iter().filter(|group| group.is_label).count()
    }

    /// Time from the earliest to the latest readout, in seconds.
    pub fn seconds(&self) -> f64 {
        self.steps as f64 * self.step_ps as f64 * 1e-12
    }
}

impl<C> RecordedReadout<C> {
    /// Its time in picoseconds on the electronics' clock.
    pub fn time_ps(&self, step_ps: u64) -> i128 {
        i128::from(self.step) * i128::from(step_ps) + i128::from(self.fine_ps)
    }
}

impl Group {
    fn of<C>(index: usize, readout: &RecordedReadout<C>, time: i128) -> Self {
        let mut group = Self {
            span: Span { module: readout.place.module, start_ps: time, end_ps: time },
            readouts: index..index,
            events: 0..0,
            first_step: readout.step,
            coordinates: [None; 2],
            is_label: false,
        };
        group.add(index, readout, time);
        group
    }

    /// Adds the next readout in the order of time.
    fn add<C>(&mut self, index: usize, readout: &RecordedReadout<C>, time: i128) {
        self.span.end_ps = time;
        self.readouts.end = index + 1;
        self.first_step = self.first_step.min(readout.step);
        let Place { plane, coordinate, .. } = readout.place;
        if let Some(known) = self.coordinates.get_mut(usize::from(plane)) {
            let (low, high) = known.unwrap_or((coordinate, coordinate));
            *known = Some((low.min(coordinate), high.max(coordinate)));
        }
    }
}

/// Gives each event to the group that its time lies in. Returns the events in the order of the groups, and how many
/// belong to none.
fn assign<F: CaptureFormat>(format: &F, groups: &mut [Group], events: &[Event]) -> (Vec<Event>, u64) {
    let mut owned: Vec<(usize, Event)> = Vec::with_capacity(events.len());
    for event in events {
        let Some(module) = format.module(event.pixel_id) else { continue };
        // Events' times are cut to nanoseconds.
        let begin = i128::from(event.time_ns) * 1000;
        let until = (module, begin + 999);
        let index = groups.partition_point(|group| (group.span.module, group.span.start_ps) <= until);
        let Some(index) = index.checked_sub(1) else { continue };
        let span = groups[index].span;
        if span.module == module && span.end_ps >= begin {
            owned.push((index, *event));
        }
    }
    owned.sort_by_key(|(group, event)| (*group, event.time_ns, event.pixel_id));
    for (place, (group, _)) in owned.iter().enumerate() {
        let own = &mut groups[*group].events;
        if own.start == own.end {
            own.start = place;
        }
        own.end = place + 1;
    }
    let strays = (events.len() - owned.len()) as u64;
    (owned.into_iter().map(|(_, event)| event).collect(), strays)
}

/// True if on each plane no two neighbours in time and no two neighbours in coordinate are further apart than the
/// reconstruction allows, and every plane has as many readouts as it demands.
fn is_one_cluster<C>(readouts: &[RecordedReadout<C>], step_ps: u64, separation: &Separation) -> bool {
    (0..2_u8).zip(separation.min_hits).zip(separation.coordinates).all(|((plane, least), reach)| {
        let own = readouts.iter().filter(|readout| readout.place.plane == plane);
        let times: Vec<i128> = own.clone().map(|readout| readout.time_ps(step_ps)).collect();
        let mut coordinates: Vec<u16> = own.map(|readout| readout.place.coordinate).collect();
        coordinates.sort_unstable();
        times.len() >= usize::from(least)
            && times.windows(2).all(|pair| pair[1] - pair[0] <= i128::from(separation.time_ps))
            && coordinates.windows(2).all(|pair| pair[1] - pair[0] <= reach)
    })
}

/// The shortest time between two readouts of one channel.
fn shortest_repetition<C>(readouts: &[RecordedReadout<C>], step_ps: u64) -> Option<u64> {
    let mut latest = HashMap::new();
    let between = readouts.iter().filter_map(|readout| {
        let time = readout.time_ps(step_ps);
        latest.insert(readout.place, time).map(|before| time - before)
    });
    between.min().and_then(|shortest| u64::try_from(shortest).ok())
}

//! The events that a library wrote, on their way into batches.
//!
//! A library writes into memory of the host, which looks at everything before it takes it over. So that a library
//! always finds room for the events of a packet, this memory is as large as they ask, whatever the size of a batch is.

use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_plugin_interface::layout::{Pulse, RawEvents};

/// Events of a call, besides those of the packet for which there must be room: a library stops where only that is left.
const EVENTS_PER_CALL: usize = 8192;

/// Events and pulses of one call.
#[derive(Debug)]
pub(crate) struct EventBuffer {
    events_per_packet: usize,
    times_ns: Vec<u64>,
    pixel_ids: Vec<u32>,
    pulses: Vec<Pulse>,
    /// What is still here: events `next..used` and pulses `next_pulse..pulses_used`.
    used: usize,
    next: usize,
    pulses_used: usize,
    next_pulse: usize,
    tells_pulses: bool,
    /// Start of the pulse that the next event belongs to, once there is one.
    pulse: Option<u64>,
}

impl EventBuffer {
    /// With room for the events of one packet; with pulses, if the library tells them.
    pub(crate) fn new(events_per_packet: usize, tells_pulses: bool) -> Self {
        let capacity = events_per_packet + EVENTS_PER_CALL;
        Self {
            events_per_packet,
            times_ns: vec![0; capacity],
            pixel_ids: vec![0; capacity],
            pulses: vec![Pulse::default(); capacity],
            used: 0,
            next: 0,
            pulses_used: 0,
            next_pulse: 0,
            tells_pulses,
            pulse: None,
        }
    }

    /// True if the library tells pulses.
    pub(crate) fn tells_pulses(&self) -> bool {
        self.tells_pulses
    }

    /// Memory in bytes.
    pub(crate) fn memory_bound(&self) -> usize {
        self.times_ns.len() * (size_of::<u64>() + size_of::<u32>() + size_of::<Pulse>())
    }

    /// The room as a library sees it. Everything must have been drained.
    pub(crate) fn room(&mut self) -> RawEvents {
        RawEvents {
            times_ns: self.times_ns.as_mut_ptr(),
            pixel_ids: self.pixel_ids.as_mut_ptr(),
            capacity: self.times_ns.len(),
            used: 0,
            pulses: self.pulses.as_mut_ptr(),
            pulse_capacity: self.pulses.len(),
            pulses_used: 0,
        }
    }

    /// The room that a library left, if it was enough for the events of a packet, or for one event if their number is
    /// not known.
    pub(crate) fn left(&self, written: &RawEvents) -> Option<usize> {
        let left = self.times_ns.len().saturating_sub(written.used.max(written.pulses_used));
        (left >= self.events_per_packet.max(1)).then_some(left)
    }

    /// Events that the library says it wrote, as far as that many are possible.
    pub(crate) fn possible(&self, written: &RawEvents) -> usize {
        written.used.min(self.times_ns.len())
    }

    /// Takes over what a library wrote, if all of it can be.
    pub(crate) fn accept(&mut self, written: &RawEvents, geometry: LogicalGeometry) -> Result<(), String> {
        let capacity = self.times_ns.len();
        for (what, used) in [("events", written.used), ("pulses", written.pulses_used)] {
            if used > capacity {
                return Err(format!("wrote {used} {what}; there was room for {capacity}"));
            }
        }
        let pixels = &self.pixel_ids[..written.used];
        if let Some(index) = pixels.iter().position(|&pixel| !geometry.is_valid(pixel)) {
            return Err(format!(
                "wrote pixel {} (event {index}); expected 1 to {}",
                pixels[index],
                geometry.pixel_count()
            ));
        }
        if self.tells_pulses {
            self.check_pulses(written)?;
        } else if written.pulses_used > 0 {
            return Err(format!("wrote {} pulses; it was described to tell none", written.pulses_used));
        }
        (self.used, self.next) = (written.used, 0);
        (self.pulses_used, self.next_pulse) = (written.pulses_used, 0);
        Ok(())
    }

    /// Checks that every event belongs to a pulse, and is not earlier than it.
    fn check_pulses(&self, written: &RawEvents) -> Result<(), String> {
        let pulses = &self.pulses[..written.pulses_used];
        let mut earliest = 0;
        for (index, pulse) in pulses.iter().enumerate() {
            if !(earliest..=written.used as u64).contains(&pulse.first_event) {
                return Err(format!(
                    "wrote pulse {index} with the first event {}; expected {earliest} to {}",
                    pulse.first_event, written.used
                ));
            }
            earliest = pulse.first_event;
        }
        let starts = pulses.iter().map(|pulse| pulse.first_event as usize);
        let ends = starts.clone().chain([written.used]);
        let times = std::iter::once(self.pulse).chain(pulses.iter().map(|pulse| Some(pulse.time_ns)));
        for ((start, end), pulse) in std::iter::once(0).chain(starts).zip(ends).zip(times) {
            let Some(pulse) = pulse else {
                if start < end {
                    return Err("wrote an event before its first pulse".to_owned());
                }
                continue;
            };
            let early = self.times_ns[start..end].iter().position(|&time| time < pulse);
            if let Some(early) = early.map(|early| start + early) {
                let time = self.times_ns[early];
                return Err(format!("wrote event {early} at {time} ns; its pulse began at {pulse} ns"));
            }
        }
        Ok(())
    }

    /// Forgets what was taken over.
    pub(crate) fn forget(&mut self) {
        (self.used, self.next, self.pulses_used, self.next_pulse) = (0, 0, 0, 0);
    }

    /// Moves what is here into a batch. False if it does not have room for all.
    pub(crate) fn drain(&mut self, events: &mut EventBatch) -> bool {
        loop {
            while let Some(pulse) = self.pulses[..self.pulses_used].get(self.next_pulse)
                && pulse.first_event <= self.next as u64
            {
                if !events.begin_pulse(pulse.time_ns) {
                    return false;
                }
                self.pulse = Some(pulse.time_ns);
                self.next_pulse += 1;
            }
            if self.next == self.used {
                return true;
            }
            if events.is_full() {
                return false;
            }
            // A pulse that goes on from one batch to the next is named again.
            if events.is_blank()
                && let Some(pulse) = self.pulse
                && !events.begin_pulse(pulse)
            {
                return false;
            }
            let until = self.pulses[..self.pulses_used].get(self.next_pulse);
            let until = until.map_or(self.used, |pulse| pulse.first_event as usize);
            let (times, pixels) = (&self.times_ns[self.next..until], &self.pixel_ids[self.next..until]);
            let mut copied = 0;
            events.append(times.len(), |to_times, to_pixels| {
                copied = to_times.len();
                to_times.copy_from_slice(&times[..copied]);
                to_pixels.copy_from_slice(&pixels[..copied]);
                copied
            });
            self.next += copied;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(buffer: &mut EventBuffer, events: usize, pulses: &[Pulse]) -> RawEvents {
        for index in 0..events.min(buffer.times_ns.len()) {
            buffer.times_ns[index] = index as u64;
            buffer.pixel_ids[index] = index as u32 % 4 + 1;
        }
        buffer.pulses[..pulses.len()].copy_from_slice(pulses);
        RawEvents { used: events, pulses_used: pulses.len(), ..buffer.room() }
    }

    fn pulse(time_ns: u64, first_event: u64) -> Pulse {
        Pulse { time_ns, first_event }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_was_expected() {
        let geometry = LogicalGeometry::flat(2, 2).unwrap();
        let mut buffer = EventBuffer::new(0, true);
        for (events, pulses, expected) in [
            (8193, vec![], "wrote 8193 events; there was room for 8192"),
            (2, vec![pulse(0, 1)], "wrote an event before its first pulse"),
            (3, vec![pulse(0, 0), pulse(3, 2)], "wrote event 2 at 2 ns; its pulse began at 3 ns"),
            (2, vec![pulse(0, 3)], "wrote pulse 0 with the first event 3; expected 0 to 2"),
            (2, vec![pulse(0, 1), pulse(0, 0)], "wrote pulse 1 with the first event 0; expected 1 to 2"),
        ] {
            let written = write(&mut buffer, events, &pulses);
            assert_eq!(buffer.accept(&written, geometry).unwrap_err(), expected);
        }
        let mut buffer = EventBuffer::new(0, false);
        let written = write(&mut buffer, 2, &[pulse(0, 0)]);
        let expected = "wrote 1 pulses; it was described to tell none";
        assert_eq!(buffer.accept(&written, geometry).unwrap_err(), expected);
        let written = write(&mut buffer, 6, &[]);
        for wrong in [0, 5] {
            buffer.pixel_ids[3] = wrong;
            let expected = format!("wrote pixel {wrong} (event 3); expected 1 to 4");
            assert_eq!(buffer.accept(&written, geometry).unwrap_err(), expected);
        }
        assert!(buffer.drain(&mut EventBatch::new(1)), "nothing of it was taken over");
    }

    #[test]
    fn events_keep_their_order_and_their_pulse_in_batches_of_any_size() {
        let geometry = LogicalGeometry::flat(2, 2).unwrap();
        for capacity in [1, 2, 3, 7, 100] {
            let mut buffer = EventBuffer::new(0, true);
            let mut batch = EventBatch::new(capacity);
            let mut found = Vec::new();
            let mut take = |batch: &mut EventBatch| {
                for (start, range) in batch.by_pulse() {
                    found.extend(range.map(|index| (start, batch.times_ns()[index])));
                }
                batch.clear();
            };
            let pulses = [pulse(0, 0), pulse(1, 1), pulse(0, 1), pulse(2, 4), pulse(0, 5)];
            let written = write(&mut buffer, 5, &pulses);
            buffer.accept(&written, geometry).unwrap();
            while !buffer.drain(&mut batch) {
                take(&mut batch);
            }
            take(&mut batch);
            // The next call goes on with the last pulse.
            let written = write(&mut buffer, 2, &[]);
            buffer.accept(&written, geometry).unwrap();
            while !buffer.drain(&mut batch) {
                take(&mut batch);
            }
            take(&mut batch);
            let expected = [(0, 0), (0, 1), (0, 2), (0, 3), (2, 4), (0, 0), (0, 1)]
                .map(|(pulse, time)| (Some(pulse), time));
            assert_eq!(found, expected, "{capacity} events in a batch");
        }
    }
}

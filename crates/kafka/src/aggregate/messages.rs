//! Frames into messages: a pu00, and as many ev44 as the events need.

use super::AggregatedFrame;
use evforge_messages::{Column, Encoder, Ev44, Pu00};

/// Makes messages of frames, which it numbers.
#[derive(Debug)]
pub(super) struct FrameMessages {
    source: String,
    most_events: usize,
    /// The number of the last message, of both kinds.
    last_id: i64,
    encoder: Encoder,
    times: Vec<i32>,
    pixels: Vec<i32>,
}

impl FrameMessages {
    /// Messages of this source with at most so many events, numbered from behind `last_id`.
    pub(super) fn new(source: &str, most_events: usize, last_id: i64) -> Self {
        Self {
            source: source.to_owned(),
            most_events: most_events.max(1),
            last_id,
            encoder: Encoder::new(),
            times: Vec::new(),
            pixels: Vec::new(),
        }
    }

    /// The number of the last message.
    pub(super) fn last_id(&self) -> i64 {
        self.last_id
    }

    /// The next message gets the number behind this one: those behind it were not taken.
    pub(super) fn go_back(&mut self, last_id: i64) {
        self.last_id = last_id;
    }

    /// Hands the messages of a frame on, in their order.
    ///
    /// # Errors
    /// The first error of `hand_on`.
    pub(super) fn of<E>(
        &mut self,
        frame: &AggregatedFrame,
        mut hand_on: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.last_id += 1;
        let pulse = Pu00 {
            source_name: &self.source,
            message_id: self.last_id,
            reference_time: frame.reference_ns,
            vetos: frame.vetoes,
            period_number: frame.period,
            proton_charge: frame.charge,
        };
        hand_on(pulse.encode(&mut self.encoder))?;
        let (reference_time, first) = ([frame.reference_ns], [0]);
        for events in frame.events.chunks(self.most_events) {
            self.last_id += 1;
            self.times.clear();
            self.pixels.clear();
            self.times.extend(events.iter().map(|(time, _)| time));
            self.pixels.extend(events.iter().map(|(_, pixel)| pixel));
            let message = Ev44 {
                source_name: &self.source,
                message_id: self.last_id,
                reference_time: (&reference_time).into(),
                reference_time_index: (&first).into(),
                time_of_flight: Column::from(&self.times[..]),
                pixel_id: Column::from(&self.pixels[..]),
            };
            hand_on(message.encode(&mut self.encoder))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_messages::{Message, decode};

    #[test]
    fn a_frame_is_a_pu00_and_no_message_has_more_events_than_it_may() {
        let mut messages = FrameMessages::new("isis", 2, 7);
        let events = vec![(1, 10), (2, 20), (3, 30)];
        let frames = [
            AggregatedFrame { reference_ns: 5, period: Some(1), events, ..AggregatedFrame::default() },
            AggregatedFrame { reference_ns: 6, ..AggregatedFrame::default() },
        ];
        let mut seen = Vec::new();
        for frame in &frames {
            let made: Result<(), ()> = messages.of(frame, |bytes| {
                seen.push(match decode(bytes).expect("a message") {
                    Message::Pu00(pulse) => (pulse.message_id, pulse.reference_time, vec![]),
                    Message::Ev44(events) => {
                        (events.message_id, events.reference_time.to_vec()[0], events.pixel_id.to_vec())
                    }
                    other => panic!("{other}"),
                });
                Ok(())
            });
            assert_eq!(made, Ok(()));
        }
        let expected = [(8, 5, vec![]), (9, 5, vec![10, 20]), (10, 5, vec![30]), (11, 6, vec![])];
        assert_eq!((seen, messages.last_id()), (expected.to_vec(), 11));
    }
}

//! Messages that are sent again: with numbers of their own, and new times where they are asked for.

use evforge_messages::{Encoder, Message, Schema, TOO_LATE_NS};
use std::collections::BTreeMap;

/// New times for old ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    /// The old time that becomes `to`.
    pub(super) from: i64,
    pub(super) to: i64,
    /// Distances become shorter by this.
    pub(super) speed: f64,
}

impl Shift {
    pub(super) fn of(self, time_ns: i64) -> i64 {
        let distance = time_ns.saturating_sub(self.from);
        // Exact where nothing is to be computed.
        let distance = if self.speed == 1.0 { distance } else { (distance as f64 / self.speed) as i64 };
        self.to.saturating_add(distance).clamp(0, TOO_LATE_NS - 1)
    }
}

/// Numbers messages again, per schema and source, from 1 on.
#[derive(Debug, Default)]
pub(super) struct Renewal {
    numbers: BTreeMap<(Schema, String), i64>,
    times: Vec<i64>,
}

impl Renewal {
    /// The next number of a source.
    pub(super) fn number(&mut self, schema: Schema, source: &str) -> i64 {
        let known = self.numbers.get_mut(&(schema, source.to_owned()));
        match known {
            Some(number) => {
                *number += 1;
                *number
            }
            None => {
                self.numbers.insert((schema, source.to_owned()), 1);
                1
            }
        }
    }

    /// The message with a new number and new times; none if it has neither and is sent as it is.
    pub(super) fn renew<'e>(
        &mut self,
        message: &Message<'_>,
        shift: Option<Shift>,
        encoder: &'e mut Encoder,
    ) -> Option<&'e [u8]> {
        let time = |old: i64| shift.map_or(old, |shift| shift.of(old));
        match message {
            Message::Ev44(old) => {
                let message_id = self.number(Schema::Ev44, old.source_name);
                self.times.clear();
                self.times.extend(old.reference_time.iter().map(time));
                let new = evforge_messages::Ev44 {
                    message_id,
                    reference_time: self.times.as_slice().into(),
                    ..*old
                };
                Some(new.encode(encoder))
            }
            Message::Ev42(old) => {
                let number = self.number(Schema::Ev42, old.source_name.unwrap_or_default());
                let new = evforge_messages::Ev42 {
                    message_id: u64::try_from(number).unwrap_or_default(),
                    pulse_time: unsigned(old.pulse_time, time),
                    ..*old
                };
                Some(new.encode(encoder))
            }
            Message::Ar51(old) => {
                let message_id = self.number(Schema::Ar51, old.source_name);
                Some(evforge_messages::Ar51 { message_id, ..*old }.encode(encoder))
            }
            Message::F144(old) => {
                shift?;
                Some(evforge_messages::F144 { timestamp: time(old.timestamp), ..*old }.encode(encoder))
            }
            _ => None,
        }
    }
}

/// A time without a sign; one that is out of range stays what it is.
fn unsigned(old: u64, time: impl Fn(i64) -> i64) -> u64 {
    i64::try_from(old).ok().and_then(|old| u64::try_from(time(old)).ok()).unwrap_or(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_messages::{Ev44, F144, decode};

    #[test]
    fn numbers_are_consecutive_per_source_and_times_keep_their_distances() {
        let mut encoder = Encoder::new();
        let mut old = |source: &str, id, times: &[i64]| {
            let index: Vec<i32> = vec![0; times.len()];
            Ev44 {
                source_name: source,
                message_id: id,
                reference_time: times.into(),
                reference_time_index: index.as_slice().into(),
                time_of_flight: (&[5]).into(),
                pixel_id: (&[6]).into(),
            }
            .encode(&mut encoder)
            .to_vec()
        };
        let all = [old("a", 70, &[1000, 3000]), old("b", 9, &[2000]), old("a", 71, &[5000])];
        let mut renewal = Renewal::default();
        let shift = Some(Shift { from: 1000, to: 1_000_000, speed: 2.0 });
        let mut encoder = Encoder::new();
        let mut found = Vec::new();
        for bytes in &all {
            let new = renewal.renew(&decode(bytes).unwrap(), shift, &mut encoder).unwrap();
            let Ok(Message::Ev44(new)) = decode(new) else { panic!("no ev44") };
            assert_eq!((new.time_of_flight.to_vec(), new.pixel_id.to_vec()), (vec![5], vec![6]));
            found.push((new.source_name.to_owned(), new.message_id, new.reference_time.to_vec()));
        }
        let expected = [
            ("a".to_owned(), 1, vec![1_000_000, 1_001_000]),
            ("b".to_owned(), 1, vec![1_000_500]),
            ("a".to_owned(), 2, vec![1_002_000]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_has_no_number_is_sent_as_it_is_unless_times_are_new() {
        let mut encoder = Encoder::new();
        let bytes = F144 { source_name: "t", timestamp: 7, value: 1.5.into() }.encode(&mut encoder).to_vec();
        let message = decode(&bytes).unwrap();
        assert!(Renewal::default().renew(&message, None, &mut encoder).is_none());
        let shift = Some(Shift { from: 7, to: 100, speed: 1.0 });
        let new = Renewal::default().renew(&message, shift, &mut encoder).unwrap();
        assert_eq!(decode(new).unwrap().time_ns(), Some(100));
    }
}

//! Amplitudes: types 0xD5 and 0xD4 (EFU formats of 2018, sections 1.4 and 1.5).

use super::Rejection;

/// Bytes before the samples of a [`SingleEvent`].
pub(super) const SINGLE_EVENT_HEAD: usize = 7;
/// Bytes before the events of a [`MultiEvent`].
pub(super) const MULTI_EVENT_HEAD: usize = 3;
/// Bytes of a time before the samples of an event.
pub(super) const EVENT_TIME: usize = 4;
/// Bytes of a sample of a [`MultiEvent`].
pub(super) const SAMPLE: usize = 5;
/// Shortest content of type 0xD4.
const SHORTEST_MULTI_EVENT: usize = MULTI_EVENT_HEAD + EVENT_TIME + SAMPLE;

/// Samples of one channel, type 0xD5. Its time is that of the header.
#[derive(Clone, Copy, Debug)]
pub struct SingleEvent<'a> {
    /// Number of the ASIC, of which 0..=3 exist.
    pub asic: u8,
    /// What triggered, as the board says it.
    pub trigger_type: u8,
    /// Number of the channel: all eight bits of the field.
    pub channel: u8,
    /// Time from trigger to sampling, as the board says it.
    pub hold_delay: u16,
    samples: &'a [[u8; 2]],
}

impl<'a> SingleEvent<'a> {
    /// Checks that there are as many samples as announced, and nothing else.
    pub(super) fn parse(content: &'a [u8]) -> Result<Self, Rejection> {
        let Some((head, samples)) = content.split_first_chunk::<SINGLE_EVENT_HEAD>() else {
            return Err(Rejection::WrongCount);
        };
        let [asic, trigger_type, channel, hold_high, hold_low, count_high, count_low] = *head;
        let (samples, rest) = samples.as_chunks::<2>();
        if !rest.is_empty() || samples.len() != usize::from(u16::from_be_bytes([count_high, count_low])) {
            return Err(Rejection::WrongCount);
        }
        let hold_delay = u16::from_be_bytes([hold_high, hold_low]);
        Ok(Self { asic, trigger_type, channel, hold_delay, samples })
    }

    /// The amplitudes in order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = u16> + use<'a> {
        self.samples.iter().map(|&sample| u16::from_be_bytes(sample))
    }
}

/// One amplitude of one channel in an [`AmplitudeEvent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmplitudeSample {
    /// What triggered, as the board says it.
    pub trigger_type: u8,
    /// Number of the ASIC, of which 0..=3 exist.
    pub asic: u8,
    /// Number of the channel, of which 0..=15 exist.
    pub channel: u8,
    /// The amplitude.
    pub amplitude: u16,
}

/// Samples of one moment, a part of a [`MultiEvent`].
#[derive(Clone, Copy, Debug)]
pub struct AmplitudeEvent<'a> {
    /// Time in ticks of the board, 32 bits.
    pub time: u32,
    samples: &'a [[u8; SAMPLE]],
}

impl<'a> AmplitudeEvent<'a> {
    /// The samples in order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = AmplitudeSample> + use<'a> {
        self.samples.iter().map(|&[trigger_type, asic, channel, high, low]| AmplitudeSample {
            trigger_type,
            asic,
            channel,
            amplitude: u16::from_be_bytes([high, low]),
        })
    }
}

/// Events with the same number of samples each, type 0xD4.
#[derive(Clone, Copy, Debug)]
pub struct MultiEvent<'a> {
    samples_per_event: usize,
    events: &'a [u8],
    surplus: usize,
}

impl<'a> MultiEvent<'a> {
    /// Checks that there are at least as many events as announced. What is longer is accepted (section 1.5).
    pub(super) fn parse(content: &'a [u8]) -> Result<Self, Rejection> {
        if content.len() < SHORTEST_MULTI_EVENT {
            return Err(Rejection::NoRoomForAnEvent);
        }
        let Some((&[count, high, low], events)) = content.split_first_chunk::<MULTI_EVENT_HEAD>() else {
            return Err(Rejection::NoRoomForAnEvent);
        };
        let samples_per_event = usize::from(u16::from_be_bytes([high, low]));
        let announced = usize::from(count) * (EVENT_TIME + SAMPLE * samples_per_event);
        let Some((events, surplus)) = events.split_at_checked(announced) else {
            return Err(Rejection::WrongCount);
        };
        Ok(Self { samples_per_event, events, surplus: surplus.len() })
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len() / (EVENT_TIME + SAMPLE * self.samples_per_event)
    }

    /// True for a packet without events, which is valid.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Number of samples of each event.
    pub fn samples_per_event(&self) -> usize {
        self.samples_per_event
    }

    /// Bytes behind the last event, which mean nothing.
    pub fn surplus(&self) -> usize {
        self.surplus
    }

    /// The events in order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = AmplitudeEvent<'a>> + use<'a> {
        self.events.chunks_exact(EVENT_TIME + SAMPLE * self.samples_per_event).map(|event| {
            let (time, samples) = event.split_first_chunk::<EVENT_TIME>().unwrap_or((&[0; EVENT_TIME], &[]));
            AmplitudeEvent { time: u32::from_be_bytes(*time), samples: samples.as_chunks().0 }
        })
    }
}

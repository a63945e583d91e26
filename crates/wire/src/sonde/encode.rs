//! Encoder: readouts to packets. Values wider than their field are cut to it.

use super::packet::{HEADER, MULTI_EVENT, SINGLE_EVENT, TRIGGER_TIMES};
use super::{AmplitudeSample, Header, LARGEST_ENTRY_COUNT, LARGEST_PACKET, TriggerTime};

/// Builds packets of the three types. Each `begin_…` starts a packet; what is pushed must be of its type.
#[derive(Clone, Debug, Default)]
pub struct SondeEncoder {
    bytes: Vec<u8>,
    samples_per_event: usize,
}

impl SondeEncoder {
    /// Begins a packet of trigger times.
    pub fn begin_trigger_times(&mut self, header: &Header) {
        self.begin(header, TRIGGER_TIMES);
        self.append(&[0]);
    }

    /// Appends an entry to a packet of trigger times. Returns false, and leaves the packet as it is, if it
    /// has [`LARGEST_ENTRY_COUNT`] of them.
    pub fn push_trigger_time(&mut self, entry: &TriggerTime) -> bool {
        if !self.count_one_more(LARGEST_ENTRY_COUNT) {
            return false;
        }
        let [t3, t2, t1, t0] = entry.time.to_be_bytes();
        self.append(&[t3, t2, t1, t0, entry.asic_channel]);
        true
    }

    /// Makes a packet of amplitudes of one channel. Returns false, and makes a packet without samples, if
    /// they do not fit.
    pub fn single_event(
        &mut self,
        header: &Header,
        (asic, channel): (u8, u8),
        trigger_type: u8,
        hold_delay: u16,
        samples: &[u16],
    ) -> bool {
        let fits = HEADER + super::amplitudes::SINGLE_EVENT_HEAD + 2 * samples.len() <= LARGEST_PACKET;
        let samples = if fits { samples } else { &[] };
        self.begin(header, SINGLE_EVENT);
        self.append(&[asic, trigger_type, channel]);
        self.append(&hold_delay.to_be_bytes());
        self.append(&(samples.len() as u16).to_be_bytes());
        for sample in samples {
            self.append(&sample.to_be_bytes());
        }
        fits
    }

    /// Begins a packet of amplitudes of many events with `samples_per_event` samples each. A packet of this
    /// type is valid only with one event or more.
    pub fn begin_multi_event(&mut self, header: &Header, samples_per_event: u16) {
        self.begin(header, MULTI_EVENT);
        self.append(&[0]);
        self.append(&samples_per_event.to_be_bytes());
        self.samples_per_event = usize::from(samples_per_event);
    }

    /// Appends an event. Returns false, and leaves the packet as it is, if it is full or if the number of
    /// samples is not that of the packet.
    pub fn push_event(&mut self, time: u32, samples: &[AmplitudeSample]) -> bool {
        let size = super::amplitudes::EVENT_TIME + super::amplitudes::SAMPLE * samples.len();
        let full = self.bytes.len() + size > LARGEST_PACKET;
        if full || samples.len() != self.samples_per_event || !self.count_one_more(usize::from(u8::MAX)) {
            return false;
        }
        self.append(&time.to_be_bytes());
        for sample in samples {
            let [high, low] = sample.amplitude.to_be_bytes();
            self.append(&[sample.trigger_type, sample.asic, sample.channel, high, low]);
        }
        true
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }

    fn begin(&mut self, header: &Header, packet_type: u8) {
        let sequence = u16::from(header.sequence_flag) << 14 | header.packet_count & 0x3FFF;
        self.bytes.clear();
        self.bytes.extend([header.system & 0x1F, packet_type]);
        self.bytes.extend(sequence.to_be_bytes());
        self.bytes.extend(header.time.to_be_bytes());
        self.bytes.extend([0; 2]);
    }

    /// Raises the count that the content begins with, unless it is `most` or no packet has begun.
    fn count_one_more(&mut self, most: usize) -> bool {
        match self.bytes.get_mut(HEADER) {
            Some(count) if usize::from(*count) < most => {
                *count += 1;
                true
            }
            _ => false,
        }
    }

    /// Appends to the content and brings the length in the header up to date.
    fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let length = (self.bytes.len() - HEADER) as u16;
        self.bytes[HEADER - 2..HEADER].copy_from_slice(&length.to_be_bytes());
    }
}

//! Means over samples of one channel, through the ends of runs (EFU formats of 2018, section 5).
//!
//! A sample can be a sum of several samples of the converter (oversampling). An average is the mean of all of
//! them. Samples that do not fill a mean at the end of a run wait for the next run, as in the reference. If the
//! oversampling changes meanwhile, they cannot be added up and are dropped.

use super::sample_time::SampleTime;
use super::settings::{AveragingSettings, TimeLocation};
use evforge_wire::adc_readout::Module;

/// A mean with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanValue {
    /// The channel, from 0.
    pub channel: u16,
    /// Its time in nanoseconds, at the configured location within its samples.
    pub time_ns: u64,
    /// Mean of all samples of the converter, rounded down.
    pub value: u16,
}

/// Where averaged waveforms go.
pub trait SampleSink: Send {
    /// Takes a value. Values of a channel come in the order of its runs.
    fn take(&mut self, value: MeanValue);
}

/// Drops averaged waveforms.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSamples;

impl SampleSink for Box<dyn SampleSink> {
    fn take(&mut self, value: MeanValue) {
        (**self).take(value);
    }
}

impl SampleSink for NoSamples {
    fn take(&mut self, _: MeanValue) {}
}

/// The means of one channel.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub struct Averaging {
    settings: AveragingSettings,
    oversampling: u64,
    /// Time of the first sample of the mean under way.
    start: SampleTime,
    sum: u64,
    count: u32,
}

impl Averaging {
    /// For a channel.
    pub fn new(settings: AveragingSettings) -> Self {
        Self { settings, oversampling: 1, start: SampleTime::default(), sum: 0, count: 0 }
    }

    /// Takes a run; returns how many samples that waited had to be dropped.
    pub fn take(&mut self, run: &Module<'_>, sink: &mut impl SampleSink) -> u64 {
        let oversampling = u64::from(run.oversampling.max(1));
        let mut dropped = 0;
        if oversampling != self.oversampling {
            dropped = u64::from(self.count);
            (self.oversampling, self.sum, self.count) = (oversampling, 0, 0);
        }
        // The time of a run is that of the last one of the samples added up in its first sample.
        let first = SampleTime::of(run.time).earlier(oversampling - 1);
        for (index, sample) in run.samples().enumerate() {
            if self.count == 0 {
                self.start = first.later(index as u64 * oversampling);
            }
            self.sum += u64::from(sample);
            self.count += 1;
            if self.count >= self.settings.samples {
                self.finish(run.channel, sink);
            }
        }
        dropped
    }

    fn finish(&mut self, channel: u16, sink: &mut impl SampleSink) {
        let converter_samples = u64::from(self.count) * self.oversampling;
        let offset = match self.settings.location {
            TimeLocation::Start => 0,
            // Half of one less, rounded up from a half.
            TimeLocation::Middle => converter_samples / 2,
            TimeLocation::End => converter_samples - 1,
        };
        let value = (self.sum / converter_samples) as u16;
        sink.take(MeanValue { channel, time_ns: self.start.later(offset).nanoseconds(), value });
        (self.sum, self.count) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_wire::adc_readout::{AdcEncoder, AdcPacket, Content, Header, RawTime};

    struct Keep(Vec<MeanValue>);

    impl SampleSink for Keep {
        fn take(&mut self, value: MeanValue) {
            self.0.push(value);
        }
    }

    /// (fraction of the second, value) of what comes of runs (fraction, oversampling, samples), and what was
    /// dropped.
    fn means(samples: u32, location: TimeLocation, runs: &[(u32, u16, &[u16])]) -> (Vec<(u64, u16)>, u64) {
        let mut averaging = Averaging::new(AveragingSettings { samples, location });
        let mut keep = Keep(Vec::new());
        let mut dropped = 0;
        for &(fraction, oversampling, samples) in runs {
            let mut encoder = AdcEncoder::default();
            encoder.begin(&Header::default());
            assert!(encoder.push_module(2, oversampling, RawTime { seconds: 1, fraction }, samples));
            encoder.finish(0);
            let packet = AdcPacket::parse(encoder.packet()).expect("a packet");
            let Content::Data(data) = packet.content else { panic!("no data") };
            for run in data.modules().flatten() {
                dropped += averaging.take(&run, &mut keep);
            }
        }
        assert!(keep.0.iter().all(|value| value.channel == 2));
        (keep.0.iter().map(|value| (value.time_ns, value.value)).collect(), dropped)
    }

    fn at(fraction: u32) -> u64 {
        SampleTime::of(RawTime { seconds: 1, fraction }).nanoseconds()
    }

    #[test]
    fn section_5_locations_within_the_samples_of_a_mean() {
        // Oversampling 4, two samples: eight samples of the converter, from tick 997 on.
        let run: &[(u32, u16, &[u16])] = &[(1000, 4, &[400, 440, 80, 81])];
        for (location, first) in
            [(TimeLocation::Start, 997), (TimeLocation::Middle, 997 + 4), (TimeLocation::End, 997 + 7)]
        {
            let expected = vec![(at(first), 105), (at(first + 8), 20)];
            assert_eq!(means(2, location, run), (expected, 0), "{location:?}");
        }
        let single = means(1, TimeLocation::Middle, &[(1000, 1, &[7])]);
        assert_eq!(single, (vec![(at(1000), 7)], 0));
    }

    #[test]
    fn section_5_samples_wait_for_the_next_run() {
        let runs: &[(u32, u16, &[u16])] = &[(1000, 1, &[1, 2, 3, 10]), (1004, 0, &[20, 33, 5])];
        assert_eq!(means(3, TimeLocation::Start, runs), (vec![(at(1000), 2), (at(1003), 21)], 0));
    }

    #[test]
    fn samples_that_wait_are_dropped_when_the_oversampling_changes() {
        let runs: &[(u32, u16, &[u16])] = &[(1000, 1, &[1, 2]), (1010, 2, &[40, 40, 40])];
        assert_eq!(means(3, TimeLocation::Start, runs), (vec![(at(1009), 20)], 2));
    }
}

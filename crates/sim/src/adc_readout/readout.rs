//! Signals to runs of samples in packets of the converter (EFU formats of 2018, section 5).
//!
//! Seconds count from 1970, because nothing converts them; so the events are where the truth is.

use super::physics::AdcReadoutPhysics;
use crate::electronics::Hit;
use crate::packet::{Sender, SimulatedPacket};
use crate::readout::{Disturbance, Pulse, Readout, Source};
use evforge_core::pulse::{PulseChannel, PulseTrain};
use evforge_wire::adc_readout::{AdcEncoder, FRACTIONS_PER_SECOND, GLOBAL_COUNT_BITS, Header, RawTime};
use std::net::Ipv4Addr;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PORT: u16 = 9000;
/// Bytes of the header of a packet.
const HEADER: usize = 10;
/// A packet is sent with so many bytes at the latest: one Ethernet frame of the usual size.
const FULL: usize = 1400;

/// A packet that runs are being put into, with when it is sent at the earliest.
#[derive(Clone, Copy, Debug)]
struct OpenPacket {
    number: u64,
    sent_ns: u64,
}

/// The converter.
#[derive(Clone, Debug)]
pub struct AdcReadoutPackets {
    physics: AdcReadoutPhysics,
    pulses: PulseTrain,
    /// Where the signal of each pulse arrives, if anywhere.
    pulse_channel: Option<PulseChannel>,
    source: Source,
    encoder: AdcEncoder,
    samples: Vec<u16>,
}

impl AdcReadoutPackets {
    /// A converter that has just been started.
    pub fn new(physics: AdcReadoutPhysics, pulses: PulseTrain, channel: Option<PulseChannel>) -> Self {
        Self {
            physics,
            pulses,
            pulse_channel: channel,
            source: Source::new(0, GLOBAL_COUNT_BITS),
            encoder: AdcEncoder::default(),
            samples: Vec::new(),
        }
    }

    /// The tick that is nearest to so many picoseconds after `start_ns`, as the clock shows it; then so many ticks earlier.
    fn time(&self, start_ns: u64, time_ps: u64, earlier: u64) -> RawTime {
        let picoseconds = i128::from(start_ns) * 1000 + i128::from(self.source.shown_ps(time_ps));
        let rate = i128::from(FRACTIONS_PER_SECOND);
        let per_second = 1_000_000_000_000;
        let (seconds, rest) = (picoseconds / per_second, picoseconds % per_second);
        let ticks = seconds * rate + (rest * rate + per_second / 2) / per_second - i128::from(earlier);
        let ticks = u64::try_from(ticks).unwrap_or(0);
        let second = u64::from(FRACTIONS_PER_SECOND);
        // The seconds of 32 bits end in the year 2106.
        let seconds = u32::try_from(ticks / second).unwrap_or(u32::MAX);
        RawTime { seconds, fraction: (ticks % second) as u32 }
    }

    /// The waveform of a signal: up from the baseline to its peak within a few samples, and down again more slowly.
    fn sample(&mut self, amplitude: u16) {
        let AdcReadoutPhysics { baseline, samples, .. } = self.physics;
        let peak = f64::from(self.physics.before_peak());
        let height = |index: u16| {
            let from_peak = f64::from(index) - peak;
            let decay = if from_peak < 0.0 { peak / 4.0 } else { f64::from(samples) / 8.0 };
            (f64::from(amplitude) * (-from_peak.abs() / decay.max(0.5)).exp()) as u16
        };
        self.samples.clear();
        self.samples.extend((0..samples).map(|index| baseline.saturating_add(height(index))));
    }

    /// The signal of a pulse: up to twice the threshold at once, and there until the end of the run.
    fn put_pulse(
        &mut self,
        of_pulse: PulseChannel,
        pulse: &Pulse,
        open: &mut Option<OpenPacket>,
        packets: &mut Vec<SimulatedPacket>,
    ) {
        let AdcReadoutPhysics { baseline, samples, pulse_latency, .. } = self.physics;
        let before = self.physics.before_peak();
        let low = baseline.min(of_pulse.threshold.saturating_sub(1));
        let high = of_pulse.threshold.saturating_mul(2);
        self.samples.clear();
        self.samples.extend((0..samples).map(|index| if index < before { low } else { high }));
        let sent_ns = pulse.start_ns + pulse_latency.picoseconds / 1000;
        let first = self.time(pulse.start_ns, 0, u64::from(before));
        self.put(of_pulse.channel, first, sent_ns, open, packets);
    }

    /// Puts the run that was sampled into the open packet, and sends that if it is full.
    fn put(
        &mut self,
        channel: u16,
        first: RawTime,
        sent_ns: u64,
        open: &mut Option<OpenPacket>,
        packets: &mut Vec<SimulatedPacket>,
    ) {
        let number = match open.take() {
            Some(packet) => packet.number,
            None => {
                let number = self.source.count();
                self.encoder.begin(&Self::header(number));
                number
            }
        };
        // There is room: a packet is sent long before it is full.
        let _has_room = self.encoder.push_module(channel, 1, first, &self.samples);
        *open = Some(OpenPacket { number, sent_ns });
        if self.encoder.packet().len() >= FULL {
            self.close(open.take(), packets);
        }
    }

    fn close(&mut self, open: Option<OpenPacket>, packets: &mut Vec<SimulatedPacket>) {
        if let Some(OpenPacket { number, sent_ns }) = open {
            self.encoder.finish(0);
            self.send(number, sent_ns, packets);
        }
    }

    fn header(number: u64) -> Header {
        Header { global_count: number as u16, ..Header::default() }
    }

    fn send(&self, number: u64, sent_ns: u64, packets: &mut Vec<SimulatedPacket>) {
        let sender = Sender { source: 0, number: Some(number), header: HEADER };
        let bytes = self.encoder.packet().to_vec();
        packets.push(SimulatedPacket::new(bytes, ADDRESS, PORT, sent_ns).of(sender));
    }
}

impl Readout for AdcReadoutPackets {
    fn sources(&self) -> Vec<String> {
        vec!["converter".into()]
    }

    fn first_pulse(&self, start_ns: u64) -> u64 {
        self.pulses.locate(start_ns).map_or(0, |at| at.pulse)
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let mut open: Option<OpenPacket> = None;
        let latency_ps = self.physics.pulse_latency.picoseconds;
        let mut signal = self.pulse_channel;
        for hit in hits {
            if let Some(of_pulse) = signal.take_if(|_| hit.sent_ps >= latency_ps) {
                self.put_pulse(of_pulse, pulse, &mut open, packets);
            }
            self.sample(hit.amplitude);
            let sent_ns = pulse.start_ns + hit.sent_ps / 1000;
            let first = self.time(pulse.start_ns, hit.time_ps, u64::from(self.physics.before_peak()));
            self.put(hit.channel as u16, first, sent_ns, &mut open, packets);
        }
        if let Some(of_pulse) = signal {
            self.put_pulse(of_pulse, pulse, &mut open, packets);
        }
        self.close(open, packets);
        if hits.is_empty() && self.pulse_channel.is_none() {
            let number = self.source.count();
            self.encoder.idle(&Self::header(number), self.time(pulse.start_ns, 0, 0));
            self.send(number, pulse.start_ns, packets);
        }
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        if disturbance.source() != 0 {
            return false;
        }
        self.source.disturb(disturbance);
        true
    }
}

//! Signals to records of beam monitors, behind the header of the ESS readout (ESS readout formats, section 2.4).

use super::model::monitors;
use super::physics::BeamMonitorPhysics;
use crate::electronics::Hit;
use crate::ess_readout::OutputQueue;
use crate::packet::SimulatedPacket;
use crate::readout::{Disturbance, Pulse, Readout};
use evforge_core::beam_monitor::BeamMonitorKind;
use evforge_core::pulse::PulseTrain;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_wire::ess::MonitorFields;
use evforge_wire::ess::beam_monitor::MonitorKind;

/// The ring that the ESS keeps for beam monitors.
const USUAL_RING: u8 = 11;

/// Largest sum that fits into a record: 24 bits.
const LARGEST_SUM: u32 = 0x00FF_FFFF;

/// A monitor as it is in records.
#[derive(Clone, Copy, Debug)]
struct Monitor {
    fen: u8,
    channel: u8,
    kind: MonitorKind,
    nx: u32,
    /// Its first channel in the simulation.
    first: u32,
}

/// The front ends of beam monitors, which all send by one output queue.
#[derive(Clone, Debug)]
pub struct BeamMonitorReadout {
    pulses: PulseTrain,
    fibre: u8,
    monitors: Vec<Monitor>,
    sum_period_ps: u64,
    samples: u8,
    queue: OutputQueue,
}

impl BeamMonitorReadout {
    /// For settings that have been checked.
    pub fn new(settings: &BeamMonitorSettings, physics: BeamMonitorPhysics, pulses: PulseTrain) -> Self {
        let monitor =
            |(of, place): (&evforge_detect::beam_monitors::MonitorSettings, super::model::Monitor)| Monitor {
                fen: of.fen,
                channel: of.channel,
                kind: match of.kind {
                    BeamMonitorKind::Event0D => MonitorKind::Event0D,
                    BeamMonitorKind::Event2D => MonitorKind::Event2D,
                    BeamMonitorKind::Integrating => MonitorKind::Integrating,
                },
                nx: place.nx,
                first: place.channel,
            };
        let queue = settings.ess.output_queues.iter().min().copied().unwrap_or(0);
        Self {
            pulses,
            fibre: 2 * settings.ring.unwrap_or(USUAL_RING),
            monitors: settings.monitors.iter().zip(monitors(settings)).map(monitor).collect(),
            sum_period_ps: physics.sum_period.picoseconds,
            samples: physics.samples,
            queue: OutputQueue::new(settings.ess.header.detector_type, queue),
        }
    }

    /// The monitor of a channel.
    fn monitor_of(&self, channel: u32) -> Option<&Monitor> {
        let after = self.monitors.partition_point(|monitor| monitor.first <= channel);
        self.monitors.get(after.checked_sub(1)?)
    }

    fn fields(&self, monitor: &Monitor, time_ps: u64) -> MonitorFields {
        MonitorFields {
            fibre: self.fibre,
            fen: monitor.fen,
            time: self.queue.tick_after(time_ps),
            kind: monitor.kind.to_byte(),
            channel: monitor.channel,
            ..MonitorFields::default()
        }
    }

    /// The record of a neutron.
    fn neutron(&self, monitor: &Monitor, hit: &Hit) -> MonitorFields {
        let pixel = hit.channel - monitor.first;
        let value = match monitor.kind {
            MonitorKind::Event2D => {
                MonitorFields::place((pixel % monitor.nx) as u16, (pixel / monitor.nx) as u16)
            }
            MonitorKind::Event0D | MonitorKind::Integrating => 0,
        };
        MonitorFields { adc: hit.amplitude, value, ..self.fields(monitor, hit.time_ps) }
    }

    /// The sums of an integrating monitor over a pulse, each at the middle of its time: also those of nothing, as the converter
    /// goes on all the time.
    fn sums(&self, monitor: &Monitor, pulse: &Pulse, hits: &[Hit], records: &mut Vec<(u64, MonitorFields)>) {
        let period_ps = (pulse.end_ns - pulse.start_ns) * 1000;
        let mut sums = vec![0_u32; period_ps.div_ceil(self.sum_period_ps) as usize];
        for hit in hits.iter().filter(|hit| hit.channel == monitor.first) {
            let last = sums.len().saturating_sub(1);
            if let Some(sum) = sums.get_mut(((hit.time_ps / self.sum_period_ps) as usize).min(last)) {
                *sum = sum.saturating_add(hit.amplitude.into()).min(LARGEST_SUM);
            }
        }
        for (sum, number) in sums.into_iter().zip(0..) {
            let start_ps = number * self.sum_period_ps;
            let end_ps = (start_ps + self.sum_period_ps).min(period_ps);
            let fields = self.fields(monitor, start_ps.midpoint(end_ps));
            // Sent when it is complete.
            records.push((end_ps, MonitorFields { value: MonitorFields::sum(sum, self.samples), ..fields }));
        }
    }
}

impl Readout for BeamMonitorReadout {
    fn sources(&self) -> Vec<String> {
        vec![self.queue.name()]
    }

    fn first_pulse(&self, start_ns: u64) -> u64 {
        self.pulses.locate(start_ns).map_or(0, |at| at.pulse)
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        self.queue.begin(pulse);
        let mut records: Vec<(u64, MonitorFields)> = Vec::with_capacity(hits.len());
        for hit in hits {
            let monitor = self.monitor_of(hit.channel);
            if let Some(monitor) = monitor.filter(|of| of.kind != MonitorKind::Integrating) {
                records.push((hit.sent_ps, self.neutron(monitor, hit)));
            }
        }
        for monitor in self.monitors.iter().filter(|of| of.kind == MonitorKind::Integrating) {
            self.sums(monitor, pulse, hits, &mut records);
        }
        // Stable: records of the same moment keep the order of the monitors.
        records.sort_by_key(|(sent_ps, _)| *sent_ps);
        for (sent_ps, fields) in records {
            self.queue.push(0, &fields.encode(), pulse.start_ns + sent_ps / 1000, packets);
        }
        self.queue.end(0, packets);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        if disturbance.source() != 0 {
            return false;
        }
        self.queue.disturb(disturbance);
        true
    }
}

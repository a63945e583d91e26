//! Charges to records of R5560 digitisers, behind the header of the ESS readout (ESS's other instruments, section 1.1).

use super::model::ENDS;
use super::physics::Helium3Physics;
use crate::electronics::Hit;
use crate::ess_readout::OutputQueue;
use crate::packet::SimulatedPacket;
use crate::readout::{Disturbance, Mover, Pulse, Readout};
use evforge_core::pulse::PulseTrain;
use evforge_detect::helium3::{Charges, Group, Groups, Helium3Settings};
use evforge_wire::ess::R5560Fields;
use evforge_wire::recognise::EssRecords;

/// What a group has measured and not sent.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// When the first of its charges came.
    time_ps: u64,
    charges: [u32; ENDS as usize],
}

/// The digitisers of all FENs. A ring belongs to one of the output queues.
#[derive(Clone, Debug)]
pub struct Helium3Readout {
    pulses: PulseTrain,
    groups: Vec<Group>,
    is_signed: bool,
    threshold: f64,
    shaping_ps: u64,
    dead_time_ps: u64,
    queues: Vec<OutputQueue>,
    /// Records of each ring so far: both of its fibres carry them by turns.
    of_rings: Vec<u8>,
}

impl Helium3Readout {
    /// For settings that have been checked.
    pub fn new(
        settings: &Helium3Settings,
        groups: &Groups,
        physics: Helium3Physics,
        pulses: PulseTrain,
    ) -> Self {
        let mut numbers = settings.ess.output_queues.clone();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            numbers.push(0);
        }
        let detector_type = settings.ess.header.detector_type;
        Self {
            pulses,
            groups: groups.all().to_vec(),
            is_signed: settings.charges == Charges::Four,
            threshold: physics.threshold,
            shaping_ps: physics.shaping.picoseconds,
            dead_time_ps: physics.dead_time.picoseconds,
            queues: numbers.into_iter().map(|number| OutputQueue::new(detector_type, number)).collect(),
            of_rings: vec![0; usize::from(u8::MAX) + 1],
        }
    }

    /// The neutrons of a pulse, as groups and charges in the order of their times: charges of a group within the shaping time are one.
    fn neutrons(&self, hits: &[Hit]) -> Vec<(u32, Open)> {
        let mut open: Vec<Option<Open>> = vec![None; self.groups.len()];
        let mut found = Vec::with_capacity(hits.len() / 2);
        for hit in hits {
            let (group, end) = (hit.channel / ENDS, (hit.channel % ENDS) as usize);
            let Some(slot) = open.get_mut(group as usize) else { continue };
            if let Some(neutron) = slot {
                let since = hit.time_ps.saturating_sub(neutron.time_ps);
                if since <= self.shaping_ps {
                    neutron.charges[end] += u32::from(hit.amplitude);
                    continue;
                }
                if since < self.shaping_ps + self.dead_time_ps {
                    continue;
                }
                found.push((group, *neutron));
            }
            let mut neutron = Open { time_ps: hit.time_ps, ..Open::default() };
            neutron.charges[end] = u32::from(hit.amplitude);
            *slot = Some(neutron);
        }
        found.extend((0..).zip(open).filter_map(|(group, neutron)| Some((group, neutron?))));
        found.retain(|(_, neutron)| f64::from(neutron.charges.iter().sum::<u32>()) >= self.threshold);
        found.sort_by_key(|(group, neutron)| (neutron.time_ps, *group));
        found
    }
}

impl Readout for Helium3Readout {
    fn sources(&self) -> Vec<String> {
        self.queues.iter().map(OutputQueue::name).collect()
    }

    fn first_pulse(&self, start_ns: u64) -> u64 {
        self.pulses.locate(start_ns).map_or(0, |at| at.pulse)
    }

    fn pulse(&mut self, pulse: &Pulse, hits: &[Hit], packets: &mut Vec<SimulatedPacket>) {
        let first = packets.len();
        for queue in &mut self.queues {
            queue.begin(pulse);
        }
        let largest = if self.is_signed { i16::MAX as u32 } else { u16::MAX.into() };
        for (number, neutron) in self.neutrons(hits) {
            let Some(group) = self.groups.get(number as usize) else { continue };
            let source = usize::from(group.ring) % self.queues.len();
            let turn = &mut self.of_rings[usize::from(group.ring)];
            *turn ^= 1;
            let Some(queue) = self.queues.get_mut(source) else { continue };
            let record = R5560Fields {
                fibre: 2 * group.ring + *turn,
                fen: group.fen,
                time: queue.tick_after(neutron.time_ps),
                group: group.group,
                charges: neutron.charges.map(|charge| charge.min(largest) as u16),
                ..R5560Fields::default()
            };
            let sent_ps = neutron.time_ps + self.shaping_ps;
            queue.push(source, &record.encode(), pulse.start_ns + sent_ps / 1000, packets);
        }
        for (source, queue) in self.queues.iter_mut().enumerate() {
            queue.end(source, packets);
        }
        packets[first..].sort_by_key(|packet| packet.origin.arrival_ns);
    }

    fn disturb(&mut self, disturbance: Disturbance) -> bool {
        let Some(queue) = self.queues.get_mut(disturbance.source()) else { return false };
        queue.disturb(disturbance);
        true
    }

    fn mover(&self) -> Option<Mover> {
        Some(Mover::Ess(EssRecords::R5560))
    }
}

//! Packets of SoNDe.

use crate::report::{Line, line, listed, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::sonde::{Content, HEADER_TIME_BITS, PACKET_COUNT_BITS, Rejection, SondePacket};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What one system (module) has sent.
#[derive(Debug)]
struct System {
    packets: u64,
    readouts: u64,
    asics: [u64; 4],
    impossible: u64,
    tracker: SequenceTracker,
}

/// Systems with their ASICs.
#[derive(Debug, Default)]
pub struct SondeContent {
    systems: BTreeMap<u8, System>,
    /// Packets by what they carry.
    kinds: BTreeMap<String, u64>,
}

impl SondeContent {
    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        let Some(numbering) = SondePacket::numbering(bytes) else { return };
        let system = self.systems.entry(numbering.system).or_insert_with(|| System {
            packets: 0,
            readouts: 0,
            asics: [0; 4],
            impossible: 0,
            tracker: SequenceTracker::of_packets(PACKET_COUNT_BITS, HEADER_TIME_BITS),
        });
        system.packets += 1;
        let stamp = Stamp::of(bytes, arrival_ns, Some(numbering.time.into()));
        system.tracker.observe_packet(u64::from(numbering.packet_count), stamp);
        let kind = match SondePacket::parse(bytes).map(|packet| packet.content) {
            Ok(Content::TriggerTimes(times)) => {
                times.entries().for_each(|entry| system.take(entry.asic(), entry.channel()));
                "0xd6 trigger times".to_owned()
            }
            Ok(Content::SingleEvent(event)) => {
                system.take(event.asic, event.channel);
                "0xd5 amplitudes of one channel".to_owned()
            }
            Ok(Content::MultiEvent(events)) => {
                for event in events.events() {
                    event.samples().for_each(|sample| system.take(sample.asic, sample.channel));
                }
                "0xd4 amplitudes of many events".to_owned()
            }
            Err(Rejection::UnknownType(number)) => match number {
                0x10..=0x12 => format!("{number:#04x} of the control protocol (registers)"),
                0xC0 | 0xC1 => format!("{number:#04x} of the control protocol (ASIC configuration)"),
                _ => format!("{number:#04x} of no known type"),
            },
            Err(_) => "damaged".to_owned(),
        };
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Numbers of the systems, and whether readouts are amplitudes.
    pub fn systems(&self) -> Vec<u8> {
        self.systems.keys().copied().collect()
    }

    pub(super) fn readouts(&self) -> u64 {
        self.systems.values().map(|system| system.readouts).sum()
    }

    pub(super) fn places(&self) -> String {
        format!("systems {}", listed(self.systems.keys()))
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![line("readouts", grouped(self.readouts()))];
        for (kind, packets) in &self.kinds {
            lines.push(line("type", format!("{kind}: {} packets", grouped(*packets))));
        }
        for (number, system) in &self.systems {
            let mut text = format!(
                "{} packets, {} readouts, of ASICs 0 to 3: {}; {}",
                grouped(system.packets),
                grouped(system.readouts),
                listed(system.asics.map(grouped)),
                sequence_in_words(&system.tracker)
            );
            if system.impossible > 0 {
                text +=
                    &format!("; {} of an ASIC or channel that does not exist", grouped(system.impossible));
            }
            lines.push(line(format!("system {number}"), text));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let system = |(number, system): (&u8, &System)| {
            json!({
                "system": number, "packets": system.packets, "readouts": system.readouts, "asics": system.asics,
                "impossible": system.impossible, "sequence": sequence_json(&system.tracker),
            })
        };
        json!({
            "readouts": { "count": self.readouts() },
            "types": self.kinds,
            "systems": self.systems.iter().map(system).collect::<Vec<_>>(),
        })
    }
}

impl System {
    fn take(&mut self, asic: u8, channel: u8) {
        self.readouts += 1;
        match self.asics.get_mut(usize::from(asic)) {
            Some(count) if channel < 16 => *count += 1,
            _ => self.impossible += 1,
        }
    }
}

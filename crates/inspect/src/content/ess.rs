//! Packets of the ESS readout of one type.

use super::ess_readouts::EssReadouts;
use super::pulses::Pulses;
use crate::report::{Line, line, named_counts, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::ess::beam_monitor::MonitorPayload;
use evforge_wire::ess::{
    EssPacket, HeaderRelaxations, R5560Payload, RECORD, SEQUENCE_BITS, TICKS_PER_SECOND, Vmm3aPayload,
    detector_type,
};
use evforge_wire::recognise::{EssRecords, look_at_ess};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Bits of the time source that tell something by being set, in words (ESS readout formats, section 1).
const FLAGS: [&str; 8] = [
    "time source",
    "sync source",
    "local sync source",
    "timing status",
    "even fibre status",
    "even fibre: synchronisation lost",
    "odd fibre status",
    "odd fibre: synchronisation lost",
];

/// Output queues that are followed; the readout has 12.
const MOST_QUEUES: usize = 32;

/// Largest distance of a pulse from the previous one that configurations accept by themselves: five periods of the ESS source.
const USUAL_DISTANCE: u64 = 5 * 71_428_571 * TICKS_PER_SECOND as u64 / 1_000_000_000;

/// One output queue.
#[derive(Debug)]
struct Queue {
    packets: u64,
    heartbeats: u64,
    readouts: u64,
    tracker: SequenceTracker,
    pulses: Pulses,
}

/// Headers and records of one type.
#[derive(Debug, Default)]
pub struct EssContent {
    detector_type: u8,
    versions: [u64; 2],
    queues: BTreeMap<u8, Queue>,
    /// Packets by the byte of the time source.
    time_source: BTreeMap<u8, u64>,
    /// Packets that break a rule that can be relaxed, by its name in configurations.
    broken_rules: BTreeMap<&'static str, u64>,
    /// Packets by what their records are.
    records: BTreeMap<EssRecords, u64>,
    /// Packets whose header counts the header of UDP.
    header_counts_udp: u64,
    ragged: u64,
    /// Packets of output queues that are not followed.
    queues_not_kept: u64,
    readouts: EssReadouts,
}

impl EssContent {
    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        let Ok(look) = look_at_ess(bytes) else { return };
        let packet = look.packet;
        self.detector_type = packet.detector_type;
        self.versions[usize::from(packet.version.min(1))] += 1;
        *self.time_source.entry(packet.time_source).or_default() += 1;
        // The header's length goes with the lengths of records.
        let told_elsewhere = HeaderRelaxations::TYPE.union(HeaderRelaxations::LENGTH);
        for (_, rule) in packet.relaxed.without(told_elsewhere).iter() {
            *self.broken_rules.entry(rule).or_default() += 1;
        }
        let distance = packet.pulse.total_ticks().checked_sub(packet.previous_pulse.total_ticks());
        if distance.is_some_and(|distance| distance > USUAL_DISTANCE) {
            *self.broken_rules.entry("pulse_distance").or_default() += 1;
        }
        *self.records.entry(look.records).or_default() += 1;
        self.header_counts_udp += u64::from(look.header_counts_udp);
        let readouts = self.take_records(&packet, look.records);
        if self.queues.len() >= MOST_QUEUES && !self.queues.contains_key(&packet.output_queue) {
            self.queues_not_kept += 1;
            return;
        }
        let queue = self.queues.entry(packet.output_queue).or_insert_with(Queue::new);
        queue.packets += 1;
        queue.heartbeats += u64::from(packet.is_heartbeat());
        queue.readouts += readouts;
        let stamp = Stamp::of(bytes, arrival_ns, Some(packet.pulse.ordinal()));
        queue.tracker.observe_packet(u64::from(packet.sequence), stamp);
        queue.pulses.take(packet.pulse);
    }

    fn take_records(&mut self, packet: &EssPacket<'_>, records: EssRecords) -> u64 {
        let before = self.readouts.count;
        match records {
            EssRecords::None => {}
            EssRecords::Vmm3a => match Vmm3aPayload::parse(packet.payload) {
                Ok(payload) => self.readouts.take_vmm3a(&payload),
                Err(_) => self.ragged += 1,
            },
            EssRecords::BeamMonitors => match MonitorPayload::parse(packet.payload) {
                Ok(payload) => self.readouts.take_monitors(&payload),
                Err(_) => self.ragged += 1,
            },
            EssRecords::R5560 => self.readouts.take_r5560(&R5560Payload::parse(packet.payload)),
            EssRecords::Cdt => self.readouts.take_others(packet.payload, 16),
            EssRecords::Skadi => self.readouts.take_others(packet.payload, RECORD),
            EssRecords::Unknown => {}
        }
        self.readouts.count - before
    }

    /// What most packets with records have in them.
    pub fn records(&self) -> EssRecords {
        let with_records = self.records.iter().filter(|(records, _)| **records != EssRecords::None);
        with_records.max_by_key(|(_, count)| **count).map_or(EssRecords::None, |(records, _)| *records)
    }

    /// "header version 1, type 0x48 FREIA: VMM3a records of 20 bytes".
    pub fn title(&self) -> String {
        let version = match self.versions {
            [_, 0] => "version 0",
            [0, _] => "version 1",
            _ => "versions 0 and 1",
        };
        let records = self.records();
        let decoded = match records {
            EssRecords::None => "",
            records if records.are_decoded() => "",
            _ => ", which evforge does not decode",
        };
        format!("header {version}, type {}: {}{decoded}", type_name(self.detector_type), records.name())
    }

    /// The type in the header.
    pub fn detector_type(&self) -> u8 {
        self.detector_type
    }

    /// The output queues that sent, in order.
    pub fn output_queues(&self) -> Vec<u8> {
        self.queues.keys().copied().collect()
    }

    /// Period of the pulses in nanoseconds: that of the queue with most packets.
    pub fn pulse_period_ns(&self) -> Option<u64> {
        self.queues.values().max_by_key(|queue| queue.packets)?.pulses.period_ns()
    }

    /// The rules that packets break, by their names in configurations.
    pub fn broken_rules(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.broken_rules.keys().copied()
    }

    /// Whether boards write lengths in bits.
    pub fn lengths_in_bits(&self) -> bool {
        self.header_counts_udp > 0 || self.readouts.in_bits > 0
    }

    /// The readouts by place.
    pub fn by_place(&self) -> &EssReadouts {
        &self.readouts
    }

    pub(super) fn readouts(&self) -> u64 {
        self.readouts.count
    }

    /// Packets that only tell the time of the pulse.
    pub fn heartbeats(&self) -> u64 {
        self.queues.values().map(|queue| queue.heartbeats).sum()
    }

    pub(super) fn places(&self) -> String {
        self.readouts.places()
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (number, queue) in &self.queues {
            let text = format!(
                "{} packets ({} heartbeats), {} readouts; {}",
                grouped(queue.packets),
                grouped(queue.heartbeats),
                grouped(queue.readouts),
                sequence_in_words(&queue.tracker)
            );
            lines.push(line(format!("output queue {number}"), text));
            lines.push(line("  pulses", queue.pulses.in_words()));
        }
        if self.queues_not_kept > 0 {
            let text = format!("{} packets of further output queues", grouped(self.queues_not_kept));
            lines.push(line("not told apart", text));
        }
        for (byte, packets) in &self.time_source {
            lines.push(line(
                "time source",
                format!("{byte:#04x} in {} packets: {}", grouped(*packets), flags_in_words(*byte)),
            ));
        }
        for (rule, packets) in &self.broken_rules {
            let key = if *rule == "output_queue" {
                "ess.accept = [\"output_queue\"] with ess.odd_output_queue".to_owned()
            } else {
                format!("ess.accept = [\"{rule}\"]")
            };
            let text = format!("{} packets break the rule `{rule}`: read with {key}", grouped(*packets));
            lines.push(line("peculiarity", text));
        }
        if self.lengths_in_bits() {
            let text = format!(
                "{} records state their length in bits, {} headers state 8 bytes too many: read with \
                 ess.accept = [\"record_length_in_bits\"]",
                grouped(self.readouts.in_bits),
                grouped(self.header_counts_udp)
            );
            lines.push(line("peculiarity", text));
        }
        if detector_type::name(self.detector_type).is_none() {
            let text = "the type is that of no detector that evforge knows: give ess.type as a number";
            lines.push(line("peculiarity", text));
        }
        lines.extend(self.fault_lines());
        lines.extend(self.readouts.lines());
        lines
    }

    fn fault_lines(&self) -> Vec<Line> {
        let readouts = &self.readouts;
        let mut lines = vec![line("readouts", grouped(readouts.count))];
        if !readouts.faults.is_empty() {
            lines.push(line("  faults", named_counts(&readouts.faults)));
        }
        if let Some((_, largest)) = readouts.impossible_fractions.ends() {
            let text = format!("up to {largest} ticks; a second of 88.0525 MHz has {TICKS_PER_SECOND}");
            lines.push(line("", text));
        }
        if let (count, Some((_, largest))) = (readouts.of_another_clock.0, readouts.of_another_clock.1.ends())
        {
            let text = format!(
                "{} readouts have a few more ticks than a second: read with ess.max_fraction = {largest}, or with ess.clock \
                 if the clock is another one",
                grouped(count)
            );
            lines.push(line("peculiarity", text));
        }
        for (count, what) in [
            (readouts.calibration, "calibration readouts (GEO bit 7): no hits"),
            (readouts.clustered, "records of the clustered mode (GEO bit 6): no hits of a channel"),
        ] {
            if count > 0 {
                lines.push(line("  not hits", format!("{} {what}", grouped(count))));
            }
        }
        if self.ragged > 0 {
            let text = format!("{} packets are not a whole number of records", grouped(self.ragged));
            lines.push(line("  faults", text));
        }
        let main = self.records();
        let others =
            self.records.iter().filter(|(records, _)| **records != main && **records != EssRecords::None);
        for (records, packets) in others {
            lines.push(line("other records", format!("{} packets: {}", grouped(*packets), records.name())));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let queue = |(number, queue): (&u8, &Queue)| {
            json!({
                "output_queue": number,
                "packets": queue.packets,
                "heartbeats": queue.heartbeats,
                "readouts": queue.readouts,
                "sequence": sequence_json(&queue.tracker),
                "pulses": queue.pulses.json(),
            })
        };
        let source = |(byte, packets): (&u8, &u64)| json!({ "flags": byte, "packets": packets, "meaning": flags_in_words(*byte) });
        json!({
            "type": self.detector_type,
            "type_name": type_name(self.detector_type),
            "header_versions": { "0": self.versions[0], "1": self.versions[1] },
            "records": self.records().name(),
            "decoded": self.records().are_decoded(),
            "queues": self.queues.iter().map(queue).collect::<Vec<_>>(),
            "packets_of_further_queues": self.queues_not_kept,
            "time_source": self.time_source.iter().map(source).collect::<Vec<_>>(),
            "broken_rules": self.broken_rules,
            "headers_that_count_udp": self.header_counts_udp,
            "packets_not_whole_records": self.ragged,
            "readouts": self.readouts.json(),
        })
    }
}

impl Queue {
    fn new() -> Self {
        let tracker = SequenceTracker::of_packets(SEQUENCE_BITS, u64::BITS);
        Self { packets: 0, heartbeats: 0, readouts: 0, tracker, pulses: Pulses::default() }
    }
}

/// "0x48 FREIA".
fn type_name(detector_type: u8) -> String {
    let name = detector_type::name(detector_type);
    let name = name.map_or_else(|| "(no known detector)".to_owned(), str::to_uppercase);
    let name = match name.as_str() {
        "CBM" => "CBM (beam monitors)",
        "FREIA" => "FREIA (AMOR sends it too)",
        other => other,
    };
    format!("{detector_type:#04x} {name}")
}

/// The bits that are set.
fn flags_in_words(byte: u8) -> String {
    let set = FLAGS.iter().enumerate().filter(|(bit, _)| byte >> bit & 1 == 1).map(|(_, name)| *name);
    let set: Vec<&str> = set.collect();
    if set.is_empty() { "no bit is set".to_owned() } else { set.join(", ") }
}

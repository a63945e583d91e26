//! Packets of SRS front-end cards.

use crate::channels::{Channels, Span};
use crate::report::{Line, line, listed, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::recognise::Format;
use evforge_wire::srs_vmm::{
    FRAME_COUNTER_BITS, HEADER_TIME_BITS, Numbering, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant,
    VmmReadout, Word,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The number that VMM2, which carries none, has in configurations.
const VMM2_FEC: u16 = 1;

/// What one chip has sent.
#[derive(Debug, Default)]
pub struct Chip {
    /// Readouts.
    pub readouts: u64,
    /// Time markers.
    pub markers: u64,
    channels: Channels,
    adc: Span,
}

/// What one front-end card has sent.
#[derive(Debug)]
pub struct Fec {
    packets: u64,
    tracker: SequenceTracker,
    /// Its chips.
    pub chips: BTreeMap<u8, Chip>,
}

/// Cards with their chips.
#[derive(Debug)]
pub struct SrsContent {
    format: Format,
    fecs: BTreeMap<u16, Fec>,
    /// VMM2: packets without data, and ends of frames.
    no_data: u64,
    ends_of_frame: u64,
}

impl SrsContent {
    pub(super) fn new(format: Format) -> Self {
        Self { format, fecs: BTreeMap::new(), no_data: 0, ends_of_frame: 0 }
    }

    /// The cards.
    pub fn fecs(&self) -> &BTreeMap<u16, Fec> {
        &self.fecs
    }

    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        match self.format {
            Format::SrsVmm2 => self.take_vmm2(bytes, arrival_ns),
            Format::SrsVmm3Of2018 => self.take_vmm3(bytes, Vmm3Variant::Of2018, arrival_ns),
            _ => self.take_vmm3(bytes, Vmm3Variant::Vmm3a, arrival_ns),
        }
    }

    fn fec(&mut self, numbering: Numbering, bytes: &[u8], arrival_ns: u64) -> &mut Fec {
        let fec = self.fecs.entry(numbering.fec).or_insert_with(|| Fec {
            packets: 0,
            tracker: SequenceTracker::of_packets(FRAME_COUNTER_BITS, HEADER_TIME_BITS),
            chips: BTreeMap::new(),
        });
        fec.packets += 1;
        let stamp = Stamp::of(bytes, arrival_ns, numbering.time.map(u64::from));
        fec.tracker.observe_packet(u64::from(numbering.frame_counter), stamp);
        fec
    }

    fn take_vmm2(&mut self, bytes: &[u8], arrival_ns: u64) {
        let content = Vmm2Packet::parse(bytes);
        if let Ok(Vmm2Content::EndOfFrame) = content {
            self.ends_of_frame += 1;
            return;
        }
        let Some(numbering) = Vmm2Packet::numbering(bytes) else { return };
        let fec = self.fec(Numbering { fec: VMM2_FEC, ..numbering }, bytes, arrival_ns);
        match content {
            Ok(Vmm2Content::Readouts(packet)) => packet.readouts().for_each(|readout| fec.take(readout)),
            Ok(Vmm2Content::NoData) => self.no_data += 1,
            Ok(Vmm2Content::EndOfFrame) | Err(_) => {}
        }
    }

    fn take_vmm3(&mut self, bytes: &[u8], variant: Vmm3Variant, arrival_ns: u64) {
        let Some(numbering) = Vmm3Packet::numbering(bytes, variant) else { return };
        let fec = self.fec(numbering, bytes, arrival_ns);
        let Ok(packet) = Vmm3Packet::parse(bytes, variant) else { return };
        for word in packet.words() {
            match word {
                Word::Readout(readout) => fec.take(readout),
                Word::Marker(marker) => fec.chips.entry(marker.chip).or_default().markers += 1,
            }
        }
    }

    pub(super) fn readouts(&self) -> u64 {
        self.fecs.values().flat_map(|fec| fec.chips.values()).map(|chip| chip.readouts).sum()
    }

    pub(super) fn places(&self) -> String {
        let fecs = self.fecs.iter().map(|(number, fec)| {
            let chips = fec.chips.iter().filter(|(_, chip)| chip.readouts > 0).map(|(number, _)| number);
            format!("FEC {number} chips {}", listed(chips))
        });
        fecs.collect::<Vec<_>>().join("; ")
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![line("readouts", grouped(self.readouts()))];
        if self.no_data + self.ends_of_frame > 0 {
            let text = format!(
                "{} packets without data, {} ends of frames",
                grouped(self.no_data),
                grouped(self.ends_of_frame)
            );
            lines.push(line("heartbeats", text));
        }
        for (number, fec) in &self.fecs {
            let text = format!("{} packets; {}", grouped(fec.packets), sequence_in_words(&fec.tracker));
            lines.push(line(format!("FEC {number}"), text));
            for (chip, seen) in &fec.chips {
                let place = format!("FEC {number} chip {chip}");
                let text = if seen.readouts == 0 {
                    format!("{} markers only", grouped(seen.markers))
                } else {
                    format!(
                        "{} readouts, {}, ADC {}, {} markers",
                        grouped(seen.readouts),
                        seen.channels,
                        seen.adc,
                        grouped(seen.markers)
                    )
                };
                lines.push(line(place, text));
            }
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let chip = |(number, chip): (&u8, &Chip)| {
            json!({
                "chip": number, "readouts": chip.readouts, "markers": chip.markers,
                "channels": chip.channels.ends(), "channels_seen": chip.channels.len(), "adc": chip.adc.ends(),
            })
        };
        let fec = |(number, fec): (&u16, &Fec)| {
            json!({
                "fec": number, "packets": fec.packets, "sequence": sequence_json(&fec.tracker),
                "chips": fec.chips.iter().map(chip).collect::<Vec<_>>(),
            })
        };
        json!({
            "readouts": { "count": self.readouts() },
            "no_data": self.no_data,
            "ends_of_frame": self.ends_of_frame,
            "fecs": self.fecs.iter().map(fec).collect::<Vec<_>>(),
        })
    }
}

impl Fec {
    fn take(&mut self, readout: VmmReadout) {
        let chip = self.chips.entry(readout.chip).or_default();
        chip.readouts += 1;
        chip.channels.insert(u16::from(readout.channel));
        chip.adc.take(readout.adc);
    }
}

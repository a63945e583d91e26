//! A packet, and its readouts, for people.

use crate::content::Content;
use crate::report::named_counts;
use evforge_core::packet::Packet;
use evforge_wire::adc_readout::{AdcPacket, Content as AdcPart};
use evforge_wire::caen::{JadaqPacket, JadaqVersion, RecordPacket};
use evforge_wire::cncs::groups;
use evforge_wire::drop::{DropLayout, DropPacket};
use evforge_wire::ess::beam_monitor::MonitorPayload;
use evforge_wire::ess::{R5560Payload, Vmm3aPayload};
use evforge_wire::isis::event::{self, v1, v2};
use evforge_wire::isis::{Messages, Rules, Version};
use evforge_wire::mesytec::{Datagram, TriggerClock, VmmrReadout};
use evforge_wire::numbered::NumberedHeader;
use evforge_wire::recognise::{Candidate, EssRecords, Format, look_at_ess, recognise};
use evforge_wire::sonde::{Content as SondePart, SondePacket};
use evforge_wire::srs_vmm::{Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, VmmReadout, Word};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a packet is, in a line; and its readouts in lines of their own, if they are wanted.
pub fn describe(packet: &Packet<'_>, with_readouts: bool) -> (String, Vec<String>) {
    let Some(best) = recognise(packet.bytes).best() else {
        let mut content = Content::new(None);
        content.take(packet);
        let bytes = content.lines().into_iter().find(|(title, _)| title == "first bytes");
        return (format!("unknown: {}", bytes.map_or_else(String::new, |(_, bytes)| bytes)), Vec::new());
    };
    let Candidate { format, fault, .. } = best;
    if let Some(fault) = fault.filter(|_| !matches!(format, Format::Cncs | Format::AdcReadout)) {
        return (format!("{}: {fault}", format.name()), Vec::new());
    }
    let mut lines = Lines { wanted: with_readouts, lines: Vec::new() };
    let text = decoded(format, packet.bytes, &mut lines).unwrap_or_default();
    let fault =
        fault.map_or_else(String::new, |fault| format!("; {}", named_counts(&BTreeMap::from([(fault, 1)]))));
    (format!("{text}{fault}"), lines.lines)
}

/// Lines of readouts, or none if they are not wanted.
struct Lines {
    wanted: bool,
    lines: Vec<String>,
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.wanted {
            self.lines.push(line());
        }
    }
}

fn decoded(format: Format, bytes: &[u8], lines: &mut Lines) -> Option<String> {
    match format {
        Format::Ess => ess(bytes, lines),
        Format::SrsVmm2 => vmm2(bytes, lines),
        Format::SrsVmm3Of2018 => vmm3(bytes, Vmm3Variant::Of2018, lines),
        Format::SrsVmm3a => vmm3(bytes, Vmm3Variant::Vmm3a, lines),
        Format::Mesytec => mesytec(bytes, lines),
        Format::Cncs => Some(cncs(bytes, lines)),
        Format::CaenRecords => {
            let packet = RecordPacket::parse(bytes).ok()?;
            packet.records().for_each(|record| lines.add(|| format!("{record:?}")));
            Some(format!("{} CAEN records", packet.len()))
        }
        Format::JadaqOfJune2018 => jadaq(bytes, JadaqVersion::OfJune2018, lines),
        Format::Jadaq1_3 => jadaq(bytes, JadaqVersion::V1_3, lines),
        Format::Sonde => sonde(bytes, lines),
        Format::AdcReadout => adc(bytes, lines),
        Format::Isis => isis(bytes, lines),
        Format::Numbered => {
            let header = NumberedHeader::parse(bytes).ok()?;
            Some(format!("numbered packet {} of flow {}", header.number, header.flow))
        }
        Format::DropP1 => {
            let packet = DropPacket::parse(&DropLayout::P1, bytes).ok()?;
            Some(format!("DROP packet {} of stream {}", packet.header.identifier, packet.header.stream))
        }
    }
}

fn ess(bytes: &[u8], lines: &mut Lines) -> Option<String> {
    let look = look_at_ess(bytes).ok()?;
    let packet = look.packet;
    let mut readouts = 0;
    match look.records {
        EssRecords::Vmm3a => {
            for readout in Vmm3aPayload::parse(packet.payload).ok()?.readouts() {
                readouts += 1;
                lines.add(|| {
                    format!(
                        "readout ring {:>2} FEN {:>2} VMM {:>2} channel {:>2} time {}+{} BC {:>4} TDC {:>3} ADC {:>4} \
                         GEO {:#04x}{}",
                        readout.ring(),
                        readout.fen(),
                        readout.vmm(),
                        readout.channel(),
                        readout.time().seconds,
                        readout.time().ticks,
                        readout.bc(),
                        readout.tdc(),
                        readout.adc(),
                        readout.geo(),
                        if readout.over_threshold() { " over threshold" } else { "" }
                    )
                });
            }
        }
        EssRecords::BeamMonitors => {
            for readout in MonitorPayload::parse(packet.payload).ok()?.readouts() {
                readouts += 1;
                lines.add(|| {
                    format!(
                        "readout ring {:>2} FEN {:>2} channel {:>2} {:?}",
                        readout.ring(),
                        readout.fen(),
                        readout.channel(),
                        readout.fields()
                    )
                });
            }
        }
        EssRecords::R5560 => {
            for readout in R5560Payload::parse(packet.payload).readouts() {
                readouts += 1;
                lines.add(|| {
                    format!(
                        "readout ring {:>2} FEN {:>2} group {:>3} {:?}",
                        readout.ring(),
                        readout.fen(),
                        readout.group(),
                        readout.fields()
                    )
                });
            }
        }
        _ => {}
    }
    Some(format!(
        "ESS readout version {}, type {:#04x}, output queue {}, number {}, pulse {}+{}, {readouts} readouts ({})",
        packet.version,
        packet.detector_type,
        packet.output_queue,
        packet.sequence,
        packet.pulse.seconds,
        packet.pulse.ticks,
        look.records.name()
    ))
}

fn readout_line(readout: &VmmReadout) -> String {
    format!(
        "readout chip {:>2} channel {:>2} offset {:>2} crossing {:>4} tdc {:>3} adc {:>4}{}",
        readout.chip,
        readout.channel,
        readout.trigger_offset,
        readout.bunch_crossing,
        readout.tdc,
        readout.adc,
        if readout.over_threshold { " over threshold" } else { "" }
    )
}

fn vmm2(bytes: &[u8], lines: &mut Lines) -> Option<String> {
    Some(match Vmm2Packet::parse(bytes).ok()? {
        Vmm2Content::EndOfFrame => "end of frame".to_owned(),
        Vmm2Content::NoData => "no data".to_owned(),
        Vmm2Content::Readouts(packet) => {
            packet.readouts().for_each(|readout| lines.add(|| readout_line(&readout)));
            format!(
                "frame {}, chip {}, trigger stamp {}, {} readouts",
                packet.frame_counter,
                packet.chip,
                packet.trigger_stamp,
                packet.len()
            )
        }
    })
}

fn vmm3(bytes: &[u8], variant: Vmm3Variant, lines: &mut Lines) -> Option<String> {
    let packet = Vmm3Packet::parse(bytes, variant).ok()?;
    let mut markers = 0;
    for word in packet.words() {
        match word {
            Word::Readout(readout) => lines.add(|| readout_line(&readout)),
            Word::Marker(marker) => {
                markers += 1;
                lines.add(|| format!("marker  chip {:>2} stamp {}", marker.chip, marker.stamp));
            }
        }
    }
    Some(format!(
        "FEC {}, frame {}, send stamp {}, {} readouts, {markers} markers",
        packet.fec,
        packet.frame_counter,
        packet.send_stamp,
        packet.len() - markers
    ))
}

fn isis(bytes: &[u8], lines: &mut Lines) -> Option<String> {
    let (mut messages, mut events, mut first) = (0, 0, None);
    for message in Messages::new(bytes, Rules::default()).flatten() {
        let header = message.header;
        messages += 1;
        events += message.len();
        first.get_or_insert(header);
        lines.add(|| format!("{header:?}"));
        for (first, second) in message.events().iter().map(event::words) {
            lines.add(|| match (header.version, header.board) {
                (Version::V1, _) => format!("event time {} word {second:#010x}", v1::raw_time(first)),
                (Version::V2, Some(board)) if v2::is_event(first) => {
                    let parts = v2::SelfDescribed::of(second, &board);
                    format!("event time {} pixel {} {parts:?}", v2::raw_time25(first), parts.pixel(&board))
                }
                (Version::V2, _) => format!("words {first:#010x} {second:#010x}"),
            });
        }
    }
    let header = first?;
    Some(format!(
        "{:?} frame {} at {} ns, period {}, vetoes {:#x}, {messages} messages, {events} events",
        header.version, header.frame, header.gps_ns, header.period, header.vetoes
    ))
}

fn mesytec(bytes: &[u8], lines: &mut Lines) -> Option<String> {
    let datagram = Datagram::parse(bytes).ok()?;
    let (mut triggers, mut readouts) = (0, 0);
    for trigger in datagram.triggers().flatten() {
        triggers += 1;
        let mut clock = TriggerClock::extended();
        let (found, end) = trigger.read(&mut clock, Vec::new(), |found, word, context| {
            found.extend(VmmrReadout::of(word, context));
        });
        readouts += found.len();
        lines.add(|| format!("trigger {} {end:?}", trigger.counter));
        for readout in found {
            lines.add(|| format!("{readout:?}"));
        }
    }
    Some(format!("{triggers} triggers, {readouts} readouts"))
}

fn cncs(bytes: &[u8], lines: &mut Lines) -> String {
    let mut count = 0;
    for group in groups(bytes) {
        count += 1;
        lines.add(|| format!("{group:?}"));
    }
    format!("{count} groups")
}

fn jadaq(bytes: &[u8], version: JadaqVersion, lines: &mut Lines) -> Option<String> {
    let packet = JadaqPacket::parse(bytes, version).ok()?;
    packet.elements().for_each(|element| lines.add(|| format!("{element:?}")));
    Some(format!(
        "jadaq, digitizer {}, number {}, global time {} ms, {} elements ({:?})",
        packet.digitizer,
        packet.sequence,
        packet.global_time,
        packet.len(),
        packet.element_type
    ))
}

fn sonde(bytes: &[u8], lines: &mut Lines) -> Option<String> {
    let packet = SondePacket::parse(bytes).ok()?;
    let header = packet.header;
    let mut text = format!("system {}, number {}, ", header.system, header.packet_count);
    // Writing to a string cannot fail.
    let _ = match packet.content {
        SondePart::TriggerTimes(times) => {
            times.entries().for_each(|entry| {
                lines.add(|| {
                    format!("ASIC {} channel {:>2} time {}", entry.asic(), entry.channel(), entry.time)
                });
            });
            write!(text, "{} trigger times", times.len())
        }
        SondePart::SingleEvent(event) => {
            event.samples().for_each(|sample| lines.add(|| format!("sample {sample}")));
            write!(text, "samples of ASIC {} channel {}", event.asic, event.channel)
        }
        SondePart::MultiEvent(events) => {
            for event in events.events() {
                event.samples().for_each(|sample| lines.add(|| format!("time {} {sample:?}", event.time)));
            }
            write!(text, "amplitudes of {} events", events.len())
        }
    };
    Some(text)
}

fn adc(bytes: &[u8], lines: &mut Lines) -> Option<String> {
    let packet = AdcPacket::parse(bytes).ok()?;
    let number = packet.header.global_count;
    let AdcPart::Data(data) = packet.content else {
        return Some(format!("number {number}, a heartbeat"));
    };
    let mut runs = 0;
    for module in data.modules().flatten() {
        runs += 1;
        lines
            .add(|| format!("channel {} with {} samples at {:?}", module.channel, module.len(), module.time));
    }
    Some(format!("number {number}, {runs} runs of samples"))
}

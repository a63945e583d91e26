//! Packets to text, with the decoders of this crate, and messages with those of `evforge-messages`: a line for each field.

use crate::format_pages::ess_and_srs::{ess_header, ess_monitors, ess_r5560, ess_vmm3a, srs_vmm2, srs_vmm3};
use crate::format_pages::fields::{Fields, rejected};
use crate::format_pages::isis::isis;
use crate::format_pages::trains::train_packet;
use evforge_wire::adc_readout::{AdcPacket, Content as AdcContent, RawTime};
use evforge_wire::caen::{JadaqPacket, JadaqVersion, RecordPacket};
use evforge_wire::cncs::groups;
use evforge_wire::drop::{DropLayout, DropPacket};
use evforge_wire::mesytec::{Datagram, TriggerClock, Word as VmmrWord};
use evforge_wire::numbered::NumberedHeader;
use evforge_wire::sonde::{Content as SondeContent, SondePacket};
use evforge_wire::srs_vmm::Vmm3Variant;

/// What a packet of the format of a page says, in the variant that its example names.
///
/// # Errors
/// Why it says nothing.
pub(crate) fn decode(page: &str, variant: &str, bytes: &[u8]) -> Result<String, String> {
    let mut out = Fields::default();
    match (page, variant) {
        ("ess-readout.md", "") => drop(ess_header(bytes, &mut out)?),
        ("ess-vmm3a.md", "") => ess_vmm3a(bytes, &mut out)?,
        ("ess-beam-monitors.md", "") => ess_monitors(bytes, &mut out)?,
        ("ess-r5560.md", "") => ess_r5560(bytes, &mut out)?,
        ("srs-vmm2.md", "") => srs_vmm2(bytes, &mut out)?,
        ("srs-vmm3.md", "vmm3-2018") => srs_vmm3(bytes, Vmm3Variant::Of2018, false, &mut out)?,
        ("srs-vmm3.md", "vmm3a") => srs_vmm3(bytes, Vmm3Variant::Vmm3a, false, &mut out)?,
        ("srs-vmm3.md", "vmm3a-triggered") => srs_vmm3(bytes, Vmm3Variant::Vmm3a, true, &mut out)?,
        ("sonde.md", "") => sonde(bytes, &mut out)?,
        ("mesytec.md", "") => mesytec(bytes, &mut out)?,
        ("cncs.md", "") => cncs(bytes, &mut out),
        ("caen-records.md", "") => records(bytes, &mut out)?,
        ("jadaq.md", "jadaq-2018-06") => jadaq(bytes, JadaqVersion::OfJune2018, &mut out)?,
        ("jadaq.md", "jadaq-1.3") => jadaq(bytes, JadaqVersion::V1_3, &mut out)?,
        ("adc-readout.md", "") => adc_readout(bytes, &mut out)?,
        ("drop.md", layout) => drop_packet(bytes, layout, &mut out)?,
        ("train.md", variant) => train_packet(bytes, variant, &mut out)?,
        ("isis.md", "") => isis(bytes, &mut out)?,
        ("numbered.md", "") => numbered(bytes, &mut out)?,
        ("pkts.md", "") => pkts(bytes, &mut out)?,
        ("messages.md", "") => message(bytes, &mut out)?,
        _ => {
            return Err(format!(
                "no decoder for `{variant}` of this page: add it to tests/format_pages/decode.rs"
            ));
        }
    }
    Ok(out.0)
}

/// The fields in the order of the page: JSON has none.
fn message(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let message = evforge_messages::decode(bytes).map_err(|refused| refused.to_string())?;
    let json = message.to_json();
    let order = [
        "schema",
        "source_name",
        "message_id",
        "reference_time",
        "reference_time_index",
        "time_of_flight",
        "pixel_id",
        "vetos",
        "period_number",
        "proton_charge",
    ];
    let fields = json.as_object().ok_or("no object")?;
    let left: Vec<_> = fields.keys().filter(|field| !order.contains(&field.as_str())).collect();
    assert!(left.is_empty(), "add them to the order: {left:?}");
    order
        .iter()
        .filter_map(|field| Some((field, fields.get(*field)?)))
        .for_each(|(field, value)| out.put(field, value));
    Ok(())
}

fn sonde(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let packet = SondePacket::parse(bytes).map_err(rejected)?;
    out.put("system", packet.header.system);
    out.put("sequence flag", packet.header.sequence_flag);
    out.put("packet count", packet.header.packet_count);
    out.put("time", packet.header.time);
    match packet.content {
        SondeContent::TriggerTimes(times) => {
            for (number, entry) in times.entries().enumerate() {
                let text = format!("time {}, asic {}, channel {}", entry.time, entry.asic(), entry.channel());
                out.put(format!("entry[{number}]"), text);
            }
        }
        SondeContent::SingleEvent(event) => {
            out.put("asic", event.asic);
            out.put("trigger type", event.trigger_type);
            out.put("channel", event.channel);
            out.put("hold delay", event.hold_delay);
            out.put("samples", format!("{:?}", event.samples().collect::<Vec<_>>()));
        }
        SondeContent::MultiEvent(multi) => {
            out.put("samples per event", multi.samples_per_event());
            for (number, event) in multi.events().enumerate() {
                out.put(format!("event[{number}].time"), event.time);
                for (place, sample) in event.samples().enumerate() {
                    let text = format!(
                        "trigger type {}, asic {}, channel {}, amplitude {}",
                        sample.trigger_type, sample.asic, sample.channel, sample.amplitude
                    );
                    out.put(format!("event[{number}].sample[{place}]"), text);
                }
            }
        }
    }
    Ok(())
}

fn mesytec(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let datagram = Datagram::parse(bytes).map_err(rejected)?;
    out.put("packet id", datagram.packet_id);
    out.put("status", datagram.status);
    let mut clock = TriggerClock::extended();
    for (number, trigger) in datagram.triggers().enumerate() {
        let trigger = trigger.map_err(rejected)?;
        out.put(format!("trigger[{number}].counter"), trigger.counter);
        for (place, word) in trigger.words().enumerate() {
            let text = match word {
                VmmrWord::Header { module, words, external_trigger } => {
                    format!("header: module {module}, words {words}, external {external_trigger}")
                }
                VmmrWord::HighTime(high) => format!("high time: {high}"),
                VmmrWord::TimeDifference { bus, difference } => {
                    format!("time difference: bus {bus}, {difference}")
                }
                VmmrWord::Readout { bus, channel, adc } => {
                    format!("readout: bus {bus}, channel {channel}, adc {adc}")
                }
                VmmrWord::Fill => "fill".to_owned(),
                VmmrWord::EndOfEvent(low) => format!("end of event: low time {low}"),
                VmmrWord::Unknown(word) => return Err(rejected(word)),
            };
            out.put(format!("trigger[{number}].word[{place}]"), text);
        }
        let ((), end) = trigger.read(&mut clock, (), |(), _, _| ());
        out.put(format!("trigger[{number}].time"), end.map_err(rejected)?.time);
    }
    Ok(())
}

fn cncs(bytes: &[u8], out: &mut Fields) {
    let mut found = groups(bytes);
    for (number, group) in found.by_ref().enumerate() {
        out.put(format!("group[{number}].module"), group.module);
        out.put(format!("group[{number}].values"), format!("{:?}", group.values));
        out.put(format!("group[{number}].time"), group.time);
    }
    out.put("error bytes", found.error_bytes());
}

fn records(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    for (number, record) in RecordPacket::parse(bytes).map_err(rejected)?.records().enumerate() {
        let text = format!(
            "digitizer {}, channel {}, adc {}, time {}",
            record.digitizer, record.channel, record.adc, record.time
        );
        let text = if record.is_end_of_run() { "end of run".to_owned() } else { text };
        out.put(format!("record[{number}]"), text);
    }
    Ok(())
}

fn jadaq(bytes: &[u8], version: JadaqVersion, out: &mut Fields) -> Result<(), String> {
    let packet = JadaqPacket::parse(bytes, version).map_err(rejected)?;
    out.put("run", packet.run);
    out.put("global time", packet.global_time);
    out.put("digitizer", packet.digitizer);
    out.put("elements", format!("{} of {:?}", packet.len(), packet.element_type));
    out.put("version", format!("{:#06x}", packet.version));
    if JadaqPacket::numbering(bytes, version).is_some() {
        out.put("sequence", packet.sequence);
    }
    for (number, element) in packet.elements().enumerate() {
        let text = format!(
            "time {}, channel {}, charge {}, baseline {}",
            element.time, element.channel, element.charge, element.baseline
        );
        out.put(format!("element[{number}]"), text);
    }
    Ok(())
}

fn adc_readout(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let time = |time: RawTime| format!("{} s + {} ticks", time.seconds, time.fraction);
    let packet = AdcPacket::parse(bytes).map_err(rejected)?;
    out.put("global count", packet.header.global_count);
    out.put("readout count", packet.header.readout_count);
    match packet.content {
        AdcContent::Idle(idle) => out.put("heartbeat", time(idle.time)),
        AdcContent::Data(data) => {
            for (number, module) in data.modules().enumerate() {
                let module = module.map_err(rejected)?;
                out.put(format!("run[{number}].channel"), module.channel);
                out.put(format!("run[{number}].oversampling"), module.oversampling);
                out.put(format!("run[{number}].time"), time(module.time));
                let samples: Vec<_> = module.samples().collect();
                out.put(format!("run[{number}].samples"), format!("{samples:?}"));
            }
        }
    }
    Ok(())
}

fn drop_packet(bytes: &[u8], layout: &str, out: &mut Fields) -> Result<(), String> {
    let layout: DropLayout = layout.parse().map_err(rejected)?;
    let packet = DropPacket::parse(&layout, bytes).map_err(rejected)?;
    out.put("identifier", packet.header.identifier);
    if layout == DropLayout::P1 {
        out.put("stream", packet.header.stream);
        out.put("first of block", packet.header.first_of_block);
        out.put("last of block", packet.header.last_of_block);
        out.put("pattern", packet.header.is_pattern);
    }
    let words = packet.payload.as_chunks().0.iter().map(|&word| u16::from_be_bytes(word));
    out.put("words", format!("{:?}", words.collect::<Vec<_>>()));
    out.put("padding", packet.padding);
    Ok(())
}

fn numbered(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let header = NumberedHeader::parse(bytes).map_err(rejected)?;
    out.put("flow", header.flow);
    out.put("number", header.number);
    out.put("sent", format!("{} ns", header.sent_ns));
    Ok(())
}

/// As the tests of all crates read these files. They are not of this crate, whose packets they hold.
fn pkts(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    for (number, payload) in evforge_testkit::pkts_payloads(bytes).iter().enumerate() {
        let digits: Vec<_> = payload.iter().map(|byte| format!("{byte:02x}")).collect();
        out.put(format!("packet[{number}]"), digits.join(" "));
    }
    Ok(())
}

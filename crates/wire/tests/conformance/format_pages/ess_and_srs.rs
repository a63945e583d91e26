//! Packets of the ESS readout and of SRS to text.

use crate::format_pages::fields::{Fields, rejected};
use evforge_wire::ess::beam_monitor::{MonitorKind, MonitorPayload};
use evforge_wire::ess::{
    EssPacket, EssTime, HeaderRules, R5560Payload, RecordRules, Vmm3aPayload, detector_type,
};
use evforge_wire::srs_vmm::{
    TriggerMarker, Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, VmmReadout, Word,
};

fn ess_time(time: EssTime) -> String {
    format!("{} s + {} ticks, {} ns", time.seconds, time.ticks, time.nanoseconds())
}

/// The header, of whatever detector; gives the records behind it.
pub(crate) fn ess_header<'a>(bytes: &'a [u8], out: &mut Fields) -> Result<&'a [u8], String> {
    let rules = HeaderRules {
        detector_type: bytes.get(5).copied().unwrap_or_default(),
        max_pulse_distance: 5 * 88_052_500 / 14,
        ..HeaderRules::default()
    };
    let packet = EssPacket::parse(bytes, &rules).map_err(rejected)?;
    let name = detector_type::name(packet.detector_type).unwrap_or("none");
    out.put("version", packet.version);
    out.put("detector type", format!("{:#04x}, {name}", packet.detector_type));
    out.put("output queue", packet.output_queue);
    out.put("time source", format!("{:#04x}", packet.time_source));
    out.put("pulse", ess_time(packet.pulse));
    out.put("previous pulse", ess_time(packet.previous_pulse));
    out.put("sequence", packet.sequence);
    out.put("bytes of records", packet.payload.len());
    Ok(packet.payload)
}

pub(crate) fn ess_vmm3a(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let payload = Vmm3aPayload::parse(ess_header(bytes, out)?).map_err(rejected)?;
    for (number, readout) in payload.readouts().enumerate() {
        if let Some(fault) = readout.fault(&RecordRules::default()) {
            return Err(rejected(fault));
        }
        let mut put = |field: &str, value: String| out.put(format!("record[{number}].{field}"), value);
        put("fibre", format!("{}, ring {}", readout.fibre(), readout.ring()));
        put("fen", readout.fen().to_string());
        put("time", ess_time(readout.time()));
        put("bc", readout.bc().to_string());
        put("over threshold", readout.over_threshold().to_string());
        put("adc", readout.adc().to_string());
        put("geo", format!("{:#04x}, calibration {}", readout.geo(), readout.is_calibration()));
        put("tdc", readout.tdc().to_string());
        put("vmm", format!("{}, hybrid {}, asic {}", readout.vmm(), readout.hybrid(), readout.asic()));
        put("channel", readout.channel().to_string());
    }
    Ok(())
}

pub(crate) fn ess_monitors(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let payload = MonitorPayload::parse(ess_header(bytes, out)?).map_err(rejected)?;
    for (number, readout) in payload.readouts().enumerate() {
        if let Some(fault) = readout.fault(&RecordRules::default()) {
            return Err(rejected(fault));
        }
        let mut put = |field: &str, value: String| out.put(format!("record[{number}].{field}"), value);
        put("fibre", format!("{}, ring {}", readout.fibre(), readout.ring()));
        put("fen", readout.fen().to_string());
        put("time", ess_time(readout.time()));
        put("channel", readout.channel().to_string());
        match readout.kind() {
            None | Some(MonitorKind::Event0D) => put("0D", format!("adc {}", readout.adc())),
            Some(MonitorKind::Event2D) => {
                put("2D", format!("adc {}, x {}, y {}", readout.adc(), readout.x(), readout.y()));
            }
            Some(MonitorKind::Integrating) => {
                put("integrating", format!("sum {}, samples {}", readout.summed_adc(), readout.samples()));
            }
        }
    }
    Ok(())
}

pub(crate) fn ess_r5560(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    let payload = R5560Payload::parse(ess_header(bytes, out)?);
    for (number, readout) in payload.readouts().enumerate() {
        if let Some(fault) = readout.fault(&RecordRules::default()) {
            return Err(rejected(fault));
        }
        let mut put = |field: &str, value: String| out.put(format!("record[{number}].{field}"), value);
        put("fibre", format!("{}, ring {}", readout.fibre(), readout.ring()));
        put("fen", readout.fen().to_string());
        put("time", ess_time(readout.time()));
        put("flags", readout.flags().to_string());
        put("group", readout.group().to_string());
        put("counter", readout.counter().to_string());
        put("charges", format!("{:?}", readout.charges()));
    }
    out.put("bytes left", payload.bytes_left());
    Ok(())
}

/// Without the trigger offset, which VMM2 does not have.
fn vmm_readout(readout: &VmmReadout) -> String {
    let VmmReadout { chip, channel, bunch_crossing, tdc, adc, over_threshold, trigger_offset: _ } = readout;
    format!(
        "vmm {chip}, channel {channel}, bcid {bunch_crossing}, tdc {tdc}, adc {adc}, \
         over threshold {over_threshold}"
    )
}

pub(crate) fn srs_vmm2(bytes: &[u8], out: &mut Fields) -> Result<(), String> {
    match Vmm2Packet::parse(bytes).map_err(rejected)? {
        Vmm2Content::EndOfFrame => out.put("packet", "end of frame"),
        Vmm2Content::NoData => out.put("packet", "no data"),
        Vmm2Content::Readouts(packet) => {
            out.put("packet", "readouts of one chip");
            out.put("frame counter", packet.frame_counter);
            out.put("vmm", packet.chip);
            out.put("trigger stamp", packet.trigger_stamp);
            for (number, readout) in packet.readouts().enumerate() {
                out.put(format!("readout[{number}]"), vmm_readout(&readout));
            }
        }
    }
    Ok(())
}

pub(crate) fn srs_vmm3(
    bytes: &[u8],
    variant: Vmm3Variant,
    is_triggered: bool,
    out: &mut Fields,
) -> Result<(), String> {
    let packet = Vmm3Packet::parse(bytes, variant).map_err(rejected)?;
    out.put("frame counter", packet.frame_counter);
    out.put("fec", packet.fec);
    out.put("send stamp", packet.send_stamp);
    out.put("offset overflow", format!("{:#x}", packet.offset_overflow));
    for (number, word) in packet.words().enumerate() {
        let text = match word {
            Word::Readout(readout) => {
                format!("readout: {}, offset {}", vmm_readout(&readout), readout.trigger_offset)
            }
            Word::Marker(marker) if is_triggered => match TriggerMarker::from(marker) {
                TriggerMarker::EventCounter { chip, count } => format!("event counter: vmm {chip}, {count}"),
                TriggerMarker::TriggerTime { chip, stamp } => format!("trigger time: vmm {chip}, {stamp}"),
                TriggerMarker::RelativeTime { chip, ticks } => format!("relative time: vmm {chip}, {ticks}"),
                meaningless @ TriggerMarker::Meaningless { .. } => return Err(rejected(meaningless)),
            },
            Word::Marker(marker) => format!("marker: vmm {}, stamp {}", marker.chip, marker.stamp),
        };
        out.put(format!("word[{number}]"), text);
    }
    Ok(())
}

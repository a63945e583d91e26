//! Single packets of the ESS readout: the header with VMM3a records, with those of beam monitors or of R5560.

use evforge_wire::ess::beam_monitor::MonitorPayload;
use evforge_wire::ess::{
    EssClock, EssPacket, HeaderFault, HeaderRelaxations, HeaderRules, Numbering, R5560_RECORD, R5560Payload,
    RECORD, RecordRules, Vmm3aPayload, detector_type,
};

/// The rules of records: those of today, each relaxed by itself, and both; the last with another clock.
const RECORD_RULES: [RecordRules; 4] = [
    RecordRules { length_in_bits: false, any_adc: false, clock: EssClock::ESS },
    RecordRules { length_in_bits: true, any_adc: false, clock: EssClock::ESS },
    RecordRules { length_in_bits: false, any_adc: true, clock: EssClock::ESS },
    RecordRules {
        length_in_bits: true,
        any_adc: true,
        clock: EssClock { ticks_per_second: 88_888_889, largest_tick: 88_886_504 },
    },
];

/// What must hold for the records of a payload, and for those that are sound under rules.
macro_rules! check_records {
    ($payload:expr, $records:ident, |$readout:ident, $rules:ident| $sound:expr) => {
        let payload: &[u8] = $payload;
        let Ok(records) = $records::parse(payload) else {
            return assert_ne!(payload.len() % RECORD, 0);
        };
        assert_eq!((RECORD * records.len(), records.is_empty()), (payload.len(), payload.is_empty()));
        assert_eq!(records.readouts().len(), records.len());
        for ($readout, record) in records.readouts().zip(payload.chunks_exact(RECORD)) {
            assert_eq!($readout.fields().encode(), record, "a record changed on the way");
            for $rules in &RECORD_RULES {
                let is_sound = $readout.is_sound($rules);
                assert_eq!(is_sound, $readout.fault($rules).is_none(), "{:?}", $readout.fields());
                if is_sound {
                    assert!($readout.ring() < 12 && $readout.fen() < 24);
                    assert!($readout.time().ticks <= $rules.clock.largest_tick);
                    assert!(
                        $readout.length() == 20 || ($rules.length_in_bits && $readout.length_is_in_bits())
                    );
                    assert!($sound, "{:?}", $readout.fields());
                }
            }
        }
    };
}

/// Parses `bytes` as a packet of NMX with VMM3a records, and encodes it again.
///
/// # Panics
/// If numbering and packet disagree, if it matters for a packet that a rule is relaxed which it does not
/// break, if the quick and the slow check of a record disagree, or if the content changes on the way.
pub fn ess_header_vmm3a(bytes: &[u8]) {
    let Some(payload) = header(bytes, detector_type::NMX) else { return };
    check_records!(payload, Vmm3aPayload, |readout, rules| {
        let in_range = readout.bc() < 4096 && readout.hybrid() < 8 && readout.channel() < 64;
        in_range && (rules.any_adc || readout.adc() < 1024)
    });
}

/// Parses `bytes` as a packet of beam monitors, and encodes it again.
///
/// # Panics
/// As [`ess_header_vmm3a`].
pub fn ess_beam_monitor(bytes: &[u8]) {
    let Some(payload) = header(bytes, detector_type::CBM) else { return };
    check_records!(payload, MonitorPayload, |readout, rules| readout.kind().is_some());
}

/// Parses `bytes` as a packet of LOKI with R5560 records, and encodes it again.
///
/// # Panics
/// As [`ess_header_vmm3a`], and if a byte is neither in a record nor left.
pub fn ess_r5560(bytes: &[u8]) {
    let Some(payload) = header(bytes, detector_type::LOKI) else { return };
    let records = R5560Payload::parse(payload);
    assert_eq!(R5560_RECORD * records.len() + records.bytes_left(), payload.len());
    assert!(records.bytes_left() < R5560_RECORD);
    for (readout, record) in records.readouts().zip(payload.chunks_exact(R5560_RECORD)) {
        assert_eq!(readout.fields().encode(), record, "a record changed on the way");
        for rules in &RECORD_RULES {
            let is_sound = readout.is_sound(rules);
            assert_eq!(is_sound, readout.fault(rules).is_none(), "{:?}", readout.fields());
            if is_sound {
                assert!(readout.ring() < 12 && readout.fen() < 24);
                assert!(readout.length() == 24 || (rules.length_in_bits && readout.length_is_in_bits()));
            }
        }
    }
}

/// The payload of a packet that is sound at least if all rules are relaxed that can be.
fn header(bytes: &[u8], detector_type: u8) -> Option<&[u8]> {
    let rules = |relaxed| HeaderRules { relaxed, ..HeaderRules::strict(detector_type, 31_447_320) };
    let lax = rules(HeaderRelaxations::ALL);
    let numbering = EssPacket::numbering(bytes, &lax);
    let packet = match EssPacket::parse(bytes, &lax) {
        Ok(packet) => packet,
        Err(fault) => {
            let relaxable = matches!(
                fault,
                HeaderFault::Type
                    | HeaderFault::OutputQueue
                    | HeaderFault::TimeSource(_)
                    | HeaderFault::TimeFraction
                    | HeaderFault::PulseDistance
            );
            assert!(!relaxable, "{fault:?} is relaxed");
            assert_eq!(numbering, None, "{fault:?}");
            assert_eq!(EssPacket::parse(bytes, &rules(HeaderRelaxations::NONE)), Err(fault));
            return None;
        }
    };
    let Numbering { detector_type: _, output_queue, sequence, pulse } =
        numbering.expect("an accepted packet has a number");
    assert_eq!((output_queue, sequence, pulse), (packet.output_queue, packet.sequence, packet.pulse));
    // What the packet breaks is enough to relax, and all of it is needed.
    let needed = packet.relaxed;
    assert_eq!(EssPacket::parse(bytes, &rules(needed)), Ok(packet));
    for (rule, name) in HeaderRelaxations::ALL.iter() {
        let without = EssPacket::parse(bytes, &rules(HeaderRelaxations::ALL.without(rule)));
        assert_eq!(without.is_err(), needed.contains(rule), "{name}");
    }

    let mut again = Vec::new();
    packet.header().write_packet(packet.payload, &mut again);
    let unused = if packet.version == 1 { 30..32 } else { 0..0 };
    again[unused.clone()].copy_from_slice(&bytes[unused]);
    if needed.contains(HeaderRelaxations::LENGTH) {
        again[6..8].copy_from_slice(&bytes[6..8]);
    }
    assert!(again == bytes, "the packet changed on the way");
    Some(packet.payload)
}

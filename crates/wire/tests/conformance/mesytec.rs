//! The reference's byte-level cases for the SIS3153 and the VMMR modules (vectors `multigrid_mesytec`) and the
//! readouts it found in a recording, document "EFU formats of 2018", sections 2.1 and 2.2.

use evforge_testkit::{pkts_payloads, shared_file};
use evforge_wire::mesytec::*;
use std::fmt::Write;

fn vector(test: &str, name: &str) -> Option<Vec<u8>> {
    shared_file(test, &format!("vectors/multigrid_mesytec/{name}.bin"))
}

/// All triggers and all damage of a datagram that is not rejected as a whole.
fn taken_apart(bytes: &[u8]) -> (Vec<Trigger<'_>>, Vec<Damage>) {
    let (mut triggers, mut damage) = (Vec::new(), Vec::new());
    for found in Datagram::parse(bytes).expect("a datagram with readout data").triggers() {
        match found {
            Ok(trigger) => triggers.push(trigger),
            Err(fault) => damage.push(fault),
        }
    }
    (triggers, damage)
}

/// Reads a trigger: its readouts and what is known at its end.
fn read(
    trigger: &Trigger<'_>,
    clock: &mut TriggerClock,
) -> (Vec<VmmrReadout>, Result<TriggerEnd, TriggerFault>) {
    trigger.read(clock, Vec::new(), |readouts, word, context| readouts.extend(VmmrReadout::of(word, context)))
}

/// Number of triggers, then (readouts, time) of each trigger that has readouts.
fn summary(bytes: &[u8]) -> (usize, Vec<(usize, u64)>) {
    let (triggers, damage) = taken_apart(bytes);
    assert_eq!(damage, []);
    let mut clock = TriggerClock::extended();
    let mut with_readouts = Vec::new();
    for trigger in &triggers {
        let (readouts, end) = read(trigger, &mut clock);
        let end = end.expect("a trigger that can be read");
        assert!(!end.external_trigger);
        if !readouts.is_empty() {
            with_readouts.push((readouts.len(), end.time));
        }
    }
    (triggers.len(), with_readouts)
}

#[test]
fn section_2_1_recorded_datagrams() {
    let test = "section_2_1_recorded_datagrams";
    let expected = [
        ("ws1", 1, &[(128, 69_134_374_606)][..]),
        ("ws2", 2, &[(128, 68_719_698_574), (128, 68_719_711_681)]),
    ];
    for (name, triggers, readouts) in expected {
        let Some(bytes) = vector(test, name) else { return };
        assert_eq!(summary(&bytes), (triggers, readouts.to_vec()), "{name}");
    }
    for (name, triggers, readouts) in [("ws3", 4, 256), ("ws4", 36, 54)] {
        let Some(bytes) = vector(test, name) else { return };
        let (found, with_readouts) = summary(&bytes);
        let total: usize = with_readouts.iter().map(|(readouts, _)| readouts).sum();
        assert_eq!((found, total), (triggers, readouts), "{name}");
    }
}

#[test]
fn section_2_1_what_is_no_readout_datagram() {
    let test = "section_2_1_what_is_no_readout_datagram";
    for (name, reason) in [
        ("err_pkt_too_short", Rejection::TooShort),
        ("err_unsupported_cmd", Rejection::NotReadoutData(0x61)),
        // Four words: the reference finds no trigger and does not look at what is wrong with them.
        ("err_unsupported_cmd_II", Rejection::NoTriggers),
        ("err_no_sis_readout_header", Rejection::NoTriggers),
    ] {
        let Some(bytes) = vector(test, name) else { return };
        assert_eq!(Datagram::parse(&bytes).unwrap_err(), reason, "{name}");
    }
    assert_eq!(Datagram::parse(&[]).unwrap_err(), Rejection::TooShort);
    assert_eq!(Datagram::parse(&[0x59]).unwrap_err(), Rejection::NotReadoutData(0x59));
}

/// The reference returns 0 for these and leaves one sub-buffer in its list. Here the block is not handed out
/// at all, because its end is not where its length says.
#[test]
fn section_2_1_framing_that_does_not_end_where_it_should() {
    let test = "section_2_1_framing_that_does_not_end_where_it_should";
    for (name, fault) in [
        ("err_no_end_data_cookie", BlockFault::NoEndOfData),
        ("err_no_sis_readout_trailer", BlockFault::NoEnd),
    ] {
        let Some(bytes) = vector(test, name) else { return };
        let (triggers, damage) = taken_apart(&bytes);
        assert_eq!((triggers.len(), damage), (0, vec![Damage { fault, words: 136 }]), "{name}");
        assert!(!Datagram::parse(&bytes).unwrap().is_undamaged());
    }
}

/// The faults that no vector has, made from a recorded datagram with 36 triggers.
#[test]
fn section_2_1_a_damaged_block_costs_no_other() {
    let test = "section_2_1_a_damaged_block_costs_no_other";
    let Some(good) = vector(test, "ws4") else { return };
    // The first block has 10 words, the second 8 and begins at byte 43.
    for (offset, bytes, fault) in [
        (43, &[0x57][..], BlockFault::NoBlock),
        (50, &[0xBA], BlockFault::NoBegin),
        (44, &[0, 2], BlockFault::LengthTooShort),
        (44, &[0xFF, 0xFF], BlockFault::LengthBeyondPacket),
        (44, &[0, 8], BlockFault::NoEndOfData),
        (70, &[0], BlockFault::NoEndOfData),
        (74, &[0], BlockFault::NoEnd),
    ] {
        let mut damaged = good.clone();
        damaged[offset..offset + bytes.len()].copy_from_slice(bytes);
        let (triggers, damage) = taken_apart(&damaged);
        assert_eq!((triggers.len(), damage), (35, vec![Damage { fault, words: 8 }]), "{fault:?}");
    }
}

#[test]
fn section_2_2_a_trigger_without_time_stamp_has_no_time() {
    let test = "section_2_2_a_trigger_without_time_stamp_has_no_time";
    let Some(bytes) = vector(test, "err_no_timestamp") else { return };
    let (triggers, damage) = taken_apart(&bytes);
    assert_eq!((triggers.len(), damage), (1, vec![]));
    assert_eq!(read(&triggers[0], &mut TriggerClock::extended()).1, Err(TriggerFault::NoTime));
}

/// The readouts that the reference found in a recording, all fields of all of them.
#[test]
fn section_2_2_recorded_readouts() {
    let test = "section_2_2_recorded_readouts";
    let Some(packets) = shared_file(test, "captures/multigrid/recorded_ws1to4.pkts") else { return };
    let Some(expected) = shared_file(test, "captures/multigrid/recorded_ws1to4.reference_readouts.txt")
    else {
        return;
    };
    let mut clock = TriggerClock::counted();
    let (mut found, mut number) = (String::new(), 0);
    for packet in pkts_payloads(&packets) {
        for trigger in taken_apart(&packet).0 {
            number += 1;
            let (readouts, end) = read(&trigger, &mut clock);
            let TriggerEnd { time, external_trigger } = end.unwrap();
            let (external, count) = (u8::from(external_trigger), readouts.len());
            writeln!(found, "trigger {number} ext {external} time {time} n {count}").unwrap();
            for VmmrReadout { module, bus, channel, adc, time_difference } in readouts {
                writeln!(
                    found,
                    "  module {module} bus {bus} channel {channel} adc {adc} tdiff {time_difference} total {time}"
                )
                .unwrap();
            }
        }
    }
    assert_eq!(number, 43);
    assert!(found.as_bytes() == expected, "not the reference's readouts");
}

/// A trigger of these words, read with this clock.
fn of_words(
    words: &[Word],
    clock: &mut TriggerClock,
) -> (Vec<VmmrReadout>, Result<TriggerEnd, TriggerFault>) {
    let mut encoder = DatagramEncoder::default();
    encoder.begin(0, 0);
    assert!(encoder.push(0, words));
    let (triggers, damage) = taken_apart(encoder.packet());
    assert_eq!((triggers.len(), damage), (1, vec![]));
    read(&triggers[0], clock)
}

#[test]
fn section_2_2_words_of_unknown_type_reject_the_trigger() {
    for nibble in 0x5..=0xB_u32 {
        let words = [Word::Unknown(nibble << 28), Word::EndOfEvent(1)];
        let (_, end) = of_words(&words, &mut TriggerClock::extended());
        assert_eq!(end, Err(TriggerFault::UnknownWord(nibble as u8)));
    }
}

#[test]
fn section_2_2_a_header_cannot_announce_more_words_than_there_are() {
    let clock = &mut TriggerClock::extended();
    let header = |words| Word::Header { module: 0, words, external_trigger: false };
    // The reference counts the header itself.
    assert!(of_words(&[header(2), Word::EndOfEvent(1)], clock).1.is_ok());
    assert_eq!(of_words(&[header(3), Word::EndOfEvent(1)], clock).1, Err(TriggerFault::WordsMissing));
}

#[test]
fn section_2_2_the_time_difference_sticks_and_the_bus_is_the_readout_s_own() {
    let words = [
        Word::Header { module: 7, words: 5, external_trigger: true },
        Word::Readout { bus: 1, channel: 2, adc: 3 },
        Word::TimeDifference { bus: 4, difference: 500 },
        Word::Readout { bus: 15, channel: 4095, adc: 4095 },
        Word::Readout { bus: 0, channel: 0, adc: 0 },
        Word::EndOfEvent(9),
    ];
    let (readouts, end) = of_words(&words, &mut TriggerClock::extended());
    assert_eq!(end, Ok(TriggerEnd { time: 9, external_trigger: true }));
    let expected =
        [(1, 2, 3, 0), (15, 4095, 4095, 500), (0, 0, 0, 500)].map(|(bus, channel, adc, time_difference)| {
            VmmrReadout { module: 7, bus, channel, adc, time_difference }
        });
    assert_eq!(readouts, expected);
}

#[test]
fn section_2_2_high_time_persists_or_is_counted() {
    let with_high = [Word::HighTime(3), Word::EndOfEvent(100)];
    let low = |low| [Word::EndOfEvent(low)];
    let times = |mut clock: TriggerClock| {
        [&with_high[..], &low(200), &low(50), &low(49)]
            .map(|words| of_words(words, &mut clock).1.expect("a trigger with a time").time)
    };
    let turn = 1 << LOW_TIME_BITS;
    assert_eq!(
        times(TriggerClock::extended()),
        [3 * turn + 100, 3 * turn + 200, 3 * turn + 50, 3 * turn + 49]
    );
    assert_eq!(times(TriggerClock::counted()), [100, 200, turn + 50, 2 * turn + 49]);
}

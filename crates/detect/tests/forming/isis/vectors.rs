//! ISIS streaming readout, section 12: the events of all 17 datagrams, put together to frames and as they come.

use super::datagrams::*;
use super::*;
use evforge_detect::isis::settings::Ticks;

/// Start of a frame, and its events.
type Frame<'a> = (u64, &'a [(u64, u32)]);

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|place| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// Checks what comes of a datagram from 192.168.1.3, with (frame, events) and counters that are not 0. `each` is what comes of it
/// without putting messages together, where that differs.
fn check(
    name: &str,
    settings: &IsisSettings,
    hex: &str,
    expected: &[Frame<'_>],
    each: Option<&[Frame<'_>]>,
    counted: &[(&str, u64)],
) {
    let packets = [(address(3), bytes(hex))];
    for is_assembled in [true, false] {
        let mut settings = settings.clone();
        settings.frames.assembled = is_assembled;
        let (formed, isis) = form(&settings, &packets);
        let expected = each.filter(|_| !is_assembled).unwrap_or(expected);
        let found: Vec<_> = formed.iter().map(|(start, _, events)| (*start, events.as_slice())).collect();
        assert_eq!(found, expected, "{name}, assembled: {is_assembled}");
        for (counter, value) in counted {
            assert_eq!(count(&isis, counter), *value, "{name}: {counter}");
        }
    }
}

fn fibres() -> IsisSettings {
    wired("0,WLSF0,PC3877MS,Position,0,192.168.1.3,0,0,0,")
}

#[test]
fn section_12_version_1() {
    check(
        "v1-wlsf",
        &fibres(),
        V1_WLSF,
        &[(T, &[(20_000, 5), (456_000, 123), (335_544_300, 65_535)])],
        None,
        &[("readouts", 3), ("events", 3), ("events_missing", 0)],
    );
    let rows: Vec<String> = (0..6)
        .map(|channel| {
            format!("0,ADC0,PC3544MS,Position,0,192.168.1.3,{channel},{},256,", 11_101_001 + 1000 * channel)
        })
        .collect();
    check(
        "v1-madc",
        &wired(&rows.join("\n")),
        V1_MADC,
        &[(T, &[(8, 11_101_001), (456_000, 11_103_078), (456_001, 11_106_256)])],
        Some(&[(T, &[(456_000, 11_103_078), (456_001, 11_106_256), (8, 11_101_001)])]),
        &[("readouts", 4), ("events", 3), ("unwired_channel", 1)],
    );
    check(
        "v1-lvds",
        &wired("0,LVDS0,PC3634M1S,DIM_OUT,0,192.168.1.3,0,3257,0,"),
        V1_LVDS,
        &[(T, &[(1, 3288), (65_535, 3257)])],
        Some(&[(T, &[(65_535, 3257), (1, 3288)])]),
        &[("events", 2)],
    );
    check(
        "v1-two-and-padding",
        &fibres(),
        V1_TWO_AND_PADDING,
        &[(T, &[(20, 1), (40, 2)])],
        None,
        &[("messages", 2), ("packets_with_rest", 0), ("packets_formed_from", 1)],
    );
    check("v1-veto-frame", &fibres(), V1_VETO_FRAME, &[(T, &[])], None, &[("messages_veto", 1)]);
    check("v1-end-of-run", &fibres(), V1_END_OF_RUN, &[], None, &[("messages_end_of_run", 1)]);
    check("v1-se-frame", &fibres(), V1_SE_FRAME, &[], None, &[("messages_of_sample_environment", 1)]);
    let unusable = ("packets_without_message", 1);
    check("v1-too-long", &fibres(), V1_TOO_LONG, &[], None, &[("messages_beyond_packet", 1), unusable]);
    check("v1-too-short", &fibres(), V1_TOO_SHORT, &[], None, &[("messages_too_short", 1), unusable]);
    check("v1-odd", &fibres(), V1_ODD, &[], None, &[("messages_with_half_event", 1), unusable]);
    check("v1-day-zero", &fibres(), V1_DAY_ZERO, &[], None, &[("messages_without_valid_time", 1), unusable]);
    check(
        "v1-leap-year",
        &fibres(),
        V1_LEAP_YEAR,
        &[(1_735_689_599_999_999_999, &[(20, 1)])],
        None,
        &[("events", 1)],
    );
}

#[test]
fn section_12_version_2() {
    let v2 = IsisSettings::default();
    check(
        "v2-wlsf",
        &v2,
        V2_WLSF,
        &[(T, &[(0, 1000), (20_000, 1161), (671_088_620, 1511)])],
        Some(&[(T, &[(20_000, 1161), (671_088_620, 1511), (0, 1000)])]),
        &[("messages_of_version_2", 1)],
    );
    check("v2-delay", &v2, V2_DELAY, &[(T - 30_000_000, &[(30_020_000, 1)])], None, &[]);
    check("v2-control", &v2, V2_CONTROL, &[(T, &[])], None, &[("messages_veto", 1)]);
    let ns = Ticks { wlsf: 1000, madc: 1000, lvds: 1000 };
    check(
        "v2-mixed",
        &IsisSettings { tick_v2: ns, ..v2.clone() },
        V2_MIXED,
        &[(T, &[(5, 511), (6, 3288)])],
        None,
        &[("packets_with_rest", 0), ("messages", 2)],
    );
    check("v2-not-event", &v2, V2_NOT_EVENT, &[(T, &[])], None, &[("readouts", 1), ("no_event", 1)]);
}

#[test]
fn section_12_what_the_frames_say() {
    let (formed, _) = form(&fibres(), &[(address(3), bytes(V1_WLSF))]);
    let (_, frame, _) = &formed[0];
    assert_eq!((frame.period, frame.vetoes, frame.is_vetoed), (Some(2), 0x42, true));
    assert_eq!(frame.charge.map(|charge| charge.uah), Some(200.0 * 1.738e-6));
    let (formed, isis) = form(&IsisSettings::default(), &[(address(3), bytes(V2_CONTROL))]);
    let (_, frame, _) = &formed[0];
    assert_eq!((frame.period, frame.vetoes, frame.is_vetoed), (Some(7), 0x41, true));
    assert_eq!(frame.charge.map(|charge| charge.uah), Some(123.0 * 1.738e-6));
    let vetoes = isis.ledger().frames.unwrap().vetoes;
    let present: Vec<_> =
        vetoes.iter().filter(|veto| veto.frames > 0).map(|veto| veto.name.as_str()).collect();
    assert_eq!(present, ["data overflow", "pause"]);
}

#[test]
fn section_12_a_format_that_is_fixed_excludes_the_other() {
    use evforge_wire::isis::Format;
    let fixed = IsisSettings { format: Format::V1, ..fibres() };
    check("v2 where v1 is expected", &fixed, V2_WLSF, &[], None, &[("messages_of_wrong_version", 1)]);
    let both = [(address(3), bytes(V1_WLSF)), (address(3), bytes(V2_WLSF)), (address(3), bytes(V1_WLSF))];
    let (_, isis) = form(&fibres(), &both);
    assert_eq!(count(&isis, "version_changes"), 2);
}

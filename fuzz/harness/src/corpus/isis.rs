//! Datagrams of the ISIS streaming readout, of both versions and all boards.

use super::Seed;
use super::packets::spoilt;
use evforge_wire::isis::event::{v1, v2};
use evforge_wire::isis::{BitOrder, BoardParameters, Header, IsisEncoder, Kind, Version};

/// 2026-08-20 12:34:56.123456789.
const TIME: u64 = 1_787_229_296_123_456_789;

fn header(version: Version, frame: u32) -> Header {
    Header {
        version,
        gps_ns: TIME + 20_000_000 * u64::from(frame),
        frame,
        period: 2,
        repeat: 1,
        events_in_frame: 3,
        protons: 200,
        vetoes: 0x42,
        streamed_frame: frame,
        next_frame_address: 4096,
        ..Header::default()
    }
}

fn board(pcb: u16, position_bits: u8, diagnostic_bits: u8, channel_bits: u8) -> Header {
    let board = BoardParameters {
        position_bits,
        diagnostic_bits,
        channel_bits,
        address: 4,
        detector_id_offset: 1000,
    };
    Header { pcb, board: Some(board), frame_sync_delay: 30_000, ..header(Version::V2, 9) }
}

/// A message with these events, in a datagram of its own.
fn message(header: &Header, bit_order: BitOrder, events: &[(u32, u32)]) -> Vec<u8> {
    let mut encoder = IsisEncoder::new(1500, bit_order);
    assert!(encoder.begin(header), "a header fits");
    for &(first, second) in events {
        assert!(encoder.push_event(first, second), "more events than the datagram holds");
    }
    encoder.finish()
}

/// Good datagrams of every board, and datagrams with one fault each.
pub fn seeds() -> Vec<Seed> {
    let lsb = BitOrder::Lsb;
    let wlsf = v1::Wlsf { position: 123, height: 0xFFF }.word();
    let madc = |channel, position| v1::Madc { position, height: 0xABC, channel }.word();
    let old = |kind| Header { kind, ..header(Version::V1, 7) };
    let first = v1::first_word;
    let v1_wlsf = message(&old(Kind::NeutronData), lsb, &[(first(1000), wlsf), (first(u32::MAX), u32::MAX)]);
    let v1_madc =
        message(&old(Kind::NeutronData), lsb, &[(first(5), madc(2, 77)), (first(6), madc(7, 4095))]);
    let event = |board: &Header, channel, diagnostic, position, time| {
        let parts = v2::SelfDescribed { channel, diagnostic, position };
        (v2::first_word(time), parts.word(&board.board.unwrap_or_default()))
    };
    let wlsf = board(3877, 6, 8, 3);
    let v2_wlsf = message(&wlsf, lsb, &[event(&wlsf, 2, 0x5A, 33, 1000), (0x7FFF_FFFF, 0)]);
    let madc = board(3544, 12, 0, 20);
    let v2_madc = message(&madc, lsb, &[event(&madc, 0xF_FFFF, 0, 4095, u32::MAX)]);
    let lvds = board(3634, 32, 0, 0);
    let v2_lvds = message(&lvds, lsb, &[event(&lvds, 0, 0, u32::MAX, 6)]);
    let v2_none = message(&board(3634, 0, 0, 0), lsb, &[(v2::first_word(7), 7)]);
    let control = Header { kind: Kind::Veto, is_paused: true, pcb: 999, ..header(Version::V2, 9) };
    let control = message(&control, lsb, &[]);
    vec![
        Seed::new("v1-wlsf", v1_wlsf.clone()),
        Seed::new("v1-madc", v1_madc.clone()),
        Seed::new("v1-veto", message(&old(Kind::Veto), lsb, &[])),
        Seed::new("v1-sample-environment", message(&old(Kind::SampleEnvironment), lsb, &[])),
        Seed::new("v1-end-of-run", message(&old(Kind::EndOfRun), lsb, &[])),
        Seed::new("v1-two-and-padding", [&v1_wlsf[..], &v1_madc, &[0; 10]].concat()),
        Seed::new("v1-unknown-type", spoilt(v1_wlsf.clone(), 4, &[0x9F])),
        Seed::new("v1-day-zero", spoilt(v1_wlsf.clone(), 17, &[0, 0x32])),
        Seed::new("v1-half-event", spoilt(v1_wlsf.clone(), 55, &[0x13])),
        Seed::new("v1-too-short", spoilt(v1_wlsf.clone(), 55, &[0x0F])),
        Seed::new("v1-beyond-the-datagram", spoilt(v1_wlsf.clone(), 54, &[0xFF])),
        Seed::new("v1-cut", &v1_wlsf[..40]),
        Seed::new("v2-wlsf", v2_wlsf.clone()),
        Seed::new("v2-madc", v2_madc.clone()),
        Seed::new("v2-lvds", v2_lvds.clone()),
        Seed::new("v2-no-bits", v2_none),
        Seed::new("v2-control", control.clone()),
        Seed::new("v2-mixed-and-padding", [&v2_wlsf[..], &control, &v2_lvds, &v2_madc, &[0; 3]].concat()),
        Seed::new("v2-other-order-of-bits", message(&wlsf, BitOrder::Msb, &[event(&wlsf, 1, 2, 3, 4)])),
        Seed::new("v2-longer-header", spoilt(v2_wlsf.clone(), 7, &[18])),
        Seed::new("v2-header-too-short", spoilt(v2_wlsf.clone(), 7, &[13])),
        Seed::new("v2-too-wide", spoilt(v2_wlsf.clone(), 53, &[255, 255, 255])),
        Seed::new("v2-half-event", spoilt(v2_wlsf.clone(), 33, &[0x13])),
        Seed::new("both-versions", [&v1_wlsf[..], &v2_wlsf, &v1_madc].concat()),
        Seed::new("neither-version", spoilt(v2_wlsf, 4, &[0xFE])),
    ]
}

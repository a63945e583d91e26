//! The streaming readout of ISIS: datagrams in, frames with their events out.

mod frames;
mod hostile;
mod vectors;

#[allow(dead_code)]
#[path = "../../../../wire/tests/conformance/isis/datagrams.rs"]
mod datagrams;

use evforge_core::detector::Detector;
use evforge_core::event::EventBatch;
use evforge_core::frame::Frame;
use evforge_core::packet::{LARGEST_PAYLOAD, PacketOrigin, PacketSlab};
use evforge_detect::isis::settings::{BoardSettings, FrameSettings};
use evforge_detect::isis::{Isis, IsisSettings, wiring};
use evforge_wire::isis::{BitOrder, BoardParameters, Header, IsisEncoder, Version, event};
use std::net::{IpAddr, Ipv4Addr};

/// The time of the datagrams of section 12.
const T: u64 = 1_787_229_296_123_456_789;
/// A frame of 10 ms.
const FRAME: u64 = 10_000_000;

const COLUMNS: &str = "BRD_NUM,BRD_Ref,BRD_Type,Packet_Type,SW_Pos,StreamingIP,CH,Mantid_DetectorID_Start,Mantid_Detector_ID_Lenght,Comment\n";

/// A frame that was handed on: its start, what is known of it, and its events as (time of flight, id).
type Formed = (u64, Frame, Vec<(u64, u32)>);

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 168, 1, last))
}

/// Settings with this wiring table, whose header is not given.
fn wired(table: &str) -> IsisSettings {
    IsisSettings {
        rows: wiring::read(&format!("{COLUMNS}{table}")).expect("a table"),
        ..IsisSettings::default()
    }
}

/// Two fibre boards of version 2, and small memory.
fn two_boards() -> IsisSettings {
    let board = |number: u8| BoardSettings {
        source: Some(address(number)),
        pcb: 3877,
        address: Some(number),
        name: format!("fibres {number}"),
    };
    IsisSettings { boards: vec![board(1), board(2)], frames: small(), ..IsisSettings::default() }
}

fn small() -> FrameSettings {
    FrameSettings { max_open: 16, max_held_events: 20 * 2048, ..FrameSettings::default() }
}

/// A header of board `number`, of frame `frame`, which has `events` events.
fn header(number: u8, frame: u32, events: u32) -> Header {
    Header {
        version: Version::V2,
        gps_ns: T + u64::from(frame) * FRAME,
        frame: 100 + frame,
        streamed_frame: frame,
        events_in_frame: events,
        period: 3,
        protons: 100,
        pcb: 3877,
        board: Some(BoardParameters {
            position_bits: 8,
            diagnostic_bits: 12,
            channel_bits: 3,
            address: number,
            detector_id_offset: 1000 * u32::from(number),
        }),
        ..Header::default()
    }
}

/// A datagram of one message with events (ticks, position).
fn datagram(header: &Header, events: &[(u32, u32)]) -> Vec<u8> {
    let mut encoder = IsisEncoder::new(LARGEST_PAYLOAD, BitOrder::Lsb);
    assert!(encoder.begin(header));
    for &(ticks, position) in events {
        let first = match header.version {
            Version::V1 => event::v1::first_word(ticks),
            Version::V2 => event::v2::first_word(ticks),
        };
        assert!(encoder.push_event(first, position));
    }
    encoder.finish()
}

/// The message of a board: (its number, the frame, events that it announces, events).
fn message(number: u8, frame: u32, announced: u32, events: &[(u32, u32)]) -> (IpAddr, Vec<u8>) {
    (address(number), datagram(&header(number, frame, announced), events))
}

/// Feeds packets in slabs of so many, with batches of so many events.
fn feed(
    isis: &mut Isis,
    packets: &[(IpAddr, Vec<u8>)],
    per_slab: usize,
    batch: usize,
    out: &mut Vec<Formed>,
) {
    let mut events = EventBatch::new(batch);
    let mut slab = PacketSlab::new(packets.len().max(1), 1 << 24);
    for packets in packets.chunks(per_slab.max(1)) {
        slab.clear();
        for (source, bytes) in packets {
            let origin = PacketOrigin { source: (*source, 7000).into(), ..PacketOrigin::default() };
            assert!(slab.push(bytes, bytes.len(), origin));
        }
        evforge_core::detector::form(isis, &slab.batch(), &mut events, |batch| take(batch, out));
        take(&mut events, out);
    }
}

fn finish(isis: &mut Isis, batch: usize, out: &mut Vec<Formed>) {
    let mut events = EventBatch::new(batch);
    evforge_core::detector::form_rest(isis, &mut events, |batch| take(batch, out));
}

/// Moves what a batch has to `out`: a frame that is named again goes on.
fn take(batch: &mut EventBatch, out: &mut Vec<Formed>) {
    for (start, frame, range) in batch.by_frame() {
        let (start, frame) = (start.expect("a pulse"), frame.expect("a frame"));
        if out.last().is_none_or(|(last, known, _)| (*last, *known) != (start, frame)) {
            out.push((start, frame, Vec::new()));
        }
        let events = batch.times_ns()[range.clone()].iter().zip(&batch.pixel_ids()[range]);
        out.last_mut().expect("a frame").2.extend(events.map(|(time, id)| (time - start, *id)));
    }
    batch.clear();
}

/// What comes of packets, with the detector afterwards.
fn form(settings: &IsisSettings, packets: &[(IpAddr, Vec<u8>)]) -> (Vec<Formed>, Isis) {
    let mut isis = Isis::new(settings).expect("sound settings");
    let mut out = Vec::new();
    feed(&mut isis, packets, 3, 64, &mut out);
    finish(&mut isis, 64, &mut out);
    assert_eq!(isis.ledger().unaccounted(), 0);
    (out, isis)
}

/// A counter of the detector.
fn count(isis: &Isis, name: &str) -> u64 {
    isis.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

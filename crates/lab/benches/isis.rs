//! The streaming readout of ISIS from memory, on one core: datagrams to ev44 messages in a buffer that is used again, with
//! everything counted.
//!
//! First the load of the converter of ISIS's own benchmark (messages of 100 events whose bytes are all zero, a wiring table of one
//! row), message by message; then the same put together to frames, in order of time of flight; then what an event costs with tables
//! of 6 and of 576 rows, in turns.
//!
//! `cargo bench -p evforge-lab --bench isis`; EVFORGE_BENCH_SECONDS sets the time per line. The converter (July 2026) makes 5.5, 1.2
//! and 5.7 events (WLSF, MADC, LVDS) in the time that the yardstick needs for a key.

use evforge_core::detector::{Detector as _, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::isis::{Isis, IsisSettings, wiring};
use evforge_lab::benchmark::yardstick;
use evforge_messages::{Encoder, Ev44};
use evforge_testkit::bench_history::{Figure, keep};
use evforge_wire::isis::{BitOrder, BoardParameters, Header, IsisEncoder, Version};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

const EVENTS: u32 = 100;
const MESSAGES: u32 = 400;
const MESSAGES_PER_FRAME: u32 = 100;
const FRAME_NS: u64 = 10_000_000;
const START_NS: u64 = 1_787_229_296_000_000_000;
const COLUMNS: &str = "BRD_NUM,BRD_Ref,BRD_Type,Packet_Type,SW_Pos,StreamingIP,CH,Mantid_DetectorID_Start,Mantid_Detector_ID_Lenght,Comment\n";

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let time = Duration::from_secs_f64(seconds);
    println!(
        "{:<36} {:>10} {:>10} {:>8} {:>11} {:>8}",
        "case", "Mevents/s", "ns/message", "Mkeys/s", "events/key", "x ISIS"
    );
    for (board, peer) in [("WLSF", Some(5.5)), ("MADC", Some(1.19)), ("LVDS", Some(5.7)), ("version 2", None)]
    {
        for is_assembled in [false, true] {
            if !is_asked_for(&case(board, is_assembled)) {
                continue;
            }
            let mut settings = match board {
                "WLSF" => wired("0,W,PC3877MS,Position,0,192.168.1.3,0,0,0,"),
                "MADC" => wired("0,A,PC3544MS,Position,0,192.168.1.3,0,1000,256,"),
                "LVDS" => wired("0,L,PC3634M1S,DIM_OUT,0,192.168.1.3,0,0,0,"),
                _ => IsisSettings::default(),
            };
            settings.frames.assembled = is_assembled;
            let zeros = if board == "version 2" { (0xe000_0000, 0) } else { (0, 0) };
            let load = Load::new(settings, board != "version 2", |_| zeros);
            load.print(board, is_assembled, peer.filter(|_| !is_assembled), time);
        }
    }
    if is_asked_for("rows") {
        by_rows(time);
    }
}

fn case(board: &str, is_assembled: bool) -> String {
    format!("{board}, {}", if is_assembled { "frames in order" } else { "as they come" })
}

/// True for all cases, or for those whose name begins with an argument: `cargo bench … --bench isis -- WLSF`.
fn is_asked_for(case: &str) -> bool {
    let mut names = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).peekable();
    names.peek().is_none() || names.any(|name| case.starts_with(&name))
}

/// What an event of an MADC board costs with a large table, against a small one.
fn by_rows(time: Duration) {
    let row = |board: u32, channel: u32| {
        format!(
            "0,A{board},PC3544MS,Position,0,192.168.{}.{},{channel},{},256,\n",
            1 + board / 200,
            3 + board % 200,
            10_000 * (1 + 6 * board + channel)
        )
    };
    let event = |place: u32| {
        (place.wrapping_mul(0x9e37_79b9) >> 8, (place % 6) << 26 | place.wrapping_mul(0x85eb) & 0xfff)
    };
    let loads = [1, 96].map(|boards: u32| {
        let table: String =
            (0..boards).flat_map(|board| (0..6).map(move |channel| row(board, channel))).collect();
        let mut settings = wired(&table);
        settings.frames.assembled = false;
        Load::new(settings, true, event)
    });
    let mut ratios = Vec::new();
    let mut speeds = [0.0_f64; 2];
    for _ in 0..9 {
        let [few, many] = [0, 1].map(|load: usize| loads[load].speed(time / 9).0);
        ratios.push(few / many);
        speeds = [speeds[0].max(few), speeds[1].max(many)];
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "MADC, 576 rows of a table over 6: {:.3} (middle of 9 pairs; {:.3} to {:.3}), best {:.0} and {:.0} Mevents/s",
        ratios[4],
        ratios[0],
        ratios[8],
        speeds[1] / 1e6,
        speeds[0] / 1e6
    );
}

fn wired(table: &str) -> IsisSettings {
    let rows = wiring::read(&format!("{COLUMNS}{table}")).unwrap_or_else(|error| panic!("{error}"));
    IsisSettings { rows, ..IsisSettings::default() }
}

/// Datagrams, and what reads them.
struct Load {
    settings: IsisSettings,
    slab: PacketSlab,
}

impl Load {
    fn new(settings: IsisSettings, is_version_1: bool, event: impl Fn(u32) -> (u32, u32)) -> Self {
        let mut slab = PacketSlab::new(MESSAGES as usize, 1 << 20);
        let mut encoder = IsisEncoder::new(8972, BitOrder::Lsb);
        let board = BoardParameters {
            position_bits: 8,
            diagnostic_bits: 12,
            channel_bits: 3,
            address: 1,
            detector_id_offset: 1000,
        };
        for message in 0..MESSAGES {
            let frame = message / MESSAGES_PER_FRAME;
            assert!(encoder.begin(&Header {
                version: if is_version_1 { Version::V1 } else { Version::V2 },
                gps_ns: START_NS + u64::from(frame) * FRAME_NS,
                frame,
                streamed_frame: frame,
                events_in_frame: EVENTS * MESSAGES_PER_FRAME,
                next_frame_address: message,
                pcb: if is_version_1 { 0 } else { 3877 },
                board: (!is_version_1).then_some(board),
                ..Header::default()
            }));
            for place in 0..EVENTS {
                let (first, second) = event(message * EVENTS + place);
                assert!(encoder.push_event(first, second));
            }
            let bytes = encoder.finish();
            let source = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 3));
            let origin = PacketOrigin { source: (source, 7000).into(), ..PacketOrigin::default() };
            assert!(slab.push(&bytes, bytes.len(), origin));
        }
        Self { settings, slab }
    }

    /// Events per second of processor time, and of messages.
    fn speed(&self, time: Duration) -> (f64, f64) {
        let mut isis = Isis::new(&self.settings).unwrap_or_else(|error| panic!("{}", error.problem));
        let mut batch = EventBatch::new(4096);
        batch.reserve_frames();
        let mut out =
            Messages { encoder: Encoder::with_capacity(1 << 20), times_of_flight: Vec::new(), written: 0 };
        let (mut best, mut passes) = (f64::MAX, 0);
        let begun = Instant::now();
        while begun.elapsed() < time || passes < 3 {
            // Put together, a pass begins where the one before ended only if it is a new detector.
            if self.settings.frames.assembled {
                isis = Isis::new(&self.settings).unwrap_or_else(|error| panic!("{}", error.problem));
            }
            out.written = 0;
            let start = Instant::now();
            form(&mut isis, &self.slab.batch(), &mut batch, |events| out.take(events));
            form_rest(&mut isis, &mut batch, |events| out.take(events));
            best = best.min(start.elapsed().as_secs_f64());
            passes += 1;
            assert_eq!(out.written, u64::from(MESSAGES * EVENTS), "every event is in a message");
        }
        assert_eq!(isis.ledger().unaccounted(), 0);
        (f64::from(MESSAGES * EVENTS) / best, f64::from(MESSAGES) / best)
    }

    fn print(&self, board: &str, is_assembled: bool, peer: Option<f64>, time: Duration) {
        let before = yardstick();
        let (events, messages) = self.speed(time);
        let keys = (before + yardstick()) / 2.0;
        let case = case(board, is_assembled);
        let ratio = peer.map_or("-".into(), |peer| format!("{:.1}", events / keys / peer));
        println!(
            "{case:<36} {:>10.0} {:>10.0} {:>8.1} {:>11.1} {ratio:>8}",
            events / 1e6,
            1e9 / messages,
            keys / 1e6,
            events / keys
        );
        keep(&Figure {
            bench: "isis",
            case: &case,
            figure: "time",
            value: 1e9 / events,
            unit: "ns/event",
            keys_per_second: Some(keys),
        });
    }
}

/// Writes a message for each frame of a batch.
struct Messages {
    encoder: Encoder,
    times_of_flight: Vec<u32>,
    written: u64,
}

impl Messages {
    fn take(&mut self, events: &mut EventBatch) {
        for (start, range) in events.by_pulse() {
            let start = start.unwrap_or_default();
            let reference = [start as i64];
            self.times_of_flight.clear();
            self.times_of_flight
                .extend(events.times_ns()[range.clone()].iter().map(|time| (time - start) as u32));
            let message = Ev44 {
                source_name: "isis",
                message_id: 0,
                reference_time: reference[..].into(),
                reference_time_index: (&[0]).into(),
                time_of_flight: self.times_of_flight[..].into(),
                pixel_id: events.pixel_ids()[range.clone()].into(),
            };
            black_box(message.encode(&mut self.encoder));
            self.written += range.len() as u64;
        }
        events.clear();
    }
}

//! Events into messages: how many are written into a buffer that is used again while the yardstick sorts a key, and how many
//! are read with every check.
//!
//! `cargo bench -p evforge-lab --bench messages`; EVFORGE_BENCH_SECONDS sets the time per line. The goal is 25 events per key
//! for messages of 12 400 events, the largest of the ESS's event formation unit.

use evforge_lab::benchmark::yardstick;
use evforge_messages::ev42::{Facility, IsisData, RunState};
use evforge_messages::{Encoder, Ev42, Ev44};
use evforge_testkit::bench_history::{Figure, keep};
use std::hint::black_box;
use std::time::{Duration, Instant};

const PULSE: i64 = 1_580_460_273_162_000_001;

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let time = Duration::from_secs_f64(seconds);
    println!(
        "{:<8} {:>7} {:>7} {:>9} {:>10} {:>10} {:>8} {:>11}",
        "message", "events", "bytes", "work", "Mevents/s", "ns/message", "Mkeys/s", "events/key"
    );
    for events in [12_400, 1000, 100] {
        let columns = Columns::of(events);
        let mut encoder = Encoder::new();
        columns.print("ev44", "written", time, |message_id| columns.ev44(message_id, &mut encoder).len());
        columns
            .print("ev42", "written", time, |message_id| columns.ev42(message_id, &mut encoder, None).len());
        let isis = IsisData { period_number: 2, run_state: RunState::Running, proton_charge: 0.5 };
        columns.print("ev42 is84", "written", time, |message_id| {
            columns.ev42(message_id, &mut encoder, Some(Facility::IsisData(isis))).len()
        });
        let ev44 = columns.ev44(1, &mut encoder).to_vec();
        columns.print("ev44", "read", time, |_| {
            let read = Ev44::decode(black_box(&ev44)).expect("our own message");
            read.events() + ev44.len() - events
        });
        let ev42 = columns.ev42(1, &mut encoder, None).to_vec();
        columns.print("ev42", "read", time, |_| {
            let read = Ev42::decode(black_box(&ev42)).expect("our own message");
            read.events() + ev42.len() - events
        });
    }
}

/// Events as outputs have them.
struct Columns {
    time_of_flight: Vec<u32>,
    pixel: Vec<u32>,
}

impl Columns {
    fn of(events: usize) -> Self {
        let number = |place: usize, factor: u32| u32::try_from(place).unwrap_or(0).wrapping_mul(factor) >> 5;
        Self {
            time_of_flight: (0..events).map(|place| number(place, 0x9E37_79B9)).collect(),
            pixel: (0..events).map(|place| number(place, 0x85EB_CA6B)).collect(),
        }
    }

    fn ev44<'e>(&self, message_id: u64, encoder: &'e mut Encoder) -> &'e [u8] {
        Ev44 {
            source_name: "freia",
            message_id: message_id.cast_signed(),
            reference_time: (&[PULSE]).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: self.time_of_flight[..].into(),
            pixel_id: self.pixel[..].into(),
        }
        .encode(encoder)
    }

    fn ev42<'e>(
        &self,
        message_id: u64,
        encoder: &'e mut Encoder,
        facility: Option<Facility<'static>>,
    ) -> &'e [u8] {
        Ev42 {
            source_name: Some("freia"),
            message_id,
            pulse_time: PULSE.unsigned_abs(),
            time_of_flight: (&self.time_of_flight).into(),
            detector_id: (&self.pixel).into(),
            facility,
        }
        .encode(encoder)
    }

    /// Measures a line: `work` is given the number of the message, and returns its length in bytes.
    fn print(&self, name: &str, what: &str, time: Duration, mut work: impl FnMut(u64) -> usize) {
        let before = yardstick();
        let bytes = work(1);
        let (mut messages, begin) = (1_u64, Instant::now());
        while begin.elapsed() < time {
            for _ in 0..64 {
                messages += 1;
                assert_eq!(black_box(work(messages)), bytes);
            }
        }
        let elapsed = begin.elapsed().as_secs_f64();
        let keys = (before + yardstick()) / 2.0;
        let events = self.pixel.len();
        let per_second = events as f64 * messages as f64 / elapsed;
        keep(&Figure {
            bench: "messages",
            case: &format!("{name} {events} events {what}"),
            figure: "time",
            value: elapsed * 1e9 / messages as f64,
            unit: "ns/message",
            keys_per_second: Some(keys),
        });
        println!(
            "{name:<8} {events:>7} {bytes:>7} {what:>9} {:>10.1} {:>10.1} {:>8.1} {:>11.2}",
            per_second / 1e6,
            elapsed * 1e9 / messages as f64,
            keys / 1e6,
            per_second / keys
        );
    }
}

//! Frames: looks at some of them have exactly their events, pulses and charge, and the state says what is known of all.
#![allow(clippy::unwrap_used)]

use crate::common::{ask, options, start};
use evforge_core::event::{Event, EventBatch};
use evforge_core::frame::{Frame, FrameLedger, FrameState, ProtonCharge};
use evforge_core::ledger::DetectorLedger;
use evforge_core::output::Output;
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
use evforge_core::run_state::RunState;
use evforge_view::LiveSink;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

fn answer(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = ask("GET", address, path, &address.to_string(), "");
    (answer.status, String::from_utf8(answer.body).unwrap())
}

fn get(address: SocketAddr, path: &str) -> Value {
    let (status, body) = answer(address, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// The frame of this number: three periods, of some nobody has said it; each fourth is vetoed; each third is not complete.
fn frame(number: u64) -> Frame {
    Frame {
        period: (number % 7 != 6).then_some(number as u32 % 3),
        vetoes: u32::from(number % 4 == 1),
        is_vetoed: number % 4 == 1,
        charge: Some(ProtonCharge { uah: 0.5 + number as f64 / 8.0 }),
        state: if number % 3 == 2 { FrameState::Incomplete } else { FrameState::Complete },
    }
}

/// Gives batches to a sink as a run does.
struct Feed(PulseStage, LiveSink);

impl Feed {
    fn take(&mut self, events: &EventBatch) {
        let sink = &mut self.1;
        self.0.hand_on(events, None, &mut |batch| {
            sink.take(&Arc::new(batch)).unwrap();
        });
    }

    /// What was fed reaches the memory.
    fn settle(&mut self) {
        std::thread::sleep(Duration::from_millis(60));
        self.1.poll().unwrap();
    }
}

/// A run of 40 frames with as many events as their numbers, in batches of `capacity` events, so that frames go on.
fn fed(sink: LiveSink, capacity: usize) -> Feed {
    let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
    let mut feed = Feed(PulseStage::new(settings), sink);
    let mut batch = EventBatch::new(capacity);
    for number in 0..40 {
        let time_ns = 1_000_000_000 + number * 20_000_000;
        if !batch.begin_frame(time_ns, frame(number)) {
            feed.take(&batch);
            batch.clear();
            assert!(batch.begin_frame(time_ns, frame(number)));
        }
        for event in 0..number {
            let event = Event { time_ns: time_ns + event * 1000, pixel_id: (event % 4) as u32 + 1 };
            if !batch.push(event) {
                feed.take(&batch);
                batch.clear();
                assert!(batch.begin_frame(time_ns, frame(number)) && batch.push(event));
            }
        }
    }
    feed.take(&batch);
    feed.settle();
    feed
}

/// Events, pulses and charge of those frames.
fn expected(is_wanted: impl Fn(&Frame) -> bool) -> (u64, u64, f64) {
    let numbers = (0..40).filter(|&number| is_wanted(&frame(number)));
    numbers.fold((0, 0, 0.0), |(events, pulses, charge), number| {
        (events + number, pulses + 1, charge + frame(number).charge.unwrap().uah)
    })
}

fn found(address: SocketAddr, query: &str) -> (u64, u64, f64) {
    let spectrum = get(address, &format!("/api/spectrum.json?{query}"));
    let counts = spectrum["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap());
    (counts.sum(), spectrum["pulses"].as_u64().unwrap(), spectrum["charge_uah"].as_f64().unwrap())
}

#[test]
fn looks_at_some_frames_have_their_events_pulses_and_charge() {
    for capacity in [5, 1000] {
        let (view, sink) = start(options(2, 2));
        let address = view.address();
        let _feed = fed(sink, capacity);
        assert_eq!(found(address, ""), expected(|_| true));
        for period in 0..3 {
            let query = format!("period={}", period + 1);
            assert_eq!(found(address, &query), expected(|frame| frame.period == Some(period)), "{query}");
        }
        assert_eq!(found(address, "frames=good"), expected(|frame| !frame.is_vetoed));
        assert_eq!(found(address, "frames=vetoed"), expected(|frame| frame.is_vetoed));
        assert_eq!(
            found(address, "complete=true&period=2&frames=good&window=last:60"),
            expected(|frame| {
                frame.state == FrameState::Complete && frame.period == Some(1) && !frame.is_vetoed
            })
        );
        assert_eq!(found(address, "period=4"), (0, 0, 0.0));
        let sum = |query: &str| {
            let image = get(address, &format!("/api/image.json?{query}"));
            image["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!(
            (sum(""), sum("frames=good")),
            (expected(|_| true).0, expected(|frame| !frame.is_vetoed).0)
        );
    }
}

#[test]
fn what_cannot_be_is_refused_and_pulses_without_frames_are_in_no_period() {
    let (view, sink) = start(options(2, 2));
    let address = view.address();
    for (query, words) in [
        ("period=0", "period: found 0, expected 1 or more"),
        ("frames=bad", "frames: found \"bad\", expected \"all\", \"good\" or \"vetoed\""),
        ("complete=maybe", "complete: found \"maybe\", expected true or false"),
    ] {
        let (status, body) = answer(address, &format!("/api/image.json?{query}"));
        assert!(status == 400 && body.contains(words), "{status}: {body}");
    }
    let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
    let mut feed = Feed(PulseStage::new(settings), sink);
    let mut batch = EventBatch::new(10);
    let event = |batch: &mut EventBatch, time_ns: u64| assert!(batch.push(Event { time_ns, pixel_id: 1 }));
    assert!(batch.begin_pulse(1_000_000_000));
    event(&mut batch, 1_000_000_001);
    assert!(batch.begin_frame(1_020_000_000, frame(0)));
    event(&mut batch, 1_020_000_001);
    feed.take(&batch);
    batch.clear();
    // The next batch tells no frames.
    assert!(batch.begin_pulse(1_040_000_000));
    event(&mut batch, 1_040_000_001);
    feed.take(&batch);
    feed.settle();
    assert_eq!(found(address, ""), (3, 3, 0.5));
    // Of a pulse of which nothing is told in a batch with frames, nothing is known, and nothing is against it.
    assert_eq!(found(address, "frames=good"), (2, 2, 0.5));
    assert_eq!(found(address, "complete=true"), (1, 1, 0.5));
}

/// What becomes known of a frame moves it, with its charge, and does not count it twice.
#[test]
fn a_frame_of_which_more_becomes_known_is_counted_once() {
    let (view, sink) = start(options(2, 2));
    let address = view.address();
    let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
    let mut feed = Feed(PulseStage::new(settings), sink);
    let time_ns = 1_000_000_000;
    let known = Frame { is_vetoed: true, ..frame(0) };
    for (frame, offset) in [(Frame::default(), 1), (frame(0), 2), (known, 3)] {
        let mut batch = EventBatch::new(10);
        assert!(batch.begin_frame(time_ns, frame));
        assert!(batch.push(Event { time_ns: time_ns + offset, pixel_id: 1 }));
        feed.take(&batch);
    }
    // Charge of elsewhere is not added to that of frames.
    feed.1.add_charge(7_000_000_000_000);
    feed.settle();
    assert_eq!(found(address, ""), (3, 1, 0.5));
    // Events as it was known when they came; the pulse and its charge as it is known now.
    assert_eq!(found(address, "frames=good"), (2, 0, 0.0));
    assert_eq!(found(address, "frames=vetoed"), (1, 1, 0.5));
    assert_eq!(found(address, "period=1"), (2, 1, 0.5));
}

#[test]
fn the_state_says_what_is_known_of_all_frames() {
    let (view, mut sink) = start(options(2, 2));
    let address = view.address();
    sink.observe(&Arc::default()).unwrap();
    assert_eq!(get(address, "/api/state.json")["ledger"].get("frames"), None);
    let mut frames = FrameLedger::new([(0, "SMP".to_owned(), true)]);
    (0..40).for_each(|number| frames.add(number, &frame(number), number));
    let ledger = DetectorLedger { frames: Some(frames), ..DetectorLedger::default() };
    sink.observe(&Arc::new(RunState { ledger, ..RunState::default() })).unwrap();
    let told = get(address, "/api/state.json")["ledger"]["frames"].clone();
    let (events, good, charge) = expected(|frame| !frame.is_vetoed);
    assert_eq!(
        (&told["raw"], &told["good"], &told["events_good"]),
        (&json!(40), &json!(good), &json!(events))
    );
    assert_eq!(told["charge_good_uah"].as_f64().unwrap(), charge);
    assert_eq!((&told["complete"], &told["incomplete"]), (&json!(27), &json!(13)));
    // Frame 39 is of the first period.
    assert_eq!((&told["period"], &told["is_good"]), (&json!(1), &json!(true)));
    assert_eq!(
        told["vetoes"],
        json!([{"bit": 0, "name": "SMP", "counts": true, "frames": 10, "now": false}])
    );
    assert_eq!(told["periods"].as_array().unwrap().len(), 3);
}

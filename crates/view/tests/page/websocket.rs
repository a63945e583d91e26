//! What browsers get: pictures, as many as they acknowledge, and a goodbye.

use crate::common::{Browser, ask, feed, options, start, trains};
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::losses::LossLocation;
use evforge_core::output::Output;
use evforge_core::run_state::{OutputCounters, OutputState, RunState};
use evforge_core::sequence::SequenceTracker;
use evforge_testkit::patience::{patience, wait_until};
use evforge_view::look_frame::LookFrame;
use evforge_view::{LiveView, ViewOptions};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

fn has_frame(status: &serde_json::Value) -> bool {
    status["frames"].as_array().is_some_and(|frames| !frames.is_empty())
}

#[tokio::test]
async fn a_browser_gets_the_counts_that_were_fed() {
    let (view, mut sink) = start(options(4, 3));
    let mut browser = Browser::open(view.address()).await;
    assert_eq!(browser.hello["title"], "Test detector");
    assert_eq!(browser.hello["geometry"]["nx"], 4);
    assert_eq!(browser.hello["spectrum"]["bins"], 715);
    // Pixel 1 is at the lower left, 12 at the upper right; 0 and 13 do not exist.
    feed(&mut sink, &[(50_000, 1), (150_000, 12), (71_428_572 + 150_000, 12), (5, 0), (5, 13)]);
    let status = browser.update_until(|status, _| status["events"] == 5).await;
    assert_eq!((&status["outside_geometry"], &status["input"]), (&2.into(), &"running".into()));
    browser.update_until(|_, picture| picture.is_some_and(|picture| picture.image.total() == 3)).await;
    let picture = browser.picture.unwrap();
    assert_eq!((picture.image.nx, picture.image.ny), (4, 3));
    assert_eq!((picture.image.counts[0], picture.image.counts[11]), (1, 2));
    assert_eq!((picture.spectrum[0], picture.spectrum[1], picture.spectrum.len()), (1, 2, 715));
    // Those outside the geometry are in no picture, and in no spectrum of one.
    assert_eq!((picture.head.events, picture.head.all, picture.head.pulses), (3, 3, 3));
}

#[tokio::test]
async fn a_picture_that_has_not_changed_is_not_sent_again() {
    let (view, mut sink) = start(options(4, 4));
    feed(&mut sink, &[(1, 1)]);
    let mut browser = Browser::open(view.address()).await;
    browser.update_until(|status, _| has_frame(status)).await;
    for _ in 0..3 {
        let status = browser.update_until(|_, _| true).await;
        assert!(!has_frame(&status));
    }
    feed(&mut sink, &[(1, 2)]);
    browser.update_until(|status, _| has_frame(status)).await;
}

#[tokio::test]
async fn what_takes_the_place_of_counts_is_named_and_sent_whenever_it_is_another() {
    let (view, mut sink) = start(ViewOptions { content: Some((trains(3), 3)), ..options(2, 2) });
    let mut browser = Browser::open(view.address()).await;
    assert_eq!(browser.hello["spectrum"], json!({"bin_ns": 1, "bins": 3, "period_ns": 3}));
    let content = &browser.hello["content"];
    assert_eq!(
        (&content["things"], &content["across"], &content["first_panel"]),
        (&"trains".into(), &"pulse".into(), &3.into())
    );
    sink.set_events(1);
    for shown in [[7, 0, 900, 1], [2, 2, 2, 2]] {
        // No further event, and another picture.
        sink.replace(shown.into_iter(), [5, shown[0], 0].into_iter());
        let is_there =
            |picture: &LookFrame| picture.image.counts == shown && picture.spectrum == [5, shown[0], 0];
        let status = browser.update_until(|_, picture| picture.is_some_and(is_there)).await;
        assert_eq!(status["events"], 1);
    }
    let refused = LiveView::start(ViewOptions { content: Some((trains(3), 0)), ..options(2, 2) });
    assert!(refused.unwrap_err().to_string().contains("number of bins is 0"));
}

#[test]
fn what_is_replaced_while_it_is_read_is_no_mixture() {
    const SIDE: u32 = 256;
    let (view, mut sink) = start(ViewOptions { content: Some((trains(3), 3)), ..options(SIDE, SIDE) });
    let is_over = AtomicBool::new(false);
    let pictures: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let pixels = (0..SIDE * SIDE).map(|_| number);
                sink.replace(pixels, [number; 3].into_iter());
                // Who reads has a turn.
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let address = view.address();
        let pictures =
            (0..30).map(|_| ask("GET", address, "/api/image.json", &address.to_string(), "").json());
        let pictures = pictures.collect();
        is_over.store(true, Ordering::Relaxed);
        pictures
    });
    for picture in pictures {
        let counts = picture["counts"].as_array().unwrap();
        assert!(counts.iter().all(|count| *count == counts[0]), "a mixture of {} and others", counts[0]);
    }
}

#[tokio::test]
async fn a_browser_that_acknowledges_nothing_gets_no_more_than_the_window() {
    let (view, mut sink) = start(ViewOptions { window: 2, client_timeout: patience(), ..options(4, 4) });
    let mut browser = Browser::open(view.address()).await;
    let first = browser.update().await;
    let second = browser.update().await;
    for pixel in 1..=10 {
        feed(&mut sink, &[(1, pixel)]);
    }
    let mut other = Browser::open(view.address()).await;
    let newest = second["number"].as_u64().unwrap() + 6;
    other.update_until(|status, _| status["number"].as_u64() >= Some(newest)).await;
    // One that was sent in the place of those is there by now.
    assert!(timeout(Duration::from_millis(20), browser.update()).await.is_err(), "a third update came");
    // One acknowledgement makes room for one: the newest, with all that was missed.
    browser.acknowledge(&first).await;
    let third = browser.update().await;
    assert_eq!(browser.picture.as_ref().unwrap().image.total(), 10);
    // A server that had no turn may have skipped some before the second already.
    let between = |key: &str| third[key].as_u64().unwrap() - second[key].as_u64().unwrap();
    assert!(between("skipped") >= 5, "{second} {third}");
    assert_eq!(between("number"), 1 + between("skipped"));
    assert!(view.clients().updates_skipped >= 5);
}

#[tokio::test]
async fn a_browser_that_acknowledges_nothing_for_too_long_is_dropped() {
    let (view, _sink) = start(ViewOptions { client_timeout: Duration::from_millis(300), ..options(4, 4) });
    let mut browser = Browser::open(view.address()).await;
    assert_eq!(browser.close_code().await, Some(1008));
    assert_eq!((view.clients().dropped, view.clients().connected), (1, 0));
    // One that speaks nonsense leaves as well, at once.
    let (view, _sink) = start(options(4, 4));
    let mut browser = Browser::open(view.address()).await;
    browser.say("ack 999999999".into()).await;
    assert_eq!(browser.close_code().await, Some(1002));
    assert_eq!(view.clients().dropped, 1);
}

/// The picture is far larger than what the system buffers for a connection, so the server's sending stops.
#[tokio::test]
async fn a_browser_that_reads_nothing_holds_up_neither_the_sink_nor_another_browser() {
    let pixels = 1500 * 1500;
    // Who waits for the one that reads nothing waits until it is dropped.
    let (view, mut sink) = start(ViewOptions { client_timeout: patience(), ..options(1500, 1500) });
    let stuck = Browser::open(view.address()).await;
    let mut other = Browser::open(view.address()).await;
    let enough = Arc::new(AtomicBool::new(false));
    let is_enough = Arc::clone(&enough);
    let feeding = std::thread::spawn(move || {
        let events: Vec<(u64, u32)> =
            (0..10_000).map(|n| (n * 1000, (n as u32 * 7919) % pixels + 1)).collect();
        let mut batches = 0_u64;
        // Each of so many pictures has further events.
        while !is_enough.load(Ordering::Relaxed) {
            feed(&mut sink, &events);
            batches += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        (sink, batches)
    });
    for _ in 0..4 {
        other.update_until(|status, _| has_frame(status)).await;
    }
    enough.store(true, Ordering::Relaxed);
    let (_sink, batches) = feeding.join().unwrap();
    other
        .update_until(|status, picture| {
            picture.is_some_and(|picture| picture.image.total() == batches * 10_000)
                && status["events"] == batches * 10_000
        })
        .await;
    assert_eq!((view.clients().connected, view.clients().dropped), (2, 0));
    drop(stuck);
}

#[tokio::test]
async fn a_browser_that_reads_nothing_for_too_long_is_dropped() {
    let client_timeout = Duration::from_millis(300);
    let (view, mut sink) = start(ViewOptions { client_timeout, ..options(1500, 1500) });
    feed(&mut sink, &[(1, 1)]);
    let stuck = Browser::open(view.address()).await;
    wait_until("it is dropped", || view.clients().dropped == 1 && view.clients().connected == 0);
    drop(stuck);
}

#[tokio::test]
async fn a_reload_gets_everything_and_a_new_server_is_told_apart() {
    let (view, mut sink) = start(options(4, 4));
    let address = view.address();
    feed(&mut sink, &[(1, 5), (1, 5)]);
    let first = Browser::open(address).await;
    let instance = first.hello["instance"].clone();
    drop(first);
    let begun = Instant::now();
    let mut again = loop {
        let again = Browser::open(address).await;
        assert_eq!(again.hello["instance"], instance);
        if !again.hello["points"].as_array().unwrap().is_empty() {
            break again;
        }
        assert!(begun.elapsed() < patience(), "no history of the rate");
        sleep(Duration::from_millis(50)).await;
    };
    again.update_until(|_, picture| picture.is_some_and(|picture| picture.image.counts[4] == 2)).await;
    view.shutdown();
    let view = LiveView::start(ViewOptions { address, ..options(4, 4) }).unwrap();
    let after = Browser::open(view.address()).await;
    assert_ne!(after.hello["instance"], instance);
}

#[tokio::test]
async fn a_shutdown_says_goodbye_and_the_sink_goes_on() {
    let (view, mut sink) = start(options(4, 4));
    let address = view.address();
    let mut browser = Browser::open(address).await;
    view.shutdown();
    assert_eq!(browser.close_code().await, Some(1001));
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    feed(&mut sink, &[(1, 1)]);
    sink.finish(&Arc::default()).unwrap();
}

#[tokio::test]
async fn the_ledger_the_places_of_losses_and_alarms_reach_the_page() {
    let (view, mut sink) = start(options(4, 4));
    let mut browser = Browser::open(view.address()).await;
    let status = browser.update().await;
    assert_eq!((&status["input"], status.get("ledger")), (&"waiting".into(), None));
    let mut tracker = SequenceTracker::new(32);
    for number in [1, 2, 5] {
        tracker.observe(number);
    }
    let sources = vec![SourceLedger::of_sequence("FEC 1".into(), &tracker)];
    let ledger = DetectorLedger { sources, ..DetectorLedger::default() };
    let mut state = RunState { ledger, ..RunState::default() };
    state.losses.add(LossLocation::NetworkCard, 1, true);
    state.losses.unlocated = 1;
    state.receiving = vec!["the disk is full".into()];
    sink.observe(&Arc::new(state)).unwrap();
    let status = browser.update_until(|status, _| status["alarms"][0] == "the disk is full").await;
    let shown = &status["ledger"];
    assert_eq!((&shown["packets"]["sent"], &shown["packets"]["lost"]), (&5.into(), &2.into()));
    assert_eq!(
        (&shown["locations"][0]["location"], &shown["unlocated"]),
        (&"network card".into(), &1.into())
    );
    assert_eq!(shown["sources"][0]["gaps"][0], json!([3, 2]));
    assert_eq!(status["outputs"], json!([]));
    sink.abandon();
    browser.update_until(|status, _| status["input"] == "failed").await;
}

#[tokio::test]
async fn the_outputs_reach_the_page_and_their_failures_are_alarms() {
    let (view, mut sink) = start(options(4, 4));
    let mut browser = Browser::open(view.address()).await;
    let counters = OutputCounters { offered: 10, committed: 4, pending: 1, queued: 5, ..Default::default() };
    let csv = OutputState {
        id: "csv".into(),
        name: "events in a.csv".into(),
        counters,
        own: evforge_core::counter::CounterSnapshot::of(&counters),
        waiting: Some("no space left".into()),
        ..OutputState::default()
    };
    let broken = OutputState {
        id: "nexus".into(),
        failure: Some("gone".into()),
        may_drop: true,
        ..Default::default()
    };
    sink.observe(&Arc::new(RunState { outputs: vec![csv, broken], ..RunState::default() })).unwrap();
    let status = browser.update_until(|status, _| status["outputs"][1]["id"] == "nexus").await;
    let [csv, broken] = &status["outputs"].as_array().unwrap()[..] else { panic!("{status}") };
    assert_eq!((&csv["id"], &csv["name"]), (&"csv".into(), &"events in a.csv".into()));
    assert_eq!((&csv["events"]["committed"], &csv["events"]["queued"]), (&4.into(), &5.into()));
    assert_eq!((&csv["counters"]["pending"], &csv["may_drop"]), (&1.into(), &false.into()));
    assert_eq!((&csv["waiting"], csv.get("failure")), (&"no space left".into(), None));
    assert_eq!((&broken["failure"], broken.get("waiting")), (&"gone".into(), None));
    assert_eq!(broken["may_drop"], true);
    let alarms = [&status["alarms"][0], &status["alarms"][1]].map(|alarm| alarm.as_str().unwrap());
    assert!(alarms[0].starts_with("FAILED OUTPUT"), "{alarms:?}");
    assert!(alarms[1].contains("is waiting: no space left"), "{alarms:?}");
}

//! Looks: what a browser asks for is what it gets, and equal looks are one.

#![allow(clippy::unwrap_used)]

use crate::common::{Browser, feed, get, options, start};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::Output;
use evforge_view::look_frame::LookFrame;
use evforge_view::{LiveSink, ViewOptions};
use serde_json::{Value, json};
use std::time::Duration;

/// Events of a detector of 8 x 4 pixels: (time of flight, pixel).
fn events() -> Vec<(u64, u32)> {
    (0..4000_u64).map(|n| ((n * 7919) % 71_000_000, (n * 31 % 32) as u32 + 1)).collect()
}

/// Events, each in a pulse of its own and in the order of time.
fn in_pulses() -> Vec<(u64, u32)> {
    let start = |pulse: u64| (pulse * 1_000_000_000).div_ceil(14);
    events().into_iter().zip(1..).map(|((flight, pixel), pulse)| (start(pulse) + flight, pixel)).collect()
}

/// What was fed reaches the memory: a run polls its outputs ten times a second.
async fn settle(sink: &mut LiveSink) {
    tokio::time::sleep(Duration::from_millis(60)).await;
    sink.poll().unwrap();
}

async fn look(browser: &mut Browser, look: Value, wanted: impl Fn(&LookFrame) -> bool) -> LookFrame {
    let number = browser.wanted + 1;
    browser.wanted = number;
    browser.say(json!({ "type": "looks", "number": number, "looks": [look] }).to_string()).await;
    browser.update_until(|status, frame| status["wanted"] == number && frame.is_some_and(&wanted)).await;
    browser.picture.clone().unwrap()
}

#[tokio::test]
async fn slices_regions_and_bins_are_the_same_cuts_as_of_the_list_of_events() {
    let (view, mut sink) = start(options(8, 4));
    let mut browser = Browser::open(view.address()).await;
    assert_eq!(browser.hello["selections"], true);
    feed(&mut sink, &in_pulses());
    settle(&mut sink).await;
    let wanted = json!({
        "picture": "xy", "slice_ns": [10_000_000, 30_000_000], "bins": {"from_ns": 5_000_000, "width_ns": 1_000_000, "count": 40},
        "regions": [
            {"name": "beam", "shape": "rectangle", "points": [[2, 1], [5, 3]]},
            {"name": "corner", "shape": "polygon", "points": [[0, 0], [4, 0], [0, 4]]},
        ],
    });
    let frame = look(&mut browser, wanted, |frame| frame.head.all == 4000).await;
    let column_and_row = |pixel: u32| ((pixel - 1) % 8, (pixel - 1) / 8);
    let in_slice = |flight: u64| (10_000_000..30_000_000).contains(&flight);
    let mut image = vec![0; 32];
    let mut spectra = vec![vec![0; 40]; 3];
    let mut regions = [(0, 0); 2];
    for (flight, pixel) in events() {
        let (x, y) = column_and_row(pixel);
        let bin = flight.checked_sub(5_000_000).map(|since| since / 1_000_000).filter(|&bin| bin < 40);
        let is_inside = [(2..5).contains(&x) && (1..3).contains(&y), x + y < 3];
        image[pixel as usize - 1] += u64::from(in_slice(flight));
        for (number, is_inside) in [true, is_inside[0], is_inside[1]].into_iter().enumerate() {
            if let Some(bin) = bin.filter(|_| is_inside) {
                spectra[number][bin as usize] += 1;
            }
        }
        for (count, is_inside) in regions.iter_mut().zip(is_inside) {
            count.0 += u64::from(is_inside);
            count.1 += u64::from(is_inside && in_slice(flight));
        }
    }
    assert_eq!((frame.head.events, &frame.image.counts), (image.iter().sum(), &image));
    assert_eq!((&frame.spectrum, &frame.region_spectra[..]), (&spectra[0], &spectra[1..]));
    let found: Vec<_> = frame.head.regions.iter().map(|region| (region.all, region.events)).collect();
    assert_eq!(found, regions);
    assert_eq!((frame.head.regions[0].pixels, frame.head.missed, frame.head.pulses), (6, 0, 4000));
}

#[tokio::test]
async fn a_part_in_blocks_and_a_map_against_time_of_flight() {
    let (view, mut sink) = start(options(64, 48));
    let mut browser = Browser::open(view.address()).await;
    let events: Vec<(u64, u32)> = (0..3000).map(|n| (n * 20_000, (n as u32 * 37) % (64 * 48) + 1)).collect();
    feed(&mut sink, &events);
    settle(&mut sink).await;
    let frame =
        look(&mut browser, json!({"picture": "xy", "part": [3, 5, 63, 48], "points": [16, 16]}), |frame| {
            frame.head.events == 3000
        })
        .await;
    assert_eq!((frame.head.block, frame.head.nx, frame.head.ny), ([4, 3], 15, 15));
    let mut sums = vec![0; 15 * 15];
    for &(_, pixel) in &events {
        let (x, y) = ((pixel - 1) % 64, (pixel - 1) / 64);
        if (3..63).contains(&x) && y >= 5 {
            sums[((y - 5) / 3 * 15 + (x - 3) / 4) as usize] += 1;
        }
    }
    assert_eq!(frame.image.counts, sums);
    let names: Vec<_> =
        browser.hello["pictures"].as_array().unwrap().iter().map(|plan| plan["name"].clone()).collect();
    assert_eq!(names, ["xy", "x-tof", "y-tof"]);
    let bins = json!({"from_ns": 0, "width_ns": 2_000_000, "count": 30});
    let frame =
        look(&mut browser, json!({"picture": "y-tof", "bins": bins}), |frame| frame.head.events == 3000)
            .await;
    assert_eq!((frame.head.nx, frame.head.ny), (30, 48));
    let mut map = vec![0; 30 * 48];
    events
        .iter()
        .for_each(|&(time, pixel)| map[((pixel - 1) / 64) as usize * 30 + (time / 2_000_000) as usize] += 1);
    assert_eq!(frame.image.counts, map);
}

#[tokio::test]
async fn a_window_begins_where_it_is_asked_to_and_forgets() {
    let (view, mut sink) = start(options(4, 4));
    let mut browser = Browser::open(view.address()).await;
    feed(&mut sink, &[(1_000, 1), (2_000, 2)]);
    settle(&mut sink).await;
    feed(&mut sink, &[(3_000, 3)]);
    settle(&mut sink).await;
    let last = json!({"picture": "xy", "window": {"kind": "last", "seconds": 1}});
    let frame = look(&mut browser, last, |frame| frame.head.events >= 3).await;
    assert_eq!((&frame.image.counts[..4], frame.head.seconds <= 1.0), (&[1, 1, 1, 0][..], true));
    // A second later they have left it; nothing that is counted is below zero.
    browser.update_until(|_, frame| frame.is_some_and(|frame| frame.head.events == 0)).await;
    let frame = browser.picture.clone().unwrap();
    assert_eq!((frame.image.total(), frame.spectrum.iter().sum::<u64>(), frame.head.pulses), (0, 0, 0));
    let status = browser.update_until(|_, _| true).await;
    let now = status["time_ms"].as_u64().unwrap();
    feed(&mut sink, &[(5_000, 4)]);
    settle(&mut sink).await;
    let frame =
        look(&mut browser, json!({"picture": "xy", "window": {"kind": "since", "ms": now}}), |frame| {
            frame.head.events == 1
        })
        .await;
    assert_eq!((frame.image.counts[3], frame.head.since_ms), (1, now));
}

#[tokio::test]
async fn what_has_left_the_memory_is_counted_as_missing() {
    let (view, mut sink) = start(ViewOptions { event_memory: 1 << 20, ..options(4, 4) });
    let many: Vec<(u64, u32)> = (0..100_000).map(|n| (n * 10, n as u32 % 16 + 1)).collect();
    for _ in 0..4 {
        feed(&mut sink, &many);
    }
    settle(&mut sink).await;
    let mut browser = Browser::open(view.address()).await;
    let slice = json!({"picture": "xy", "slice_ns": [0, 2_000_000]});
    let before = look(&mut browser, slice.clone(), |frame| frame.head.events > 0).await;
    // What was gone before anybody asked is no loss of this look: it says from when on it counts.
    assert_eq!((before.head.events, before.head.missed), (100_000, 0));
    for _ in 0..3 {
        feed(&mut sink, &many);
    }
    settle(&mut sink).await;
    let after = look(&mut browser, slice, |frame| frame.head.events + frame.head.missed == 400_000).await;
    assert!(after.head.events >= 200_000, "{:?}", after.head);
    // Everything is counted for the pictures of everything.
    let everything = look(&mut browser, json!({"picture": "xy"}), |frame| frame.head.events == 700_000).await;
    assert_eq!(everything.head.missed, 0);
}

#[tokio::test]
async fn what_cannot_be_is_refused_in_words_and_the_looks_before_stay() {
    let (view, mut sink) = start(options(4, 4));
    let mut browser = Browser::open(view.address()).await;
    let refused = [
        (
            json!({"picture": "zz"}),
            "looks[0].picture: there is none called \"zz\"; there are: xy, x-tof, y-tof",
        ),
        (json!({"picture": "xy", "slice_ns": [5, 5]}), "looks[0].slice_ns"),
        (json!({"picture": "xy", "part": [0, 0, 5, 4]}), "right <= 4"),
        (json!({"picture": "xy", "bins": {"from_ns": 0, "width_ns": 1, "count": 10_001}}), "looks[0].bins"),
        (json!({"picture": "xy", "window": {"kind": "last", "seconds": 0}}), "looks[0].window"),
        (
            json!({"picture": "xy", "regions": [{"name": "a", "shape": "circle", "points": []}]}),
            "looks[0].regions[0].shape",
        ),
        (json!({"picture": "xy", "colour": "red"}), "unknown field `colour`"),
    ];
    for (wanted, words) in refused {
        browser.say(json!({"type": "looks", "looks": [wanted]}).to_string()).await;
        let message = browser.refusal().await;
        assert!(message.contains(words), "{message}");
    }
    browser.say(json!({"type": "looks", "looks": vec![json!({"picture": "xy"}); 9]}).to_string()).await;
    assert!(browser.refusal().await.contains("at most 8"));
    feed(&mut sink, &[(1, 1)]);
    browser.update_until(|_, frame| frame.is_some_and(|frame| frame.head.events == 1)).await;
}

#[tokio::test]
async fn several_looks_come_each_with_its_place_and_only_when_they_change() {
    let (view, mut sink) = start(options(4, 4));
    let mut browser = Browser::open(view.address()).await;
    feed(&mut sink, &[(1_000, 1), (50_000_000, 2)]);
    let looks = json!([{"picture": "xy"}, {"picture": "xy", "slice_ns": [0, 1_000_000]}, {"picture": "xy"}]);
    browser.say(json!({"type": "looks", "looks": looks}).to_string()).await;
    let status = browser
        .update_until(|status, _| {
            status["looks"]
                .as_array()
                .is_some_and(|looks| looks.len() == 3 && looks.iter().all(|look| look["number"] != 0))
        })
        .await;
    // Equal looks are one.
    assert_eq!(status["looks"][0], status["looks"][2]);
    let status = browser.update_until(|_, _| true).await;
    assert_eq!(status["frames"], json!([]));
    feed(&mut sink, &[(2_000, 3)]);
    settle(&mut sink).await;
    let counted = browser.update_until(|_, frame| frame.is_some_and(|frame| frame.head.events == 3)).await;
    assert!(!counted["frames"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_section_of_a_detector_with_depth_has_one_layer() {
    let geometry = LogicalGeometry::new(3, 2, 4, 1).unwrap();
    let (view, mut sink) = start(ViewOptions { geometry, ..options(1, 1) });
    let mut browser = Browser::open(view.address()).await;
    // So many events in a pixel as its number.
    let events: Vec<(u64, u32)> =
        (1..=24_u32).flat_map(|pixel| (0..pixel).map(move |n| (u64::from(n), pixel))).collect();
    feed(&mut sink, &events);
    settle(&mut sink).await;
    let depths: Vec<_> =
        browser.hello["pictures"].as_array().unwrap()[..3].iter().map(|plan| plan["depth"].clone()).collect();
    assert_eq!(depths, [4, 2, 3]);
    let pixel = |x: u64, y: u64, z: u64| 1 + x + 3 * y + 6 * z;
    let xy =
        look(&mut browser, json!({"picture": "xy", "layers": [2, 3]}), |frame| frame.head.events > 0).await;
    let expected: Vec<u64> = (0..2).flat_map(|y| (0..3).map(move |x| pixel(x, y, 2))).collect();
    assert_eq!(xy.image.counts, expected);
    let yz =
        look(&mut browser, json!({"picture": "yz", "layers": [0, 2]}), |frame| frame.head.events > 0).await;
    let expected: Vec<u64> =
        (0..4).flat_map(|z| (0..2).map(move |y| pixel(0, y, z) + pixel(1, y, z))).collect();
    assert_eq!((yz.image.counts, yz.head.events), (expected.clone(), expected.iter().sum()));
    for layers in [[1, 1], [0, 5]] {
        browser
            .say(json!({"type": "looks", "looks": [{"picture": "xy", "layers": layers}]}).to_string())
            .await;
        assert!(browser.refusal().await.contains("that at most 4"));
    }
}

#[test]
fn a_map_has_as_many_bins_as_there_is_room_for() {
    let (view, _sink) = start(options(4, 200));
    let ask = |bins: u32| get(view.address(), &format!("/api/image.json?picture=y-tof&bins=0,7000,{bins}"));
    // A million cells.
    assert_eq!(ask(5_242).status, 200);
    let refused = ask(5_243);
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("bins: found 5243, expected at most 5242"), "{}", refused.text());
}

use super::*;
use evforge_core::geometry::Coordinates;
use proptest::prelude::*;

/// Two panels of 32 × 16 pixels in 4 layers.
fn geometry() -> LogicalGeometry {
    LogicalGeometry::new(32, 16, 4, 2).expect("a small geometry")
}

/// A neutron at the centre of a pixel.
fn neutron(number: u64, time_ns: u64, [x, y, z, panel]: [u32; 4]) -> Neutron {
    Neutron {
        number,
        time_ns,
        pixel_id: geometry().pixel(Coordinates { x, y, z, panel }),
        module: 0,
        position: [x, y, z].map(|index| f64::from(index) + 0.5),
        resolvable: true,
    }
}

/// The event that a perfect reconstruction makes of a neutron.
fn event(neutron: &Neutron) -> Event {
    Event { time_ns: neutron.time_ns, pixel_id: neutron.pixel_id }
}

/// Neutrons far from one another, all over the detector.
fn far_apart() -> Vec<Neutron> {
    (0..200).map(|n| neutron(n as u64, 10_000 * n as u64, [n % 32, n % 16, n % 4, n % 2])).collect()
}

fn score_of(neutrons: &[Neutron], events: &[Event]) -> Score {
    score(&geometry(), neutrons, events, &ScoreSettings::default()).expect("pixels of the detector")
}

fn counts(score: &Score) -> [u64; 6] {
    let NeutronScore { found, merged, missed, .. } = score.all;
    [found, merged, missed, score.events.matched, score.events.split, score.events.ghosts]
}

#[test]
fn what_is_perfect_has_a_perfect_score() {
    let neutrons = far_apart();
    let score = score_of(&neutrons, &neutrons.iter().map(event).collect::<Vec<_>>());
    assert_eq!(counts(&score), [200, 0, 0, 200, 0, 0]);
    assert_eq!((score.all.efficiency, score.ghost_share), (Some(1.0), Some(0.0)));
    assert_eq!((score.all.in_wrong_pixel, score.not_resolvable_share), (0, Some(0.0)));
    for residual in score.all.position.iter().flatten().chain([&score.all.time_ns]) {
        assert_eq!((residual.mean, residual.rms, residual.median), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!(residual.histogram.counts.iter().sum::<u64>(), 200);
    }
    // At 100 % the error is that of less than one neutron in 200, and not 0.
    let error = score.all.efficiency_error.unwrap();
    assert!(error > 0.0 && error < 1.0 / 200.0, "{error}");
    assert_eq!(score.neutrons_per_second, Some(1e5));
}

#[test]
fn a_shift_is_a_residual_and_one_beyond_the_limits_is_a_loss() {
    let neutrons = far_apart();
    let later =
        |by| neutrons.iter().map(|one| Event { time_ns: one.time_ns + by, ..event(one) }).collect::<Vec<_>>();
    let score = score_of(&neutrons, &later(300));
    assert_eq!(counts(&score), [200, 0, 0, 200, 0, 0]);
    assert_eq!((score.all.time_ns.mean, score.all.time_ns.rms), (Some(300.0), Some(0.0)));
    assert_eq!(score.all.time_ns.median, Some(300.0));
    assert_eq!(score.all.time_ns.histogram.counts[130], 200);
    assert_eq!(counts(&score_of(&neutrons, &later(1001))), [0, 0, 200, 0, 0, 200]);
    let settings = ScoreSettings { time_offset_ns: 1001, ..ScoreSettings::default() };
    let score = super::score(&geometry(), &neutrons, &later(1001), &settings).unwrap();
    assert_eq!((score.all.found, score.all.time_ns.mean), (200, Some(1001.0)));

    // One column to the right, where there is one.
    let inner: Vec<Neutron> = neutrons.into_iter().filter(|one| one.position[0] < 31.0).collect();
    let events: Vec<Event> =
        inner.iter().map(|one| Event { pixel_id: one.pixel_id + 1, ..event(one) }).collect();
    let score = score_of(&inner, &events);
    let [Some(x), Some(y), Some(_)] = &score.all.position else { panic!("three axes") };
    assert_eq!((x.mean, x.rms, y.mean), (Some(1.0), Some(0.0), Some(0.0)));
    assert_eq!(score.all.in_wrong_pixel_share, Some(1.0));
}

#[test]
fn an_axis_of_one_pixel_has_no_residual() {
    let flat = LogicalGeometry::flat(8, 8).unwrap();
    let one = Neutron {
        number: 0,
        time_ns: 5,
        pixel_id: 1,
        module: 0,
        position: [0.5, 0.5, 0.0],
        resolvable: true,
    };
    let score = score(&flat, &[one], &[event(&one)], &ScoreSettings::default()).unwrap();
    assert!(score.all.position[0].is_some() && score.all.position[2].is_none());
}

#[test]
fn each_mistake_has_its_name() {
    let neutrons = [
        neutron(0, 10_000, [5, 5, 1, 0]),
        // Two that are close: one event between them, or two and one more.
        neutron(1, 20_000, [5, 5, 1, 0]),
        neutron(2, 20_100, [6, 5, 1, 0]),
        neutron(3, 30_000, [9, 9, 2, 1]),
    ];
    let perfect: Vec<Event> = neutrons.iter().map(event).collect();
    let mistakes = |change: &dyn Fn(&mut Vec<Event>)| {
        let mut events = perfect.clone();
        change(&mut events);
        counts(&score_of(&neutrons, &events))
    };
    assert_eq!(mistakes(&|_| ()), [4, 0, 0, 4, 0, 0]);
    assert_eq!(mistakes(&|events| events.retain(|event| *event != perfect[0])), [3, 0, 1, 3, 0, 0], "missed");
    assert_eq!(mistakes(&|events| events.retain(|event| *event != perfect[1])), [3, 1, 0, 3, 0, 0], "merged");
    let far = Event { time_ns: 90_000, pixel_id: 1 };
    assert_eq!(mistakes(&|events| events.push(far)), [4, 0, 0, 4, 0, 1], "a ghost in time");
    let elsewhere = |z, panel| Event { time_ns: 10_000, ..event(&neutron(0, 10_000, [5, 5, z, panel])) };
    assert_eq!(
        mistakes(&|events| events.push(elsewhere(1, 1))),
        [4, 0, 0, 4, 0, 1],
        "a ghost in another panel"
    );
    assert_eq!(mistakes(&|events| events.push(elsewhere(2, 0))), [4, 0, 0, 4, 1, 0], "split");
}

#[test]
fn resolvable_neutrons_have_a_score_of_their_own() {
    let mut neutrons = far_apart();
    for neutron in neutrons.iter_mut().take(50) {
        neutron.resolvable = false;
    }
    let score = score_of(&neutrons, &neutrons.iter().skip(10).map(event).collect::<Vec<_>>());
    assert_eq!((score.not_resolvable_share, score.resolvable.neutrons), (Some(0.25), 150));
    assert_eq!((score.resolvable.efficiency, score.all.efficiency), (Some(1.0), Some(0.95)));
}

#[test]
fn the_rate_is_that_of_the_moment() {
    // 1000 neutrons in 10 ms after one that is alone: 100 kHz, less at both ends of them.
    let alone = neutron(1000, 0, [0; 4]);
    let burst = (0..1000).map(|n| neutron(n, 1_000_000_000 + 10_000 * n, [n as u32 % 32, 3, 1, 1]));
    let neutrons: Vec<Neutron> = std::iter::once(alone).chain(burst).collect();
    let mut events: Vec<Event> = neutrons.iter().map(event).collect();
    events.push(Event { time_ns: 500_000_000, pixel_id: 9 });
    let score = score_of(&neutrons, &events);
    let [calm, .., dense] = &score.against_rate[..] else { panic!("several bins") };
    assert_eq!((calm.from, calm.to, calm.neutrons, calm.events, calm.ghosts), (0.0, Some(1e3), 1, 2, 1));
    assert_eq!((dense.from, dense.neutrons, dense.efficiency()), (1e5, 800, Some(1.0)));
    let sum = |of: fn(&RateBin) -> u64| score.against_rate.iter().map(of).sum::<u64>();
    assert_eq!((sum(|bin| bin.neutrons), sum(|bin| bin.events), sum(|bin| bin.found)), (1001, 1002, 1001));
}

#[test]
fn nothing_has_a_score_without_shares() {
    let score = score_of(&[], &[]);
    assert_eq!((score.all.efficiency, score.ghost_share, score.neutrons_per_second), (None, None, None));
    assert!(score.to_string().contains('–') && score.against_rate.is_empty());
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let one = neutron(7, 10, [1; 4]);
    let refused = |neutrons: &[Neutron], events: &[Event], settings: &ScoreSettings| {
        score(&geometry(), neutrons, events, settings).unwrap_err().to_string()
    };
    let settings = ScoreSettings::default();
    let error = refused(&[Neutron { pixel_id: 5000, ..one }], &[], &settings);
    assert!(error.starts_with("neutron 7 has pixel 5000, but the detector has pixels 1 to 4096"), "{error}");
    let error = refused(&[one], &[Event { time_ns: 1, pixel_id: 0 }], &settings);
    assert!(error.starts_with("event 0 has pixel 0"), "{error}");
    for distance in [0.4, f64::NAN, f64::INFINITY] {
        let settings = ScoreSettings { largest_distance: [3.0, distance, 3.0], ..settings };
        assert!(refused(&[one], &[], &settings).contains("half a pixel"));
    }
    let neutrons: Vec<Neutron> = (0..5000).map(|number| Neutron { number, ..one }).collect();
    let events: Vec<Event> = neutrons.iter().map(event).collect();
    assert!(refused(&neutrons, &events, &settings).contains("allow less time or distance"));
}

#[test]
fn a_neutron_outside_of_all_pixels_is_missed() {
    let score = score_of(&[Neutron { pixel_id: 0, ..neutron(0, 10, [0; 4]) }], &[]);
    assert_eq!(counts(&score), [0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_score_is_a_table_and_json() {
    let neutrons = far_apart();
    let mut events: Vec<Event> = neutrons.iter().skip(1).map(event).collect();
    events.push(Event { time_ns: 9_000_000, pixel_id: 1 });
    let score = score_of(&neutrons, &events);
    let text = score.to_string();
    assert!(
        text.starts_with("200 neutrons at 100 kHz, 100.000 % of them resolvable; 200 events\n"),
        "{text}"
    );
    for part in ["99.500 % ± 0.", "ghosts        1   0.500 %", "time (ns)", "50 kHz to 100 kHz"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let text = run_table([("slow", &score)]);
    assert!(text.lines().nth(1).unwrap().starts_with("  slow"), "{text}");
    let json = serde_json::to_value(&score).unwrap();
    assert_eq!((&json["all"]["found"], &json["events"]["ghosts"]), (&199.into(), &1.into()));
    assert_eq!(json["settings"]["largest_time_ns"], 1000);
}

#[test]
fn events_are_read_by_the_names_of_their_columns() {
    let events = event_file::read("veto,pixel_id,time_ns\n0,7,99\n1,8,100\n".as_bytes()).unwrap();
    assert_eq!(events, [Event { time_ns: 99, pixel_id: 7 }, Event { time_ns: 100, pixel_id: 8 }]);
    for (file, problem) in [
        ("", "line 1: no column `time_ns` in ``: a file of events of evforge has `time_ns,pixel_id`"),
        ("pixel_id,time\n", "line 1: no column `time_ns` in `pixel_id,time`"),
        ("time_ns,pixel_id\n1,2\n-3,4\n", "line 3: `-3,4` is not a line of `time_ns,pixel_id`"),
        ("time_ns,pixel_id\n1\n", "line 2: `1` is not"),
    ] {
        let error = event_file::read(file.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

/// The most pairs that can be made of neutrons and events within the limits, by trying all ways.
fn most_pairs(close: &[Vec<bool>], neutron: usize, taken: u32) -> usize {
    let Some(events) = close.get(neutron) else { return 0 };
    let without = most_pairs(close, neutron + 1, taken);
    let with = events.iter().enumerate().filter(|(event, close)| **close && taken & 1 << event == 0);
    with.map(|(event, _)| 1 + most_pairs(close, neutron + 1, taken | 1 << event))
        .max()
        .unwrap_or(0)
        .max(without)
}

/// Neutrons and events in a place so small that they get in each other's way.
fn crowd() -> impl Strategy<Value = (Vec<Neutron>, Vec<Event>)> {
    let place = (0_u64..2500, (0_u32..10, 0_u32..4, 0_u32..2, (0_u32..8).prop_map(|number| number / 7)));
    let places = || prop::collection::vec(place.clone(), 0..11);
    (places(), places()).prop_map(|(neutrons, events)| {
        let neutrons = neutrons.into_iter().zip(0..);
        let at = |(time, (x, y, z, panel)), number| neutron(number, 5000 + time, [x, y, z, panel]);
        let neutrons = neutrons.map(|(place, number)| at(place, number)).collect();
        (neutrons, events.into_iter().map(|place| event(&at(place, 0))).collect())
    })
}

fn is_close(neutron: &Neutron, event: &Event) -> bool {
    let (one, other) = (geometry().coordinates(neutron.pixel_id), geometry().coordinates(event.pixel_id));
    let (one, other) = (one.expect("a pixel"), other.expect("a pixel"));
    let axes = [(one.x, other.x), (one.y, other.y), (one.z, other.z)];
    one.panel == other.panel
        && neutron.time_ns.abs_diff(event.time_ns) <= 1000
        && axes.iter().all(|(one, other)| one.abs_diff(*other) <= 3)
}

proptest! {
    #[test]
    fn outcomes_are_what_they_are_called((neutrons, events) in crowd()) {
        let matching = match_events(&geometry(), &neutrons, &events, &ScoreSettings::default()).unwrap();
        for (index, (neutron, outcome)) in neutrons.iter().zip(&matching.neutrons).enumerate() {
            let mut close = events.iter().enumerate().filter(|(_, event)| is_close(neutron, event));
            match outcome {
                NeutronOutcome::Found(event) => {
                    prop_assert!(close.any(|(close, _)| close == *event));
                    prop_assert_eq!(matching.events[*event], EventOutcome::Matched(index));
                }
                NeutronOutcome::Merged => {
                    let others: Vec<_> = close.map(|(event, _)| matching.events[event]).collect();
                    prop_assert!(!others.is_empty());
                    prop_assert!(others.iter().all(|event| matches!(event, EventOutcome::Matched(_))));
                }
                NeutronOutcome::Missed => prop_assert!(close.next().is_none()),
            }
        }
        for (index, (event, outcome)) in events.iter().zip(&matching.events).enumerate() {
            let mut close = neutrons.iter().enumerate().filter(|(_, neutron)| is_close(neutron, event));
            match outcome {
                EventOutcome::Matched(neutron) => {
                    prop_assert_eq!(matching.neutrons[*neutron], NeutronOutcome::Found(index));
                }
                EventOutcome::Split(neutron) => {
                    prop_assert!(close.any(|(close, _)| close == *neutron));
                    prop_assert!(matches!(matching.neutrons[*neutron], NeutronOutcome::Found(_)));
                }
                EventOutcome::Ghost => prop_assert!(close.next().is_none()),
            }
        }
    }

    #[test]
    fn the_order_of_the_input_changes_nothing((neutrons, events) in crowd(), turn in 0_usize..8) {
        let expected = score_of(&neutrons, &events);
        let (mut neutrons, mut events) = (neutrons, events);
        neutrons.reverse();
        let turn = turn.min(events.len());
        events.rotate_left(turn);
        prop_assert_eq!(score_of(&neutrons, &events), expected);
    }

    #[test]
    fn anything_is_scored_or_refused(
        neutrons in prop::collection::vec((any::<u64>(), any::<u32>(), any::<[f64; 3]>(), any::<bool>()), 0..20),
        events in prop::collection::vec((any::<u64>(), 0_u32..4200), 0..20),
        largest_time_ns: u64,
        largest_distance: [f64; 3],
        time_offset_ns: i64,
    ) {
        let settings = ScoreSettings { largest_time_ns, largest_distance, time_offset_ns, ..ScoreSettings::default() };
        let neutrons: Vec<Neutron> = neutrons
            .into_iter()
            .map(|(time_ns, pixel_id, position, resolvable)| {
                Neutron { number: 0, time_ns, pixel_id: pixel_id % 4200, module: 0, position, resolvable }
            })
            .collect();
        let events: Vec<Event> =
            events.into_iter().map(|(time_ns, pixel_id)| Event { time_ns, pixel_id }).collect();
        if let Ok(score) = score(&geometry(), &neutrons, &events, &settings) {
            prop_assert_eq!(score.events.matched, score.all.found);
            let _ = score.to_string();
        }
    }

    #[test]
    fn any_text_is_read_as_events_or_refused(text: String) {
        let _ = event_file::read(text.as_bytes());
        let _ = event_file::read(format!("time_ns,pixel_id\n{text}").as_bytes());
    }
}

/// Even where events have nothing to do with the neutrons, and all are in each other's way, more than nine tenths of the
/// pairs that can be made at all are made.
#[test]
fn crowds_are_matched_nearly_as_well_as_they_can_be() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut made, mut possible) = (0, 0);
    for _ in 0..400 {
        let (neutrons, events) = crowd().new_tree(&mut runner).unwrap().current();
        let close: Vec<Vec<bool>> = neutrons
            .iter()
            .map(|neutron| events.iter().map(|event| is_close(neutron, event)).collect())
            .collect();
        let most = most_pairs(&close, 0, 0);
        let found = score_of(&neutrons, &events).all.found as usize;
        assert!(found <= most && 2 * found >= most, "{found} of {most}");
        (made, possible) = (made + found, possible + most);
    }
    assert!(possible > 800, "{possible} pairs are no crowd");
    assert!(made as f64 > 0.9 * possible as f64, "{made} of {possible}");
}

/// Where neutrons are dense but events are right to a fraction of their distances, every event is its neutron's.
#[test]
fn dense_neutrons_get_their_own_events() {
    let mut random = crate::random::stream(5, crate::random::Stream::Pulse(0));
    let mut time_ns = 0;
    let neutrons: Vec<Neutron> = (0..5000)
        .map(|number: u64| {
            time_ns += (1000.0 * crate::random::exponential(&mut random)) as u64;
            let turn = number.wrapping_mul(2_654_435_761) >> 7;
            neutron(number, time_ns, [(turn % 32) as u32, (turn / 32 % 16) as u32, 0, 0])
        })
        .collect();
    let events: Vec<Event> =
        neutrons.iter().map(|one| Event { time_ns: one.time_ns + 10, ..event(one) }).collect();
    let matching = match_events(&geometry(), &neutrons, &events, &ScoreSettings::default()).unwrap();
    let own =
        matching.neutrons.iter().enumerate().filter(|(n, outcome)| **outcome == NeutronOutcome::Found(*n));
    assert_eq!(own.count(), neutrons.len());
}

//! With all quirks on, the model gives exactly what the reference gave.

use crate::gdgem::captures::reference_captures;
use crate::gdgem::model::analysis::Centre;
use crate::gdgem::model::rules::Rules;
use crate::gdgem::model::run;

/// Whether an exact centre is the number that the reference printed.
fn agrees(centre: Centre, printed: f64) -> bool {
    if centre.weight == 0 {
        return printed.is_nan();
    }
    let value = centre.sum as f64 / centre.weight as f64;
    (value - printed).abs() <= 1e-12 * value.abs()
}

#[test]
fn reference_events_are_reproduced_in_order() {
    let Some(captures) = reference_captures("reference_events_are_reproduced_in_order") else { return };
    let mut numbers = Vec::new();
    for capture in captures {
        let outcome = run(&capture.payloads, &capture.settings, &Rules::reference());
        let expected = capture.reference_events();
        let ticks_per_ns = capture.settings.arithmetic.ticks_per_ns as f64;
        for (number, (event, line)) in outcome.events.iter().zip(&expected).enumerate() {
            let place = format!("{} event {number}", capture.name);
            assert_eq!((event.time_ns, event.pixel), (line.time_ns, line.pixel), "{place}");
            assert_eq!((event.hits_x, event.hits_y), (line.hits_x, line.hits_y), "{place}");
            assert!(agrees(event.x, line.x) && agrees(event.y, line.y), "{place}: {event:?}");
            assert!((event.time as f64 / ticks_per_ns - line.time).abs() < 1e-3, "{place}: {event:?}");
        }
        assert_eq!(outcome.events.len(), expected.len(), "{}", capture.name);
        assert_eq!(outcome.counters.readouts, outcome.counters.readouts_accounted_for());
        numbers.push((capture.name, expected.len()));
    }
    assert_eq!(
        numbers,
        [("vmm2_run16", 2), ("vmm2_recorded_2018", 992), ("vmm3_recorded_2018", 568), ("vmm3a_srs", 1974)]
    );
}

/// The reference's own flush at the end of the input, which its recorded lists do not contain.
#[test]
fn flush_alone_gives_the_known_numbers_of_events() {
    let rules = Rules { flush_at_end: true, ..Rules::reference() };
    let Some(captures) = reference_captures("flush_alone_gives_the_known_numbers_of_events") else { return };
    let numbers: Vec<usize> = captures
        .iter()
        .map(|capture| run(&capture.payloads, &capture.settings, &rules).events.len())
        .collect();
    assert_eq!(numbers, [11, 993, 576, 1989]);
}

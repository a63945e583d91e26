//! (a) The model reproduces the reference's event lists exactly, in order.

use crate::multigrid::captures::{captures, reference_events};
use crate::multigrid::model::{Settings, Strategy, run};

#[test]
fn sections_2_1_to_2_4_give_the_reference_s_events() {
    let test = "sections_2_1_to_2_4_give_the_reference_s_events";
    let Some(captures) = captures(test) else { return };
    for capture in captures {
        let (events, readouts) = match capture.name {
            "recorded_ws1to4" => (28, 694),
            _ => (55_067, 154_054),
        };
        for strategy in Strategy::ALL {
            let Some(expected) = reference_events(test, capture.name, strategy) else { return };
            let outcome = run(&capture.packets, &Settings::ill(strategy));
            assert_eq!((outcome.events.len(), outcome.readouts), (events, readouts), "{}", capture.name);
            let differs =
                outcome.events.iter().zip(&expected).position(|(found, expected)| found != expected);
            assert_eq!(differs, None, "{} {}", capture.name, strategy.name());
            assert_eq!(outcome.events.len(), expected.len());
        }
    }
}

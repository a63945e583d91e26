//! With all quirks on, the model gives exactly what the reference gave, line by line.

use crate::multiblade::captures::{CAPTURES, payloads, reference_lines};
use crate::multiblade::model::{Outcome, Rules, decode, form};

/// Whether an outcome is the line that the reference wrote: `time pixel …`, or `time geometry_error …`.
fn agrees(outcome: &Outcome, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        words.get(place + 1)?.parse::<f64>().ok()
    };
    let near = |ours: f64, theirs: Option<f64>| {
        theirs.is_some_and(|theirs| (ours - theirs).abs() < 1e-4 * ours.abs().max(1.0))
    };
    match outcome {
        Outcome::Event { time, pixel, .. } => {
            words[..2] == [time.to_string().as_str(), pixel.to_string().as_str()]
        }
        Outcome::GeometryError { time, wire, strip, cassette } => {
            let theirs = if *strip < 0.0 { -1.0 } else { strip + 32.0 };
            words[..2] == [time.to_string().as_str(), "geometry_error"]
                && near(*wire, value("wire"))
                && near(theirs, value("strip"))
                && value("cassette") == Some(*cassette as f64)
        }
        Outcome::Discarded(..) => false,
    }
}

#[test]
fn section_3_4_the_reference_is_reproduced_line_by_line() {
    let test = "section_3_4_the_reference_is_reproduced_line_by_line";
    let mut numbers = Vec::new();
    for (name, readouts) in CAPTURES {
        let Some(payloads) = payloads(test, name) else { return };
        let Some(lines) = reference_lines(test, name) else { return };
        let decoded = decode(&payloads);
        assert_eq!(decoded.len(), readouts);
        let mut outcomes = form(&decoded, &Rules::reference());
        outcomes.retain(|outcome| !matches!(outcome, Outcome::Discarded(..)));
        for (number, (outcome, line)) in outcomes.iter().zip(&lines).enumerate() {
            assert!(agrees(outcome, line), "{name} line {number}: {outcome:?}, the reference has {line}");
        }
        assert_eq!(outcomes.len(), lines.len(), "{name}");
        let events = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Event { .. })).count();
        numbers.push((name, events, outcomes.len() - events));
    }
    assert_eq!(numbers, [("recorded_2018", 49_604, 18_783), ("generated", 59_959, 0)]);
}

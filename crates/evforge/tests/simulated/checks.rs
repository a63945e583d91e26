//! What must hold after every run, whatever was done to it.

use crate::expected;
use crate::program::Outcome;
use crate::scenario::Scenario;
use serde_json::Value;

/// Sentences about what does not hold; none if all is well.
pub(crate) fn of(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    let hurried = scenario.is_hurried && [130, 143].contains(&outcome.status);
    if !hurried && ![0, 1, 3, 4].contains(&outcome.status) {
        wrong.push(format!("status {}: {}", outcome.status, last_lines(&outcome.stderr)));
        return wrong;
    }
    if outcome.stderr.contains("panicked") || outcome.stdout.contains("panicked") {
        wrong.push(format!("a panic: {}", last_lines(&outcome.stderr)));
    }
    wrong.extend(outcome.left.damaged.iter().map(|what| format!("damaged: {what}")));
    let sent: Vec<Vec<u8>> = scenario.packets.iter().map(|(_, packet)| packet.clone()).collect();
    let Some(report) = &outcome.report else {
        if outcome.status == 0 {
            wrong.push("no report, and nobody says so".into());
        }
        // What is in the files must be right all the same. At the end of a run, events are made of what has come of them: of so many
        // packets as the terminal says, or of a few more, as sources may count messages that came twice once.
        let told = told_on_terminal(&outcome.stdout).unwrap_or(sent.len()).min(sent.len());
        let of_packets = |came: usize| {
            in_order(&outcome.left.csv, &expected::events(scenario.instrument.capture, &sent[..came]))
        };
        if let Err(what) = of_packets(told)
            && !(told + 1..=sent.len()).any(|came| of_packets(came).is_ok())
        {
            wrong.push(format!("events.csv: {what}"));
        }
        check_order(&mut wrong, "recording", &outcome.left.recorded, &sent);
        return wrong;
    };
    check_balances(&mut wrong, report);
    let received = report["receive"]["packets"].as_u64().unwrap_or(0) as usize;
    if received > sent.len() {
        wrong.push(format!("{received} packets received of {}", sent.len()));
        return wrong;
    }
    let came = &sent[..received];
    let events = expected::events(scenario.instrument.capture, came);
    let pixels: Vec<u32> = events.iter().map(|&(_, pixel)| pixel).collect();
    let left = &outcome.left;
    let formed = report["streams"][0]["counters"]["events_handed_on"].as_u64().unwrap_or(0) as usize;
    if formed != events.len() {
        wrong.push(format!("{formed} events formed of {received} packets that make {}", events.len()));
    }
    let mut check = |id: &str, name: &str, found: usize, is_in_order: Result<(), String>| {
        if let Err(what) = is_in_order {
            wrong.push(format!("{name}: {what}"));
        }
        let touched = is_touched(scenario, outcome, name);
        let complete = found == events.len();
        let output = output(report, id);
        let committed = output["events"]["committed"].as_u64().unwrap_or(0) as usize;
        let left_out = output["events"]["left_out"].as_u64().unwrap_or(0) as usize;
        if !touched && !complete && found + left_out != events.len() {
            wrong.push(format!("{name} has {found} of {} events, and nothing was done to it", events.len()));
        }
        let is_moved = is_moved(outcome, name);
        if found < committed && is_moved.is_none() {
            wrong.push(format!("{name} has {found} events of {committed} committed"));
        }
        if found + left_out < events.len()
            && outcome.status == 0
            && is_moved.is_none_or(|at| at < scenario.asked_to_end())
        {
            wrong.push(format!("{name} has {found} of {} events, and the status is 0", events.len()));
        }
        if found > events.len() {
            wrong.push(format!("{name} has {found} events of {}", events.len()));
        }
    };
    check("csv", "events.csv", left.csv.len(), in_order(&left.csv, &events));
    if scenario.has("--nexus") {
        let found = left.nexus.len() + left.nexus_late.len();
        let is_in_order = in_order(&left.nexus, &pixels).and_then(|()| in_order(&left.nexus_late, &pixels));
        check("nexus", "run", found, is_in_order);
    }
    if scenario.has("--record") {
        check_recording(&mut wrong, scenario, outcome, report, came);
    }
    if scenario.has("--image") && !left.image && outcome.status == 0 {
        wrong.push("no picture, and the status is 0".into());
    }
    wrong
}

/// Packets that came, by the report on the terminal: `packets       sent 1 055, received 1 057, lost 4`.
fn told_on_terminal(stdout: &str) -> Option<usize> {
    let line = stdout.lines().find(|line| line.starts_with("packets "))?;
    let (_, received) = line.split_once("received ")?;
    let digits = received.split(',').next()?.chars().filter(char::is_ascii_digit);
    digits.collect::<String>().parse().ok()
}

/// The laws of the ledger hold in the last report.
fn check_balances(wrong: &mut Vec<String>, report: &Value) {
    let count = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    for stream in report["streams"].as_array().into_iter().flatten() {
        if count(&stream["unaccounted"]) != 0 {
            wrong.push(format!("unaccounted {}", stream["unaccounted"]));
        }
    }
    for output in report["outputs"].as_array().into_iter().flatten() {
        let of = |name: &str| count(&output["events"][name]);
        let taken = ["committed", "left_out", "dropped", "missed", "queued", "pending"].map(of);
        if of("offered") != taken.iter().fold(0_u64, |sum, count| sum.saturating_add(*count))
            || count(&output["unaccounted"]) != 0
        {
            wrong.push(format!("{}: offered is not accounted for: {}", output["id"], output["events"]));
        }
    }
    let recording = &report["recording"];
    if recording.is_object() && count(&recording["packets"]["unaccounted"]) != 0 {
        wrong.push(format!("recording: {}", recording["packets"]));
    }
}

fn check_recording(
    wrong: &mut Vec<String>,
    scenario: &Scenario,
    outcome: &Outcome,
    report: &Value,
    came: &[Vec<u8>],
) {
    let found = &outcome.left.recorded;
    if let Err(what) = in_order(found, came) {
        wrong.push(format!("recording: {what}"));
    }
    let is_moved = is_moved(outcome, "packets");
    let written = report["recording"]["packets"]["written"].as_u64().unwrap_or(0) as usize;
    if found.len() < written && is_moved.is_none() {
        wrong.push(format!("the recording has {} packets of {written} written", found.len()));
    }
    if found.len() != came.len() {
        let of = format!("the recording has {} of {} packets", found.len(), came.len());
        if !is_touched(scenario, outcome, "packets") {
            wrong.push(format!("{of}, and nothing was done to it"));
        }
        if outcome.status == 0 && is_moved.is_none_or(|at| at < scenario.asked_to_end()) {
            wrong.push(format!("{of}, and the status is 0"));
        }
    }
}

/// Whether something was done to the file whose name has this in it, or to all of the program.
fn is_touched(scenario: &Scenario, outcome: &Outcome, name: &str) -> bool {
    let hit = |line: &str| {
        let rest = line.splitn(3, ' ').nth(2).unwrap_or_default();
        let words: Vec<&str> = rest.split(' ').collect();
        match words[..] {
            // In the folder itself: room that is made before a file has its name.
            ["fault", _, call, file, ref what @ ..] => {
                let harmless = what.first().is_some_and(|what| *what == "Short");
                !harmless
                    && (call == "Thread" || call == "Descriptor" || file == ".:" || file.starts_with(name))
            }
            ["remove" | "replace", file, ..] => file.starts_with(name),
            _ => false,
        }
    };
    scenario.is_hurried || outcome.trace.lines().any(hit)
}

/// When the file was removed or replaced by somebody, if it was, in nanoseconds since the start. At the end of a run it may have been
/// whole before, and nobody looks at it again.
fn is_moved(outcome: &Outcome, name: &str) -> Option<u64> {
    outcome.trace.lines().find_map(|line| {
        let mut words = line.splitn(3, ' ');
        let at: u64 = words.next()?.parse().ok()?;
        let rest = words.nth(1)?;
        let verbs = ["remove", "replace"];
        let moved =
            verbs.iter().any(|verb| rest.starts_with(&format!("{verb} {name}")) && rest.ends_with("done"));
        moved.then_some(at * 1000)
    })
}

fn output<'a>(report: &'a Value, id: &str) -> &'a Value {
    let outputs = report["outputs"].as_array().map(Vec::as_slice).unwrap_or_default();
    outputs.iter().find(|output| output["id"] == id).unwrap_or(&Value::Null)
}

fn check_order<T: PartialEq + std::fmt::Debug>(wrong: &mut Vec<String>, name: &str, found: &[T], all: &[T]) {
    if let Err(what) = in_order(found, all) {
        wrong.push(format!("{name}: {what}"));
    }
}

/// All that was found is among all there is, in the same order.
fn in_order<T: PartialEq + std::fmt::Debug>(found: &[T], all: &[T]) -> Result<(), String> {
    let mut rest = all.iter();
    for (index, one) in found.iter().enumerate() {
        if !rest.any(|other| other == one) {
            let text: String = format!("{one:?}").chars().take(60).collect();
            return Err(format!("number {index} ({text}) is not what the packets make, or not in its place"));
        }
    }
    Ok(())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(4)..].join(" | ")
}

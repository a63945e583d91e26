//! Replies of the commands, against a run that does what it is told.

use super::*;
use crate::control::{Control, RunFacts, WantedChange};
use crate::desk::{ControlCounts, Note};
use evforge_core::change::{Change, ChangeTime, Parameter};
use evforge_core::counter::CounterSnapshot;
use evforge_core::run_state::RunState;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

evforge_core::counters! {
    /// A detector that counts two things.
    struct Two: "two" {
        packets: Enters(Packets), Packets, "In.";
        used: Leaves(Packets), Packets, "Out.";
    }
}

/// A run without a detector: what it is told is kept.
#[derive(Default)]
struct Quiet {
    facts: RunFacts,
    state: Mutex<Arc<RunState>>,
    ended: AtomicBool,
    calibrates: AtomicBool,
}

impl Control for Quiet {
    fn facts(&self) -> &RunFacts {
        &self.facts
    }
    fn state(&self) -> Arc<RunState> {
        Arc::clone(&self.state.lock().unwrap())
    }
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
    fn earliest_change(&self) -> Result<Option<ChangeTime>, Refusal> {
        Ok(None)
    }
    fn change(&self, wanted: Vec<WantedChange>) -> Vec<Result<Change, Refusal>> {
        wanted.iter().map(|_| Err(Refusal::Ended)).collect()
    }
    fn calibration_mode(&self) -> bool {
        self.calibrates.load(Ordering::Relaxed)
    }
    fn set_calibration_mode(&self, on: bool) -> Result<(), Refusal> {
        self.calibrates.store(on, Ordering::Relaxed);
        Ok(())
    }
    fn clear(&self) -> Result<(), Refusal> {
        Ok(())
    }
    fn shut_down(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

struct Stage {
    run: Arc<Quiet>,
    desk: ControlDesk,
    notes: Arc<Mutex<Vec<Note>>>,
}

impl Stage {
    fn new() -> Self {
        let facts = RunFacts {
            version: "0.2.0".into(),
            build: "evforge-test".into(),
            instrument: "nmx".into(),
            ..RunFacts::default()
        };
        let run = Arc::new(Quiet { facts, ..Quiet::default() });
        let notes: Arc<Mutex<Vec<Note>>> = Arc::default();
        let kept = Arc::clone(&notes);
        let say = Arc::new(move |note: &Note| kept.lock().unwrap().push(note.clone()));
        let desk =
            ControlDesk::new(Arc::clone(&run) as Arc<dyn Control>, Arc::new(ControlCounts::default()), say)
                .with_aliases(Arc::new(|name| (name == "efu.in").then(|| "detector.packets".to_owned())));
        Self { run, desk, notes }
    }

    fn count(&self, packets: u64) {
        let counters = CounterSnapshot::of(&Two { packets, used: packets });
        let mut state = RunState::default();
        state.ledger.counters = counters;
        *self.run.state.lock().unwrap() = Arc::new(state);
    }

    fn says(&self, request: &str, generation: Generation) -> String {
        let origin = Origin { way: "test", peer: None };
        reply(&self.desk, &origin, request.as_bytes(), generation)
    }
}

use Generation::{Of2018, Of2026};

/// Section 9 of the facts of 2018, command by command.
#[test]
fn the_commands_of_2018_have_their_replies() {
    let stage = Stage::new();
    stage.count(7);
    for (request, expected) in [
        ("VERSION_GET", "VERSION_GET 0.2.0 evforge-test"),
        ("VERSION_GET\n", "VERSION_GET 0.2.0 evforge-test"),
        (" \n VERSION_GET", "VERSION_GET 0.2.0 evforge-test"),
        ("VERSION_GET 1", "Error: <BADARGS>"),
        ("CMD_GET_COUNT", "CMD_GET_COUNT 7"),
        ("CMD_GET 1", "CMD_GET CMD_GET"),
        ("CMD_GET 7", "CMD_GET VERSION_GET"),
        ("CMD_GET 0", "Error: <BADARGS>"),
        ("CMD_GET 8", "Error: <BADARGS>"),
        ("CMD_GET -1", "Error: <BADARGS>"),
        ("CMD_GET x", "Error: <BADARGS>"),
        ("CMD_GET", "Error: <BADARGS>"),
        ("CMD_GET 1 2", "Error: <BADARGS>"),
        ("STAT_GET_COUNT", "STAT_GET_COUNT 22"),
        ("STAT_GET 1", "STAT_GET detector.packets 7"),
        ("STAT_GET 3", "STAT_GET alarms.input_failed 0"),
        ("STAT_GET 22", "STAT_GET main.uptime 0"),
        ("STAT_GET 23", "STAT_GET  -1"),
        ("STAT_GET 0", "STAT_GET  -1"),
        ("STAT_GET -9", "STAT_GET  -1"),
        ("STAT_GET 99999999999999999999999", "STAT_GET  -1"),
        ("STAT_GET", "Error: <BADARGS>"),
        ("DETECTOR_INFO_GET", "DETECTOR_INFO_GET nmx"),
        ("RUNTIMESTATS", "Error: <BADCMD>"),
        ("STAT_GET_NAME detector.packets", "Error: <BADCMD>"),
        ("CALIB_MODE_GET", "Error: <BADCMD>"),
        ("version_get", "Error: <BADCMD>"),
        ("VERSION_GET\r\n", "Error: <BADCMD>"),
        ("", "Error: <BADSIZE>"),
        (" \n ", "Error: <BADCMD>"),
    ] {
        assert_eq!(stage.says(request, Of2018), expected, "{request:?}");
    }
    assert_eq!(stage.says(&"A".repeat(100), Of2018), "Error: <BADCMD>");
    assert_eq!(
        stage.says(&format!("VERSION_GET{}", " ".repeat(LARGEST_REQUEST - 11)), Of2018),
        "VERSION_GET 0.2.0 evforge-test"
    );
    assert_eq!(stage.says(&" ".repeat(LARGEST_REQUEST + 1), Of2018), "Error: <BADSIZE>");
    // A name that nobody knows does not become a command.
    assert_eq!(stage.says("CMD_GET_COUNT", Of2018), "CMD_GET_COUNT 7");
    assert!(!stage.run.ended.load(Ordering::Relaxed));
    assert_eq!(
        (stage.says("EXIT now", Of2018), stage.run.ended.load(Ordering::Relaxed)),
        ("Error: <BADARGS>".into(), false)
    );
    assert_eq!((stage.says("EXIT", Of2018), stage.run.ended.load(Ordering::Relaxed)), ("<OK>".into(), true));
}

#[test]
fn the_commands_of_2026_have_their_replies() {
    let stage = Stage::new();
    stage.count(7);
    for (request, expected) in [
        ("CMD_GET_COUNT", "CMD_GET_COUNT 11"),
        ("CMD_GET 1", "CMD_GET CALIB_MODE_GET"),
        ("CMD_GET 10", "CMD_GET STAT_GET_NAME"),
        ("STAT_GET_NAME detector.used", "STAT_GET_NAME detector.used 7"),
        ("STAT_GET_NAME efu.in", "STAT_GET_NAME efu.in 7"),
        ("STAT_GET_NAME nonsense", "STAT_GET_NAME nonsense -1"),
        ("RUNTIMESTATS", "RUNTIMESTATS 1"),
        ("RUNTIMESTATS", "RUNTIMESTATS 0"),
        ("CALIB_MODE_GET", "CALIB_MODE_GET 0"),
        ("CALIB_MODE_SET 2", "Error: <BADARGS>"),
        ("CALIB_MODE_SET", "Error: <BADARGS>"),
        ("CALIB_MODE_SET 1", "<OK>"),
        ("CALIB_MODE_GET", "CALIB_MODE_GET 1"),
        ("CALIB_MODE_SET 0", "<OK>"),
        ("CALIB_MODE_GET", "CALIB_MODE_GET 0"),
    ] {
        assert_eq!(stage.says(request, Of2026), expected, "{request:?}");
    }
    stage.count(8);
    assert_eq!(stage.says("RUNTIMESTATS", Of2026), "RUNTIMESTATS 1");
    let names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
    assert!(names.is_sorted(), "they are numbered in the order of their names");
}

#[test]
fn every_request_is_counted_and_noted_with_who_asked() {
    let stage = Stage::new();
    for request in [
        "VERSION_GET",
        "CMD_GET_COUNT",
        "NONSENSE \u{1b}[31m\u{7}",
        "CALIB_MODE_SET 1",
        "CALIB_MODE_SET 7",
        "EXIT",
    ] {
        stage.says(request, Of2026);
    }
    let counts = stage.desk.counts().snapshot();
    assert_eq!((counts.commands, counts.commands_unknown, counts.state_changes), (6, 2, 2));
    let notes = stage.notes.lock().unwrap();
    let said: Vec<_> = notes.iter().map(|note| (note.to_string(), note.changed)).collect();
    assert_eq!(said[2].0, "test asked for NONSENSE ·[31m·: Error: <BADCMD>");
    assert_eq!(said[3], ("test asked for CALIB_MODE_SET 1: done".to_owned(), true));
    assert!(said[4].0.contains("expected 0 or 1") && !said[4].1);
    assert_eq!(notes.iter().map(|note| note.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

proptest! {
    /// Whatever is sent: a reply of the documented forms, and the same one again.
    #[test]
    fn any_bytes_get_a_documented_reply(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let stage = Stage::new();
        let origin = Origin { way: "test", peer: None };
        for generation in [Of2018, Of2026] {
            let first = reply(&stage.desk, &origin, &bytes, generation);
            let known = ["Error: <BADSIZE>", "Error: <BADCMD>", "Error: <BADARGS>", OK];
            let is_command = commands_of(generation).any(|command| first.starts_with(command.name));
            prop_assert!(known.contains(&first.as_str()) || is_command, "{first}");
        }
        prop_assert!(stage.notes.lock().unwrap().iter().all(|note| !note.what.contains(char::is_control)));
    }

    /// Words of the language in any order.
    #[test]
    fn any_words_get_a_documented_reply(
        words in proptest::collection::vec(prop_oneof![
            proptest::sample::select(COMMANDS.map(|command| command.name).to_vec()).prop_map(str::to_owned),
            any::<i64>().prop_map(|number| number.to_string()),
            "[ -~]{0,20}",
        ], 0..5)
    ) {
        let stage = Stage::new();
        let words = words.join(" ");
        let first = stage.says(&words, Of2026);
        let name = words.split([' ', '\n']).find(|word| !word.is_empty()).unwrap_or_default();
        let known = ["Error: <BADSIZE>", "Error: <BADCMD>", "Error: <BADARGS>", OK];
        prop_assert!(known.contains(&first.as_str()) || first.starts_with(name), "{words:?} {first}");
    }
}

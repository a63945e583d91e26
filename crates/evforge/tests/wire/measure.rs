//! `evforge measure` in namespaces of its own: whatever ends it, nothing is left. Needs root.

use crate::common::{PROGRAM, command_lines, send_signal, text, wait_until};
use evforge_measure::table::{Cell, Table};
use evforge_measure::{Measurement, result_file};
use evforge_testkit::veth::is_possible;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What a measurement could leave: settings of the host, interfaces, and processes in other network namespaces.
pub(crate) fn state() -> (Vec<String>, BTreeSet<String>) {
    let settings = ["rmem_max", "rmem_default", "wmem_max", "netdev_max_backlog"]
        .map(|name| std::fs::read_to_string(Path::new("/proc/sys/net/core").join(name)).expect("a setting"));
    let links = std::fs::read_dir("/sys/class/net").expect("interfaces");
    let links = links.map(|link| link.expect("an interface").file_name().to_string_lossy().into_owned());
    (settings.to_vec(), links.collect())
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "sweep", "--size", "1472", "--method", "batched"]).args(arguments);
    command.arg("--output").arg(folder.join("result")).env("TMPDIR", folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Programs that have the folder in their arguments: their numbers.
fn numbers_of(folder: &Path) -> Vec<u32> {
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let all = command_lines().into_iter();
    all.filter(|(_, line)| line.contains(&name)).map(|(number, _)| number).collect()
}

/// How many programs have the folder in their arguments.
fn programs_of(folder: &Path) -> usize {
    numbers_of(folder).len()
}

#[test]
fn a_sweep_in_namespaces_accounts_for_every_packet_and_leaves_nothing() {
    if !is_possible("a_sweep_in_namespaces_accounts_for_every_packet_and_leaves_nothing") {
        return;
    }
    let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
    let methods = "paper,batched,segmented,coalesced,xdp";
    let arguments = ["--method", methods, "--size", "64", "--for", "100ms", "--rounds", "2"];
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "sweep"]).args(arguments).arg("--output").arg(folder.path().join("result"));
    let output = command.env("TMPDIR", folder.path()).output().expect("it starts");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let result = result_file::read(&folder.path().join("result")).expect("a result");
    assert!(result.verdict.is_good, "{:?}", result.verdict);
    assert_eq!(result.table("points").map(|table| table.rows.len()), Some(10), "5 methods, 2 buffers");
    assert!(!result.command.iter().any(|word| word.contains("within")), "{:?}", result.command);
    assert_eq!(state(), before);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing but the result");
}

#[test]
fn buffers_are_measured_with_each_mtu_in_both_directions_and_the_first_second_apart() {
    if !is_possible("buffers_are_measured_with_each_mtu_in_both_directions_and_the_first_second_apart") {
        return;
    }
    let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
    let arguments = ["--buffer", "1MB", "--rate", "2kpps", "--for", "2500ms", "--rounds", "1"];
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "buffers"]).args(arguments).arg("--output").arg(folder.path().join("result"));
    let output = command.env("TMPDIR", folder.path()).output().expect("it starts");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let result = result_file::read(&folder.path().join("result")).expect("a result");
    assert!(result.verdict.is_good, "{:?}", result.verdict);
    let table = result.table("points").expect("a table");
    // 2 MTUs, UDP and TCP: one way, there and back.
    assert_eq!(table.rows.len(), 12);
    let value = |row: &[Cell], name: &str| row[table.column(name).expect("a column")].value();
    for row in &table.rows {
        assert!(value(row, "speed").is_some_and(|speed| speed > 1.0), "{row:?}");
        assert!(value(row, "first").is_some() && value(row, "later").is_some(), "{row:?}");
        // The kernel counts twice what was asked for.
        let [asked, granted] = ["bytes", "granted"].map(|name| value(row, name).expect("a buffer"));
        assert!(granted >= asked.min(200.0), "{row:?}");
    }
    // The larger MTU has larger packets: 2 000 of the smaller ones in a second are 24 Mb/s. A sender may be held up now and then.
    let large =
        table.rows.iter().filter(|row| row[0] == Cell::Number(9000.0) && row[1] == Cell::text("batched"));
    let fastest = large.flat_map(|row| ["first", "later"].map(|name| value(row, name).unwrap_or(0.0)));
    let fastest = fastest.fold(0.0, f64::max);
    assert!(fastest > 48.0, "{fastest} Mb/s");
    assert_eq!(state(), before);
}

#[test]
fn whatever_ends_a_measurement_ends_its_programs_and_its_interfaces() {
    if !is_possible("whatever_ends_a_measurement_ends_its_programs_and_its_interfaces") {
        return;
    }
    for signal in ["KILL", "TERM", "INT"] {
        let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
        let mut child = start(folder.path(), &["--for", "10min", "--rounds", "1"]);
        // The command, unshare, the command in there, receiver and sender.
        wait_until("sending", || programs_of(folder.path()) >= 5);
        send_signal(child.id(), signal);
        let status = child.wait().expect("it ends");
        assert!(!status.success(), "{signal}: {status}");
        wait_until(signal, || programs_of(folder.path()) == 0);
        assert_eq!(state(), before, "{signal}");
        assert!(result_file::read(&folder.path().join("result")).is_err(), "{signal}: there is no result");
        let left =
            std::fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("a file").file_name());
        let left: Vec<_> = left.filter(|name| name != "result").collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}

#[test]
fn formation_in_namespaces_is_a_row_for_each_detector_and_destination() {
    if !is_possible("formation_in_namespaces_is_a_row_for_each_detector_and_destination") {
        return;
    }
    let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
    let arguments = ["--detector", "sonde-module,multigrid", "--into", "nothing,nexus", "--rounds", "1"];
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "formation", "--pulses", "2", "--for", "300ms"]).args(arguments);
    command.arg("--output").arg(folder.path().join("result"));
    let output = command.env("TMPDIR", folder.path()).output().expect("it starts");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let result =
        result_file::read(&folder.path().join("result")).unwrap_or_else(|error| panic!("{error}: {said}"));
    let table = result.table("formation").expect("a table");
    let of = |row: usize, name: &str| table.rows[row][table.column(name).expect(name)].clone();
    assert_eq!(table.rows.len(), 4, "{said}");
    assert_eq!((of(2, "paper_events").value(), of(0, "paper_events").value()), (Some(2.46), Some(23.5)));
    // On a machine that is busy with other tests no rate may hold twice: then that is what is said.
    assert_eq!(result.verdict.is_good, output.status.success(), "{said}");
    for row in 0..4 {
        let found = of(row, "events").value();
        assert!(found.is_some_and(|rate| rate > 0.0) || !result.verdict.is_good, "row {row}: {said}");
    }
    assert_eq!(state(), before);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing but the result");
}

/// A cell of a table, by the name of its column.
fn cell(table: &Table, row: usize, name: &str) -> Cell {
    table.rows[row][table.column(name).expect(name)].clone()
}

/// A measurement in namespaces, which must leave nothing but its result.
fn measured(arguments: &[&str]) -> (Measurement, String) {
    let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
    let mut command = Command::new(PROGRAM);
    command.arg("measure").args(arguments).arg("--output").arg(folder.path().join("result"));
    let output = command.env("TMPDIR", folder.path()).output().expect("it starts");
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let result =
        result_file::read(&folder.path().join("result")).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(result.verdict.is_good, output.status.success(), "{said}");
    assert_eq!(state(), before);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing but the result");
    (result, said)
}

#[test]
fn latencies_in_namespaces_are_in_the_order_of_an_event_as_far_as_the_page() {
    if !is_possible("latencies_in_namespaces_are_in_the_order_of_an_event_as_far_as_the_page") {
        return;
    }
    let rate = ["--rate", "2kpps", "--for", "1s", "--rounds", "2", "--pulses", "2"];
    let (result, said) = measured(&[&["latency", "--into", "nothing,nexus,view"], &rate[..]].concat());
    let table = result.table("latencies").expect("a table");
    let rows: Vec<(Cell, Cell)> =
        (0..table.rows.len()).map(|row| (cell(table, row, "into"), cell(table, row, "until"))).collect();
    let expected = [
        ("nothing", "event handed on"),
        ("nexus", "event handed on"),
        ("nexus", "taken by the output"),
        ("view", "event handed on"),
        ("view", "taken by the output"),
        ("view", "picture in a browser"),
    ];
    // A point that lost packets has nothing to say of the browser; on a machine that is busy with other tests that may be.
    let is_lossy = cell(table, 3, "state") != Cell::text("loss-free");
    let expected = expected.map(|(into, until)| (Cell::text(into), Cell::text(until)));
    assert_eq!(rows, expected[..rows.len()], "{said}");
    assert!(rows.len() == 6 || is_lossy, "{said}");
    for row in 0..rows.len() {
        let of =
            |name: &str| cell(table, row, name).value().unwrap_or_else(|| panic!("{row} {name}: {said}"));
        assert!(of("events") > 0.0, "row {row}: {said}");
        let figures = [of("p50"), of("p99"), of("p999"), of("largest")];
        assert!(figures[0] > 0.0 && figures.is_sorted(), "row {row}: {figures:?}");
    }
    // Nobody has an event before it is handed on.
    let largest = |row: usize| cell(table, row, "largest").value();
    assert!(largest(2) >= largest(1), "{said}");
    assert_eq!(result.plots.len(), 2);
}

#[test]
fn observers_in_namespaces_are_a_row_each_and_every_packet_is_accounted_for() {
    if !is_possible("observers_in_namespaces_are_a_row_each_and_every_packet_is_accounted_for") {
        return;
    }
    let rate = ["--rate", "2kpps", "--for", "1s", "--rounds", "1", "--pulses", "2"];
    let (result, said) = measured(&[&["observer", "--browsers", "2"], &rate[..]].concat());
    let table = result.table("observers").expect("a table");
    let names = [
        "nothing",
        "kernel-counters",
        "host-counters",
        "polled-counters",
        "view",
        "metrics",
        "browsers-1",
        "browsers-2",
        "regions-2",
        "monitor",
    ];
    assert_eq!(table.rows.len(), names.len(), "{said}");
    for (row, name) in names.iter().enumerate() {
        let of = |name: &str| cell(table, row, name).value();
        assert_eq!(cell(table, row, "observer"), Cell::text(*name), "{said}");
        let [sent, received, lost] = ["sent", "received", "lost"].map(|name| of(name).expect("a count"));
        // An event that the view did not take is a loss, too, though its packet was received.
        assert!(sent > 0.0 && received <= sent && sent <= received + lost, "{name}: {said}");
        let looks = of("looks").expect("a count") > 0.0;
        let is_outside =
            ["polled-counters", "metrics", "browsers-1", "browsers-2", "regions-2"].contains(name);
        assert_eq!(looks, is_outside, "{name}: {said}");
        if lost == 0.0 {
            assert!(of("time").is_some_and(|time| time > 0.0), "{name}: {said}");
            // Both are sums of the kernel's ticks of 10 ms, those of the run rounded apart from those of the thread.
            let rounded = |time: f64| time + 3.0 * 10e6 / received;
            let all = of("time").map(rounded);
            assert!(of("thread_time").is_some_and(|time| Some(time) <= all), "{name}: {said}");
        }
    }
    assert_eq!(cell(table, 0, "ratio"), Cell::Missing);
}

/// True if a process has the number 1 in a namespace of its own.
fn is_first_in_namespace(number: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().count() > 1 && numbers.trim().ends_with("\t1"))
}

/// The packets of all segments that a checkpoint has, and of all streams in them.
fn packets(checkpoint: &serde_json::Value, what: &str) -> u64 {
    let segments = checkpoint["segments"].as_array().expect("segments");
    let streams = segments.iter().flat_map(|segment| segment["streams"].as_array().expect("streams"));
    streams.map(|stream| stream[what].as_u64().expect("a count")).sum()
}

fn checkpoint(folder: &Path) -> Option<serde_json::Value> {
    let bytes = std::fs::read(folder.join("soak-checkpoint.json")).ok()?;
    Some(serde_json::from_slice(&bytes).expect("a checkpoint is always whole"))
}

#[test]
fn a_soak_that_was_killed_goes_on_with_its_counts() {
    if !is_possible("a_soak_that_was_killed_goes_on_with_its_counts") {
        return;
    }
    let (folder, before) = (tempfile::tempdir().expect("a folder"), state());
    let result = folder.path().join("soak");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["measure", "soak"]).args(arguments).arg(&result).env("TMPDIR", folder.path());
        command
    };
    let settings =
        ["--streams", "2", "--rate", "20Mbit/s", "--for", "1500ms", "--segment", "500ms", "--output"];
    let mut killed = run(&settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    // A whole segment, and the next one under way.
    let is_second = |checkpoint: serde_json::Value| {
        checkpoint["is_under_way"] == true
            && checkpoint["segments"].as_array().is_some_and(|all| all.len() == 1)
    };
    wait_until("the second segment", || checkpoint(&result).is_some_and(is_second));
    // The command in its namespaces first, which takes all others in there along: it must not hear that the one outside has ended.
    let mut numbers = numbers_of(folder.path());
    numbers.sort_by_key(|number| !is_first_in_namespace(*number));
    numbers.iter().filter(|number| Path::new("/proc").join(number.to_string()).exists()).for_each(|number| {
        let _ = Command::new("kill").args(["-KILL", &number.to_string()]).stderr(Stdio::null()).status();
    });
    killed.wait().expect("it ends");
    wait_until("nothing is left", || programs_of(folder.path()) == 0);
    assert_eq!(state(), before);
    let at_kill = checkpoint(&result).expect("a checkpoint");
    assert!(result_file::read(&result).is_err(), "there is no result yet");
    // What began is not begun again.
    let refused = run(&settings).output().expect("it starts");
    assert!(text(&refused.stderr).contains("--resume"), "{}", text(&refused.stderr));
    let output = run(&["--resume"]).output().expect("it starts");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let end = checkpoint(&result).expect("a checkpoint");
    assert_eq!((&end["interrupted"], &end["is_under_way"]), (&1.into(), &false.into()));
    // The segment from before the kill is there as it was, and the two others behind it.
    assert_eq!(end["segments"][0], at_kill["segments"][0]);
    assert_eq!(end["jump_at_start"], at_kill["jump_at_start"]);
    assert_eq!(end["segments"].as_array().map(Vec::len), Some(3));
    let found = result_file::read(&result).expect("a result");
    assert!(found.verdict.is_good, "{:?}", found.verdict);
    let sent = packets(&end, "sent");
    assert_eq!(packets(&end, "received"), sent);
    let grouped = evforge_core::quantity::grouped(sent);
    assert!(found.verdict.sentence.starts_with(&format!("{grouped} packets, 0.00")), "{:?}", found.verdict);
    assert!(
        found.findings.iter().any(|said| said.starts_with("1 segments were interrupted")),
        "{:?}",
        found.findings
    );
    let proofs = found.table("proofs").expect("proofs");
    assert_eq!(proofs.rows.len(), 2 + 2 * 5);
    assert!(
        proofs.rows.iter().all(|row| row[1] == evforge_measure::table::Cell::text("passed")),
        "{proofs:?}"
    );
    assert_eq!(state(), before);
}

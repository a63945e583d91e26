//! What signals do to the real program: which end a run in good order, and which do nothing. Pipes as inputs obey them, too.

use crate::common::program::Program;
use crate::common::{LiveProgram, PROGRAM, evforge, wait_until, workspace};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn config() -> String {
    workspace().join("configs/gdgem-srs.toml").to_str().expect("text").to_owned()
}

/// evforge as a shell starts it: these tests may themselves run under `nohup`, whose SIGHUP is ignored, and that is passed on.
fn program() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", PROGRAM]);
    command
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a report")).expect("JSON")
}

fn simulated(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    evforge(&["simulate", "--config", &config(), "--pulses", "20", "--output", path.to_str().expect("text")]);
    path
}

/// A live run that goes on until a signal comes, by this command.
fn endless(command: Command, folder: &Path) -> LiveProgram {
    // The last of these count.
    let further = ["--address", "127.0.0.1"];
    LiveProgram::start_by(command, config().as_ref(), folder, &further)
}

#[test]
fn a_hang_up_ends_a_run_in_good_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let live = endless(program(), folder.path());
    live.signal("HUP");
    // It comes twice when a terminal goes.
    wait_until("the first one has come", || !has_hang_up(live.id(), "ShdPnd"));
    let _ = Command::new("kill").args(["-s", "HUP", &live.id().to_string()]).status();
    let (success, stream, events) = live.ended();
    assert_eq!(stream["unaccounted"], 0);
    assert!(events.starts_with("time_ns,pixel_id"), "{events}");
    let report = json(&folder.path().join("live.json"));
    // Nothing had come, which is no use to anybody.
    assert_eq!((&report["ending"], &report["verdict"]), (&"stopped".into(), &"input of no use".into()));
    assert!(!success);
}

/// A service manager that stops what a hang-up has ended already: only the second SIGINT or SIGTERM ends a program at once.
#[test]
fn a_signal_to_end_after_a_hang_up_is_no_second_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let live = endless(program(), folder.path());
    live.signal("HUP");
    // It may have come to its end.
    let _ = Command::new("kill").args(["-s", "TERM", &live.id().to_string()]).status();
    let (_, stream, _) = live.ended();
    assert_eq!(stream["unaccounted"], 0);
    assert_eq!(json(&folder.path().join("live.json"))["ending"], "stopped");
}

#[test]
fn a_hang_up_that_was_ignored_from_the_beginning_ends_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", PROGRAM]);
    let live = endless(command, folder.path());
    live.signal("HUP");
    // Nor will the kernel bring it another one.
    assert!(has_hang_up(live.id(), "SigIgn") && !has_hang_up(live.id(), "SigCgt"));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..100 {
        socket.send_to(b"x", &live.address).expect("sending");
    }
    // All have come, so the run went on. What came is of no format, which is an alarm.
    let (_, stream, _) = live.outcome();
    assert_eq!(stream["packets"]["handed_over"], 100, "{stream:#}");
}

#[test]
fn signals_that_mean_nothing_here_cost_no_packet() {
    let folder = tempfile::tempdir().expect("a folder");
    let live = endless(program(), folder.path());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut sent = 0;
    for name in ["USR1", "USR2", "ALRM", "VTALRM", "PROF", "POLL", "PWR", "STKFLT", "WINCH", "PIPE"] {
        for _ in 0..5 {
            live.signal(name);
            for _ in 0..10 {
                socket.send_to(b"x", &live.address).expect("sending");
                sent += 1;
            }
        }
    }
    // What came is of no format, which is an alarm.
    let (_, stream, _) = live.outcome();
    assert_eq!(stream["packets"]["handed_over"], sent, "{stream:#}");
}

/// Every command that runs until it is stopped.
#[test]
fn a_hang_up_ends_every_long_command_in_good_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let capture = simulated(folder.path(), "long.pcapng").to_str().expect("text").to_owned();
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = sink.local_addr().expect("an address").to_string();
    let config = config();
    sink.set_nonblocking(true).expect("a setting");
    // It is in the middle of its work once it says this, or else a packet of it has come.
    let commands: &[(&[&str], &str)] = &[
        (
            &["record", "--address", "127.0.0.1", "--port", "0", "--output", &file("recorded.pcapng")],
            "receiving at",
        ),
        (&["replay", &capture, "--to", &to, "--rate", "10pps"], ""),
        (&["simulate", "--config", &config, "--to", &to], ""),
        (&["send", "--to", &to, "--rate", "100pps"], ""),
        (&["receive", "--address", "127.0.0.1", "--port", "0"], "receiving at"),
        (&["drop", "send", "--to", &to, "--rate", "100pps", "--for", "10min"], ""),
        (&["drop", "receive", "--address", "127.0.0.1", "--port", "0"], "receiving at"),
        (&["demo", "--view", "127.0.0.1:0", "--output", &file("demo")], "Look at it"),
    ];
    for (command, sign) in commands {
        let mut started = program();
        started.args(*command);
        let program = Program::start(started);
        program.wait_for(&format!("{command:?} catches SIGHUP and is at work"), || {
            let is_at_work = match *sign {
                "" => sink.recv(&mut [0; 16]).is_ok(),
                sign => program.said().contains(sign) || program.printed().contains(sign),
            };
            (is_at_work && has_hang_up(program.id(), "SigCgt")).then_some(())
        });
        program.signal("HUP");
        let (status, printed, said) = program.ended();
        assert!(status.code().is_some(), "{command:?} was killed: {status:?}");
        assert!(printed.lines().count() > 1, "{command:?} says nothing: {printed}\n{said}");
        while sink.recv(&mut [0; 16]).is_ok() {}
    }
}

/// Whether SIGHUP is in this set of signals of a process: caught, ignored, or on its way to it.
fn has_hang_up(process: u32, set: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(":"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

#[test]
fn a_terminal_that_goes_away_ends_a_run_in_good_order() {
    let test = "a_terminal_that_goes_away_ends_a_run_in_good_order";
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    let run = format!(
        "exec env --default-signal=HUP '{PROGRAM}' run --config '{}' --address 127.0.0.1 --port 0 --report '{}'",
        config(),
        report.display()
    );
    // A program that runs another one in a terminal of its own (util-linux).
    let script = Command::new("script")
        .args(["-qfc", &run, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut script) = script else {
        return evforge_testkit::skip(test, "the command script (util-linux) is not there");
    };
    let mut said = String::new();
    let mut screen = BufReader::new(script.stdout.take().expect("piped"));
    while !said.contains("received by") {
        assert!(screen.read_line(&mut said).expect("text") > 0, "the program does not receive: {said}");
    }
    // One status line at least.
    screen.read_exact(&mut [0; 40]).expect("a line");
    script.kill().expect("it can be killed");
    script.wait().expect("it ends");
    wait_until("there is a report", || report.is_file());
    assert_eq!(json(&report)["ending"], "stopped");
}

/// A pipe with a name, and a run that reads it.
fn run_on_pipe(folder: &Path, further: &[&str]) -> (PathBuf, Program) {
    let pipe = folder.join("packets.pkts");
    if !pipe.exists() {
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    }
    let mut command = program();
    command.args(["run", "--overwrite", "--config", &config(), "--input"]).arg(&pipe);
    command.arg("--events").arg(folder.join("events.csv")).arg("--report").arg(folder.join("report.json"));
    command.args(further);
    (pipe, Program::start(command))
}

/// Waits until a program has a file open.
fn wait_until_open(process: u32, path: &Path) {
    let is_open = || {
        let entries = std::fs::read_dir(format!("/proc/{process}/fd"));
        entries.is_ok_and(|entries| {
            entries.flatten().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == path))
        })
    };
    wait_until(format!("{} is open", path.display()), is_open);
}

/// Waits until all that was written into a pipe has been read.
fn wait_until_empty(pipe: &std::fs::File) {
    wait_until("the pipe is read", || rustix::io::ioctl_fionread(pipe).expect("a pipe") == 0);
}

#[test]
fn a_run_ends_on_request_while_nobody_writes_into_its_pipe() {
    for (signal, threads) in
        [("TERM", "input.threads=1"), ("INT", "input.threads=2"), ("HUP", "input.threads=1")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, program) = run_on_pipe(folder.path(), &["--set", threads]);
        wait_until_open(program.id(), &pipe);
        program.signal(signal);
        let (status, printed, said) = program.ended();
        assert!(status.success(), "{signal}: {status:?} {said}");
        assert!(printed.contains("stopped on request"), "{printed}");
        assert_eq!(json(&folder.path().join("report.json"))["ending"], "stopped");
    }
}

#[test]
fn a_run_ends_on_request_while_the_writer_of_its_pipe_is_silent() {
    for threads in ["input.threads=1", "input.threads=2"] {
        let folder = tempfile::tempdir().expect("a folder");
        let capture = std::fs::read(simulated(folder.path(), "sound.pkts")).expect("a capture");
        let (pipe, program) =
            run_on_pipe(folder.path(), &["--set", threads, "--set", "input.packets_per_slab=1"]);
        let mut writer = std::fs::File::options().write(true).open(&pipe).expect("a reader");
        // In the middle of a packet.
        writer.write_all(&capture[..capture.len() / 2]).expect("writing");
        wait_until_empty(&writer);
        program.signal("TERM");
        let (status, _, said) = program.ended();
        drop(writer);
        assert!(status.success(), "{status:?} {said}");
        let report = json(&folder.path().join("report.json"));
        assert_eq!(report["ending"], "stopped");
        let stream = &report["streams"][0];
        assert!(stream["events"].as_u64().is_some_and(|events| events > 0), "{stream:#}");
        assert_eq!((&stream["unaccounted"], &stream["held"]), (&0.into(), &0.into()));
    }
}

#[test]
fn a_pipe_is_read_to_its_end_as_a_file_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = simulated(folder.path(), "sound.pkts");
    let file = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    evforge(&[
        "run",
        "--config",
        &config(),
        "--input",
        capture.to_str().expect("text"),
        "--events",
        &file("file.csv"),
    ]);
    let (pipe, program) = run_on_pipe(folder.path(), &[]);
    let capture = std::fs::read(&capture).expect("a capture");
    let mut writer = std::fs::File::options().write(true).open(&pipe).expect("a reader");
    for part in capture.chunks(capture.len() / 3) {
        writer.write_all(part).expect("writing");
        wait_until_empty(&writer);
    }
    drop(writer);
    let (success, _, said) = program.end();
    assert!(success, "{said}");
    assert_eq!(json(&folder.path().join("report.json"))["ending"], "complete");
    let events = |name: &str| std::fs::read_to_string(file(name)).expect("events");
    assert_eq!(events("events.csv"), events("file.csv"));
    // One that nobody writes anything into is an empty file.
    let (pipe, program) = run_on_pipe(folder.path(), &[]);
    drop(std::fs::File::options().write(true).open(&pipe).expect("a reader"));
    let (success, printed, _) = program.end();
    assert!(!success && printed.contains("INPUT FAILED"), "{printed}");
}

#[test]
fn a_replay_of_a_pipe_ends_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("packets.pcapng");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut command = program();
    command.arg("replay").arg(&pipe).args(["--to", "127.0.0.1:9"]);
    let program = Program::start(command);
    wait_until_open(program.id(), &pipe);
    program.signal("TERM");
    let (status, _, said) = program.ended();
    assert!(status.success(), "{status:?} {said}");
}

#[test]
fn a_run_ends_on_request_while_it_waits_for_a_broker() {
    // It takes connections, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    silent.set_nonblocking(true).expect("a setting");
    let brokers = format!("outputs.kafka.brokers=\"{}\"", silent.local_addr().expect("its address"));
    for topics_are_made in ["false", "true"] {
        let creates = format!("outputs.kafka.create_topics={topics_are_made}");
        let mut command = program();
        command.args(["run", "--config", &config(), "--address", "127.0.0.1", "--port", "0", "--quiet"]);
        command.args(["--set", &brokers, "--set", "outputs.kafka.topic=\"events\"", "--set", &creates]);
        let started = Program::start(command);
        // The library has connected: the run waits for its answer.
        let _connection = started.wait_for("it asks the broker", || silent.accept().ok());
        started.signal("TERM");
        let (status, _, said) = started.ended();
        assert!(said.contains("the end was asked for before the brokers had answered"), "{said}");
        assert_eq!(status.code(), Some(1), "{said}");
    }
}

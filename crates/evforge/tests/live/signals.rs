//! What signals do to the real program: which end a run in good order, and which do nothing. Pipes as inputs obey them, too.

use crate::common::{LiveProgram, PROGRAM, evforge, send_signal, text, workspace};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Nothing here takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

fn config() -> String {
    workspace().join("configs/gdgem-srs.toml").to_str().expect("text").to_owned()
}

/// evforge as a shell starts it: these tests may themselves run under `nohup`, whose SIGHUP is ignored, and that is passed on.
fn program() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", PROGRAM]);
    command
}

/// A program under way, killed if the test ends early.
struct Program(Option<Child>);

impl Program {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().expect("the program starts")))
    }

    fn id(&self) -> u32 {
        self.0.as_ref().expect("it is under way").id()
    }

    fn has_ended(&mut self) -> bool {
        self.0.as_mut().expect("it is under way").try_wait().expect("a state").is_some()
    }

    /// Waits for the end, which must come.
    fn end(mut self) -> Output {
        let begin = Instant::now();
        while !self.has_ended() {
            assert!(begin.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.0.take().expect("it is under way").wait_with_output().expect("its output")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
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
    std::thread::sleep(Duration::from_millis(1));
    let _ = Command::new("kill").args(["-s", "HUP", &live.id().to_string()]).status();
    let (success, stream, events) = live.outcome();
    assert_eq!(stream["unaccounted"], 0);
    assert!(events.starts_with("time_ns,pixel_id"), "{events}");
    let report = json(&folder.path().join("live.json"));
    // Nothing had come, which is no use to anybody.
    assert_eq!((&report["ending"], &report["verdict"]), (&"stopped".into(), &"input of no use".into()));
    assert!(!success);
}

#[test]
fn a_hang_up_that_was_ignored_from_the_beginning_ends_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", PROGRAM]);
    let live = endless(command, folder.path());
    live.signal("HUP");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..100 {
        socket.send_to(b"x", &live.address).expect("sending");
        std::thread::sleep(Duration::from_millis(2));
    }
    // All have come, so the run went on; it ends for want of more. What came is of no format, which is an alarm.
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
    let commands: &[&[&str]] = &[
        &["record", "--address", "127.0.0.1", "--port", "0", "--output", &file("recorded.pcapng")],
        &["replay", &capture, "--to", &to, "--rate", "10pps"],
        &["simulate", "--config", &config, "--to", &to],
        &["send", "--to", &to, "--rate", "100pps"],
        &["receive", "--address", "127.0.0.1", "--port", "0"],
        &["drop", "send", "--to", &to, "--rate", "100pps", "--for", "60s"],
        &["drop", "receive", "--address", "127.0.0.1", "--port", "0"],
        &["demo", "--view", "127.0.0.1:0", "--output", &file("demo")],
    ];
    for command in commands {
        let mut program = Program::start(program().args(*command));
        // Until it has its handlers: it catches SIGHUP then.
        let begin = Instant::now();
        while !catches_hang_up(program.id()) {
            if program.has_ended() {
                panic!("{command:?} has ended: {}", text(&program.end().stderr));
            }
            assert!(begin.elapsed() < PATIENCE, "{command:?} never catches SIGHUP");
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        send_signal(program.id(), "HUP");
        let output = program.end();
        let said = text(&output.stdout);
        assert!(output.status.code().is_some(), "{command:?} was killed: {:?}", output.status);
        assert!(said.lines().count() > 1, "{command:?} says nothing: {said}\n{}", text(&output.stderr));
    }
}

fn catches_hang_up(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
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
    let begin = Instant::now();
    while !report.is_file() {
        assert!(begin.elapsed() < PATIENCE, "there is no report");
        std::thread::sleep(Duration::from_millis(20));
    }
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
    (pipe, Program::start(&mut command))
}

/// Waits until a program has a file open.
fn wait_until_open(process: u32, path: &Path) {
    let is_open = || {
        let entries = std::fs::read_dir(format!("/proc/{process}/fd"));
        entries.is_ok_and(|entries| {
            entries.flatten().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == path))
        })
    };
    let begin = Instant::now();
    while !is_open() {
        assert!(begin.elapsed() < PATIENCE, "{} is never opened", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_run_ends_on_request_while_nobody_writes_into_its_pipe() {
    for (signal, threads) in
        [("TERM", "input.threads=1"), ("INT", "input.threads=2"), ("HUP", "input.threads=1")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let (_, program) = run_on_pipe(folder.path(), &["--set", threads]);
        let begin = Instant::now();
        while !catches_hang_up(program.id()) && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        send_signal(program.id(), signal);
        let output = program.end();
        assert!(output.status.success(), "{signal}: {:?} {}", output.status, text(&output.stderr));
        assert!(text(&output.stdout).contains("stopped on request"), "{}", text(&output.stdout));
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
        wait_until_open(program.id(), &pipe);
        std::thread::sleep(Duration::from_millis(500));
        send_signal(program.id(), "TERM");
        let output = program.end();
        drop(writer);
        assert!(output.status.success(), "{:?} {}", output.status, text(&output.stderr));
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
        std::thread::sleep(Duration::from_millis(150));
    }
    drop(writer);
    let output = program.end();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(json(&folder.path().join("report.json"))["ending"], "complete");
    let events = |name: &str| std::fs::read_to_string(file(name)).expect("events");
    assert_eq!(events("events.csv"), events("file.csv"));
    // One that nobody writes anything into is an empty file.
    let (pipe, program) = run_on_pipe(folder.path(), &[]);
    drop(std::fs::File::options().write(true).open(&pipe).expect("a reader"));
    let output = program.end();
    assert!(
        !output.status.success() && text(&output.stdout).contains("INPUT FAILED"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_replay_of_a_pipe_ends_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("packets.pcapng");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let program =
        Program::start(program().args(["replay", pipe.to_str().expect("text"), "--to", "127.0.0.1:9"]));
    wait_until_open(program.id(), &pipe);
    std::thread::sleep(Duration::from_millis(200));
    send_signal(program.id(), "TERM");
    let output = program.end();
    assert!(output.status.success(), "{:?} {}", output.status, text(&output.stderr));
}

#[test]
fn a_run_ends_on_request_while_it_waits_for_a_broker() {
    // It takes connections, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let brokers = format!("outputs.kafka.brokers=\"{}\"", silent.local_addr().expect("its address"));
    for topics_are_made in ["false", "true"] {
        let creates = format!("outputs.kafka.create_topics={topics_are_made}");
        let mut command = program();
        command.args(["run", "--config", &config(), "--address", "127.0.0.1", "--port", "0", "--quiet"]);
        command.args(["--set", &brokers, "--set", "outputs.kafka.topic=\"events\"", "--set", &creates]);
        let started = Program::start(&mut command);
        // The library has connected: the run waits for its answer.
        let _connection = silent.accept().expect("the run asks the broker");
        send_signal(started.id(), "TERM");
        let output = started.end();
        let said = text(&output.stderr);
        assert!(said.contains("the end was asked for before the brokers had answered"), "{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
    }
}

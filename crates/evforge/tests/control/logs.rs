//! What the program says: for people, as JSON lines, and to a Graylog that comes and goes.

use crate::common::program::Program;
use crate::common::{PROGRAM, is_on_its_way, text, workspace};
use evforge_testkit::patience::patience;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Forms the events of a capture that has packets to refuse.
fn run(further: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--config"]).arg(workspace().join("configs/gdgem-srs.toml"));
    command.arg(workspace().join("data/gdgem-srs-faults.pcapng")).args(further);
    command.env_remove("EVFORGE_LOG").output().expect("the program starts")
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn read_json_lines(path: &Path) -> Vec<Value> {
    json_lines(&std::fs::read_to_string(path).expect("a file"))
}

fn of_group<'a>(lines: &'a [Value], group: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["group"] == group)
}

#[test]
fn json_lines_say_why_packets_were_refused_and_standard_output_stays_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report.json");
    let report_path = report.to_str().expect("text");
    let ran = run(&[
        "--log-format",
        "json",
        "--log",
        "parse=trace",
        "--quiet",
        "--report",
        report_path,
        "--set",
        "log.repeats=0",
    ]);
    assert!(ran.stdout.is_empty(), "{}", text(&ran.stdout));
    // With --quiet standard error has what is important.
    assert!(of_group(&json_lines(&text(&ran.stderr)), "parse").next().is_none());
    let ran = run(&[
        "--log-format",
        "json",
        "--log",
        "parse=trace",
        "--report",
        report_path,
        "--overwrite",
        "--set",
        "log.repeats=0",
    ]);
    let lines = json_lines(&text(&ran.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    let mut refused: HashMap<&str, u64> = HashMap::new();
    for line in of_group(&lines, "parse") {
        assert_eq!(line["level"], "debug", "{line}");
        let time = line["time"].as_str().expect("a time");
        assert!(time.len() == 27 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
        let fields = &line["fields"];
        assert!(
            fields["source"].as_str().is_some_and(|source| source.parse::<SocketAddr>().is_ok()),
            "{line}"
        );
        let reason = fields["reason"].as_str().expect("a reason");
        *refused.entry(reason).or_default() += fields["count"].as_u64().expect("a count");
    }
    assert!(!refused.is_empty());
    let counters = &report["streams"][0]["counters"];
    for (reason, count) in refused {
        assert_eq!(counters[reason], count, "{reason}: {counters:#}");
    }
    assert_eq!(report["log"]["repeats_held_back"], 0, "{:#}", report["log"]);
    assert!(report["log"]["details"].as_u64() > Some(0), "{:#}", report["log"]);
    let end = lines.iter().find(|line| line["fields"]["verdict"].is_string()).expect("how it ended");
    assert_eq!(end["group"], "run");
}

#[test]
fn groups_are_switched_by_name_and_mistakes_are_explained() {
    let details = |further: &[&str]| {
        let ran = run(further);
        text(&ran.stderr).lines().filter(|line| line.starts_with("debug parse: ")).count()
    };
    assert_eq!(details(&[]), 0);
    assert!(details(&["--log", "parse=debug"]) > 0);
    assert!(details(&["-v"]) > 0);
    assert_eq!(details(&["-v", "--log", "parse=info"]), 0);
    assert_eq!(details(&["--log", "kafka=trace"]), 0);
    assert!(details(&["--set", "log.levels.parse=debug"]) > 0);
    for (further, expected) in [
        (["--log", "pares=debug"], "did you mean `parse`?"),
        (["--log", "parse=debgu"], "did you mean `debug`?"),
        (["--set", "log.levels.pares=debug"], "did you mean `parse`?"),
        (["--set", "log.gelf.address=graylog"], "expected udp://HOST:PORT or tcp://HOST:PORT"),
        (["--set", "log.formatt=json"], "did you mean `format`?"),
        (["--log-file", "/nonexistent/log"], "/nonexistent/log"),
    ] {
        let ran = run(&further);
        let said = text(&ran.stderr);
        assert!(!ran.status.success() && said.contains(expected), "{further:?}: {said}");
    }
}

#[test]
fn repeated_messages_are_held_back_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = |name: &str, repeats: &str| {
        let path = folder.path().join(name);
        let file = path.to_str().expect("text");
        run(&["--log", "parse=trace,form=debug", "--log-file", file, "--quiet", "--set", repeats]);
        let lines = read_json_lines(&path);
        let held =
            of_group(&lines, "form").filter_map(|line| line["fields"]["held_back"].as_u64()).sum::<u64>();
        let said =
            of_group(&lines, "form").filter(|line| line["fields"]["held_back"].is_null()).count() as u64;
        (said, held)
    };
    let (all, none) = lines("all", "log.repeats=0");
    assert_eq!(none, 0);
    let (said, held) = lines("some", "log.repeats=1");
    assert!(held > 0 && said < all, "{said} said, {held} held back of {all}");
    assert_eq!(said + held, all);
}

/// A Graylog that listens at a UDP port: gives the messages when it is told that all have been sent.
struct UdpGraylog {
    address: String,
    stop: Arc<AtomicBool>,
    heard: std::thread::JoinHandle<(Vec<Value>, usize)>,
}

impl UdpGraylog {
    fn listen(unpack: fn(&[u8]) -> Vec<u8>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time-out");
        let address = format!("udp://{}", socket.local_addr().expect("an address"));
        let stop = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&stop);
        let heard = std::thread::spawn(move || {
            let mut parts: HashMap<Vec<u8>, Vec<(u8, Vec<u8>)>> = HashMap::new();
            let (mut messages, mut chunked) = (Vec::new(), 0);
            let mut bytes = vec![0; 70_000];
            loop {
                let Ok(length) = socket.recv(&mut bytes) else {
                    if ends.load(Ordering::Relaxed) && !is_on_its_way() {
                        assert!(parts.is_empty(), "messages that are not whole");
                        return (messages, chunked);
                    }
                    continue;
                };
                let datagram = bytes[..length].to_vec();
                let whole = if datagram.starts_with(&[0x1e, 0x0f]) {
                    assert!(length <= 512, "{length}");
                    let (key, number, count) = (datagram[2..10].to_vec(), datagram[10], datagram[11]);
                    let own = parts.entry(key.clone()).or_default();
                    own.push((number, datagram[12..].to_vec()));
                    if own.len() < usize::from(count) {
                        continue;
                    }
                    chunked += 1;
                    let mut own = parts.remove(&key).expect("the parts");
                    own.sort();
                    own.into_iter().flat_map(|(_, part)| part).collect()
                } else {
                    datagram
                };
                messages.push(serde_json::from_slice(&unpack(&whole)).expect("JSON"));
            }
        });
        Self { address, stop, heard }
    }

    fn end(self) -> (Vec<Value>, usize) {
        self.stop.store(true, Ordering::Relaxed);
        self.heard.join().expect("no panic")
    }
}

fn plain(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

fn unzlib(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut unpacked).expect("zlib");
    unpacked
}

fn ungzip(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut unpacked).expect("gzip");
    unpacked
}

/// A name with little in it that repeats.
fn long_name() -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).expect("small"))
    };
    (0..1000).map(|_| letter()).collect()
}

#[test]
fn graylog_gets_whole_messages_over_udp_compressed_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = long_name();
    for (compression, unpack) in [("zlib", unzlib as fn(&[u8]) -> Vec<u8>), ("gzip", ungzip), ("none", plain)]
    {
        let graylog = UdpGraylog::listen(unpack);
        let path = folder.path().join(compression);
        let ran = run(&[
            "--quiet",
            "--log",
            "all=trace,form=info",
            "--log-file",
            path.to_str().expect("text"),
            "--set",
            &format!("name={name}"),
            "--set",
            &format!("log.gelf.address={}", graylog.address),
            "--set",
            &format!("log.gelf.compression={compression}"),
            "--set",
            "log.gelf.chunk_bytes=512",
            "--set",
            "log.gelf.level=trace",
            "--set",
            "log.gelf.host=unit-1",
        ]);
        let (messages, chunked) = graylog.end();
        let lines = read_json_lines(&path);
        assert!(chunked > 0 && lines.len() > 4, "{compression}: {chunked} of {}", lines.len());
        assert_eq!(messages.len(), lines.len(), "{compression}: {}", text(&ran.stderr));
        for (message, line) in messages.iter().zip(&lines) {
            assert_eq!(
                (&message["version"], &message["host"], &message["_instrument"]),
                (&"1.1".into(), &"unit-1".into(), &name.as_str().into())
            );
            assert_eq!((&message["_group"], &message["_line"]), (&line["group"], &line["line"]));
            let severity = match line["level"].as_str().expect("a level") {
                "error" => 3,
                "warn" => 4,
                "notice" => 5,
                "info" => 6,
                _ => 7,
            };
            assert_eq!(message["level"], severity, "{line}");
            assert_eq!(message["_reason"], line["fields"]["reason"], "{line}");
            let whole = message.get("full_message").unwrap_or(&message["short_message"]);
            assert_eq!(whole, &line["message"]);
            assert!(message["timestamp"].is_f64() && message["_process_id"].is_u64(), "{message}");
        }
    }
}

#[test]
fn a_graylog_that_is_away_harms_nothing() {
    for protocol in ["udp", "tcp"] {
        let address = format!("log.gelf.address={protocol}://127.0.0.1:1");
        let ran = run(&["--set", &address, "--set", "log.gelf.level=trace", "-vv", "--events", "-"]);
        let expected = run(&["--events", "-"]);
        assert_eq!(ran.status.code(), expected.status.code(), "{}", text(&ran.stderr));
        assert!(ran.stdout == expected.stdout, "{protocol}: other events");
        let said = text(&ran.stderr);
        assert_eq!(said.matches("messages do not reach Graylog at").count(), 1, "{protocol}: {said}");
    }
}

/// A live run that can be asked.
struct Live {
    program: Program,
    commands: TcpStream,
}

impl Live {
    fn start(further: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "--config"]).arg(workspace().join("configs/gdgem-srs.toml"));
        command.args(["--address", "127.0.0.1", "--port", "0", "--for", "10min"]);
        command.args(["--command-port", "127.0.0.1:0"]).args(further);
        let program = Program::start(command);
        let commands = TcpStream::connect(program.await_line("commands at TCP ")).expect("a connection");
        commands.set_read_timeout(Some(patience())).expect("a time-out");
        Self { program, commands }
    }

    fn ask(&mut self, request: &str) -> String {
        self.commands.write_all(request.as_bytes()).expect("it takes the request");
        let mut reply = [0; 9000];
        let read = self.commands.read(&mut reply).expect("a reply");
        text(&reply[..read])
    }
}

/// Reads messages from a connection until one fits, each ended by a byte of 0.
fn read_until(stream: &mut BufReader<TcpStream>, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut messages = Vec::new();
    loop {
        let mut bytes = Vec::new();
        stream.read_until(0, &mut bytes).expect("a message");
        assert_eq!(bytes.pop(), Some(0), "the end of the connection after {messages:?}");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let is_last = fits(&message);
        messages.push(message);
        if is_last {
            return messages;
        }
    }
}

fn accept(listener: &TcpListener) -> BufReader<TcpStream> {
    let (stream, _) = listener.accept().expect("a connection");
    stream.set_read_timeout(Some(patience())).expect("a time-out");
    BufReader::new(stream)
}

fn numbers(messages: &[Value]) -> Vec<u64> {
    messages.iter().filter_map(|message| message["_number"].as_u64()).collect()
}

#[test]
fn graylog_over_tcp_goes_away_and_comes_back() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let gelf = format!("log.gelf.address=tcp://{address}");
    let mut live = Live::start(&[
        "--set",
        &gelf,
        "--set",
        "log.gelf.level=debug",
        "--set",
        "log.gelf.queue=40",
        // Of a hundred equal messages each counts here.
        "--set",
        "log.repeats=0",
        "--log",
        "control=debug",
    ]);
    let mut stream = accept(&listener);
    (1..=3).for_each(|_| drop(live.ask("VERSION_GET")));
    let first = read_until(&mut stream, |message| message["_number"] == 3);
    assert_eq!(numbers(&first), [1, 2, 3]);
    let is_request = |message: &&Value| message["_number"].is_u64();
    for message in first.iter().filter(is_request) {
        assert_eq!((&message["_group"], &message["level"]), (&"control".into(), &7.into()));
        assert_eq!(message["_request"], "VERSION_GET");
        assert!(
            message["_origin"].as_str().is_some_and(|origin| origin.starts_with("command port (127.0.0.1:"))
        );
    }
    // Away: the program finds out by itself, and what is said waits, as much of it as may.
    drop(stream);
    drop(listener);
    live.program.await_said("messages do not reach Graylog at");
    (4..=103).for_each(|_| drop(live.ask("VERSION_GET")));
    let listener = TcpListener::bind(address).expect("the same port");
    let mut stream = accept(&listener);
    let back = read_until(&mut stream, |message| message["_dropped"].is_u64());
    let dropped = back.last().and_then(|last| last["_dropped"].as_u64()).expect("a number");
    assert!((50..=100).contains(&dropped), "{dropped}");
    let said = back.last().and_then(|last| last["short_message"].as_str()).expect("text");
    assert!(said.contains("takes messages again") && said.contains("found no room and are lost"), "{said}");
    // As long as what has waited is not sent, there is no room for more.
    let kept = 100 - dropped;
    let waited = read_until(&mut stream, |message| message["_number"] == 3 + kept);
    assert_eq!(numbers(&waited), (4..4 + kept).collect::<Vec<_>>(), "{dropped} were dropped");
    assert_eq!(
        live.ask("STAT_GET_NAME log.gelf_dropped_full"),
        format!("STAT_GET_NAME log.gelf_dropped_full {dropped}")
    );
    assert_eq!(live.ask("EXIT"), "<OK>");
    let rest = read_until(&mut stream, |message| message["_verdict"].is_string());
    assert_eq!(numbers(&rest), [104]);
    let exit = rest.iter().find(|message| message["_request"] == "EXIT").expect("who ended it");
    assert_eq!(exit["level"], 5);
    assert!(live.program.ended().0.code().is_some());
}

#[test]
fn secrets_are_not_said_however_much_is() {
    let secret = "hunter2-correct-horse";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, secret).expect("a file");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("rights");
    let config = folder.path().join("kafka.toml");
    let table = format!(
        "\n[outputs.kafka]\nbrokers = \"127.0.0.1:1\"\ntopic = \"events\"\npassword_file = {file:?}\n\
         options = {{ \"security.protocol\" = \"sasl_plaintext\", \"sasl.mechanism\" = \"PLAIN\", \"sasl.username\" = \"user\" }}\n"
    );
    let plain = std::fs::read_to_string(workspace().join("configs/gdgem-srs.toml")).expect("a configuration");
    std::fs::write(&config, plain + &table).expect("a file");
    let ran = Command::new(PROGRAM)
        .args(["run", "-vv", "--log-format", "json", "--config"])
        .arg(&config)
        .arg(workspace().join("data/gdgem-srs.pcapng"))
        .output()
        .expect("the program starts");
    let said = text(&ran.stderr) + &text(&ran.stdout);
    assert!(said.contains("127.0.0.1:1"), "{said}");
    assert!(!said.contains(secret), "{said}");
}

//! Measurements whose sender is on another host: agent and measurement over loopback, and everything that can go wrong between them.

use crate::common::{PROGRAM, command_lines, send_signal, text, wait_until};
use evforge_measure::result_file;
use evforge_measure::table::Cell;
use evforge_testkit::patience::patience;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// An agent under way, killed if the test ends early.
struct Agent {
    child: Child,
    address: String,
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Ended already in some tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(folder: &Path, name: &str, token: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, token).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    path
}

fn start(folder: &Path, token: &Path) -> Agent {
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "agent", "--listen", "127.0.0.1:0", "--token-file"]).arg(token);
    command.env("TMPDIR", folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let line = lines.next().expect("it says where it is").expect("text");
    let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).expect("an address");
    let address = address.trim_end_matches(';').to_owned();
    // Somebody must go on reading, or it could stop at a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    Agent { child, address }
}

fn sweep(folder: &Path, agent: &str, token: &Path, time: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "sweep", "--sender", agent, "--address", "127.0.0.1", "--size", "1472"]);
    command.args([
        "--method", "batched", "--buffer", "default", "--rate", "5kpps", "--rounds", "2", "--for", time,
    ]);
    command.arg("--token-file").arg(token).arg("--output").arg(folder.join("result")).env("TMPDIR", folder);
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Senders that the agent has started, by the folder in which their reports go.
fn senders(folder: &Path) -> usize {
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let is_sender =
        |line: &String| line.contains(&name) && line.contains("evforge-agent") && line.contains(" send ");
    command_lines().iter().filter(|(_, line)| is_sender(line)).count()
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_sender_on_another_host_measures_as_one_on_this() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = token(folder.path(), "token", TOKEN);
    let mut agent = start(folder.path(), &token);
    let output = sweep(folder.path(), &agent.address, &token, "300ms").output().expect("it starts");
    assert!(output.status.success(), "{}", said(&output));
    let result = result_file::read(&folder.path().join("result")).expect("a result");
    assert!(result.verdict.is_good, "{:?}", result.verdict);
    let table = result.table("points").expect("a table");
    let value = |name: &str| table.rows[0][table.column(name).expect(name)].value();
    assert!(value("sent_rate").is_some_and(|rate| rate > 1.0), "{table:?}");
    assert!(value("sender_programs").is_some(), "the agent tells what the sender's core did: {table:?}");
    assert!(
        result.settings.iter().any(|setting| setting.value.contains("by an agent")),
        "{:?}",
        result.settings
    );
    send_signal(agent.child.id(), "INT");
    assert!(agent.child.wait().expect("it ends").success());
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|file| file.expect("a file").file_name())
        .collect();
    assert_eq!(left.len(), 2, "result and token: {left:?}");
}

#[test]
fn an_agent_sends_streams_of_numbered_packets_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = token(folder.path(), "token", TOKEN);
    let agent = start(folder.path(), &token);
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "placement", "--sender", &agent.address, "--address", "127.0.0.1"]);
    command.args(["--streams", "1", "--rate", "5kpps", "--rounds", "1", "--for", "200ms", "--token-file"]);
    command.arg(&token).arg("--output").arg(folder.path().join("result")).env("TMPDIR", folder.path());
    let output = command.output().expect("it starts");
    let result = result_file::read(&folder.path().join("result"));
    let result = result.unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    let table = result.table("assignments").expect("a table");
    let all = |name: &str| -> Vec<_> {
        let column = table.column(name).expect(name);
        table.rows.iter().map(|row| row[column].clone()).collect()
    };
    assert!(all("sent_rate").iter().all(|cell| cell.value().is_some_and(|rate| rate > 1.0)), "{table:?}");
    // The sender is not here, and no interface was named.
    assert!(all("interrupt").iter().all(|cell| *cell == Cell::text("unknown")), "{table:?}");
    let is_untested = |part: &str| result.findings.iter().any(|found| found.starts_with(part));
    assert!(is_untested("Untested, as the sender is not on this host"), "{:?}", result.findings);
}

#[test]
fn a_wrong_token_an_agent_that_is_not_there_and_another_version_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let right = token(folder.path(), "token", TOKEN);
    let wrong = token(folder.path(), "wrong", "ffffffffffffffffffffffffffffffff");
    let agent = start(folder.path(), &right);
    let output = sweep(folder.path(), &agent.address, &wrong, "300ms").output().expect("it starts");
    assert!(!output.status.success() && said(&output).contains("the token is wrong"), "{}", said(&output));
    let output = sweep(folder.path(), "127.0.0.1:1", &right, "300ms").output().expect("it starts");
    assert!(!output.status.success() && said(&output).contains("no agent answers at"), "{}", said(&output));
    assert!(said(&output).contains("evforge measure agent --listen"), "{}", said(&output));
    let ask = |request: &str| {
        let mut connection = TcpStream::connect(&agent.address).expect("the agent");
        connection.set_read_timeout(Some(patience())).expect("a time");
        connection.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let request = |version: &str, arguments: &str| {
        format!(
            "{{\"protocol\":1,\"evforge\":\"{version}\",\"token\":\"{TOKEN}\",\"arguments\":{arguments}}}\n"
        )
    };
    let own = env!("CARGO_PKG_VERSION");
    for (request, reason) in [
        (request("0.0.9", "[\"send\",\"--for\",\"1s\"]"), "install the same on both hosts"),
        (request(own, "[\"run\",\"--config\",\"a\"]"), "nothing else, not `run`"),
        (request(own, "[\"send\",\"--for\",\"1s\",\"--report\",\"/tmp/x\"]"), "`--report`"),
        ("{\"protocol\":1}\n".to_owned(), "no request"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "no request"),
    ] {
        let answer = ask(&request);
        assert!(answer.contains("refused") && answer.contains(reason), "{request}: {answer}");
    }
    // Whoever says nothing, or goes away, disturbs nobody.
    let _silent: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(&agent.address).expect("the agent")).collect();
    let output = sweep(folder.path(), &agent.address, &right, "200ms").output().expect("it starts");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn whatever_ends_one_end_ends_the_sender_and_is_said() {
    for (ends_agent, signal) in [(true, "KILL"), (true, "TERM"), (false, "KILL"), (false, "INT")] {
        let folder = tempfile::tempdir().expect("a folder");
        let token = token(folder.path(), "token", TOKEN);
        let mut agent = start(folder.path(), &token);
        let mut command = sweep(folder.path(), &agent.address, &token, "10min");
        let mut measure = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_until("sending", || senders(folder.path()) > 0);
        let ended = if ends_agent { agent.child.id() } else { measure.id() };
        send_signal(ended, signal);
        let status = measure.wait().expect("it ends");
        assert!(!status.success(), "{signal}: {status}");
        let mut complaint = String::new();
        measure.stderr.take().expect("piped").read_to_string(&mut complaint).expect("text");
        if ends_agent {
            assert!(complaint.contains("was lost"), "{signal}: {complaint}");
        }
        wait_until(signal, || senders(folder.path()) == 0);
        if !ends_agent {
            // The agent goes on for others.
            let output = sweep(folder.path(), &agent.address, &token, "200ms").output().expect("it starts");
            assert!(output.status.success(), "{signal}: {}", said(&output));
            send_signal(agent.child.id(), "TERM");
        }
        agent.child.wait().expect("it ends");
    }
}

//! The command port of a real run: scripts of both generations of the EFU, and whoever means ill.

use crate::common::{PROGRAM, evforge, workspace};
use evforge_testkit::patience::{patience, wait_for, wait_until};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A live run with a command port.
struct Run {
    child: Child,
    commands: SocketAddr,
    packets: String,
    report: PathBuf,
}

impl Drop for Run {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Run {
    fn start(folder: &Path, further: &[&str]) -> Self {
        let report = folder.join("report.json");
        let mut child = Command::new(PROGRAM)
            .args(["run", "--config"])
            .arg(workspace().join("configs/gdgem-srs.toml"))
            .args(["--address", "127.0.0.1", "--port", "0", "--for", "10min", "--report"])
            .arg(&report)
            .args(["--command-port", "127.0.0.1:0"])
            .args(further)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut after = |begin: &str| {
            let mut said = String::new();
            loop {
                let line = lines.next().unwrap_or_else(|| panic!("no {begin:?} in {said}")).expect("text");
                if let Some(rest) = line.strip_prefix(begin) {
                    return rest.to_owned();
                }
                said.push_str(&line);
            }
        };
        let commands = after("commands at TCP ").parse().expect("an address");
        let packets = after("receiving at UDP ");
        // Somebody must go on reading, or the program could stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, commands, packets, report }
    }

    fn connect(&self) -> Client {
        Client::new(self.commands)
    }

    /// Sends it packets: how many.
    fn replay(&self) -> i64 {
        let capture = workspace().join("data/gdgem-srs.pcapng");
        let sent =
            evforge(&["replay", capture.to_str().expect("text"), "--to", &self.packets, "--rate", "2kpps"]);
        let said = crate::common::text(&sent.stdout);
        let count = said.strip_prefix("sent ").and_then(|rest| rest.split_once(" packets"));
        count.and_then(|(count, _)| count.replace(' ', "").parse().ok()).unwrap_or_else(|| panic!("{said}"))
    }

    /// Ends it by the command: its report.
    fn exit(mut self) -> Value {
        assert_eq!(self.connect().ask("EXIT"), "<OK>");
        let status = self.child.wait().expect("it ends");
        let report = std::fs::read(&self.report).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        assert!(status.success(), "{status}: {report:#}");
        report
    }
}

/// A script's connection.
struct Client(TcpStream);

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, patience()).expect("a connection");
        stream.set_read_timeout(Some(patience())).expect("a time-out");
        stream.set_write_timeout(Some(patience())).expect("a time-out");
        stream.set_nodelay(true).expect("an option");
        Self(stream)
    }

    /// What is replied to a request.
    fn ask(&mut self, request: &str) -> String {
        self.0.write_all(request.as_bytes()).expect("it takes the request");
        let mut reply = [0; 9000];
        let read = self.0.read(&mut reply).expect("a reply");
        String::from_utf8(reply[..read].to_vec()).expect("text")
    }

    /// Whether the other side has closed it, without having said anything.
    fn was_closed(mut self) -> bool {
        match self.0.read(&mut [0; 100]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    fn number(&mut self, request: &str) -> i64 {
        let reply = self.ask(request);
        let last = reply.rsplit(' ').next().and_then(|word| word.parse().ok());
        last.unwrap_or_else(|| panic!("{request}: {reply}"))
    }

    /// Asks again and again until the counter has this value.
    fn wait_for(&mut self, counter: &str, value: i64) {
        let request = format!("STAT_GET_NAME {counter}");
        wait_until(format!("{counter} is {value}"), || self.number(&request) == value);
    }
}

fn version() -> String {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("VERSION_GET {} evforge-{os}-{arch}", env!("CARGO_PKG_VERSION"))
}

#[test]
fn a_script_of_2018_gets_the_replies_of_2018() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &["--set", "control.commands=\"2018\""]);
    let mut script = run.connect();
    for (request, expected) in [
        ("VERSION_GET", version().as_str()),
        ("VERSION_GET\n", version().as_str()),
        ("CMD_GET_COUNT", "CMD_GET_COUNT 7"),
        ("CMD_GET 1", "CMD_GET CMD_GET"),
        ("CMD_GET 2", "CMD_GET CMD_GET_COUNT"),
        ("CMD_GET 3", "CMD_GET DETECTOR_INFO_GET"),
        ("CMD_GET 4", "CMD_GET EXIT"),
        ("CMD_GET 5", "CMD_GET STAT_GET"),
        ("CMD_GET 6", "CMD_GET STAT_GET_COUNT"),
        ("CMD_GET 7", "CMD_GET VERSION_GET"),
        ("CMD_GET 8", "Error: <BADARGS>"),
        ("CMD_GET", "Error: <BADARGS>"),
        ("DETECTOR_INFO_GET", "DETECTOR_INFO_GET gdgem-srs"),
        ("STAT_GET 999999", "STAT_GET  -1"),
        ("RUNTIMESTATS", "Error: <BADCMD>"),
        ("STAT_GET_NAME main.uptime", "Error: <BADCMD>"),
        ("NO_SUCH_COMMAND", "Error: <BADCMD>"),
        ("\n", "Error: <BADCMD>"),
        ("EXIT 1", "Error: <BADARGS>"),
        ("CMD_GET_COUNT", "CMD_GET_COUNT 7"),
    ] {
        assert_eq!(script.ask(request), expected, "{request:?}");
    }
    // Every counter has a number, from 1 on, and a value from the beginning.
    let count = script.number("STAT_GET_COUNT");
    assert!(count > 50, "{count}");
    let mut names = Vec::new();
    for number in 1..=count {
        let reply = script.ask(&format!("STAT_GET {number}"));
        let [command, name, value] = reply.split(' ').collect::<Vec<_>>()[..] else { panic!("{reply}") };
        assert_eq!(command, "STAT_GET");
        assert!(value.parse::<u64>().is_ok() && !names.contains(&name.to_owned()), "{reply}");
        names.push(name.to_owned());
    }
    assert_eq!(names.last().map(String::as_str), Some("main.uptime"));
    assert_eq!(script.ask(&format!("STAT_GET {}", count + 1)), "STAT_GET  -1");
    drop(script);
    // A run without packets was of no use.
    run.replay();
    let report = run.exit();
    assert_eq!(report["ending"], "stopped");
    assert_eq!(report["control"]["state_changes"], 1, "{:#}", report["control"]);
}

#[test]
fn a_script_of_2026_gets_the_replies_of_2026() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &[]);
    let mut script = run.connect();
    let commands = [
        "CALIB_MODE_GET",
        "CALIB_MODE_SET",
        "CMD_GET",
        "CMD_GET_COUNT",
        "DETECTOR_INFO_GET",
        "EXIT",
        "RUNTIMESTATS",
        "STAT_GET",
        "STAT_GET_COUNT",
        "STAT_GET_NAME",
        "VERSION_GET",
    ];
    assert_eq!(script.ask("CMD_GET_COUNT"), "CMD_GET_COUNT 11");
    for (number, name) in (1..).zip(commands) {
        assert_eq!(script.ask(&format!("CMD_GET {number}")), format!("CMD_GET {name}"));
    }
    for (request, expected) in [
        ("VERSION_GET", version().as_str()),
        ("DETECTOR_INFO_GET", "DETECTOR_INFO_GET gdgem-srs"),
        ("STAT_GET_NAME detector.readouts", "STAT_GET_NAME detector.readouts 0"),
        ("STAT_GET_NAME no.such.counter", "STAT_GET_NAME no.such.counter -1"),
        ("STAT_GET_NAME", "Error: <BADARGS>"),
        ("RUNTIMESTATS", "RUNTIMESTATS 0"),
        ("CALIB_MODE_GET", "CALIB_MODE_GET 0"),
        ("CALIB_MODE_SET 0", "<OK>"),
        // No output takes raw packets.
        ("CALIB_MODE_SET 1", "Error: <BADARGS>"),
        ("CALIB_MODE_SET on", "Error: <BADARGS>"),
        ("CALIB_MODE_GET", "CALIB_MODE_GET 0"),
    ] {
        assert_eq!(script.ask(request), expected, "{request:?}");
    }
    script.wait_for("detector.packets_received", run.replay());
    // Packets have come, events were formed.
    assert_eq!(script.number("RUNTIMESTATS") & 3, 3);
    let readouts = script.number("STAT_GET_NAME detector.readouts");
    assert!(readouts > 0);
    let report = run.exit();
    assert_eq!(report["streams"][0]["readouts"], readouts);
    assert_eq!(report["control"]["commands_refused"], 1, "{:#}", report["control"]);
}

/// Floods, half words, lines of a megabyte, clients that take no reply, and more clients than there may be: the run takes all
/// its packets, and the port answers as before.
#[test]
fn garbage_on_the_port_harms_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run::start(folder.path(), &[]);
    let address = run.commands;
    // One that asks for nothing, and one that sends a byte now and then.
    let idle = run.connect();
    let mut slow = run.connect();
    // Some that flood, and take no reply.
    let floods: Vec<_> = [b"VERSION_GET \n".to_vec(), vec![b'A'; 1 << 20], (0..=255).collect::<Vec<u8>>()]
        .into_iter()
        .map(|bytes| {
            std::thread::spawn(move || {
                let mut client = Client::new(address);
                client.0.set_nonblocking(true).expect("a setting");
                // Until the buffers are full, or it is cut off: 8 MB are more than they hold.
                for _ in 0..(8 << 20) / bytes.len() {
                    if client.0.write_all(&bytes).is_err() {
                        break;
                    }
                }
                client
            })
        })
        .collect();
    assert_eq!(slow.ask("V"), "Error: <BADCMD>", "a part of a word is a word");
    assert_eq!(slow.ask("ERSION_GET"), "Error: <BADCMD>");
    // A line of a megabyte: a reply for each piece of it, whatever it is.
    let mut long = run.connect();
    long.0.write_all(&vec![b'x'; 1 << 20]).expect("it takes them");
    let mut reply = [0; 15];
    long.0.read_exact(&mut reply).expect("a reply");
    assert!(reply.starts_with(b"Error: <BAD"), "{:?}", String::from_utf8_lossy(&reply));
    // More than there may be: the oldest that have asked for nothing are closed.
    let mut taken: Vec<Client> = (0..20).map(|_| run.connect()).collect();
    assert!(taken.swap_remove(0).was_closed(), "the first of more than sixteen");
    let sent = run.replay();
    drop((idle, slow, long, taken));
    let clients: Vec<_> = floods.into_iter().map(|flood| flood.join().expect("no panic")).collect();
    drop(clients);
    // Places become free again.
    let mut script = wait_for("a place becomes free", || {
        let mut client = Client::new(address);
        let is_answered = client.0.write_all(b"VERSION_GET").is_ok()
            && client.0.read(&mut [0; 100]).is_ok_and(|read| read > 0);
        is_answered.then_some(client)
    });
    assert_eq!(script.ask("CMD_GET_COUNT"), "CMD_GET_COUNT 11");
    drop(script);
    let report = run.exit();
    let packets = &report["streams"][0]["packets"];
    assert_eq!(
        (&packets["lost"], &report["streams"][0]["unaccounted"]),
        (&0.into(), &0.into()),
        "{packets:#}"
    );
    assert_eq!(packets["received"], sent, "{packets:#}");
    let control = &report["control"];
    assert!(control["connections_refused"].as_u64().is_some_and(|refused| refused >= 1), "{control:#}");
    assert!(control["commands_unknown"].as_u64().is_some_and(|unknown| unknown >= 3), "{control:#}");
}

fn refused(further: &[&str]) -> String {
    let output = Command::new(PROGRAM)
        .args(["run", "--config"])
        .arg(workspace().join("configs/gdgem-srs.toml"))
        .args(["--port", "0", "--for", "10s"])
        .args(further)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1), "{}", crate::common::text(&output.stderr));
    crate::common::text(&output.stderr)
}

#[test]
fn an_address_that_others_reach_is_refused_unless_it_is_said_that_it_may_be() {
    let said = refused(&["--command-port", "0.0.0.0:0"]);
    assert!(said.contains("control.command_port") && said.contains("control.allow_remote = true"), "{said}");
    let folder = tempfile::tempdir().expect("a folder");
    let allowed = ["--set", "control.command_port=\"0.0.0.0:0\"", "--set", "control.allow_remote=true"];
    let run = Run::start(folder.path(), &["--set", "control.allow_remote=true"]);
    assert_eq!(run.connect().ask("CMD_GET_COUNT"), "CMD_GET_COUNT 11");
    let busy = run.commands.to_string();
    let output = Command::new(PROGRAM)
        .args(["run", "--config"])
        .arg(workspace().join("configs/gdgem-srs.toml"))
        .args(["--check"])
        .args(allowed)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", crate::common::text(&output.stderr));
    // A port that is taken.
    let output = Command::new(PROGRAM)
        .args(["run", "--config"])
        .arg(workspace().join("configs/gdgem-srs.toml"))
        .args(["--port", "0", "--for", "10s", "--command-port", &busy])
        .output()
        .expect("the program runs");
    let said = crate::common::text(&output.stderr);
    assert!(
        !output.status.success() && said.contains(&format!("the command port {busy} cannot be opened")),
        "{said}"
    );
    run.replay();
    run.exit();
}

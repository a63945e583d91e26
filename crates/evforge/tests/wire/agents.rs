//! A measurement between two hosts, which are two network namespaces: its figures, and what is left of it on both whatever ends it.
//! Needs root.

use crate::common::{PROGRAM, command_lines, send_signal, text, wait_until};
use evforge_measure::result_file;
use evforge_measure::table::Cell;
use evforge_testkit::veth::{RECEIVER_ADDRESS, SENDER_ADDRESS, Wire, ip, is_possible, with_wire};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// An agent in the sender's namespace, killed if the test ends early.
struct Agent {
    child: Child,
    address: String,
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Ended already in some cases.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(folder: &Path) -> PathBuf {
    let path = folder.join("token");
    std::fs::write(&path, TOKEN).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    path
}

fn agent(wire: &Wire, folder: &Path) -> Agent {
    let listen = format!("{}:0", Ipv4Addr::from(SENDER_ADDRESS));
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "agent", "--listen", &listen, "--token-file"]).arg(folder.join("token"));
    command.env("TMPDIR", folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = wire.at_sender(|| command.spawn().expect("it starts"));
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let line = lines.next().expect("it says where it is").expect("text");
    let address = line.split_whitespace().find(|word| word.contains(':') && word.starts_with("10."));
    let address = address.expect("an address").trim_end_matches(';').to_owned();
    // Somebody must go on reading, or it could stop at a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    Agent { child, address }
}

/// At a rate that every machine has, so that figures are the same within noise wherever the hosts are.
fn sweep(folder: &Path, name: &str, time: &str, rounds: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["measure", "sweep", "--size", "1472", "--method", "batched", "--buffer", "12MB"]);
    command.args(["--rate", "10kpps", "--for", time, "--rounds", rounds, "--output"]).arg(folder.join(name));
    command.env("TMPDIR", folder);
    command
}

fn by_agent(mut command: Command, folder: &Path, agent: &Agent) -> Command {
    command.args(["--sender", &agent.address, "--address", &Ipv4Addr::from(RECEIVER_ADDRESS).to_string()]);
    command.arg("--token-file").arg(folder.join("token"));
    command
}

fn run(mut command: Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// All settings of the network, and all interfaces with theirs, of the namespace of this thread.
fn network() -> (BTreeMap<PathBuf, String>, String) {
    let mut settings = BTreeMap::new();
    // Of the namespace of whoever reads it.
    let mut folders = vec![PathBuf::from("/proc/sys/net")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                // Some can only be written; counts are no settings.
                false => {
                    if let Ok(text) = std::fs::read_to_string(&path)
                        && !path.to_string_lossy().contains("count")
                    {
                        settings.insert(path, text);
                    }
                }
            }
        }
    }
    assert!(settings.len() > 100, "{} settings", settings.len());
    (settings, ip("link show"))
}

fn both(wire: &Wire) -> [(BTreeMap<PathBuf, String>, String); 2] {
    [network(), wire.at_sender(network)]
}

fn programs_of(folder: &Path) -> usize {
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    command_lines().iter().filter(|(_, line)| line.contains(&name)).count()
}

fn cell(folder: &Path, name: &str, column: &str) -> Cell {
    let result = result_file::read(&folder.join(name)).expect("a result");
    assert!(result.verdict.is_good, "{:?}", result.verdict);
    let table = result.table("points").expect("a table");
    table.rows[0][table.column(column).expect(column)].clone()
}

#[test]
fn two_hosts_measure_as_one_with_two_namespaces_and_stay_as_they_were() {
    if !is_possible("two_hosts_measure_as_one_with_two_namespaces_and_stay_as_they_were") {
        return;
    }
    with_wire(1, 9000, |wire| {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        token(folder);
        let before = both(wire);
        let mut agent = agent(wire, folder);
        let (mut times, mut names) = (0, [String::new(), String::new()]);
        // A host that is busy, or stopped, makes some figures smaller; what makes a difference does so each time.
        wait_until("two hosts measure what one does", || {
            times += 1;
            names = ["two", "one"].map(|name| format!("{name}-{times}"));
            run(by_agent(sweep(folder, &names[0], "200ms", "3"), folder, &agent));
            run(sweep(folder, &names[1], "200ms", "3"));
            assert_eq!(both(wire), before);
            ["sent_rate", "rate"].iter().all(|column| {
                let [two, one] = [0, 1].map(|place| cell(folder, &names[place], column).value());
                let [two, one] = [two, one].map(|rate| rate.expect("a rate"));
                println!("{column}: {two} and {one} kpps");
                (two / one - 1.0).abs() < 0.05
            })
        });
        send_signal(agent.child.id(), "INT");
        assert!(agent.child.wait().expect("it ends").success());
        assert_eq!(both(wire), before);
        // The comparison finds what differs: where the hosts are.
        let mut compare = Command::new(PROGRAM);
        compare.args(["measure", "compare"]).arg(folder.join(&names[1])).arg(folder.join(&names[0]));
        let said = text(&run(compare).stdout);
        assert!(said.contains("by an agent") && said.contains("two network namespaces"), "{said}");
    });
}

#[test]
fn whatever_is_killed_both_hosts_are_left_as_they_were() {
    if !is_possible("whatever_is_killed_both_hosts_are_left_as_they_were") {
        return;
    }
    with_wire(1, 9000, |wire| {
        for (ends_agent, signal) in [(true, "KILL"), (false, "KILL"), (false, "INT")] {
            let folder = tempfile::tempdir().expect("a folder");
            let folder = folder.path();
            token(folder);
            let before = both(wire);
            let mut agent = agent(wire, folder);
            let mut command = by_agent(sweep(folder, "result", "10min", "1"), folder, &agent);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut measure = command.spawn().expect("it starts");
            // Agent, sender, measurement, receiver, and what stands for the sender here.
            wait_until("sending", || programs_of(folder) >= 5);
            send_signal(if ends_agent { agent.child.id() } else { measure.id() }, signal);
            assert!(!measure.wait().expect("it ends").success(), "{signal}");
            if !ends_agent {
                send_signal(agent.child.id(), "TERM");
            }
            agent.child.wait().expect("it ends");
            wait_until(signal, || programs_of(folder) == 0);
            assert_eq!(both(wire), before, "{signal}");
            assert!(result_file::read(&folder.join("result")).is_err(), "{signal}: there is no result");
        }
    });
}

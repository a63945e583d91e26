//! Live runs of the real program, for the tests.
#![allow(dead_code)]

pub(crate) mod commands;
pub(crate) mod kafka;
pub(crate) mod program;
pub(crate) mod wire;

use evforge_testkit::patience::wait_for;
#[allow(unused_imports)] // each program uses a part
pub(crate) use evforge_testkit::patience::wait_until;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_evforge");

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Commands that refuse files that exist.
const WRITING: [&str; 10] =
    ["run", "simulate", "record", "replay", "dump", "overlay", "score", "accuracy", "send", "receive"];

/// `--overwrite` for the commands that have it: tests write to the same names again.
pub(crate) fn overwriting(arguments: &[&str]) -> Option<&'static str> {
    arguments.first().filter(|command| WRITING.contains(command)).map(|_| "--overwrite")
}

/// Runs the program, which must succeed. Files that exist are replaced.
pub(crate) fn evforge(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    let output = command.args(arguments).args(overwriting(arguments)).output().expect("the program starts");
    let said = || text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}", said());
    output
}

/// Sends a signal, by its name without SIG.
pub(crate) fn send_signal(process: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &process.to_string()]).status();
    assert!(status.expect("kill").success(), "{name}");
}

/// Ends a receiver in good order as soon as it has all that was sent, by senders that have ended. A time without packets would be no
/// sign of it: a busy host makes such pauses, too.
pub(crate) fn end_after_all(receiver: u32) {
    wait_until_taken(receiver);
    send_signal(receiver, "TERM");
}

/// Waits until a receiver has fetched all that was sent before: no core holds packets back, and no socket of it does.
pub(crate) fn wait_until_taken(receiver: u32) {
    wait_until("all that was sent is received", || !is_on_its_way() && !is_in_a_socket(receiver));
}

/// Waits until a program has nothing to do any more: it has all that was sent before, and each of its threads waits for more.
pub(crate) fn wait_until_idle(process: u32) {
    wait_until("the program has done its work", || {
        !is_on_its_way() && !is_in_a_socket(process) && thread_states(process).all(|state| state == 'S')
    });
}

/// Holds a program up while `action` happens, until all that is sent in it has come as far as it can.
pub(crate) fn while_stopped<T>(process: u32, action: impl FnOnce() -> T) -> T {
    send_signal(process, "STOP");
    wait_until("the program is stopped", || thread_states(process).all(|state| state == 'T'));
    let outcome = action();
    wait_until("all is where it goes", || !is_on_its_way());
    send_signal(process, "CONT");
    outcome
}

/// Time on processors that a process has taken so far; none if it has ended.
pub(crate) fn work_of(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may have brackets of its own: state, …, ticks of 10 ms in the program, and those in the kernel.
    let numbers = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    let ticks: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// What each thread of a process does, as `ps` shows it: R runs, S waits, T is stopped.
fn thread_states(process: u32) -> impl Iterator<Item = char> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    // Behind the name, which may have brackets of its own.
    stats.filter_map(|stat| stat.rsplit(") ").next()?.chars().next())
}

/// True if a core has packets that it has not brought to their sockets yet.
pub(crate) fn is_on_its_way() -> bool {
    let cores = std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    // The length of its backlog, in kernels that have this column.
    cores.lines().any(|core| core.split(' ').nth(11).is_some_and(|length| length != "00000000"))
}

/// True if packets, or bytes of a connection, wait in a socket of a process.
fn is_in_a_socket(process: u32) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let names = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    let own: Vec<String> = names.filter_map(|name| name.to_str().map(str::to_owned)).collect();
    ["udp", "tcp"].iter().any(|kind| {
        // Of its own network namespace.
        let sockets = std::fs::read_to_string(format!("/proc/{process}/net/{kind}")).unwrap_or_default();
        sockets.lines().skip(1).any(|socket| {
            let columns: Vec<&str> = socket.split_whitespace().collect();
            // Of UDP, or of a connection that both ends have: a port that is listened at counts connections, and an end the end.
            let carries_data = ["07", "01"].contains(&columns[3]);
            carries_data
                && !columns[4].ends_with(":00000000")
                && own.contains(&format!("socket:[{}]", columns[9]))
        })
    })
}

/// Ports that nobody has, neither by UDP nor by TCP. They lie below those that the kernel gives to whoever asks for any, and no other
/// test is given them.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let next = || {
        let number = std::process::id().wrapping_mul(61).wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(10_000 + number % 20_000).expect("a port");
        let at = (Ipv4Addr::LOCALHOST, port);
        (UdpSocket::bind(at).is_ok() && TcpListener::bind(at).is_ok()).then_some(port)
    };
    [(); N].map(|()| wait_for("a free port", next))
}

/// What an output has put into its file, which has a longer name until it is whole; none before it has begun.
pub(crate) fn written(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    let file =
        paths.find(|path| path.file_name().is_some_and(|own| own.to_string_lossy().starts_with(name)))?;
    std::fs::read(file).ok()
}

/// The command lines of all processes, with blanks between arguments, by their numbers.
pub(crate) fn command_lines() -> Vec<(u32, String)> {
    let processes = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let of = |process: std::fs::DirEntry| {
        let number = process.file_name().to_string_lossy().parse().ok()?;
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        Some((number, text(&line).replace('\0', " ")))
    };
    processes.filter_map(of).collect()
}

/// The Python with the packages of `tests/python/requirements.txt`.
pub(crate) fn python(test: &str) -> Option<PathBuf> {
    let interpreter = std::env::var_os("EVFORGE_PYTHON")
        .map_or_else(|| workspace().join(".venv/bin/python"), PathBuf::from);
    // The packages take seconds to import: one test of a program tries for all.
    static HAS_PACKAGES: OnceLock<bool> = OnceLock::new();
    let has_packages = *HAS_PACKAGES.get_or_init(|| {
        let mut probe = Command::new(&interpreter);
        probe.args(["-c", "import h5py, scipp, scippnexus"]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    });
    if has_packages {
        return Some(interpreter);
    }
    evforge_testkit::skip(
        test,
        &format!(
            "{} cannot import h5py and scippnexus: `make test-tools` installs it",
            interpreter.display()
        ),
    );
    None
}

/// A live run under way, killed if the test ends early.
pub(crate) struct LiveProgram {
    child: Child,
    /// Where it receives.
    pub(crate) address: String,
    /// Where it takes commands, if it does.
    commands: Option<String>,
    report: PathBuf,
    events: PathBuf,
}

impl Drop for LiveProgram {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LiveProgram {
    /// Starts a run on a port that the kernel chooses; `further` are further arguments. What a sender makes up for at once after it
    /// was held up has room in its buffer.
    pub(crate) fn start(config: &Path, folder: &Path, further: &[&str]) -> Self {
        let further = [&["--address", "127.0.0.1"], further].concat();
        Self::start_by(Command::new(PROGRAM), config, folder, &further)
    }

    /// The same, by a command that runs the program with the arguments after its own; `further` says the address.
    pub(crate) fn start_by(mut command: Command, config: &Path, folder: &Path, further: &[&str]) -> Self {
        let (report, events) = (folder.join("live.json"), folder.join("live.csv"));
        command.args(["run", "--overwrite", "--port", "0", "--for", "10min", "--set", "receive.buffer=64MB"]);
        command.arg("--config").arg(config).arg("--report").arg(&report).arg("--events").arg(&events);
        command.args(further);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let (mut said, mut commands) = (String::new(), None);
        let address = loop {
            let Some(line) = lines.next() else { panic!("the program does not receive: {said}") };
            let line = line.expect("text");
            said.push_str(&line);
            commands = commands.or_else(|| line.strip_prefix("commands at TCP ").map(str::to_owned));
            if let Some(address) = line.strip_prefix("receiving at UDP ") {
                break address.to_owned();
            }
        };
        // Somebody must go on reading, or the program could stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, commands, report, events }
    }

    /// Number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A counter, of a run with a command port.
    pub(crate) fn counter(&self, name: &str) -> i64 {
        let mut port =
            TcpStream::connect(self.commands.as_ref().expect("a command port")).expect("it is there");
        port.write_all(format!("STAT_GET_NAME {name}").as_bytes()).expect("it takes the request");
        let mut reply = [0; 1000];
        let read = port.read(&mut reply).expect("a reply");
        let reply = text(&reply[..read]);
        reply.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{reply}"))
    }

    pub(crate) fn signal(&self, name: &str) {
        send_signal(self.child.id(), name);
    }

    /// Ends it once it has all that was sent, which must be a good end: the stream of its report, and its events.
    pub(crate) fn finish(self) -> (Value, String) {
        let (success, stream, events) = self.outcome();
        assert!(success);
        (stream, events)
    }

    /// Ends it once it has all that was sent: whether that was a good end, the stream of its report, and its events.
    pub(crate) fn outcome(self) -> (bool, Value, String) {
        end_after_all(self.child.id());
        self.ended()
    }

    /// The same of one that something else ends.
    pub(crate) fn ended(mut self) -> (bool, Value, String) {
        let success = self.child.wait().expect("it ends").success();
        let report: Value =
            serde_json::from_slice(&std::fs::read(&self.report).expect("a report")).expect("JSON");
        let events = std::fs::read_to_string(&self.events).expect("events");
        (success, report["streams"][0].clone(), events)
    }
}

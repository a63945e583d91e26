//! The help of all commands: `-h` fits on a screen, `--help` has everything, and the examples in it work as they are.

use crate::common::commands::{commands, help};
use crate::common::{PROGRAM, text, workspace};
use evforge_testkit::kafka_broker::{Broker, BrokerOptions};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// A screen: what `-h` may take.
const LINES: usize = 30;
const COLUMNS: usize = 100;
/// How long an example that has no end of its own is watched.
const WATCHED: &str = "2s";
/// Whether an example catches SIGINT, or has ended.
const LISTENS: &str = r#"listens() {
    kill -0 $example || return 0
    local of=/proc/$(cat /proc/$example/task/$example/children | tr -d ' ')
    grep -q evforge $of/comm && [ $((0x0$(sed -n 's/^SigCgt:\s*//p' $of/status) & 2)) -ne 0 ]
} 2>/dev/null"#;

/// The examples in a help text.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    lines.take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_common_options_fit_on_a_screen_and_the_rest_is_under_headings() {
    assert!(help("", "-h").lines().count() <= 50, "the list of commands");
    for command in commands() {
        let (short, long) = (help(&command, "-h"), help(&command, "--help"));
        let lines = short.lines().count();
        assert!(lines <= LINES, "`{command} -h` has {lines} lines:\n{short}");
        // The usage is one line, which clap does not wrap.
        let wide = short
            .lines()
            .filter(|line| !line.starts_with("Usage:"))
            .find(|line| line.chars().count() > COLUMNS);
        assert_eq!(wide, None, "{command} -h");
        assert_eq!(examples(&short), examples(&long), "{command}");
        assert!(!examples(&long).is_empty(), "`{command}` has no example");
        let options = |help: &str| -> BTreeSet<String> {
            let words = help.split([' ', '\n', ',']).filter(|word| word.starts_with("--"));
            words.map(|word| word.trim_matches(['`', ')', '(', ':', '.']).to_owned()).collect()
        };
        assert!(options(&short).is_subset(&options(&long)), "{command}: `--help` has less than `-h`");
        assert!(long.contains("Exit status:"), "{command}");
    }
}

/// Waits until somebody receives at so many of the UDP ports of examples, in a network of one's own: 6006, 9000, from 9100 and from 9200 on.
/// Sockets of a program that tries what the kernel can do have others. What comes before its run begins waits in the socket.
fn until_received_at(ports: u32) -> String {
    let taken = "grep -cE ' [0-9A-F]{8}:(1776|2328|238[C-F]|23F[0-3]) 0' /proc/net/udp";
    format!("until [ \"$({taken})\" -ge {ports} ]; do sleep 0.02; done")
}

/// What receives while an example sends, and what sends while one receives.
fn companion(example: &str) -> (String, String) {
    let is_of = |command: &str| example.starts_with(&format!("evforge {command} "));
    let receiving =
        |command: &str, ports| (format!("{command} & {}", until_received_at(ports)), String::new());
    let sending = |command: &str, ports| (String::new(), format!("{}; {command}", until_received_at(ports)));
    let before = |command: &str| (command.to_owned(), String::new());
    if is_of("replay") {
        receiving("evforge run --config configs/gdgem-srs.toml --quiet", 1)
    } else if is_of("record") || is_of("run") && example.contains("--for") {
        sending("evforge replay run.pcapng --unpaced", 1)
    } else if is_of("send") {
        receiving("evforge receive --quiet", 1)
    } else if is_of("receive") {
        sending("evforge send --rate 1kpps --for 1 --quiet", 1)
    } else if is_of("ctl") {
        // A run with a page, and data in it.
        let run = "evforge run --config configs/gdgem-srs.toml --view 127.0.0.1:8080 --monitor monitor.json --quiet";
        let (run, _) = receiving(run, 1);
        let page = "until (: < /dev/tcp/127.0.0.1/8080) 2> no-page; do sleep 0.02; done";
        let replay = "evforge replay run.pcapng --unpaced > replayed.txt";
        let formed = "evforge ctl counters detector.packets_formed_from --json | tr -dc 0-9";
        let formed = format!("until [ \"$({formed})\" -gt 0 ]; do sleep 0.02; done");
        before(&format!("{run}; {page}; {replay}; {formed}"))
    } else if is_of("drop send") {
        receiving("evforge drop receive --streams 4 --quiet", 4)
    } else if is_of("drop receive") {
        sending("evforge drop send --streams 4 --rate 1kpps --blocks 1 --quiet", 4)
    } else if is_of("train send") {
        receiving("evforge train receive --senders 2 --stride 0 --quiet", 1)
    } else if is_of("view") {
        before("mv killed.nxs run.nxs 2>/dev/null;")
    } else if is_of("train repair") {
        before("mkdir -p data/r0012;")
    } else if is_of("train receive") {
        sending("evforge train send --trains 5 --rate 20kpps --quiet", 1)
    } else {
        (String::new(), String::new())
    }
}

/// A broker for the examples that read topics, with what they read; none where there cannot be one, which is said.
fn broker() -> Option<Broker> {
    let test = "the_examples_in_the_help_work_as_they_are (evforge kafka)";
    let is_possible = evforge_testkit::kafka_broker::is_possible(test);
    is_possible.then(|| {
        let makes = ("auto.create.topics.enable".to_owned(), "true".to_owned());
        let broker = Broker::with(BrokerOptions { properties: vec![makes], ..BrokerOptions::default() });
        for topic in ["freia_events", "hrpdx_rawEvents"] {
            let typed = format!("kafka test-image --to {topic} --pulses 20 --events 100 --quiet");
            let filled = Command::new(PROGRAM)
                .args(typed.split(' '))
                .env("EVFORGE_KAFKA_BROKERS", broker.address())
                .output()
                .expect("the program starts");
            assert!(filled.status.success(), "{}", text(&filled.stderr));
        }
        // Raw packets in one topic, events in the usual ones.
        let keys: [&[&str]; 2] = [&["topic=freia", "packets.calibration=true"], &[]];
        for keys in keys {
            let set = keys.iter().flat_map(|key| ["--set".to_owned(), format!("outputs.kafka.{key}")]);
            let sent = Command::new(PROGRAM)
                .args(["run", "--quiet", "--config", "configs/freia.toml", "data/freia.pcapng"])
                .args(set)
                .args(["--set", &format!("outputs.kafka.brokers={}", broker.address())])
                .current_dir(workspace())
                .output()
                .expect("the program starts");
            assert!(sent.status.success(), "{}", text(&sent.stderr));
        }
        broker
    })
}

/// Runs an example by a shell in a folder of its own, with a loopback interface of its own; one of `evforge kafka` on that of the
/// host, where the broker is.
fn run(example: &str, made: &Path, broker: Option<&Broker>) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in std::fs::read_dir(made).expect("what was made") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), folder.path().join(entry.file_name()));
        if from.is_symlink() {
            std::os::unix::fs::symlink(from.read_link().expect("a link"), to).expect("a link");
        } else {
            std::fs::copy(from, to).expect("a copy");
        }
    }
    // What goes on until somebody ends it is ended by Ctrl-C.
    let endless = ["--for", "--idle", "evforge demo", "evforge serve", "evforge measure agent"];
    // These end by themselves; `--for` is the time of each of their points.
    let ending = ["evforge ctl", "evforge measure"];
    let is_endless = endless.iter().any(|part| example.contains(part))
        && !ending.iter().any(|command| example.starts_with(command));
    let (before, alongside) = companion(example);
    // Somebody who ends it does so when it has what is sent to it, or else some time after it has begun to listen to signals.
    let ended = match (is_endless, alongside.is_empty()) {
        (false, _) => String::new(),
        (true, false) => "kill -INT $example".to_owned(),
        (true, true) => {
            format!("{LISTENS}\nuntil listens; do sleep 0.05; done; sleep {WATCHED}; kill -INT $example")
        }
    };
    // A search for the highest rate repeats what a busy machine disturbs, and ends by itself.
    let patience =
        evforge_testkit::patience::patience() * if example.starts_with("evforge measure") { 5 } else { 1 };
    let script = format!(
        "ip link set lo up\nset -o pipefail\n{before}\n\
         timeout --foreground --preserve-status --signal INT {} bash -o pipefail -c {} & example=$!\n\
         {alongside}\n{ended}\nwait $example\nstatus=$?\nkill $(jobs -p) 2>/dev/null\nexit $status",
        patience.as_secs(),
        quoted(example)
    );
    let is_kafka = ["evforge kafka ", "--input-kafka", "evforge write --config", "evforge view --kafka"]
        .iter()
        .any(|part| example.contains(part));
    let (mut shell, brokers) = match broker.filter(|_| is_kafka) {
        None if is_kafka => return Ok(()),
        Some(broker) => {
            std::fs::rename(folder.path().join("killed.nxs"), folder.path().join("run.nxs")).expect("a file");
            (Command::new("env"), broker.address())
        }
        None => {
            let mut shell = Command::new("unshare");
            shell.arg("--net");
            (shell, String::new())
        }
    };
    let program = Path::new(PROGRAM).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    if is_kafka {
        shell.arg(format!("EVFORGE_KAFKA_BROKERS={brokers}"));
    }
    let output = shell
        .args(["bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        // Where a run leaves its token: of several that have the same port, each in a network of its own, each for itself.
        .env("XDG_RUNTIME_DIR", folder.path())
        .output()
        .expect("the shell starts");
    // What the host lacks is no fault of the example.
    let complains = |of: &str, why: &str| {
        example.starts_with(of) && output.status.code() == Some(1) && text(&output.stderr).contains(why)
    };
    // A run alone has no further runs, and says what has.
    let is_good = output.status.success()
        || complains("evforge ctl run", "`evforge serve`")
        || example.starts_with("evforge doctor") && output.status.code() == Some(1)
        // No slit is in the beam, which is what it says.
        || example.starts_with("evforge calibrate") && output.status.code() == Some(3);
    let said = text(&output.stdout) + &text(&output.stderr);
    // On a machine that is busy with other examples no rate may hold, and packets be lost, or a train have to wait for the rest of it:
    // then that is what the program says.
    let says = |of: &str, whys: &[&str]| {
        let is_of = example.starts_with(of) && output.status.code() == Some(1);
        is_of && whys.iter().any(|why| said.to_lowercase().contains(why))
    };
    let is_good = is_good
        || says("evforge measure ", &["no loss-free rate", "loaded host"])
        || says("evforge train receive ", &["trains_timed_out"]);
    let written: Vec<&str> =
        example.split_whitespace().skip_while(|word| !word.starts_with("--output")).collect();
    let target = written.get(1).filter(|name| **name != "-").map(|name| folder.path().join(name));
    let is_written = target.is_none_or(|target| {
        let stem = target.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let names =
            std::fs::read_dir(folder.path()).expect("the folder").flatten().map(|entry| entry.file_name());
        names.into_iter().any(|name| name.to_string_lossy().starts_with(&stem))
    });
    match is_good && is_written && !said.contains("panicked") {
        true => Ok(()),
        false => Err(format!("{example}: {}, {said}", output.status)),
    }
}

fn quoted(example: &str) -> String {
    format!("'{}'", example.replace('\'', r"'\''"))
}

#[test]
fn the_examples_in_the_help_work_as_they_are() {
    if !evforge_testkit::veth::is_possible("the_examples_in_the_help_work_as_they_are") {
        return;
    }
    let made = tempfile::tempdir().unwrap();
    let configs = workspace().join("configs").canonicalize().unwrap();
    std::os::unix::fs::symlink(configs, made.path().join("configs")).unwrap();
    for arguments in [
        "simulate gdgem --pulses 14 --output run.pcapng --truth truth.csv",
        "simulate multiblade --pulses 14 --output blades.pcapng",
        "simulate bifrost --pulses 14 --output slits.pcapng",
        "run --config configs/gdgem-srs.toml run.pcapng --events events.csv --nexus killed.nxs",
    ] {
        let output =
            Command::new(PROGRAM).args(arguments.split(' ')).current_dir(made.path()).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    }
    let all: Vec<String> = commands().iter().flat_map(|command| examples(&help(command, "--help"))).collect();
    assert!(all.len() >= 18, "{all:?}");
    let broker = broker();
    let (waiting, failed) = (Mutex::new(all), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        // Most of them wait for one another; more at a time would hold up those that measure.
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let example = waiting.lock().expect("no thread has failed").pop();
                    let Some(example) = example else { break };
                    let begun = std::time::Instant::now();
                    let problem = run(&example, made.path(), broker.as_ref()).err();
                    println!("{:5.1} s  {example}", begun.elapsed().as_secs_f64());
                    failed.lock().expect("no thread has failed").extend(problem);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

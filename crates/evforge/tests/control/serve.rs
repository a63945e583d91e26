//! `evforge serve`: one run after the other, steered over HTTP and by messages, watched by systemd.

use crate::common::{PROGRAM, evforge, free_ports, python, text, wait_until, workspace};
use evforge_messages::{Encoder, Pl72, S6s4t};
use evforge_testkit::kafka_broker::{Broker, is_possible};
use evforge_testkit::patience::patience;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};

const TOKEN: &str = "a-token-that-only-this-test-knows";
/// What must not change while runs do.
const CONFIG: &str = "configs/gdgem-srs.toml";

/// A service.
struct Service {
    child: Child,
    /// Where its page is.
    url: String,
    /// Where it receives.
    packets: String,
    said: Arc<Mutex<String>>,
    /// Standard output: the reports.
    printed: tempfile::NamedTempFile,
}

impl Drop for Service {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    /// Of the usual configuration, in a folder.
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg(workspace().join(CONFIG));
        Self::spawn(command.args(arguments), folder)
    }

    fn spawn(command: &mut Command, folder: &Path) -> Self {
        let [port] = free_ports();
        let printed = tempfile::NamedTempFile::new().expect("a file");
        let mut child = command
            .args(["--view", "127.0.0.1:0", "--set", &format!("receive.address=\"127.0.0.1:{port}\"")])
            .env("EVFORGE_TOKEN", TOKEN)
            .current_dir(folder)
            .stdout(printed.reopen().expect("the file"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let said = Arc::new(Mutex::new(String::new()));
        let url = loop {
            let Some(line) = lines.next() else {
                panic!("no page in {}", said.lock().expect("nobody has panicked"))
            };
            let line = line.expect("text");
            said.lock().expect("nobody has panicked").push_str(&format!("{line}\n"));
            if let Some(url) = line.strip_prefix("live view at ") {
                break url.split('#').next().unwrap_or_default().trim_end_matches('/').to_owned();
            }
        };
        let heard = Arc::clone(&said);
        // Somebody must go on reading, or the program could stop at a full pipe.
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| heard.lock().expect("nobody has panicked").push_str(&format!("{line}\n")));
        });
        Self { child, url, packets: format!("127.0.0.1:{port}"), said, printed }
    }

    fn said(&self) -> String {
        self.said.lock().expect("nobody has panicked").clone()
    }

    /// What `evforge ctl` answers, which may be a refusal.
    fn try_ctl(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(["ctl", "--url", &self.url, "--json"]).args(arguments).env("EVFORGE_TOKEN", TOKEN);
        command.output().expect("the program starts")
    }

    fn ctl(&self, arguments: &[&str]) -> Value {
        let output = self.try_ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}\n{}", text(&output.stderr), self.said());
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// What is said of what cannot be done.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.try_ctl(arguments);
        assert!(!output.status.success(), "{arguments:?}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    /// Sends it packets: how many. They have come when this returns.
    fn replay(&self) -> u64 {
        self.replay_of("gdgem-srs")
    }

    /// The same with another capture.
    fn replay_of(&self, name: &str) -> u64 {
        let before = self.packets_so_far();
        let capture = workspace().join("data").join(name).with_extension("pcapng");
        let sent =
            evforge(&["replay", capture.to_str().expect("text"), "--to", &self.packets, "--rate", "2kpps"]);
        let said = text(&sent.stdout);
        let count = said.strip_prefix("sent ").and_then(|rest| rest.split_once(" packets"));
        let count = count.and_then(|(count, _)| count.replace(' ', "").parse::<u64>().ok());
        let count = count.unwrap_or_else(|| panic!("{said}"));
        wait_until("all packets have come", || self.packets_so_far() == before + count);
        count
    }

    fn packets_so_far(&self) -> u64 {
        self.ctl(&["state"])["packets"].as_u64().expect("a number")
    }

    fn wait_for_phase(&self, phase: &str) -> Value {
        wait_until(phase, || self.ctl(&["run", "status"])["phase"] == phase);
        self.ctl(&["run", "status"])
    }

    /// Ends it as systemd does.
    fn terminate(mut self) -> (ExitStatus, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        let status = self.child.wait().expect("it ends");
        (status, self.said())
    }
}

fn read(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

/// Rows of a CSV file of events.
fn events(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.starts_with(['t', '#'])).count() as u64
}

#[test]
fn runs_follow_one_another_each_with_files_and_a_ledger_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let files = ["--events", "{run:3}-{title}.csv", "--report", "{run:3}.json", "--record", "{run:3}.pcapng"];
    let keeps = ["--set", "serve.number_file=\"number\"", "--title", "usual"];
    let service = Service::start(path, &[files.as_slice(), &keeps].concat());
    let state = service.ctl(&["run", "status"]);
    assert_eq!((&state["phase"], &state["runs"]), (&json!("between_runs"), &json!(0)));
    assert!(service.refusal(&["run", "stop"]).contains("there is no run"));

    // Between runs events are formed, and nothing is kept.
    let sent = service.replay();
    assert!(service.ctl(&["state"])["events"].as_u64() > Some(0));
    let left: Vec<_> = std::fs::read_dir(path).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");

    // What cannot be does not disturb what goes on.
    let refused = service.refusal(&["run", "start", "--set", "gdgem.clustering.x.adc_treshold=5"]);
    assert!(refused.contains("adc_treshold") && refused.contains("adc_threshold"), "{refused}");
    let refused = service.refusal(&["run", "start", "--set", "control.command_port=\"127.0.0.1:1\""]);
    assert!(refused.contains("belongs to the service"), "{refused}");
    // A token is worth no code, no file elsewhere and no secret, however it is written.
    std::fs::write(path.join("precious.csv"), "mine").expect("a file");
    for (set, expected) in [
        ("plugin.library=\"/tmp/evil.so\"", "plugin.library belongs to the service"),
        (
            "outputs.csv={file=\"precious.csv\",if_exists=\"overwrite\"}",
            "outputs.csv.if_exists belongs to the service",
        ),
        ("outputs.kafka.password_file=\"/etc/shadow\"", "outputs.kafka.password_file belongs to the service"),
        ("gdgem.mapping_file=\"/etc/shadow\"", "gdgem.mapping_file belongs to the service"),
        ("outputs.csv.file=\"/tmp/evil.csv\"", "must lie in the folder of the service's, ."),
        ("outputs.csv.file=\"../evil.csv\"", "must lie in the folder of the service's, ."),
        ("outputs.nexus.file=\"evil.nxs\"", "the service has no file for this output"),
        ("outputs.csv.file=\"precious.csv\"", "precious.csv exists"),
    ] {
        let refused = service.refusal(&["run", "start", "--set", set]);
        assert!(refused.contains(expected), "{set}: {refused}");
    }
    std::fs::remove_file(path.join("precious.csv")).expect("it is there, as before");
    assert_eq!(service.packets_so_far(), sent, "it is the same time between runs");

    let run = service.ctl(&["run", "start"]);
    assert_eq!((&run["number"], &run["title"]), (&json!(1), &json!("usual")));
    let named: Vec<&str> = run["files"].as_array().expect("files").iter().filter_map(Value::as_str).collect();
    assert_eq!(named, ["001-usual.csv", "001.json", "001.pcapng"]);
    assert!(service.refusal(&["run", "start"]).contains("run 1 goes on: stop it first"));
    assert_eq!(service.packets_so_far(), 0, "its ledger begins with it");
    let sent = service.replay();
    let end = service.ctl(&["run", "stop"]);
    assert_eq!((&end["packets"], &end["is_good"]), (&json!(sent), &json!(true)), "{end:#}");
    let report = read(&path.join("001.json"));
    let stream = &report["streams"][0];
    assert_eq!(stream["packets"]["received"], sent, "{stream:#}");
    assert_eq!(stream["events"], end["events"]);
    assert_eq!(events(&path.join("001-usual.csv")), end["events"].as_u64().expect("a number"));
    assert!(path.join("001.pcapng").is_file());

    // Another one, with a title and a setting of its own.
    let larger = ["--set", "gdgem.clustering.x.min_hits=6"];
    let run = service.ctl(&[["run", "start", "--title", "larger/clusters"].as_slice(), &larger].concat());
    assert_eq!((&run["number"], &run["files"][0]), (&json!(2), &json!("002-larger_clusters.csv")));
    assert_eq!(service.replay(), sent);
    let larger = service.ctl(&["run", "stop"]);
    assert!(larger["events"].as_u64() < end["events"].as_u64(), "{larger:#}");
    // It held for that run only.
    // Its own file takes the place of what an option of the service names.
    let named = ["run", "start", "--number", "7", "--set", "outputs.csv.file=\"own/{run}.csv\""];
    std::fs::create_dir(path.join("own")).expect("a folder");
    assert_eq!(service.ctl(&named)["files"][0], "own/7.csv");
    service.replay();
    assert_eq!(service.ctl(&["run", "stop"])["events"], end["events"]);
    // Nothing is replaced.
    let refused = service.refusal(&["run", "start", "--number", "7"]);
    assert!(refused.contains("007") && refused.contains("{run}"), "{refused}");
    assert_eq!(service.ctl(&["run", "status"])["phase"], "between_runs");

    // One that ends by itself.
    assert_eq!(service.ctl(&["run", "start", "--for", "1"])["number"], 8);
    let state = service.wait_for_phase("between_runs");
    assert_eq!((&state["last"]["run"]["number"], &state["runs"]), (&json!(8), &json!(4)));

    // A run that goes on when the service is ended is whole.
    service.ctl(&["run", "start"]);
    service.replay();
    let (status, said) = service.terminate();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(read(&path.join("009.json"))["streams"][0]["packets"]["received"], sent);
    // The numbers go on after it.
    let service = Service::start(path, &[files.as_slice(), &keeps, &["--start"]].concat());
    let state = service.wait_for_phase("running");
    assert_eq!(state["run"]["number"], 10);
    service.ctl(&["shutdown"]);
    let mut service = service;
    assert_eq!(service.child.wait().expect("it ends").code(), Some(0));
}

/// After a kill the files of the run are recovered, and the numbers go on.
/// What a request without a body answers.
fn asked(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

/// Lost packets, then silence, and nobody looks at the page: log, `ctl`, command port, metrics and report have both.
#[test]
fn a_loss_and_a_silence_are_told_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let [port] = free_ports();
    let command_port = format!("control.command_port=\"127.0.0.1:{port}\"");
    let service =
        Service::start(folder.path(), &["--set", &command_port, "--set", "receive.stalled_after=\"1s\""]);
    // Three packets of this capture were lost.
    service.replay_of("gdgem-srs-faults");
    let alarms = || service.ctl(&["state"])["alarms"].to_string();
    wait_until("loss and silence are alarms", || {
        alarms().contains(" lost") && alarms().contains("No data for")
    });
    assert_eq!(service.ctl(&["state"])["packets_lost"], 3);
    for (alarm, words) in [("loss", " lost"), ("no_data", "No data for")] {
        wait_until("it is in the log, with what to do", || {
            service
                .said()
                .lines()
                .any(|line| line.contains(words) && (line.contains("docs/loss.md") || line.contains("cable")))
        });
        let page: Value =
            serde_json::from_str(&asked(service.url.trim_start_matches("http://"), "/api/state.json"))
                .expect("JSON");
        assert!(page["signs"].to_string().contains(&format!("\"{alarm}\"")), "{:#}", page["signs"]);
        let metrics = asked(service.url.trim_start_matches("http://"), "/metrics");
        let metric = metrics.lines().find(|line| {
            line.starts_with("evforge_run_alarms{") && line.contains(&format!("alarm=\"{alarm}\""))
        });
        assert!(metric.is_some_and(|line| !line.ends_with(" 0")), "{alarm}: {metric:?}");
        let mut port = TcpStream::connect(("127.0.0.1", port)).expect("the command port");
        port.write_all(format!("STAT_GET_NAME alarms.{alarm}").as_bytes()).expect("a command");
        let mut reply = [0; 200];
        let length = port.read(&mut reply).expect("a reply");
        let reply = text(&reply[..length]);
        assert!(
            reply.starts_with(&format!("STAT_GET_NAME alarms.{alarm} ")) && !reply.ends_with(" 0"),
            "{reply}"
        );
    }
    service.replay();
    wait_until("the log says that the silence is over", || service.said().contains("over after"));
    let printed = service.printed.reopen().expect("the file");
    let (status, said) = service.terminate();
    assert!(status.success(), "{said}");
    let report = std::io::read_to_string(printed).expect("the report");
    assert!(
        report.contains("  alarm") && report.contains(" lost") && report.contains(": No data for"),
        "{said}"
    );
}

#[test]
fn what_a_killed_service_has_left_is_recovered_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let files = ["--nexus", "{run}.nxs", "--record", "{run}.pcapng", "--report", "{run}.json"];
    let keeps = ["--set", "serve.number_file=\"number\""];
    let arguments = [files.as_slice(), &keeps].concat();
    let mut service = Service::start(path, &arguments);
    assert_eq!(service.ctl(&["run", "start"])["number"], 1);
    let sent = service.replay();
    // Commits are made every two seconds.
    let is_kept =
        |service: &Service| service.ctl(&["counters", "output.nexus.committed"])["value"].as_u64() > Some(0);
    wait_until("something is kept", || is_kept(&service));
    service.child.kill().expect("a signal");
    service.child.wait().expect("it ends");
    assert!(!path.join("1.pcapng").exists() && !path.join("1.json").exists());
    let service = Service::start(path, &arguments);
    let said = service.said();
    assert!(said.contains("run 1 was not brought to its end"), "{said}");
    assert!(said.contains("1.nxs") && said.contains("1.json is not there"), "{said}");
    let events = hdf5_metno::File::open(path.join("1.nxs")).expect("a whole file");
    assert!(events.group("entry").is_ok());
    let inspected = evforge(&["inspect", path.join("1.pcapng").to_str().expect("text")]);
    assert!(text(&inspected.stdout).contains(&sent.to_string()), "{}", text(&inspected.stdout));
    assert_eq!(service.ctl(&["run", "start"])["number"], 2);
    service.ctl(&["run", "stop"]);
    drop(service);
    // Once is enough.
    let mut service = Service::start(path, &arguments);
    assert!(!service.said().contains("brought to its end"), "{}", service.said());
    // A file that cannot be recovered is told, and left.
    assert_eq!(service.ctl(&["run", "start"])["number"], 3);
    service.replay();
    wait_until("something is kept", || is_kept(&service));
    service.child.kill().expect("a signal");
    service.child.wait().expect("it ends");
    std::fs::write(path.join("3.nxs"), "torn").expect("a file");
    let service = Service::start(path, &arguments);
    assert!(service.said().contains("3.nxs is not an HDF5 file"), "{}", service.said());
    assert_eq!(std::fs::read(path.join("3.nxs")).expect("a file"), b"torn");
}

/// A library that crashes on a file, as HDF5 does on some damaged ones: the file is named, and the service goes on.
#[test]
fn a_file_that_crashes_the_library_does_not_end_the_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (source, library) = (path.join("crash.c"), path.join("crash.so"));
    let crash =
        "long H5Fopen(const char *name, unsigned flags, long access) { *(volatile int *)8 = 1; return -1; }";
    std::fs::write(&source, crash).expect("a file");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(built.expect("a compiler of C").success());
    let left = path.join("7.nxs");
    let packets = path.join("a.pcapng").display().to_string();
    let config = workspace().join(CONFIG).display().to_string();
    evforge(&["simulate", "--config", &config, "--pulses", "2", "--output", &packets]);
    evforge(&["run", "--config", &config, &packets, "--nexus", left.to_str().expect("text"), "--quiet"]);
    let before = std::fs::read(&left).expect("a file");
    std::fs::write(path.join("number"), format!("7\n{}\n", left.display())).expect("a file");
    let mut command = Command::new(PROGRAM);
    command.arg("serve").arg(workspace().join(CONFIG)).args(["--set", "serve.number_file=\"number\""]);
    let service = Service::spawn(command.env("LD_PRELOAD", &library), path);
    let said = service.said();
    assert!(said.contains("7.nxs is not recovered") && said.contains("signal 11"), "{said}");
    assert!(said.contains("crashed while") && std::fs::read(&left).expect("a file") == before, "{said}");
    assert_eq!(service.ctl(&["run", "start"])["number"], 8);
}

/// The configuration is read again for each run; what is wrong with it then is said, and the service goes on.
#[test]
fn a_run_has_the_configuration_as_it_is_when_it_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("instrument.toml");
    let text = std::fs::read_to_string(workspace().join(CONFIG)).expect("text");
    std::fs::write(&config, &text).expect("a file");
    let mut command = Command::new(PROGRAM);
    let service =
        Service::spawn(command.arg("serve").arg(&config).args(["--report", "{run}.json"]), folder.path());
    std::fs::write(&config, format!("{text}\n[nonsense]\n")).expect("a file");
    let refused = service.refusal(&["run", "start"]);
    assert!(refused.contains("nonsense") && refused.contains("instrument.toml"), "{refused}");
    service.replay();
    std::fs::write(&config, format!("{text}\n[run]\ntitle = \"corrected\"\n")).expect("a file");
    assert_eq!(service.ctl(&["run", "start"])["title"], "corrected");
    service.replay();
    assert_eq!(service.ctl(&["run", "stop"])["is_good"], true);
    let (status, said) = service.terminate();
    assert_eq!(status.code(), Some(0), "{said}");
}

#[test]
fn systemd_hears_that_it_is_ready_alive_and_about_to_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(patience())).expect("a time-out");
    let mut command = Command::new(PROGRAM);
    command.arg("serve").arg(workspace().join(CONFIG)).args(["--report", "{run}.json"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "2000000");
    let service = Service::spawn(&mut command, folder.path());
    let hear = || {
        let mut bytes = [0; 4096];
        let length = manager.recv(&mut bytes).expect("systemd is told something");
        text(&bytes[..length]).trim_end().to_owned()
    };
    assert_eq!(hear(), "READY=1");
    // Packets are taken from now on: not one is lost.
    assert!(service.replay() > 0);
    service.ctl(&["run", "start"]);
    let (mut signs, mut in_run) = (0, false);
    while signs < 3 || !in_run {
        let said = hear();
        signs += u32::from(said == "WATCHDOG=1");
        in_run |= said.starts_with("STATUS=run 1");
    }
    let (status, _) = service.terminate();
    assert_eq!(status.code(), Some(0));
    while hear() != "STOPPING=1" {}
}

/// Details appear when their group is switched on, and are gone when it is switched off.
#[test]
fn what_the_log_says_is_switched_while_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(folder.path(), &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut sent = 0;
    let mut send_garbage = || {
        for _ in 0..5 {
            socket.send_to(b"nothing that anybody knows", &service.packets).expect("it is sent");
            sent += 1;
        }
        wait_until("they have come", || service.packets_so_far() == sent);
    };
    // Whoever switches it is said, too.
    let is_detail = |line: &&str| line.contains("parse") && !line.contains("asked for");
    let details = || service.said().lines().filter(is_detail).count();
    send_garbage();
    assert_eq!(details(), 0, "{}", service.said());
    service.ctl(&["log", "parse=debug"]);
    send_garbage();
    wait_until("there are details", || details() > 0);
    service.ctl(&["log", "parse=info"]);
    let so_far = details();
    send_garbage();
    assert_eq!(details(), so_far, "{}", service.said());
}

/// `examples/campaign.py`: ten runs at ten thresholds, ten files, one plot.
#[test]
fn a_campaign_of_ten_runs_is_one_command() {
    let Some(python) = python("a_campaign_of_ten_runs_is_one_command") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let config = workspace().join("configs/nmx.toml");
    let mut command = Command::new(PROGRAM);
    command.arg("serve").arg(&config).args(["--nexus", "{run:3}-{title}.nxs"]);
    let service = Service::spawn(&mut command, path);
    // Electronics that do not stop: ten minutes of them.
    let mut electronics = Command::new(PROGRAM)
        .args(["simulate", "--neutrons", "2kHz", "--pulses", "8400", "--to", &service.packets, "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let campaign = Command::new(python)
        .arg(workspace().join("examples/campaign.py"))
        .args(["--url", &service.url, "--key", "ess_gdgem.clustering.x.adc_threshold", "--seconds", "0.5"])
        .args(["--values", "0", "100", "200", "300", "400", "500", "600", "700", "800", "900"])
        .env("EVFORGE_TOKEN", TOKEN)
        .current_dir(path)
        .output()
        .expect("Python starts");
    let _ = electronics.kill();
    let _ = electronics.wait();
    assert!(campaign.status.success(), "{}\n{}", text(&campaign.stderr), service.said());
    let table = std::fs::read_to_string(path.join("campaign/campaign.csv")).expect("a table");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 10, "{table}");
    for (place, row) in rows.iter().enumerate() {
        let file = path.join(format!("{:03}-threshold-{}.nxs", place + 1, row[1]));
        assert!(file.is_file(), "{} is not there: {table}", file.display());
        assert!(row[2].parse::<u64>().is_ok_and(|packets| packets > 0), "{table}");
    }
    let per_packet =
        |row: &[&str]| row[3].parse::<f64>().expect("a number") / row[2].parse::<f64>().expect("a number");
    assert!(per_packet(&rows[9]) < per_packet(&rows[0]) / 2.0, "{table}");
    let plot = std::fs::read_to_string(path.join("campaign/campaign.svg")).expect("a plot");
    assert!(plot.contains("<svg") && plot.contains("events per packet"));
    let (status, said) = service.terminate();
    assert_eq!(status.code(), Some(0), "{said}");
}

/// Starts and ends of runs as file writers hear them.
#[test]
fn runs_are_started_and_ended_by_a_topic_of_kafka() {
    if !is_possible("runs_are_started_and_ended_by_a_topic_of_kafka") {
        return;
    }
    let broker = Broker::start();
    broker.create_topic("runs", 1);
    let folder = tempfile::tempdir().expect("a folder");
    let brokers = format!("kafka.brokers={:?}", broker.address());
    let topic =
        ["--set", "serve.run_topic=\"runs\"", "--set", "serve.service_id=\"unit-1\"", "--set", &brokers];
    let service = Service::start(folder.path(), &[["--report", "{run}.json"].as_slice(), &topic].concat());
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", broker.address()).create().expect("a producer");
    let send = |payload: &[u8]| {
        producer
            .send(BaseRecord::<(), [u8]>::to("runs").payload(payload))
            .map_err(|(error, _)| error)
            .unwrap();
        producer.flush(patience()).expect("it is sent");
    };
    let mut encoder = Encoder::new();
    let start = |job, name, service| Pl72 {
        job_id: Some(job),
        run_name: Some(name),
        service_id: service,
        nexus_structure: Some("{}"),
        filename: Some("x.nxs"),
        ..Pl72::default()
    };
    let end = |job| S6s4t { job_id: Some(job), command_id: Some("c"), ..S6s4t::default() };
    // Neither garbage nor what is for another unit does anything.
    send(b"\0\0\0\0pl72 but no message");
    send(start("job-0", "7", Some("unit-2")).encode(&mut encoder));
    send(start("job-1", "42", Some("unit-1")).encode(&mut encoder));
    let state = service.wait_for_phase("running");
    assert_eq!(state["run"]["number"], 42, "{state:#}\n{}", service.said());
    let sent = service.replay();
    send(end("job-0").encode(&mut encoder));
    // The name of a run that is no number is its title; no second one is started while one goes on.
    send(start("job-2", "vanadium", None).encode(&mut encoder));
    wait_until("it is refused", || service.said().contains("refused: run 42 goes on"));
    send(end("job-1").encode(&mut encoder));
    let state = service.wait_for_phase("between_runs");
    assert_eq!((&state["last"]["run"]["number"], &state["last"]["packets"]), (&json!(42), &json!(sent)));
    send(start("job-3", "vanadium", None).encode(&mut encoder));
    let state = service.wait_for_phase("running");
    assert_eq!((&state["run"]["number"], &state["run"]["title"]), (&json!(43), &json!("vanadium")));
    // An end in the future.
    let soon = now_ms() + 1500;
    send(S6s4t { stop_time: soon, ..end("job-3") }.encode(&mut encoder));
    let state = service.wait_for_phase("between_runs");
    let ended = state["last"]["ended_unix_ns"].as_u64().expect("a time") / 1_000_000;
    assert!(ended >= soon, "{ended} is before {soon}");
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    since.as_millis() as u64
}

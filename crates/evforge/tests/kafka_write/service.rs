//! `evforge write --commands`, killed, and started again with a library that crashes on the file that it had begun.

use super::killed::content;
use super::support::{kafka, path, run, shipped, simulate};
use crate::common::{PROGRAM, evforge, text};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_kafka::topic::{Begin, Next, TopicReader, Until};
use evforge_messages::{Encoder, Pl72, S6s4t};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::{patience, wait_until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const JOB: &str = "11111111-2222-4333-8444-555555555555";

/// The service, killed if the test ends early.
struct Service {
    child: Child,
    said: PathBuf,
}

impl Service {
    fn start(folder: &Path, (broker, topic): (&str, &str), number: u32, library: Option<&Path>) -> Self {
        let said = folder.join(format!("said-{number}"));
        let output = std::fs::File::create(&said).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["write", "--commands", topic, "--service-id", "writer", "--brokers", broker]);
        command.args(["--flush-interval", "50ms", "--no-sync", "--folder"]).arg(folder);
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        if let Some(library) = library {
            command.env("LD_PRELOAD", library);
        }
        Self { child: command.spawn().unwrap(), said }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }

    /// Waits until something is so, while it runs.
    fn wait(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        wait_until(what, || {
            assert!(self.child.try_wait().unwrap().is_none(), "{what}: it has ended: {}", self.said());
            is_so()
        });
    }

    /// Waits until it has opened a file.
    fn wait_for_open(&mut self, file: &Path) {
        let open = format!("/proc/{}/fd", self.child.id());
        self.wait("it opens the file", || {
            let links = std::fs::read_dir(&open).into_iter().flatten().flatten();
            links.filter_map(|link| std::fs::read_link(link.path()).ok()).any(|opened| opened == file)
        });
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Crashes when a file is opened that is being written, until one has been set aside.
fn crashing_library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("crash.c"), folder.join("crash.so"));
    let aside = folder.join("run.nxs.damaged-1");
    let crash = format!(
        r#"#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        #include <unistd.h>
        long H5Fopen(const char *name, unsigned flags, long how) {{
            long (*open)(const char *, unsigned, long) = dlsym(RTLD_NEXT, "H5Fopen");
            size_t length = strlen(name);
            int is_left = length > 8 && !strcmp(name + length - 8, ".writing");
            if (is_left && access("{}", F_OK)) *(volatile int *)8 = 1;
            return open(name, flags, how);
        }}"#,
        aside.display()
    );
    std::fs::write(&source, crash).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    assert!(built.unwrap().success());
    library
}

/// The events of a file that is being written, as another process sees them within a second.
fn events_in(file: &Path) -> u64 {
    let report = file.with_extension("seen");
    let mut view = Command::new(PROGRAM);
    view.args(["view", "--view", "127.0.0.1:0", "--for", "1s", "--overwrite", "--report"])
        .arg(&report)
        .arg(file);
    view.env_remove("EVFORGE_VIEW").output().unwrap();
    let report = std::fs::read(report).ok().and_then(|report| serde_json::from_slice::<Value>(&report).ok());
    report.and_then(|report| report["events"].as_u64()).unwrap_or(0)
}

#[test]
fn a_file_that_crashes_the_library_is_set_aside_and_written_again() {
    let test = "a_file_that_crashes_the_library_is_set_aside_and_written_again";
    let Some(broker) = shared(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("freia");
    let (capture, _) = path(folder.path(), "freia.pcapng");
    simulate(&config, 60, &capture);
    let (address, topic) = (broker.address(), broker.create_topic("commands", 1));
    let keys = kafka(&broker, "freia", "freia");
    run(&config, &capture, &keys, &[]);
    let mut arguments = vec!["write", "--config", &config];
    keys.iter().for_each(|key| arguments.extend(["--set", key]));
    let (whole, whole_text) = path(folder.path(), "whole.nxs");
    evforge(&[&arguments[..], &["--all", "--quiet", "--output", &whole_text]].concat());
    let structure = text(&evforge(&[&arguments[..], &["--print-structure"]].concat()).stdout).to_owned();

    let client = ClientSettings::new(address.parse::<Brokers>().unwrap());
    let send = |message: &[u8]| {
        let mut sender = Sender::open(&client, &topic, &Deadline::from(patience())).unwrap();
        let run = AtomicBool::new(false);
        assert!(sender.send(&Outgoing { payload: message, ..Outgoing::default() }, &run).unwrap());
        assert!(sender.finish(patience(), &run).is_complete());
    };
    let mut service = Service::start(folder.path(), (address, &topic), 1, None);
    // What was sent before it had begun would not be for it.
    let deadline = Deadline::from(patience());
    let mut said = TopicReader::open(&client, &topic, Begin::Oldest, Until::Forever, &deadline).unwrap();
    service.wait("it says that it is there", || {
        matches!(said.next(Duration::from_millis(100)).unwrap(), Next::Message(_))
    });
    send(
        Pl72 {
            start_time: 1,
            run_name: Some("1"),
            nexus_structure: Some(&structure),
            job_id: Some(JOB),
            filename: Some("run.nxs"),
            control_topic: Some(&topic),
            ..Pl72::default()
        }
        .encode(&mut Encoder::new()),
    );
    let file = folder.path().join("run.nxs");
    let writing = folder.path().join("run.nxs.writing");
    service.wait("events are in the file", || writing.exists() && events_in(&writing) > 0);
    service.kill();

    // A file that is as it should be is tried, and taken up.
    let mut service = Service::start(folder.path(), (address, &topic), 2, None);
    service.wait_for_open(&writing);
    assert!(!folder.path().join("run.nxs.damaged-1").exists(), "{}", service.said());
    service.kill();

    let library = crashing_library(folder.path());
    let mut service = Service::start(folder.path(), (address, &topic), 3, Some(&library));
    let aside = folder.path().join("run.nxs.damaged-1");
    service.wait("a file that is set aside", || aside.exists() && writing.exists());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let stop = S6s4t {
        stop_time: u64::try_from(now).unwrap(),
        run_name: Some("1"),
        job_id: Some(JOB),
        command_id: Some("aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"),
        ..S6s4t::default()
    };
    send(stop.encode(&mut Encoder::new()));
    service.wait("the end", || file.exists());
    assert_eq!(content(&file), content(&whole));
    assert!(content(&whole).pixels.len() > 1000);
    assert_eq!(std::fs::read(&aside).unwrap()[..4], *b"\x89HDF", "it is kept");
    crate::common::send_signal(service.child.id(), "TERM");
    let status = service.child.wait().unwrap();
    assert!(status.success(), "{status}: {}", service.said());
    let said = service.said();
    assert!(
        said.contains("run.nxs.damaged-1") && said.contains("signal 11") && said.contains("crashed while"),
        "{said}"
    );
}

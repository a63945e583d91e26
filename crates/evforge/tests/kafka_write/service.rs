//! `evforge write --commands`, killed, and started again with a library that crashes on the file that it had begun.

use super::killed::content;
use super::support::{kafka, path, run, shipped, simulate};
use crate::common::{PROGRAM, evforge, text};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_messages::{Encoder, Pl72, S6s4t};
use evforge_testkit::kafka_broker::{self, Broker};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const JOB: &str = "11111111-2222-4333-8444-555555555555";
const PATIENCE: Duration = Duration::from_secs(120);

/// The service, killed if the test ends early.
struct Service {
    child: Child,
    said: PathBuf,
}

impl Service {
    fn start(folder: &Path, broker: &str, number: u32, library: Option<&Path>) -> Self {
        let said = folder.join(format!("said-{number}"));
        let output = std::fs::File::create(&said).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["write", "--commands", "commands", "--service-id", "writer", "--brokers", broker]);
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
    fn wait(&mut self, what: &str, is_so: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(self.child.try_wait().unwrap().is_none(), "{what}: it has ended: {}", self.said());
            assert!(Instant::now() < end, "{what}: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
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

#[test]
fn a_file_that_crashes_the_library_is_set_aside_and_written_again() {
    let test = "a_file_that_crashes_the_library_is_set_aside_and_written_again";
    if !kafka_broker::is_possible(test) {
        return;
    }
    let broker = Broker::start();
    let folder = tempfile::tempdir().unwrap();
    let config = shipped("freia");
    let (capture, _) = path(folder.path(), "freia.pcapng");
    simulate(&config, 60, &capture);
    let address = broker.address();
    let keys = kafka(&address, "freia", "freia");
    run(&config, &capture, &keys, &[]);
    let mut arguments = vec!["write", "--config", &config];
    keys.iter().for_each(|key| arguments.extend(["--set", key]));
    let (whole, whole_text) = path(folder.path(), "whole.nxs");
    evforge(&[&arguments[..], &["--all", "--quiet", "--output", &whole_text]].concat());
    let structure = text(&evforge(&[&arguments[..], &["--print-structure"]].concat()).stdout).to_owned();

    broker.create_topic("commands", 1);
    let send = |message: &[u8]| {
        let client = ClientSettings::new(address.parse::<Brokers>().unwrap());
        let mut sender = Sender::open(&client, "commands", &Deadline::of_opening()).unwrap();
        let run = AtomicBool::new(false);
        assert!(sender.send(&Outgoing { payload: message, ..Outgoing::default() }, &run).unwrap());
        assert!(sender.finish(PATIENCE, &run).is_complete());
    };
    let mut service = Service::start(folder.path(), &address, 1, None);
    send(
        Pl72 {
            start_time: 1,
            run_name: Some("1"),
            nexus_structure: Some(&structure),
            job_id: Some(JOB),
            filename: Some("run.nxs"),
            control_topic: Some("commands"),
            ..Pl72::default()
        }
        .encode(&mut Encoder::new()),
    );
    let file = folder.path().join("run.nxs");
    let writing = folder.path().join("run.nxs.writing");
    service.wait("the file", || writing.exists());
    std::thread::sleep(Duration::from_millis(500));
    service.kill();

    // A file that is as it should be is tried, and taken up.
    let mut service = Service::start(folder.path(), &address, 2, None);
    std::thread::sleep(Duration::from_secs(2));
    service.wait("the file", || writing.exists());
    assert!(!folder.path().join("run.nxs.damaged-1").exists(), "{}", service.said());
    service.kill();

    let library = crashing_library(folder.path());
    let mut service = Service::start(folder.path(), &address, 3, Some(&library));
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
